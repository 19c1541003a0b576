"""Two real photographs, 427×640 pixels, that scikit-learn ships under CC BY 2.0."""

import numpy as np
from jaxtyping import UInt8

from vizkit.datasets import folder_of
from vizkit.image import open_image

# Whoever shows a picture owes this line to its photographer. (scikit-learn's own text names the first for both;
# the address it gives for the flower is the second's.)
CREDITS = {
    "china": "danielbuechele, CC BY 2.0, https://www.flickr.com/photos/danielbuechele/6061409035",
    "flower": "vultilion, CC BY 2.0, https://www.flickr.com/photos/vultilion/6056698931",
}
NAMES = tuple(CREDITS)


def picture(name: str) -> UInt8[np.ndarray, "height width 3"]:
    """The photograph "china" (a temple) or "flower" (a dahlia), RGB 0..255; the array is the caller's own."""
    if name not in CREDITS:
        raise ValueError(f"expected a photograph of {', '.join(NAMES)}, found {name!r}")
    return open_image(folder_of("sklearn") / "datasets" / "images" / f"{name}.jpg").copy()
