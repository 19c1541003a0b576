"""An image four times as large, with the texture of a second one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from vizkit.commands.options import Quiet, writes
from vizkit.commands.output import progress, refuse_output, write_output, writing_to

if TYPE_CHECKING:
    from vizkit.image import RGB
    from vizkit.traces import Trace


def enlarge(
    image: str,
    /,
    *,
    reference: str | None = None,
    model: str = "bundled:insects_ttsr",
    output: Annotated[Path, writes(".png")],
    trace: Annotated[Path | None, Parameter(validator=lambda _, path: refuse_output(path, (".npz", ".png")))] = None,
    quiet: Quiet = False,
) -> None:
    """Enlarge an image four times, with the texture of a second one.

    vizkit enlarge small.png --reference large.jpg -o enlarged.png --trace taken.png

    Args:
        image: An image file, of at most a million pixels.
        reference: An image with the texture that is missing, of any size and shape.
        model: Bundled:NAME or a run folder; bundled:insects_sr takes no reference.
        output: The enlarged image.
        trace: OUT.npz or OUT.png: which place of the reference each place took, as a trace or as lines in a figure;
            for images of some 64 × 64 pixels.
    """
    from PIL import Image

    from vizkit.image import open_image
    from vizkit.models import super_resolution
    from vizkit.models.super_resolution.enlarging import refuse_large

    enlarger = super_resolution.open_enlarger(model)
    if enlarger.uses_reference and not reference:
        raise ValueError(f"{enlarger.name} takes its texture from a second image: give it by --reference.")
    small = open_image(image)
    refuse_large(small)
    other = open_image(reference) if enlarger.uses_reference and reference else None
    if trace and other is None:
        raise ValueError(f"{enlarger.name} looks at no second image, so there is no trace: leave --trace out.")
    recorded = super_resolution.trace(enlarger, small, other) if trace and other is not None else None
    with progress("tile", quiet=quiet) as tell:
        enlarged = super_resolution.enlarge(enlarger, small, other, tell=tell)
    write_output(output, lambda path: Image.fromarray(enlarged).save(path, "PNG"))
    if trace and recorded and other is not None:
        with writing_to(trace):
            _save_trace(recorded, small, other, trace)
    print(f"{output}: {enlarged.shape[1]} × {enlarged.shape[0]} pixels by {enlarger.name}")


def _save_trace(recorded: "Trace", small: "RGB", reference: "RGB", path: Path) -> None:
    """As numbers, or as a figure of the two images with lines, the lighter the more alike the places are."""
    from PIL import Image

    from vizkit.figure.attention.matches import matches
    from vizkit.models.super_resolution.enlarging import fitting_reference
    from vizkit.saving import save_npz
    from vizkit.writing import write

    if path.suffix.lower() == ".npz":
        return save_npz(recorded, path)
    relevance = recorded.features[0].values[:, 0]
    drawn = matches(recorded.attention[0], small, fitting_reference(reference), strength=relevance)
    write(path, lambda unfinished: Image.fromarray(drawn).save(unfinished, "PNG"))
