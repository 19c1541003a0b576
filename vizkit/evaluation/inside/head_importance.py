"""The importance of every head of a model over many pictures of a set."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import torch

from vizkit.analysis.attention.head_importance import HeadImportance, summed_up
from vizkit.evaluation.inside.few_pictures import few_pictures
from vizkit.evaluation.inside.sharing import mine, together
from vizkit.models import Loaded, attention_places
from vizkit.models.probes.importance.heads import Importance, Means, head_importance
from vizkit.models.probes.importance.means import head_means
from vizkit.models.recording.editing import Place
from vizkit.traces import NotApplicable

if TYPE_CHECKING:
    from accelerate import Accelerator


Ablation = Literal["mean", "zero"]
ABLATIONS: tuple[Ablation, ...] = ("mean", "zero")
BATCH = 8
REFERENCES = 64  # training pictures, over which a head's mean is taken


def heads_of(
    loaded: Loaded,
    data: str,
    images: int,
    *,
    ablation: Ablation = "mean",
    seed: int = 0,
    tell: Callable[[float], None] = lambda _: None,
    parts: list[Importance] | None = None,
    accelerator: "Accelerator | None" = None,
) -> HeadImportance:
    """Of the model's own answers to test pictures of a set. A head that is taken away gives its mean over training
    pictures, or nothing ("zero"). `tell` hears the share that is done and may raise to stop: `parts` then holds what
    was measured, and the next call with them goes on from there. With an `accelerator` every process takes every
    n-th batch.

    Raises DatasetError, EditError for attention that cannot be edited, NotApplicable for a model without classes or
    without attention.
    """
    places, parts = places_of(loaded), [] if parts is None else parts
    pictures = few_pictures(loaded, data, images, seed=seed)
    means = means_of(loaded, data, places, seed) if ablation == "mean" else ()
    for rows in mine(pictures.batches(BATCH, sum(len(part.plain) for part in parts)), accelerator):
        pixels = pictures.pixels(rows)
        with torch.no_grad():
            answers = loaded.model(pixels.to(loaded.device)).argmax(-1)

        def done(part: float, rows: range = rows) -> None:
            tell((rows.start + part * len(rows)) / len(pictures))

        parts.append(head_importance(loaded, pixels, answers, places, done, means))
    return gathered(together(parts, accelerator))


def gathered(parts: Sequence[Importance]) -> HeadImportance:
    """Of all pictures that were measured."""
    lost, flipped, estimate = (
        torch.cat([getattr(part, name) for part in parts]).double().numpy() for name in ("lost", "flipped", "estimate")
    )
    return summed_up(parts[0].names, lost, flipped, estimate)


def places_of(loaded: Loaded) -> tuple[Place, ...]:
    """The attention layers of a model with answers. Raises NotApplicable."""
    if not loaded.classifies:
        raise NotApplicable(f"{loaded.name} gives {loaded.head.gives}: there is no answer to lose.")
    preprocessing = loaded.preprocessing
    blank = torch.zeros(1, preprocessing.channels, *preprocessing.size_hw, device=loaded.device)
    places = attention_places(loaded, blank)
    if not places:
        raise NotApplicable(f"{loaded.name} has no attention layers.")
    return tuple(places)


def means_of(loaded: Loaded, data: str, places: Sequence[Place], seed: int = 0) -> Means:
    """What every head gives on average, over training pictures of the set."""
    references = few_pictures(loaded, data, REFERENCES, "train", seed)
    return head_means(loaded, (references.pixels(rows) for rows in references.batches(BATCH)), places)
