"""How near a picture comes to the true one, judged by luminance as the papers of super-resolution do."""

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["luminance", "psnr"]

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
