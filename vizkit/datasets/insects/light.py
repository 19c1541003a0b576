"""What water and camera do to a scene: light ripples, depth, shadows, roundness, blur and noise."""

from functools import cache
from statistics import NormalDist

import cv2
import numpy as np
from jaxtyping import Float, UInt8

Picture = UInt8[np.ndarray, "height width 3"]
Mask = UInt8[np.ndarray, "height width"]
_SOFT = 128  # pixels; shadows and roundness are soft, so this grid is fine enough for them at any size


def cloud(draw: np.random.Generator, cells: int, size: int = 64) -> Float[np.ndarray, "rows columns"]:
    """Smooth noise, about −1..1, with blobs of size/cells pixels."""
    coarse = draw.random((cells + 1, cells + 1), dtype=np.float32) * 2 - 1
    return cv2.resize(cv2.resize(coarse, (size // 2, size // 2), interpolation=cv2.INTER_CUBIC), (size, size))


def sun(draw: np.random.Generator, reach: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """From where light falls, (x, y) of length 1, and where shadows fall, `reach` of the frame away."""
    at = draw.uniform(0, 2 * np.pi)
    x, y = float(np.cos(at)), float(np.sin(at))
    return (x, y), (-reach * x, -reach * y)


def ripples(draw: np.random.Generator) -> Float[np.ndarray, "64 64"]:
    """Brightness factors around 1: light falling from one side, a darker rim, and the bright net that waves cast."""
    net = np.abs(cloud(draw, int(draw.integers(4, 9))) + 0.5 * cloud(draw, 12))
    net = np.exp(-6 * net) * draw.uniform(0.0, 0.35)
    edge = np.linspace(-1, 1, 64, dtype=np.float32)
    slope = draw.uniform(-0.16, 0.16, 2)
    rim = draw.uniform(0.0, 0.14) * (edge[:, None] ** 2 + edge**2)
    return (0.95 + net + slope[0] * edge[:, None] + slope[1] * edge - rim).astype(np.float32)


def shine(picture: Picture, factors: Float[np.ndarray, "rows columns"]) -> None:
    """Multiply the brightness, in place, by factors 0..1.99 given on any coarser grid."""
    height, width = picture.shape[:2]
    level = np.clip(factors * 128, 0, 255).astype(np.uint8)
    multiply(picture, cv2.resize(level, (width, height)))


def multiply(picture: Picture, level: Mask) -> None:
    """Multiply the brightness, in place; 128 leaves it."""
    cv2.multiply(picture, cv2.merge([level] * 3), dst=picture, scale=1 / 128)


def veil(picture: Picture, water: Float[np.ndarray, "3"], depth: Float[np.ndarray, "2 2"]) -> None:
    """Mix in the colour of the water, in place: shares 0..1 at the four corners."""
    height, width = picture.shape[:2]
    ramp = cv2.resize((depth * 255).astype(np.float32), (64, 64)).astype(np.uint8)
    mix(picture, water, cv2.resize(ramp, (width, height)))


def mix(picture: Picture, paint: np.ndarray, cover: Mask) -> None:
    """Lay a colour, or a picture, over the picture, in place, with an opacity 0..255 per pixel."""
    every = cv2.merge([cover] * 3)
    if paint.ndim == 1:
        over = cv2.merge([cv2.convertScaleAbs(cover, alpha=level / 255) for level in paint.tolist()])
    else:
        over = cv2.multiply(paint, every, scale=1 / 255)
    cv2.multiply(picture, cv2.bitwise_not(every), dst=picture, scale=1 / 255)
    cv2.add(picture, over, dst=picture)


def shadow(picture: Picture, cover: Mask, offset: tuple[float, float], softness: float, strength: float) -> None:
    """Darken, in place, under what covers: `offset` and `softness` are shares of the frame, `strength` is 0..1."""
    small = cv2.resize(cover, (_SOFT, _SOFT))
    side = max(3, round(softness * _SOFT)) | 1
    soft = cv2.blur(cv2.blur(_moved(small, offset), (side, side)), (side, side))
    level = cv2.subtract(np.full_like(soft, 128), cv2.convertScaleAbs(soft, alpha=strength * 128 / 255))
    multiply(picture, cv2.resize(level, cover.shape[::-1]))


def relief(cover: Mask, towards: tuple[float, float], radius: float) -> UInt8[np.ndarray, "height width"]:
    """Shading that makes what covers look round: 128 flat, more on slopes that face the light, less on the others.

    `towards` is the direction of the light, `radius` how far the rounding reaches, as a share of the frame.
    """
    small = cv2.resize(cover, (_SOFT, _SOFT))
    level = np.full_like(small, 128)
    for share in (radius, radius * 0.4):
        side = max(3, round(2 * share * _SOFT)) | 1
        soft = cv2.blur(cv2.blur(small, (side, side)), (side, side))
        step = max(share, 1 / _SOFT)
        lit = _moved(soft, (-towards[0] * step, -towards[1] * step))
        level = cv2.subtract(
            cv2.add(level, cv2.convertScaleAbs(cv2.subtract(soft, lit), alpha=0.25)),
            cv2.convertScaleAbs(cv2.subtract(lit, soft), alpha=0.25),
        )
    return cv2.resize(level, cover.shape[::-1])


def _moved(mask: Mask, offset: tuple[float, float]) -> Mask:
    """The mask shifted by shares of its size, to whole pixels; what comes in is 0."""
    height, width = mask.shape
    x, y = round(offset[0] * width), round(offset[1] * height)
    moved = np.zeros_like(mask)
    moved[max(y, 0) : height + y, max(x, 0) : width + x] = mask[max(-y, 0) : height - y, max(-x, 0) : width - x]
    return moved


def camera(picture: Picture, blur: float, noise: float, draw: np.random.Generator) -> Picture:
    """The picture as a sensor gives it: blurred by `blur` pixels, with noise of `noise` grey levels."""
    if blur > 0.25:
        picture = cv2.GaussianBlur(picture, (0, 0), blur)
    grain = np.frombuffer(draw.bytes(picture.size), np.uint8).reshape(picture.shape)
    return cv2.add(picture, cv2.LUT(grain, _gauss(round(noise, 1))), dtype=cv2.CV_8U)


@cache
def _gauss(deviation: float) -> np.ndarray:
    """For each of 256 equally likely bytes the normal deviate it stands for, as int8."""
    normal = NormalDist(0, max(deviation, 1e-3))
    return np.rint([normal.inv_cdf((byte + 0.5) / 256) for byte in range(256)]).astype(np.int8)
