"""A trace of a model that is changed on the way: what its edits need, and the pass that follows them."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.geometry import size_of
from vizkit.models import families
from vizkit.models.families.places import regions_of
from vizkit.models.probes.importance.means import head_means
from vizkit.models.probes.interventions.stream_edits import Directions, with_edits
from vizkit.models.recording.editing import Place, Plan, planned
from vizkit.models.recording.edits import ALL, Edit, refuse_impossible
from vizkit.models.recording.recorder import Keep
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import Trace


def changed_trace(
    loaded: Loaded,
    pixels: Float[Tensor, "1 channel height width"],
    edits: tuple[Edit, ...],
    reference: Sequence[Float[Tensor, "1 channel height width"]] = (),
    directions: Directions | None = None,
    *,
    target: int | None = None,
    keep: Keep | None = None,
) -> Trace:
    """See `models.trace`. The notes of the trace say what was changed."""
    places = attention_places(loaded, pixels)
    refuse_impossible(edits, [place.heads for place in places])
    others = torch.cat([*reference]) if reference else None
    twin = with_edits(loaded, edits, others, directions)
    means = head_means(loaded, reference, places) if any(edit.how == "mean" for edit in edits) else ()
    dropped = tuple(token for edit in edits if edit.kind == "drop" for token in edit.tokens)
    plan = Plan(edits, places, means=means, frozen=_frozen(loaded, pixels, edits, reference), dropped=dropped)
    with planned(plan):
        changed = families.trace(twin, pixels, target=target, keep=keep)
    return replace(changed, notes=(f"Changed: {', '.join(map(str, edits))}.", *changed.notes))


def _frozen(
    loaded: Loaded, pixels: Tensor, edits: tuple[Edit, ...], reference: Sequence[Tensor]
) -> dict[tuple[Edit, int], Float[Tensor, "_group _head _query _key"]]:
    """The weights that frozen heads follow: of other layers of this image, or the mean over the reference images."""
    own = [edit for edit in edits if edit.kind == "frozen"]
    of_image = _weights(loaded, [pixels]) if any(edit.numbers for edit in own) else []
    of_reference = _weights(loaded, reference) if reference and not all(edit.numbers for edit in own) else []
    frozen = {}
    for edit in own:
        source, head = edit.numbers or (ALL, ALL)
        weights = of_image if edit.numbers else of_reference
        for layer in range(len(weights)) if edit.layer == ALL else [edit.layer]:
            if weights:
                followed = weights[layer if source == ALL else source]
                frozen[edit, layer] = followed if head == ALL else followed[:, head : head + 1]
    return frozen


def _weights(loaded: Loaded, images: Sequence[Tensor]) -> list[Tensor]:
    """Of every layer the mean over images of its attention weights."""
    traces = [families.trace(loaded, pixels, target=None) for pixels in images]
    layers = zip(*([layer.weights for layer in each.attention if layer.learned] for each in traces), strict=True)
    return [torch.stack(weights).mean(0) for weights in layers]


def attention_places(loaded: Loaded, pixels: Tensor) -> tuple[Place, ...]:
    """The attention layers of the unchanged model at this input size, once."""
    size_hw = size_of(pixels)
    if size_hw not in loaded.places:
        plain = families.trace(loaded, pixels, target=None, keep=Keep(heads="mean"))
        learned = [layer for layer in plain.attention if layer.learned]
        loaded.places[size_hw] = tuple(
            Place(len(a.key_ids), a.heads, a.key_ids, regions_of(loaded.model, a)) for a in learned
        )
    return loaded.places[size_hw]
