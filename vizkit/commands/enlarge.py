"""`python -m vizkit enlarge`: a picture four times as large, with the texture of a second one.

python -m vizkit enlarge small.png --reference large.jpg -o enlarged.png
python -m vizkit enlarge small.png --reference large.jpg -o enlarged.png --trace taken.png
python -m vizkit enlarge small.png --model bundled:insects_sr -o enlarged.png
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizkit.commands.output import refuse_output, write_output, writing_to

if TYPE_CHECKING:
    from vizkit.image import RGB
    from vizkit.traces import Trace

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    command = commands.add_parser("enlarge", help="enlarge a picture four times, with the texture of a second one")
    command.add_argument("image", metavar="IMAGE", help="a picture file, of at most a million pixels")
    command.add_argument(
        "--reference", metavar="REF", help="a picture with the texture that is missing, of any size and shape"
    )
    command.add_argument(
        "--model",
        default="bundled:insects_ttsr",
        metavar="MODEL",
        help="bundled:NAME or a run folder (bundled:insects_ttsr); bundled:insects_sr takes no reference",
    )
    command.add_argument("-o", "--output", required=True, type=Path, metavar="OUT.png", help="the enlarged picture")
    command.add_argument(
        "--trace",
        type=Path,
        metavar="OUT.npz|png",
        help="which place of the reference each place took: as a trace, or as lines in a picture; for "
        "pictures of some 64 × 64 pixels",
    )
    command.add_argument("--quiet", action="store_true", help="no progress bar")
    command.set_defaults(run=_enlarge)


def _enlarge(arguments: argparse.Namespace) -> None:
    refuse_output(arguments.output, (".png",))
    if arguments.trace:
        refuse_output(arguments.trace, (".npz", ".png"))
    from PIL import Image
    from tqdm import tqdm

    from vizkit.image import open_image
    from vizkit.models.super_resolution import enlarge, open_enlarger, trace
    from vizkit.models.super_resolution.enlarging import refuse_large

    enlarger = open_enlarger(arguments.model)
    if enlarger.uses_reference and not arguments.reference:
        raise ValueError(f"{enlarger.name} takes its texture from a second picture: give it by --reference.")
    small = open_image(arguments.image)
    refuse_large(small)
    reference = open_image(arguments.reference) if enlarger.uses_reference else None
    if arguments.trace and reference is None:
        raise ValueError(f"{enlarger.name} looks at no second picture, so there is no trace: leave --trace out.")
    recorded = trace(enlarger, small, reference) if arguments.trace and reference is not None else None
    with tqdm(unit="tile", disable=arguments.quiet, leave=False) as bar:

        def tell(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        enlarged = enlarge(enlarger, small, reference, tell=tell)
    write_output(arguments.output, lambda path: Image.fromarray(enlarged).save(path, "PNG"))
    if recorded and reference is not None:
        with writing_to(arguments.trace):
            _save_trace(recorded, small, reference, arguments.trace)
    print(f"{arguments.output}: {enlarged.shape[1]} × {enlarged.shape[0]} pixels by {enlarger.name}")


def _save_trace(recorded: "Trace", small: "RGB", reference: "RGB", path: Path) -> None:
    """As numbers, or as a picture of the two pictures with lines, the lighter the more alike the places are."""
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
