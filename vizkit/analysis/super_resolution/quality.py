"""How near a picture comes to the true one, judged by luminance as the papers of super-resolution do."""

import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image
from torch import Tensor

RGB_WEIGHTS, BLACK = (65.481, 128.553, 24.966), 16.0
"""Y of ITU-R BT.601 for R, G and B from 0 to 1: 16 for black, 235 for white."""


def luminance(pixels: Float[Tensor, "picture 3 row column"]) -> Float[Tensor, "picture row column"]:
    """Y on a scale of 0 to 1, of pixels clipped to 0…1 and rounded to 8 bits as a file keeps them."""
    kept = (pixels.float().clamp(0, 1) * 255).round() / 255
    weights = torch.tensor(RGB_WEIGHTS, device=pixels.device)[:, None, None]
    return ((kept * weights).sum(1) + BLACK) / 255


def psnr(
    pixels: Float[Tensor, "picture 3 row column"], truth: Float[Tensor, "picture 3 row column"]
) -> Float[Tensor, " picture"]:
    """−10 log₁₀ of the mean squared error of the luminance, in dB; infinite for equal pictures."""
    error = (luminance(pixels) - luminance(truth)).square().mean((1, 2))
    return -10 * error.log10()


def steepness(rgb: UInt8[np.ndarray, "row column 3"]) -> float:
    """How much neighbouring pixels differ: the mean of absolute differences, across and down, of 0…255."""
    values = rgb.astype(np.float32)
    apart = [np.abs(np.diff(values, axis=axis)) for axis in (0, 1) if rgb.shape[axis] > 1]
    return float(sum(each.sum() for each in apart) / max(1, sum(each.size for each in apart)))


def agreement(small: UInt8[np.ndarray, "row column 3"], enlarged: UInt8[np.ndarray, "row4 column4 3"]) -> float:
    """PSNR in dB of the enlarged picture, shrunk again, to the one that it was made from: every answer that could be
    true has a high one."""
    rows, columns = small.shape[:2]
    again = np.asarray(Image.fromarray(enlarged).resize((columns, rows), Image.Resampling.BICUBIC))
    one, other = (torch.from_numpy(each.copy()).permute(2, 0, 1)[None].float() / 255 for each in (again, small))
    return float(psnr(one, other))
