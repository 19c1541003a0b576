"""The words of a lesson's expressions: small questions to the model and the picture at hand.

A word takes the subject first and then plain numbers and names; it gives a map (row × column of patches), a place
(row, column from 0), a number or a text. Layers, blocks, heads and stages are counted from 1, or `last`. `head`: a
number or `mean`. `query` and `key`: a special token such as `cls`, `patch` for the one under the cursor (the middle of
the picture until somebody clicks), or a place. `cls`, a class: `top`, `second`, a rank, or its name. `edits` of the
model are those of `vizkit trace`, such as "heads:3.2=0".

Every word of a model also takes `model`, a bundled model or one of CHANGED, and `picture`, one that comes with vizkit.
What a model does not have raises NotApplicable with one sentence.
"""

import inspect
import math
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention import attention_map, positions, statistics
from vizkit.analysis.attention.patches import cost
from vizkit.analysis.attention.value_weighted import value_weighted
from vizkit.analysis.attention.walkthrough import steps
from vizkit.analysis.attribution.explaining import on_patches
from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.attribution.rollout import rollout_by_layer, shares
from vizkit.analysis.attribution.subject import cells_of
from vizkit.analysis.convolution.field_size import side_holding
from vizkit.analysis.convolution.vanishing import Network, gradient_norms
from vizkit.analysis.distillation import loss, temperature, two_tokens
from vizkit.analysis.swin import receptive_field
from vizkit.analysis.swin.shifted_windows import allowed, window_of
from vizkit.analysis.swin.total_variation import total_variation
from vizkit.analysis.trust import deletion, randomisation
from vizkit.datasets.sequences import gaps
from vizkit.geometry import id_at, id_of, middle_of, on_grid
from vizkit.models.probes.convolution import effective_field, shifting
from vizkit.models.probes.convolution import receptive_field as field_of
from vizkit.models.probes.lenses.logit_lens import logit_lens
from vizkit.models.probes.model_functions import randomised
from vizkit.models.probes.parts import attention_parts, patch_embedding
from vizkit.models.probes.positions import kind, learned_table
from vizkit.models.probes.swin_changes import changed
from vizkit.models.probes.two_heads import two_heads
from vizkit.scoring import subject_of
from vizkit.traces import Attention, NotApplicable, Tokens
from vizkit.views import bundled
from vizkit.views.sequences.known import BUNDLED
from vizkit.views.sequences.memory import strength_of
from vizkit.views.sequences.typed import opened
from vizkit.views.subject import Subject
from vizkit.views.swin.place import place, places
from vizkit.views.swin.reach import fields_of

Map = Float[Tensor, "row column"]
Place = tuple[int, int]
Query = str | Place
At = int | str  # a layer, a head or a class
Word = TypeVar("Word", bound=Callable[..., Any])

VOCABULARY: dict[str, Callable[..., Any]] = {}
CHANGED = {
    "shuffled": "the same model with the numbers of each of its weights in another order",
    "no shift": "a Swin whose windows do not shift",
    "no bias": "a Swin without its relative positions",
}


# ---- how a word is asked ---------------------------------------------------------------------------------------------
def word(function: Word) -> Word:
    """Into the vocabulary, remembered by the subject, with `model` and `picture` as further arguments."""
    signature = inspect.signature(function)

    @wraps(function)
    def asked(of: Subject, *given: Any, model: str = "", picture: str = "", **named: Any) -> Any:
        of = other(of, model, picture) if model or picture else of
        bound = signature.bind(of, *given, **named)
        bound.apply_defaults()
        _, *values = bound.arguments.values()
        try:
            key = of.key_of(function, *values, *(of.point if "patch" in values else ()))
        except TypeError:  # a map: nothing by which it could be found again
            return function(*bound.args, **bound.kwargs)
        return of.kept(("lesson", key), partial(function, *bound.args, **bound.kwargs))

    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default="") for name in ("model", "picture")]
    return _known(asked, signature.replace(parameters=[*signature.parameters.values(), *more]))


