"""The pictures that come with vizkit, by the names that the app gives them: photographs, drawn insects, digits."""

import os
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from vizkit.image import RGB, ImageError
from vizkit.image import open_image as of_file

if TYPE_CHECKING:
    from vizkit.datasets.insects import Sample


Kind = Literal["photographs", "insects", "digits"]
DIGITS = (3, 5, 2, 7, 8)
INSECTS = (  # datasets.insects.LABELS, which a test compares: importing it takes a quarter of a second
    "mayfly nymph",
    "stonefly nymph",
    "damselfly nymph",
    "dragonfly nymph",
    "cased caddisfly larva",
    "alderfly larva",
    "mosquito larva",
    "midge larva",
    "diving beetle",
    "backswimmer",
    "water strider",
    "water scorpion",
)
INSECT_SIDE_PX = 224
SAMPLE = "sample:"  # before the name of one, so that it hides no file
NOT_RGB = "The image has to be 8-bit RGB, (height, width, 3), as vizkit.open_image gives it."


def names() -> list[str]:
    from vizkit.datasets import photographs

    return [*photographs.NAMES, *INSECTS, *(f"digit {n}" for n in DIGITS)]


def kind_of(name: str) -> Kind:
    """What a picture is one of; a visitor's own is a photograph."""
    drawn = name in INSECTS
    return "insects" if drawn else "digits" if name in [f"digit {n}" for n in DIGITS] else "photographs"


def image_of(given: object) -> tuple[RGB, str]:
    """The pixels of what somebody gives for an image: RGB, the path of a file or "sample:" and one of `names()`, which
    is then its name too. Raises ImageError."""
    if isinstance(given, str | os.PathLike):
        name = str(given).removeprefix(SAMPLE) if str(given).startswith(SAMPLE) else ""
        if name and name not in names():
            near = " or ".join(get_close_matches(name, names(), n=3)) or ", ".join(names())
            raise ImageError(f"No image that comes with vizkit is called {name[:60]!r}; the nearest is {near}.")
        return (picture(name), name) if name else (of_file(given), "")
    rgb = np.asarray(given)
    if rgb.dtype != np.uint8 or rgb.ndim != 3 or rgb.shape[2] != 3 or 0 in rgb.shape:
        raise ImageError(NOT_RGB)
    return np.ascontiguousarray(rgb), ""


def open_image(source: str | os.PathLike | bytes) -> RGB:
    """The pixels of a file, of its bytes, or of an image that comes with vizkit, "sample:cat": 8-bit RGB, (height,
    width, 3), upright by its EXIF, 0 is black.

    No side is above 2,048 pixels: larger images are made smaller. Raises `ImageError` with one sentence, which names a
    file.
    """
    return of_file(source) if isinstance(source, bytes) else image_of(source)[0]


def picture(name: str) -> RGB:
    """One of `names()`: an insect or a digit from the test split, never seen in training, or a photograph. Raises
    ValueError for other names."""
    from vizkit.datasets import digits, photographs

    if name in INSECTS:
        return insect(name).picture
    if name in names() and name.startswith("digit "):
        return digits.picture(digits.typical(int(name.split()[1])))
    return photographs.picture(name)


@cache
def insect(name: str) -> "Sample":
    """A drawn insect of this class, with the place of each of its parts."""
    from vizkit.datasets import insects

    first = next(index for index in range(len(INSECTS)) if insects.label_of(index, "test") == INSECTS.index(name))
    return insects.draw(first, split="test", size_px=INSECT_SIDE_PX)
