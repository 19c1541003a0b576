"""`python -m vizkit datasets`: what is in a set of pictures, and a sheet of some of them.

python -m vizkit datasets
python -m vizkit datasets insects -o sheet.png
python -m vizkit datasets photos/ --check
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizkit.commands.output import refuse_output, write_output
from vizkit.datasets.builtin import ABOUT

if TYPE_CHECKING:
    from vizkit.datasets.image_set import ImageSet

__all__ = ["MOST_CLASSES", "add"]

MOST_CLASSES = 40  # lines of the table
MOST_BROKEN = 20


def add(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    command = commands.add_parser("datasets", help="what is in a set of pictures, and a sheet of some of them")
    command.add_argument("name", nargs="?", metavar="NAME_OR_FOLDER", help="a built-in set, a folder or a .zip file")
    command.add_argument("--split", default="train", choices=("train", "val", "test"), help="for the sheet (train)")
    command.add_argument("-o", "--output", type=Path, metavar="SHEET.png", help="write a sheet of pictures")
    command.add_argument("--images", type=int, metavar="N", help="at most so many pictures of each split")
    command.add_argument("--size", type=int, default=224, metavar="PX", help="side of drawn pictures (224)")
    command.add_argument("--seed", type=int, default=0, help="of what is drawn, divided and shown (0)")
    command.add_argument("--check", action="store_true", help="open every picture and name the broken ones")
    command.set_defaults(run=_datasets)


def _datasets(arguments: argparse.Namespace) -> None:
    if arguments.name is None:
        _list_built_in()
        return
    refuse_output(arguments.output, (".png", ".jpg", ".jpeg", ".webp"))
    from vizkit.datasets.opening import open_set, splits_of

    opened = {
        split: open_set(arguments.name, split, images=arguments.images, size_px=arguments.size, seed=arguments.seed)
        for split in splits_of(arguments.name, seed=arguments.seed)
    }
    _describe(opened)
    if arguments.check:
        opened = {split: _checked(images) for split, images in opened.items()}
    if arguments.output:
        # Asked for again where the folder has no such split: the library has the sentence for that.
        shown = opened.get(arguments.split) or open_set(arguments.name, arguments.split, seed=arguments.seed)
        _write_sheet(shown, arguments.output, arguments.seed)


def _list_built_in() -> None:
    width = max(map(len, ABOUT))
    for name, about in ABOUT.items():
        print(f"{name:{width}}  {about}")
    print("\nA folder with a folder for each class, or a .zip of one, is a set too.")


def _describe(opened: "dict[str, ImageSet]") -> None:
    from vizkit.datasets.inspection import summary

    summaries = {split: summary(images) for split, images in opened.items()}
    first = next(iter(opened.values()))
    print(f"{first.name}: {len(first.labels)} classes, {sum(map(len, opened.values())):,} pictures")
    parts = summaries.values()
    rows = [(label, *(f"{part.counts[label]:,}" for part in parts)) for label in first.labels[:MOST_CLASSES]]
    _table([("", *opened), *rows, ("all", *(f"{part.images:,}" for part in parts))])
    if len(first.labels) > MOST_CLASSES:
        print(f"… and {len(first.labels) - MOST_CLASSES:,} classes more")
    for split, facts in summaries.items():
        print(f"{split} sizes: {facts.sizes}")
        if facts.unreadable:
            print(f"{split}: some pictures cannot be opened; --check names them")
    for note in dict.fromkeys(note for images in opened.values() for note in images.notes):
        print(note)


def _table(rows: list[tuple[str, ...]]) -> None:
    """The first column to the left, numbers to the right."""
    first, *others = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for label, *numbers in rows:
        cells = [number.rjust(width) for number, width in zip(numbers, others, strict=True)]
        print("  ".join([label.ljust(first), *cells]))


def _checked(images: "ImageSet") -> "ImageSet":
    """The set without its broken pictures, which are named."""
    from tqdm import tqdm

    from vizkit.datasets.inspection import check

    with tqdm(desc=images.split, total=len(images), unit="image", disable=None, dynamic_ncols=True) as bar:
        broken, whole = check(images, lambda done, _: bar.update(done - bar.n))
    print(f"{images.split}: {len(broken):,} of {len(images):,} pictures cannot be opened")
    for place, sentence in broken[:MOST_BROKEN]:
        print(f"  {place}: {sentence}")
    if len(broken) > MOST_BROKEN:
        print(f"  … and {len(broken) - MOST_BROKEN:,} more")
    return whole


def _write_sheet(images: "ImageSet", output: Path, seed: int) -> None:
    from PIL import Image

    from vizkit.datasets.contact_sheet import contact_sheet

    rows = len(images.labels) if 8 <= len(images.labels) <= 16 else 8
    write_output(output, Image.fromarray(contact_sheet(images, 12, rows, 96, seed)).save)
    print(f"{output}: pictures of {images.split}")