def says(name: str, words: str, function: Callable[..., Any], own: Callable[[Any], Any] = word) -> None:
    """The same of a function without a name; `own=plain` of one that needs no model."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = words
    own(function)


def plain(function: Word) -> Word:
    """Into the vocabulary: of maps, places and numbers alone."""

    @wraps(function)
    def asked(of: Subject, *given: Any, **named: Any) -> Any:
        return function(*given, **named)

    signature = inspect.signature(function)
    subject = inspect.Parameter("of", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    _known(asked, signature.replace(parameters=[subject, *signature.parameters.values()]))
    return function


def _known(asked: Any, signature: inspect.Signature) -> Any:
    asked.__signature__ = signature
    VOCABULARY[asked.__name__] = asked
    return asked


def other(of: Subject, model: str = "", picture: str = "", edits: str = "") -> Subject:
    """Another model, another picture, or changes of the model at hand. NotApplicable for a name that is none."""
    of = of.pictured(picture) if picture else of
    if model in CHANGED:
        return of.kept(("lesson", model, of.point), partial(_changed, of, model))
    if model and model not in bundled.names():
        raise NotApplicable(f"“{model[:60]}” is no bundled model and none of: {', '.join(CHANGED)}.")
    return of.other(model) if model else _with(of, of.loaded, edits) if edits else of


def _changed(of: Subject, how: str) -> Subject:
    loaded = of.loaded
    made = randomised(loaded) if how == "shuffled" else changed(loaded, shift=how != "no shift", bias=how != "no bias")
    return _with(of, made)


def _with(of: Subject, loaded: Any, edits: str = "") -> Subject:
    changes = [edit for edit in edits.split(";") if edit]
    return Subject(lambda: loaded, of.original, changes, image=of.image, model=of.model, point=of.point)


def _one_of(count: int, number: At, what: str) -> int:
    """From 0. NotApplicable where there are fewer."""
    index = count if number == "last" else number
    if not (isinstance(index, int) and 1 <= index <= count):
        raise NotApplicable(f"This model has {count} {what}s here; there is no {what} {str(number)[:20]}.")
    return index - 1


def _layer(of: Subject, layer: At) -> Attention:
    if not of.layers:
        raise NotApplicable(of.seen.no_attention + ".")
    return attention_map.layers(of.whole())[_one_of(len(of.layers), layer, "layer")]


def _token(of: Subject, tokens: Tokens, query: Query) -> int:
    if isinstance(query, tuple):
        try:
            return id_of(tokens, query)
        except ValueError as sentence:
            raise NotApplicable(str(sentence)) from None
    if query == "patch":
        return id_at(tokens, of.asked) or 0
    if query not in tokens.special:
        raise NotApplicable(f"{of.name} has no token “{query[:20]}” in this layer.")
    return tokens.special.index(query)


def _class(of: Subject, cls: At) -> int:
    order = of.seen.logits.argsort(descending=True).tolist()
    rank = {"top": 1, "second": 2}.get(str(cls), cls)
    if isinstance(rank, int):
        return order[_one_of(len(order), rank, "class")]
    names = [of.loaded.label(number) for number in range(len(order))]
    if cls not in names:
        raise NotApplicable(f"{of.name} knows no class “{str(cls)[:40]}”.")
    return names.index(str(cls))


def _tokens(of: Subject, layer: At = 1) -> Tokens:
    """Those that a layer works on; of a network without attention the places of a stage."""
    return _layer(of, layer).query if of.layers else of.seen.features[_one_of(of.depth, layer, "stage")].tokens


def _grid(of: Subject, layer: At = 1) -> tuple[int, int]:
    if (grid := _tokens(of, layer).grid) is None:
        raise NotApplicable(f"The tokens of {of.name} lie on no grid.")
    return grid


# ---- what a model is made of, and what it costs ----------------------------------------------------------------------
says("rows", "Rows of patches in a layer.", lambda of, layer=1: _grid(of, layer)[0])
says("columns", "Columns of patches in a layer.", lambda of, layer=1: _grid(of, layer)[1])
says("patches", "Patches of a layer; of a CNN places of a stage.", lambda of, layer=1: math.prod(_grid(of, layer)))
says("special_tokens", "How many tokens stand for no patch.", lambda of: len(_tokens(of).special))
says("tokens", "Length of the sequence: patches and special tokens.", lambda of, layer=1: len(_tokens(of, layer)))
says("patch_side", "Side of a patch, in pixels of the input.", lambda of, layer=1: round(_tokens(of, layer).stride))
says("image_side", "Height of the model's input, in pixels.", lambda of: of.seen.image_size[0])
says("colours", "Colour channels of the model's input.", lambda of: of.loaded.preprocessing.channels)
says("width", "Numbers in a token's vector in a layer.", lambda of, layer=1: _width(of, layer))
says("layers", "How many attention layers there are.", lambda of: len(of.layers))
says("heads", "How many heads a layer has.", lambda of, layer=1: _layer(of, layer).heads)
says(
    "head_width", "Numbers in the query of one head, d_k.", lambda of, layer=1: _parts(of, layer, None).query.shape[-1]
)
says("parameters", "Weights of the model, as single numbers.", lambda of: of.loaded.parameters)
says("pairs", "Pairs that one head compares.", lambda of, layer=1: _layer(of, layer).weights[:, 0].numel())
says("classes", "How many classes the model knows.", lambda of: len(of.seen.logits))


def _width(of: Subject, layer: At) -> int:
    """Of a network without attention: of a stage."""
    if of.layers and (parts := _parts(of, layer, None)).stream is not None:
        return parts.stream.before.shape[-1]
    return of.seen.features[_one_of(len(of.seen.features), layer, "stage")].values.shape[-1]


@word
def cost_at(of: Subject, side: float, patch: float, window: int = 0) -> int:
    """Multiply–adds of one layer as wide as this model's, for an image of `side` × `side` pixels cut into patches of
    `patch` pixels. `window`: its side in tokens, 0 for global attention."""
    return cost((int(side), int(side)), int(patch), VOCABULARY["width"](of), 1, window or None).layer


# ---- what it answers -------------------------------------------------------------------------------------------------
@word
def predicted(of: Subject, cls: At = "top", edits: str = "") -> str:
    """The name of its first answer, of `second` or of another rank."""
    return of.loaded.label(_class(other(of, edits=edits), cls))


@word
def probability(of: Subject, cls: At = "top", t: float = 1, edits: str = "") -> float:
    """softmax(z / T) of a class, 0 to 1. `edits`: then of the changed model, for the class of the unchanged one."""
    return float(temperature.softened(other(of, edits=edits).seen.logits, _warm(t)).probabilities[_class(of, cls)])


@word
def doubt(of: Subject, t: float = 1) -> float:
    """Entropy of the answer at temperature T as a share of its largest value: 0 sure of one class, 1 all alike."""
    return temperature.softened(of.seen.logits, _warm(t)).entropy_share


@word
def other_share(of: Subject, rank: int = 1, t: float = 1) -> float:
    """Dark knowledge: the share of the `rank`-th of the other classes in what the first choice leaves."""
    found = temperature.dark_knowledge(of.seen.logits, _warm(t)).shares
    return float(found[_one_of(len(found), rank, "rank")])


@word
def divergence(of: Subject, teacher: str, t: float = 1) -> float:
    """KL divergence of the answer from that of a bundled `teacher` of the same classes, in nats."""
    theirs, own = other(of, teacher).seen.logits, of.seen.logits
    if len(theirs) != len(own):
        raise NotApplicable("A teacher has to know the same classes.")
    return float(loss.kl(theirs[None], own[None], _warm(t))[0])


def _warm(t: float) -> float:
    if not 0.01 <= t <= 1000:
        raise NotApplicable("A temperature lies from 0.01 to 1,000.")
    return t


@word
def likeness_of_tokens(of: Subject, layer: At = "last") -> float:
    """Cosine of the class token and the distillation token after a layer, −1 to 1."""
    return float(two_tokens.cosines(of.whole())[_one_of(of.depth, layer, "layer")])


@word
def answer_of(of: Subject, token: str = "cls", cls: At = "top") -> float:
    """Probability that the head of one token of a distilled model, `cls` or `dist`, gives a class."""
    both = two_heads(of.loaded, of.pixels)
    return float({"cls": both.cls, "dist": both.dist}[token][0].softmax(-1)[_class(of, cls)])


@word
def probability_after(of: Subject, block: At, cls: At = "top") -> float:
    """The probability that the model's own head gives a class after a block: the logit lens."""
    lens = logit_lens(of.loaded, of.whole()).logits
    return float(lens[_one_of(len(lens), block, "block")].softmax(-1)[_class(of, cls)])


