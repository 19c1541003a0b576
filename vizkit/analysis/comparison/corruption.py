"""Images that have lost what an answer rests on: strongly blurred, under noise, or with an object filled up."""

import numpy as np
from jaxtyping import Bool
from PIL import Image, ImageFilter

from vizkit.analysis.comparison.perturbation import blur, noise
from vizkit.image import RGB

CORRUPTIONS = ("blur", "noise")
BLUR_PX, NOISE = 12.0, 0.8
"""σ where the shorter side has 224 pixels, and σ as a share of white."""
EDGE_PX = 5  # around an object, where its outline is mixed with the ground


def corrupted(rgb: RGB, kind: str) -> RGB:
    """`kind`: one of CORRUPTIONS; the same every time."""
    return blur(rgb, BLUR_PX) if kind == "blur" else noise(rgb, NOISE)


def erased(rgb: RGB, mask: Bool[np.ndarray, "height width"]) -> RGB:
    """Where the mask is, and close around it, the mean colour of everything else."""
    wide = np.asarray(Image.fromarray(mask.astype(np.uint8) * 255).filter(ImageFilter.MaxFilter(EDGE_PX))) > 0
    out = rgb.copy()
    if not wide.all():
        out[wide] = np.rint(rgb[~wide].mean(0)).astype(np.uint8)
    return out
