"""Maps of where an answer comes from, what they are worth, and what positions have to do with it."""

import torch
from torch import Tensor

from vizkit.analysis.attention import positions
from vizkit.analysis.attribution.explaining import on_patches
from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.attribution.rollout import rollout_by_layer, shares
from vizkit.analysis.attribution.subject import cells_of
from vizkit.analysis.trust import deletion, randomisation
from vizkit.lessons.vocabulary.asking import (
    VOCABULARY as VOCABULARY,
)
from vizkit.lessons.vocabulary.asking import (
    At,
    Number,
    Query,
    answering,
    asked_of,
    class_of,
    grid_of,
    layer_of,
    one_of,
    other,
    says,
    token_of,
    tokens_of,
    word,
)
from vizkit.models.probes.parts import patch_embedding
from vizkit.models.probes.positions import kind, learned_table
from vizkit.scoring import subject_of
from vizkit.traces import Map, NotApplicable, Tokens
from vizkit.views.subject import Subject

SUBJECT = {True: "the animal", False: "the middle quarter of the image"}
USUAL = next(name for name, method in METHODS.items() if method.needs == "target" and not method.shares)


@word
def rollout(of: Subject, query: Query = "cls", depth: At = "last", residual: Number = 0.5) -> Map:
    """Attention rollout up to a layer: the share of every patch, together 1. `query` `mean`: of all patches."""
    asked = query if query == "mean" else asked_of(of, layer_of(of, depth).query, query)
    grown = rollout_by_layer(of.whole(), asked, residual=float(residual))
    return shares(grown[one_of(len(grown), depth, "layer")].grid)


@word
def relevance(of: Subject, method: str = USUAL, cls: At = "top") -> Map:
    """The map of a method of the page Relevance for a class, on patches; below 0 what speaks against it."""
    if method not in METHODS:
        raise NotApplicable(f"There is no method “{method[:30]}”, only {', '.join(METHODS)}.")
    asked, target = answering(of, cls)
    return on_patches(asked.explanation(method, target, None))


@word
def survives(of: Subject, method: str = USUAL) -> float:
    """Rank correlation of a map for the answer with that of the same model with shuffled weights, −1 to 1: near 0 is
    good."""
    target = class_of(of, "top")
    return randomisation.survives(*(each.explanation(method, target, None) for each in (of, other(of, "shuffled"))))


@word
def probability_without(of: Subject, map: Map, share: Number) -> float:
    """The probability of the answer when a share of the image (0.5, 0.25, 0.1, …) is blurred where the map is
    highest."""
    subject = subject_of(of.loaded, of.rgb, class_of(of, "top"), None)
    (found,) = deletion.curves(subject, [map.nan_to_num()], cells_of(of.seen), steps=round(1 / share))
    return float(found.deletion[1])


@word
def on_subject(of: Subject, map: Map) -> float:
    """The share of a map that lies on what the image is of, as `subject` calls it."""
    found = map.clamp(min=0).nan_to_num()
    return float((found * _covered(of, (map.shape[0], map.shape[1]))).sum() / found.sum().clamp(min=1e-30))


says("insect_known", "Whether it is known where the animal is.", lambda of: of.covered((1, 1)) is not None)
says("subject", "What on_subject measures, in words.", lambda of: SUBJECT[of.covered((1, 1)) is not None])
says("subject_share", "The share of the image that it covers.", lambda of: float(_covered(of, grid_of(of)).mean()))


def _covered(of: Subject, grid: tuple[int, int]) -> Map:
    """How much of every place the drawn insect covers; of other images, whose truth nobody knows, their middle."""
    if (covered := of.covered(grid)) is not None:
        return covered
    inside = [(torch.arange(grid_side + 1) / grid_side).clamp(0.25, 0.75).diff() * grid_side for grid_side in grid]
    return inside[0][:, None] * inside[1]


says("position_kind", "How a model knows places: learned, relative bias, …", lambda of: ", ".join(kind(of.loaded)))


@word
def position_likeness(of: Subject, query: Query = "patch") -> Map:
    """Cosine of the learned position of a patch with all others."""
    table = _table(of)
    token = token_of(of, Tokens("positions", (), (table.shape[0], table.shape[1]), stride=1.0), query)
    return positions.similarity_to(table.flatten(0, 1), token).view(table.shape[:2])


@word
def position_cosine(of: Subject, steps: Number) -> float:
    """Mean cosine of positions so many steps apart."""
    table = _table(of)
    found = positions.by_distance(positions.similarity(table.flatten(0, 1)), table.shape[:2])
    return float(found.mean[(found.distance - steps).abs().argmin()])


def _table(of: Subject) -> Tensor:
    if (table := learned_table(of.loaded)) is None:
        raise NotApplicable(f"{of.name} has no learned table of positions.")
    return table


@word
def likeness(of: Subject, block: At = 0, query: Query = "patch") -> Map:
    """Cosine of a patch's vector with all others after a block; 0: as embedded, before positions."""
    if block:
        features = of.whole().features[one_of(len(of.whole().features), block, "block")]
        tokens, values = features.tokens, features.values
    else:
        tokens = Tokens("patches", (), grid_of(of), stride=tokens_of(of).stride)
        values = patch_embedding(of.loaded, of.pixels).vectors.flatten(0, 1)
    found = positions.similarity_to(values, token_of(of, tokens, query))
    return found[len(tokens.special) :].view(tokens.grid or (1, -1))