# ---- attention -------------------------------------------------------------------------------------------------------
@word
def attention(of: Subject, layer: At = "last", head: At = "mean", query: Query = "cls", edits: str = "") -> Map:
    """What a query gives every patch in a layer; with what special tokens get, 1 in all."""
    return _row(other(of, edits=edits), layer, head, query)[1].places


@word
def paid_to(of: Subject, token: str = "cls", layer: At = "last", head: At = "mean", query: Query = "cls") -> float:
    """The share of its attention that a query gives a special token."""
    at, row = _row(of, layer, head, query)
    return row.special[at.key.special[_token(of, at.key, token)]]


def _row(of: Subject, layer: At, head: At, query: Query) -> tuple[Attention, Any]:
    at = _layer(of, layer)
    return at, attention_map.attention_map(at, _asked(of, at.query, query), _head(at, head))


def _asked(of: Subject, tokens: Tokens, query: Query) -> Any:
    """As the analyses have it: the name of a special token, or a point."""
    token = _token(of, tokens, query)
    return query if query in tokens.special else middle_of(tokens, token)


def _head(layer: Attention, head: At) -> int | None:
    return None if head == "mean" else _one_of(layer.heads, head, "head")


def _parts(of: Subject, layer: At, token: int | None) -> Any:
    index = _one_of(len(of.layers), layer, "layer")
    return of.kept(("parts", index, token), lambda: attention_parts(of.loaded, of.pixels, index, token_id=token))


