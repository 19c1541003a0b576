"""A trace of a model that is changed on the way: what its edits need, and the pass that follows them."""

from collections.abc import Sequence
from dataclasses import replace

from jaxtyping import Float
from torch import Tensor

from vizkit.models.families import family
from vizkit.models.probes.importance.means import head_means
from vizkit.models.recording.editing import Place, Plan, planned
from vizkit.models.recording.edits import Edit
from vizkit.models.recording.recorder import Keep
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import Trace

__all__ = ["attention_places", "changed_trace"]


def changed_trace(
    loaded: Loaded,
    pixels: Float[Tensor, "1 channel height width"],
    edits: tuple[Edit, ...],
    reference: Sequence[Float[Tensor, "1 channel height width"]] = (),
    *,
    target: int | None = None,
    keep: Keep | None = None,
) -> Trace:
    """See `models.trace`. The notes of the trace say what was changed."""
    places = attention_places(loaded, pixels)
    means = head_means(loaded, reference, places) if any(edit.how == "mean" for edit in edits) else ()
    with planned(Plan(edits, places, means=means)):
        changed = family(loaded.model).trace(loaded, pixels, target=target, keep=keep)
    return replace(changed, notes=(f"Changed: {', '.join(map(str, edits))}.", *changed.notes))


def attention_places(loaded: Loaded, pixels: Tensor) -> tuple[Place, ...]:
    """The attention layers of the unchanged model at this input size, once."""
    size_hw = (pixels.shape[-2], pixels.shape[-1])
    if size_hw not in loaded.places:
        plain = family(loaded.model).trace(loaded, pixels, target=None, keep=Keep(heads="mean"))
        learned = [layer for layer in plain.attention if layer.learned]
        loaded.places[size_hw] = tuple(Place(len(a.key_ids), a.heads, a.key_ids) for a in learned)
    return loaded.places[size_hw]
