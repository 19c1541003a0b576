"""`python -m vizkit steer`: the answers when the direction of a class is added after a block, more and more of it.

python -m vizkit steer photo.jpg --model bundled:insects_vit --towards "dragonfly nymph" --block 4 -o curve.npz
"""

import argparse
from pathlib import Path
from typing import Any

import vizkit
from vizkit.commands.model_options import add_model_options, load
from vizkit.commands.output import refuse_output, write_arrays

__all__ = ["add"]

FACTORS = tuple(half / 2 for half in range(-4, 13))


def add(commands: Any) -> None:  # noqa: ANN401
    """Add the command to argparse's subparsers."""
    command = commands.add_parser("steer", help="add the direction of a class to what a block gives")
    command.add_argument("image", metavar="IMAGE", help="a picture file")
    add_model_options(command)
    command.add_argument("--towards", required=True, metavar="CLASS", help="a class of the set, by its name")
    command.add_argument("--block", type=int, required=True, metavar="N", help="after this block, counted from 1")
    command.add_argument("--data", default="insects", metavar="SET", help="insects, digits, a folder (insects)")
    command.add_argument("--images", type=int, default=96, metavar="N", help="training pictures (96)")
    command.add_argument("-o", "--output", type=Path, metavar="CURVE.npz", help="factors, and the logits of each")
    command.set_defaults(run=_steer)


def _steer(arguments: argparse.Namespace) -> None:
    refuse_output(arguments.output, (".npz",))
    if arguments.images < 2:
        raise ValueError("--images is 2 or more.")
    from vizkit.evaluation.steering import directions_of
    from vizkit.models import pixels_of
    from vizkit.models.probes.interventions.steering import steered

    image = vizkit.open_image(arguments.image)
    loaded = load(arguments)
    directions, names = directions_of(loaded, arguments.data, arguments.images)
    if arguments.towards not in names:
        raise ValueError(f"{arguments.data} has no class {arguments.towards[:60]!r}; it has {', '.join(names[:12])}.")
    block, label = arguments.block - 1, names.index(arguments.towards)
    if (block, label) not in directions:
        blocks = 1 + max(at for at, _ in directions)
        raise ValueError(f"The model has blocks 1 to {blocks}, and the pictures have to show the class: take more.")
    logits = steered(loaded, pixels_of(loaded, image), block, directions[block, label], FACTORS)
    print(f"{loaded.name}: towards {arguments.towards}, after block {arguments.block}")
    for factor, each in zip(FACTORS, logits, strict=True):
        (name, text), *_ = loaded.head.lines(each, loaded.label)
        print(f"λ = {factor:4.1f}  {text:>8}  {name}")
    if arguments.output:
        write_arrays(arguments.output, factors=FACTORS, logits=logits.numpy())
        print(arguments.output)