def _pair(of: Subject, layer: At, head: At, query: Query, key: Query) -> tuple[Any, tuple[int, int, int]]:
    """A layer taken apart, and where a pair stands in it: (head, query, key)."""
    at = _layer(of, layer)
    asks, asked = _token(of, at.query, query), _token(of, at.key, key)
    parts = _parts(of, layer, asks)
    keys = parts.key_ids.tolist()
    if asked not in keys:
        raise NotApplicable("Query and key lie in different windows, so they are never compared.")
    return parts, (_head(at, head) or 0, parts.query_ids.tolist().index(asks), keys.index(asked))


@word
def score(of: Subject, layer: At, head: int, query: Query, key: Query, scaled: bool = True) -> float:
    """q · k, divided by √d_k unless `scaled` is False: what softmax gets, without bias and mask."""
    parts, at = _pair(of, layer, head, query, key)
    return float((parts.scaled if scaled else parts.scores)[at])


def _laid(of: Subject, layer: At, head: int, query: Query, values: Callable[[Any], Tensor]) -> Map:
    """A row of what is made of a layer's parts, on the grid; of a Swin NaN outside its window."""
    parts, (at, row, _) = _pair(of, layer, head, query, query)
    return on_grid(values(parts)[at, row], parts.key_ids, parts.key_tokens)


