"""What an image is like, whatever is on it: light, sharp, and 64 bits that near copies share.

The scores are cleanvision's (`cleanvision.issue_managers.image_property`), with its thresholds, of images as the
model sees them. The hash is pHash (Zauner 2010): the signs of the 8 × 8 lowest frequencies against their median.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Float32, UInt8, UInt64
from torch import Tensor

BELOW = {"dark": 0.32, "light": 0.05, "blurred": 0.29}  # a score below it is a finding
SIDE = 64  # pixels, at which sharpness is judged
LOW, HASHED = 8, 32  # frequencies kept, pixels of a side
EDGES = torch.tensor([[-1.0, -1, -1], [-1, 8, -1], [-1, -1, -1]])  # PIL's FIND_EDGES
BRIGHTNESS = torch.tensor([0.241, 0.691, 0.068])  # of red², green², blue²
GREY = torch.tensor([0.299, 0.587, 0.114])

Pictures = UInt8[Tensor, "picture 3 height width"]


def thumbnails(pictures: Pictures, side: int) -> UInt8[np.ndarray, "picture side side 3"]:
    """Squeezed to squares, for the eye."""
    small = _resized(pictures.float(), side, side).round().clamp(0, 255).byte()
    return small.permute(0, 2, 3, 1).contiguous().cpu().numpy()


def scores(pictures: Pictures) -> Float32[np.ndarray, "picture 3"]:
    """How far each image is from dark, light and blurred, 0 to 1, as in BELOW: the brightness of its brightest
    hundredth; one less that of its darkest twentieth; 1 − exp(−0.01 · deviation of its edges), plus what it has of
    contrast where that is much."""
    shown = pictures.float()
    ratio = max(1.0, max(shown.shape[-2:]) / SIDE)
    small = _resized(shown, *(max(1, int(side / ratio)) for side in shown.shape[-2:]))
    brightness = (small.square() * _along(BRIGHTNESS, small)).sum(1).sqrt().flatten(1) / 255
    dark, light = brightness.quantile(0.99, 1), 1 - brightness.quantile(0.05, 1)
    grey = (small * _along(GREY, small)).sum(1, keepdim=True).round()
    framed = grey.clone()  # PIL leaves the border as it is
    framed[:, :, 1:-1, 1:-1] = _edges(grey)
    sharp = 1 - torch.exp(-0.01 * framed.flatten(1).std(1, correction=0))
    counts = torch.stack([torch.histc(one, 256, 0, 255) for one in grey])
    contrast = 1 - torch.exp(-0.01 * counts.std(1, correction=0))
    blurred = (sharp + torch.where(contrast > 0.18, contrast, 0)).clamp(max=1)
    return torch.stack([dark, light, blurred], 1).cpu().numpy().astype(np.float32)


def edges(pictures: Pictures) -> Float32[np.ndarray, " picture"]:
    """The deviation of each image's edges in grey levels, without its border, which a blurred one has too."""
    shown = pictures.float()
    grey = (shown * _along(GREY, shown)).sum(1, keepdim=True)
    return _edges(grey).flatten(1).std(1, correction=0).cpu().numpy()


def _edges(grey: Float[Tensor, "picture 1 height width"]) -> Tensor:
    """Without the border."""
    return F.conv2d(grey, EDGES.to(grey)[None, None]).clamp(0, 255)


def hashes(pictures: Pictures) -> UInt64[np.ndarray, " picture"]:
    """pHash: 64 bits, in which images that are nearly the same differ little."""
    shown = pictures.float()
    grey = _resized((shown * _along(GREY, shown)).sum(1, keepdim=True), HASHED, HASHED)[:, 0]
    place = (torch.arange(HASHED, device=grey.device) + 0.5) * math.pi / HASHED
    waves = torch.cos(place * torch.arange(LOW, device=grey.device)[:, None]).to(grey)  # DCT II
    frequencies = (waves @ grey @ waves.T).flatten(1)
    bits = (frequencies > frequencies.median(1, keepdim=True).values).cpu().numpy()
    return np.packbits(bits, axis=1).view(">u8")[:, 0].astype(np.uint64)


def bits_apart(one: UInt64[np.ndarray, "*one"], other: UInt64[np.ndarray, "*other"]) -> np.ndarray:
    """In how many of the 64 bits two hashes differ."""
    return np.bitwise_count(one ^ other)


def _resized(pictures: Float[Tensor, "picture channel height width"], height: int, width: int) -> Tensor:
    if tuple(pictures.shape[-2:]) == (height, width):
        return pictures
    return F.interpolate(pictures, size=(height, width), mode="bilinear", antialias=True, align_corners=False)


def _along(weights: Tensor, pictures: Tensor) -> Tensor:
    return weights.to(pictures)[:, None, None]
