"""What is in a set of images, and a sheet of some of them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from vizkit.commands.options import Images, Seed, Split, writes
from vizkit.commands.output import aligned, progress, write_output
from vizkit.datasets.builtin import ABOUT

if TYPE_CHECKING:
    from vizkit.datasets.image_set import ImageSet


MOST_CLASSES = 40  # lines of the table
MOST_BROKEN = 20


def datasets(
    name: str | None = None,
    /,
    *,
    split: Split = "train",
    images: Images = None,
    size: int = 224,
    seed: Seed = 0,
    check: bool = False,
    output: Annotated[Path | None, writes(".png", ".jpg", ".jpeg", ".webp")] = None,
) -> None:
    """What is in a set of images, and a sheet of some of them.

    vizkit datasets insects -o sheet.png

    vizkit datasets photos/ --check

    Args:
        name: A built-in set, a folder or a .zip file; where it is left out, the names of all built-in sets.
        split: For the sheet.
        size: Side of drawn images in pixels.
        check: Open every image and name the broken ones.
        output: A sheet of images.
    """
    if name is None:
        _list_built_in()
        return
    from vizkit.datasets.opening import open_set, splits_of

    opened = {part: open_set(name, part, images=images, size_px=size, seed=seed) for part in splits_of(name, seed=seed)}
    _describe(opened)
    if check:
        opened = {part: _checked(each) for part, each in opened.items()}
    if output:
        # Asked for again where the folder has no such split: the library has the sentence for that.
        _write_sheet(opened.get(split) or open_set(name, split, seed=seed), output, seed)


def _list_built_in() -> None:
    print(aligned([*ABOUT.items()], left=2))
    print("\nA folder with a folder for each class, or a .zip of one, is a set too.")


def _describe(opened: "dict[str, ImageSet]") -> None:
    from vizkit.datasets.inspection import summary

    summaries = {split: summary(images) for split, images in opened.items()}
    first = next(iter(opened.values()))
    print(f"{first.name}: {len(first.labels)} classes, {sum(map(len, opened.values())):,} images")
    parts = summaries.values()
    rows = [(label, *(f"{part.counts[label]:,}" for part in parts)) for label in first.labels[:MOST_CLASSES]]
    print(aligned([("", *opened), *rows, ("all", *(f"{part.images:,}" for part in parts))]))
    if len(first.labels) > MOST_CLASSES:
        print(f"… and {len(first.labels) - MOST_CLASSES:,} classes more")
    for split, facts in summaries.items():
        print(f"{split} sizes: {facts.sizes}")
        if facts.unreadable:
            print(f"{split}: some images cannot be opened; --check names them")
    for note in dict.fromkeys(note for images in opened.values() for note in images.notes):
        print(note)


def _checked(images: "ImageSet") -> "ImageSet":
    """The set without its broken images, which are named."""
    from vizkit.datasets.inspection import check

    with progress("image", images.split, len(images)) as tell:
        broken, whole = check(images, tell)
    print(f"{images.split}: {len(broken):,} of {len(images):,} images cannot be opened")
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
    print(f"{output}: images of {images.split}")