@word
def scores(of: Subject, layer: At, head: int, query: Query = "cls") -> Map:
    """The scaled scores of a query with every patch, before softmax."""
    return _laid(of, layer, head, query, lambda parts: parts.scaled)


@word
def unscaled(of: Subject, layer: At, head: int, query: Query = "cls") -> Map:
    """The weights that a query would give every patch without the division by √d_k."""
    return _laid(of, layer, head, query, lambda its: steps(its.query, its.key, its.value, 1.0, its.bias).weights)


@word
def contributions(of: Subject, layer: At, head: int, query: Query = "cls") -> Map:
    """Weight × length of what is passed on, ‖α f(x)‖, of every patch: a large weight on a short vector moves little."""
    return _laid(of, layer, head, query, lambda its: value_weighted(its.weights, its.value, its.out_weight))


@word
def distance(of: Subject, layer: At, head: At = "mean") -> float:
    """How far a patch looks on average, in patches."""
    return _mean(of, layer, head, statistics.mean_distance_px) / (_tokens(of, layer).stride or 1)


@word
def evenness(of: Subject, layer: At, head: At = "mean") -> float:
    """Entropy of the weights as a share of log N, mean over queries: 0 one key each, 1 all keys alike."""
    return _mean(of, layer, head, statistics.mean_entropy) / math.log(max(2, _layer(of, layer).weights.shape[-1]))


def _mean(of: Subject, layer: At, head: At, measure: Callable[[Attention], Tensor]) -> float:
    values, at = measure(_layer(of, layer)), _head(_layer(of, layer), head)
    return float(values.mean() if at is None else values[min(at, len(values) - 1)])


@word
def head_loss(of: Subject, layer: int, head: int) -> float:
    """What log p of the answer to this picture loses when a head adds nothing, in nats; below 0: it gains."""
    _head(_layer(of, layer), head)
    return log(probability(of)) - log(probability(of, edits=f"heads:{layer}.{head}=0"))


@word
def residual_share(of: Subject, layer: At, query: Query = "cls") -> float:
    """‖branch‖ ÷ (‖before‖ + ‖branch‖): how much attention adds to a token's vector, beside what it had, 0 to 1."""
    parts, (_, row, _) = _pair(of, layer, "mean", query, query)
    if parts.stream is None:
        raise NotApplicable("The residual connection of this layer is not to be seen.")
    before, branch = float(parts.stream.before[row].norm()), float(parts.stream.branch[row].norm())
    return branch / (before + branch)


# ---- explanations ----------------------------------------------------------------------------------------------------
@word
def rollout(of: Subject, query: Query = "cls", depth: At = "last", residual: float = 0.5) -> Map:
    """Attention rollout up to a layer: the share of every patch, together 1. `query` `mean`: of all patches."""
    asked = query if query == "mean" else _asked(of, _layer(of, depth).query, query)
    grown = rollout_by_layer(of.whole(), asked, residual=residual)
    return shares(grown[_one_of(len(grown), depth, "layer")].grid)


@word
def relevance(of: Subject, method: str = "generic_relevance", cls: At = "top") -> Map:
    """The map of a method of the page Relevance for a class, on patches; below 0 what speaks against it."""
    if method not in METHODS:
        raise NotApplicable(f"There is no method “{method[:30]}”, only {', '.join(METHODS)}.")
    return on_patches(of.explanation(method, _class(of, cls), None))


@word
def survives(of: Subject, method: str = "generic_relevance") -> float:
    """Rank correlation of a map for the answer with that of the same model with shuffled weights, −1 to 1: near 0 is
    good."""
    target = _class(of, "top")
    return randomisation.survives(*(each.explanation(method, target, None) for each in (of, other(of, "shuffled"))))


