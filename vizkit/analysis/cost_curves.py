"""How the cost of one attention layer grows with the image: patches of several sizes, and windows (Liu et al. 2021)."""

import numpy as np

from vizkit.analysis.patches import cost

SIZES_PX = tuple(range(224, 1025, 32))
PATCHES_PX = (4, 8, 16, 32)
WINDOW = 7


def cost_curves(dim: int, heads: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """For each way of cutting: (image sizes in pixels, multiply–adds of one layer)."""
    sizes = np.array(SIZES_PX)
    lines = {
        f"{patch} px patches": (sizes, np.array([cost((s, s), patch, dim, heads).flops for s in SIZES_PX]))
        for patch in PATCHES_PX
    }
    windows = np.array([cost((s, s), PATCHES_PX[0], dim, heads, window=WINDOW).flops for s in SIZES_PX])
    return lines | {f"{PATCHES_PX[0]} px patches, windows of {WINDOW} × {WINDOW}": (sizes, windows)}
