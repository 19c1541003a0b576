"""`python -m vizkit patching`: which parts of a clean run bring the answer of a corrupted one back.

python -m vizkit patching photo.jpg --model bundled:insects_vit --corrupt blur -o shares.npz -o maps.png
python -m vizkit patching mayfly.png --model bundled:insects_vit --corrupt stonefly.png -o shares.npz
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import vizkit
from vizkit.analysis.comparison.corruption import CORRUPTIONS, corrupted
from vizkit.commands.model_options import add_model_options, class_of, load
from vizkit.commands.output import refuse_output, write_arrays, write_output

if TYPE_CHECKING:
    from vizkit.image import RGB
    from vizkit.models import Loaded

__all__ = ["add"]

LEAST_PX = 224


def add(commands: Any) -> None:  # noqa: ANN401
    """Add the command to argparse's subparsers."""
    command = commands.add_parser("patching", help="put parts of a clean run into a corrupted one, block by block")
    command.add_argument("image", metavar="IMAGE", help="a picture file")
    command.add_argument("-o", "--output", required=True, action="append", type=Path, metavar="OUT",
                         help="OUT.npz for the numbers, OUT.png for the maps of all blocks, repeatable")  # fmt: skip
    add_model_options(command)
    command.add_argument("--corrupt", default="blur", metavar="HOW", help="blur, noise, or another picture file (blur)")
    command.add_argument("--target", metavar="CLASS", help="name or number of the class (the most probable one)")
    command.add_argument("--against", metavar="CLASS", help="restore the target's logit less that of this class")
    command.add_argument("--rows", type=int, default=16, metavar="N", help="rows of regions at most (16)")
    command.set_defaults(run=_patching)


def _patching(arguments: argparse.Namespace) -> None:
    for output in arguments.output:
        refuse_output(output, (".png", ".npz"))
    if arguments.rows < 2:
        raise ValueError("--rows is 2 or more.")
    from tqdm import tqdm

    from vizkit.analysis.attribution.restored import restored
    from vizkit.models import attention_places, pixels_of
    from vizkit.models.probes.interventions.patching import patch

    image = vizkit.open_image(arguments.image)
    how = arguments.corrupt
    other = corrupted(image, how) if how in CORRUPTIONS else vizkit.open_image(how)
    loaded = load(arguments)
    clean = pixels_of(loaded, image)
    places = attention_places(loaded, clean)
    with tqdm(total=100, unit="%", disable=None, dynamic_ncols=True) as bar:

        def done(share: float) -> None:
            bar.update(100 * share - bar.n)

        made = patch(loaded, clean, pixels_of(loaded, other), places, arguments.rows, done)
    labels = [label and class_of(loaded, label) for label in (arguments.target, arguments.against)]
    target = loaded.head.target(made.clean) if labels[0] is None else int(labels[0])
    shares = {
        name: restored(logits, made.clean, made.corrupted, target, labels[1]).numpy()
        for name, logits in (("regions", made.regions), ("special", made.special))
    }
    if made.heads is not None:
        heads = [restored(each, made.clean, made.corrupted, target, labels[1]).numpy() for each in made.heads]
        shares |= {"heads": np.concatenate(heads), "heads_by_layer": np.array([len(each) for each in heads])}
    print(f"{loaded.name}: {loaded.label(target)}, corrupted by {how}")
    for block, regions in enumerate(shares["regions"], 1):
        row, column = np.unravel_index(regions.argmax(), regions.shape)
        tokens = "".join(f"  {name} {value:7.1%}" for name, value in
                         zip(made.names, shares["special"][block - 1], strict=True))  # fmt: skip
        print(f"after block {block:2}: row {row + 1}, column {column + 1} restores {regions.max():7.1%}{tokens}")
    for output in arguments.output:
        if output.suffix.lower() == ".npz":
            write_arrays(output, clean=made.clean.numpy(), corrupted=made.corrupted.numpy(), target=target, **shares)
        else:
            _picture(output, loaded, image, shares["regions"])
        print(output)


def _picture(output: Path, loaded: "Loaded", image: "RGB", regions: np.ndarray) -> None:
    """The map after every block over the picture: red restores, blue takes away."""
    from PIL import Image

    from vizkit.figure.overlay import overlay
    from vizkit.figure.palette import SIGNED
    from vizkit.figure.sheet import enlarged, sheet
    from vizkit.image import seen_box

    large = enlarged(image, LEAST_PX)
    box = seen_box((large.shape[0], large.shape[1]), loaded.preprocessing)
    maps = [overlay(large, np.clip(each, -1, 1), box, top=1.0, scale=SIGNED) for each in regions]
    whole = Image.fromarray(sheet(maps, [f"after block {block}" for block in range(1, len(maps) + 1)]))
    write_output(output, whole.save)