@word
def probability_without(of: Subject, map: Map, share: float) -> float:
    """The probability of the answer when a share of the picture (0.5, 0.25, 0.1, …) is blurred where the map is
    highest."""
    subject = subject_of(of.loaded, of.rgb, _class(of, "top"), None)
    (found,) = deletion.curves(subject, [map.nan_to_num()], cells_of(of.seen), steps=round(1 / share))
    return float(found.deletion[1])


@word
def on_insect(of: Subject, map: Map) -> float:
    """The share of a map that lies on the drawn insect. NotApplicable for other pictures, whose truth nobody knows."""
    found = map.clamp(min=0).nan_to_num()
    return float((found * _covered(of, (map.shape[0], map.shape[1]))).sum() / found.sum().clamp(min=1e-30))


says("insect_known", "Whether it is known where the animal is.", lambda of: of.covered((1, 1)) is not None)


@word
def insect_share(of: Subject) -> float:
    """The share of the picture that the drawn insect covers: what a map without any aim would get."""
    return float(_covered(of, _grid(of)).mean())


def _covered(of: Subject, grid: tuple[int, int]) -> Map:
    if (covered := of.covered(grid)) is None:
        raise NotApplicable("Where the animal is, is known of the drawn insects alone.")
    return covered


# ---- positions and vectors -------------------------------------------------------------------------------------------
says("position_kind", "How a model knows places: learned, relative bias, …", lambda of: ", ".join(kind(of.loaded)))


@word
def position_likeness(of: Subject, query: Query = "patch") -> Map:
    """Cosine of the learned position of a patch with all others."""
    table = _table(of)
    token = _token(of, Tokens("positions", (), (table.shape[0], table.shape[1]), stride=1.0), query)
    return positions.similarity_to(table.flatten(0, 1), token).view(table.shape[:2])


@word
def position_cosine(of: Subject, steps: int) -> float:
    """Mean cosine of the learned positions of two patches that lie so many patches apart."""
    found = positions.by_distance(_table(of))
    return float(found.mean[(found.distance - steps).abs().argmin()])


def _table(of: Subject) -> Tensor:
    if (table := learned_table(of.loaded)) is None:
        raise NotApplicable(f"{of.name} has no learned table of positions.")
    return table


@word
def likeness(of: Subject, block: int = 0, query: Query = "patch") -> Map:
    """Cosine of a patch's vector with all others after a block; 0: as embedded, before positions."""
    if block:
        features = of.whole().features[_one_of(len(of.whole().features), block, "block")]
        tokens, values = features.tokens, features.values
    else:
        tokens = Tokens("patches", (), _grid(of), stride=_tokens(of).stride)
        values = patch_embedding(of.loaded, of.pixels).vectors.flatten(0, 1)
    found = positions.similarity_to(values, _token(of, tokens, query))
    return found[len(tokens.special) :].view(tokens.grid or (1, -1))


# ---- windows that shift ----------------------------------------------------------------------------------------------
says("window_side", "Side of a Swin's window, in tokens.", lambda of, block=1: place(of, block).block.window[0])
says("windows", "How many windows a block of a Swin has.", lambda of, block=1: place(of, block).windows().count)
says("shift_of", "By how many tokens a block's windows shift.", lambda of, block=2: place(of, block).block.shift[0])


@word
def seen_from(of: Subject, block: int = 2, query: Query = "patch") -> Map:
    """1 for every token that a token may look at in a block, else 0: its window, less what the mask takes out."""
    here = place(of, block)
    layout = here.windows()
    window, at = window_of(layout, _token(of, here.of.tokens, query))
    return on_grid(
        allowed(layout, window)[at].float(), layout.ids[layout.windows == window], here.of.tokens
    ).nan_to_num()


@word
def reach(of: Subject, block: int | None = None, query: Query = "patch") -> float:
    """The share of the image that can reach a token of the last stage by the end of a block."""
    tokens = place(of, None).of.tokens
    fields = fields_of(of, places(of), middle_of(tokens, _token(of, tokens, query)))
    return fields[place(of, block).index].share


