"""Models: load one from any source, run an image through it, get a Trace. One file per family."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import UInt8
from numpy import ndarray
from torch import Tensor

import vizkit.models.quick_import  # noqa: F401 # isort: skip - before all that imports timm
from vizkit.image import mean_difference, prepare
from vizkit.models import families
from vizkit.models.changing import attention_places, changed_trace
from vizkit.models.families import FAMILIES, family, family_of
from vizkit.models.probes.interventions.stream_edits import Directions
from vizkit.models.recording.edits import Edit, EditError, parse
from vizkit.models.recording.recorder import Keep
from vizkit.models.sources.hub import ModelError, OfflineError
from vizkit.models.sources.loading import Loaded, bundled_names, load
from vizkit.models.sources.wrap import wrap
from vizkit.shortage import memory_short
from vizkit.traces import NotApplicable, Trace, TraceError

__all__ = [
    "FAMILIES",
    "Edit",
    "EditError",
    "Keep",
    "Loaded",
    "ModelError",
    "OfflineError",
    "attention_places",
    "bundled_names",
    "family",
    "family_of",
    "load",
    "trace",
    "wrap",
]


def pixels_of(loaded: Loaded, image: UInt8[ndarray, "height width 3"]) -> Tensor:
    """The model's input for an image, (1, channel, height, width), by the model's own preprocessing and in the
    precision of its weights."""
    return torch.from_numpy(prepare(image, loaded.preprocessing)[0])[None].to(loaded.dtype)


def _compared(made: Trace, pixels: Tensor, theirs: ndarray) -> Trace:
    """The trace with the proof of what the model was given. In half precision both are rounded alike."""
    error = mean_difference(pixels[0].float().numpy(), torch.from_numpy(theirs).to(pixels.dtype).float().numpy())
    check = replace(made.check, pixels_error=error)
    failed = (check.failure,) if check.failure and check.failure not in made.notes else ()
    return replace(made, check=check, notes=(*failed, *made.notes))


@torch.inference_mode(mode=False)
def trace(
    loaded: Loaded,
    image: UInt8[ndarray, "height width 3"],
    target: int | str | None = None,
    keep: Keep | None = None,
    edits: Sequence[Edit | str] = (),
    reference: Sequence[UInt8[ndarray, "_height _width 3"]] = (),
    directions: Directions | None = None,
) -> Trace:
    """Run one image and record what every layer attends to.

    `target`: class whose logit's gradient with respect to every attention weight is recorded too, by number or name
    (`Loaded.number_of`), also where the caller asks for none (`torch.no_grad`). `keep`: which layers,
    rows and heads, for inputs with thousands of tokens. `edits`: changes to the attention on the way, as records or as
    text such as "heads:3.5=0" (`recording.edits`); the trace says in its notes what was changed. `reference`: images
    from which "heads:3.5=mean", "frozen:3.5" and "patch:stream.3" take what they put in, `directions`: what
    "steer:6=2*1" adds (`probes.interventions`). Raises TraceError when the recording does not hold together, or the
    memory does not suffice for it, and EditError for an edit that cannot be made.
    """
    if target is not None and any(parameter.is_inference() for parameter in loaded.model.parameters()):
        raise TraceError(
            f"{loaded.name} was made under torch.inference_mode, where nothing has a gradient: load it outside."
        )
    pixels, needs, target = pixels_of(loaded, image), loaded.preprocessing, loaded.number_of(target)
    changes = tuple(parse(edit) if isinstance(edit, str) else edit for edit in edits)
    try:
        if changes:
            others = [pixels_of(loaded, other) for other in reference]
            made = changed_trace(loaded, pixels, changes, others, directions, target=target, keep=keep)
        else:
            made = families.trace(loaded, pixels, target=target, keep=keep)
        return made if needs.processor is None else _compared(made, pixels, needs.processor(image))
    except (TraceError, NotApplicable, EditError):
        raise
    except (RuntimeError, MemoryError, AssertionError, ValueError) as error:
        if (given := tuple(pixels.shape[-2:])) != needs.size_hw and not memory_short(error):
            raise TraceError(
                f"{loaded.name} does not take {given[0]}×{given[1]} pixels, which its image processor leaves: give it "
                f"an image of {needs.size_hw[0]}×{needs.size_hw[1]}."
            ) from error
        if not (owner := memory_short(error)):
            raise
        raise TraceError(
            f"The memory of {owner} does not suffice to record {loaded.name}: keep fewer layers, some rows only or the "
            "mean of the heads, or choose a smaller image size or model."
        ) from error
