"""Six photographs of clear licence: two that scikit-learn ships, and four of scikit-image that come with vizkit."""

from pathlib import Path

import numpy as np

from vizkit.datasets import folder_of
from vizkit.datasets.image_set import ImageSet, Source, digest_of
from vizkit.image import RGB, open_image

HOME = Path(__file__).parents[1] / "bundled" / "photographs"
# Name → file in scikit-image 0.26, photographer, licence and address, as its data/_fetchers.py states them.
BROUGHT = {
    "astronaut": ("astronaut.png", "NASA", "public domain", "https://flic.kr/p/r9qvLn"),
    "cat": ("chelsea.png", "Stéfan van der Walt", "CC0", "https://scikit-image.org/docs/stable/api/skimage.data.html"),
    "coffee": ("coffee.png", "Rachel Michetti", "CC0", "https://scikit-image.org/docs/stable/api/skimage.data.html"),
    "rocket": ("rocket.jpg", "SpaceX", "public domain", "https://www.flickr.com/photos/spacexphotos/16511594820"),
}
# Whoever shows a picture owes this line to its photographer. (scikit-learn's own text names the first for both;
# the address it gives for the flower is the second's.)
CREDITS = {
    "china": "danielbuechele, CC BY 2.0, https://www.flickr.com/photos/danielbuechele/6061409035",
    **{name: ", ".join(credit) for name, (_, *credit) in BROUGHT.items()},
    "flower": "vultilion, CC BY 2.0, https://www.flickr.com/photos/vultilion/6056698931",
}
NAMES = tuple(CREDITS)
POINTS = {"china": (0.33, 0.3)}
"""Where one looks first, in shares of the width and the height: a roof; of others the middle."""


def picture(name: str) -> RGB:
    """A photograph by its name: "china" (a temple by a lake), "astronaut", "cat", "coffee", "rocket" or "flower" (a
    dahlia), RGB 0..255; the array is the caller's own."""
    if name not in CREDITS:
        raise ValueError(f"expected a photograph of {', '.join(NAMES)}, found {name!r}")
    home = HOME if name in BROUGHT else folder_of("sklearn") / "datasets" / "images"
    return open_image(home / f"{name}.jpg").copy()


class Photographs(Source):
    def picture(self, index: int) -> RGB:
        return picture(NAMES[index])


class Crops(Source):
    """Squares at random places, of each photograph in turn."""

    def picture(self, index: int) -> RGB:
        whole = picture(NAMES[index % len(NAMES)])
        side = min(whole.shape[:2]) * 3 // 5
        top, left = np.random.default_rng(index).integers(0, np.subtract(whole.shape[:2], side - 1))
        return whole[top : top + side, left : left + side]


def as_set(split: str, crops: int = 0) -> ImageSet:
    """All of them, or so many crops, each photograph a class of its own, as a split of `datasets.opening`."""
    source = Crops() if crops else Photographs()
    digest = digest_of("photographs", NAMES, *([crops] if crops else []))
    return ImageSet("photographs", split, NAMES, np.arange(crops or len(NAMES)) % len(NAMES), source, digest)