# ---- convolution and texts -------------------------------------------------------------------------------------------
says("convolutions", "Convolutions and pools.", lambda of: len(field_of.walk(of.loaded).layers))


@word
def field_side(of: Subject, stage: At = "last") -> int:
    """Side of the receptive field of a unit that leaves a stage, in pixels of the input, padding counted."""
    stages = field_of.walk(of.loaded).stages
    seen = stages[_one_of(len(stages), stage, "stage")]
    return max(of.seen.image_size) if seen is None else seen.rows.size


@word
def used_side(of: Subject, stage: At = "last", share: float = 0.68) -> float:
    """Side of the square that holds a share of what the pixels do to the middle unit of a stage, in pixels."""
    with torch.enable_grad():
        fields = effective_field.effective_fields(of.loaded, [of.pixels])
    field = fields[_one_of(len(fields), stage, "stage")]
    return side_holding(field.share, field.centre_yx, share)


@word
def likeness_when_moved(of: Subject, pixels: int) -> float:
    """Cosine of the features before and after the picture moves to the right, −1 to 1: 1 where nothing changes."""
    return float(shifting.answers_when_moved(of.loaded, of.pixels, [pixels]).cosine[0, 0])


@word
def gradient_left(of: Subject, depth: int, activation: str = "sigmoid", residual: bool = False) -> float:
    """The gradient at the first of `depth` equal layers with random weights, as a share of that at the last."""
    norms = gradient_norms(Network(depth=min(max(int(depth), 2), 60), activation=activation, residual=bool(residual)))
    return float(norms[0] / norms[-1])


@word
def remembered(of: Subject, network: str, letters: int = 4, gap: int = 16) -> float:
    """How much the first of some letters, read before a gap, matters to the answer of a bundled network that repeats
    them ("RNN", "LSTM", "LSTM + attention", "Transformer"): its gradient as a share of the largest."""
    if network not in BUNDLED or not (1 <= letters <= 8 and 0 <= gap <= 40):
        raise NotApplicable("A bundled network reads 1 to 8 letters and a gap of 0 to 40.")
    model, _ = opened(of, f"bundled:{BUNDLED[network].replace('dates', 'copy')}")
    return float(strength_of(model, gaps.source(tuple("cafebdhg"[:letters]), gap))[0])


# ---- of maps, places and numbers -------------------------------------------------------------------------------------
@plain
def largest(map: Map) -> Place:
    """The place of the largest value."""
    at = int(map.nan_to_num(-math.inf).argmax())
    return at // map.shape[1], at % map.shape[1]


@plain
def log(x: float) -> float:
    """The natural logarithm; of less than 1e-30 that of 1e-30."""
    return math.log(max(x, 1e-30))


@plain
def holding(map: Map, share: float = 0.5) -> int:
    """How many patches, the largest first, hold this share of a map."""
    return round(receptive_field.holding(map.clamp(min=0).nan_to_num(), share) * map.numel())


says("at", "The value of a map at a place.", lambda map, place: float(map[place]), plain)
says("peak", "The largest value of a map.", lambda map: float(map.nan_to_num(-math.inf).max()), plain)
says("total", "The sum of a map.", lambda map: float(map.nan_to_num().sum()), plain)
says(
    "correlation", "Rank correlation of two maps.", lambda one, other: float(randomisation.spearman(one, other)), plain
)
says(
    "overlap",
    "What two maps have on the same patches, 0 to 1.",
    lambda one, other: 1 - total_variation(one, other),
    plain,
)
says("apart", "How far two places lie apart, in patches.", lambda one, two: math.dist(one, two), plain)
says("exp", "eˣ.", lambda x: math.exp(min(x, 700)), plain)
says("sqrt", "√x.", lambda x: math.sqrt(max(x, 0)), plain)
