"""Bytes ↔ model input, safely; the only home of mean, std, crop, EXIF and RGB order."""

import contextlib
import hashlib
import io
import math
import os
import re
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32, UInt8
from PIL import Image, UnidentifiedImageError
from PIL.Image import Resampling, Transpose

MAX_BYTES = 20 * 2**20  # of the file
MAX_PIXELS = 50_000_000  # width × height, checked before a pixel is decoded; a 48-megapixel telephone passes
MAX_SIDE, MIN_SIDE, MAX_RATIO = 16_384, 8, 20  # of the picture: pixels, pixels, longer side / shorter side
MAX_INPUT_SIDE = 4_096  # of a model's input: the configuration of an uploaded model is not trusted either

_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")  # few decoders, few holes: no EPS, PSD, ICNS …
_SIZE_LIMIT = f"the limits are {MAX_PIXELS // 10**6} megapixels and {MAX_SIDE} pixels a side; make it smaller."
_TILE_WIDTH, _TILE_LENGTH, _ORIENTATION = 322, 323, 274  # TIFF 6.0 tags, the last one in EXIF too
_CORNERS = (Transpose.TRANSPOSE, Transpose.ROTATE_270, Transpose.TRANSVERSE, Transpose.ROTATE_90)  # EXIF 2.32: 5 … 8
_UPRIGHT = dict(enumerate((Transpose.FLIP_LEFT_RIGHT, Transpose.ROTATE_180, Transpose.FLIP_TOP_BOTTOM, *_CORNERS), 2))
_HUSH = ("ignore", None, Warning, re.compile(r"PIL\."), 0)
_PLACES = threading.BoundedSemaphore(4)  # for all sessions together: decoding at the limits takes up to 0.7 GB
RGB = UInt8[np.ndarray, "height width 3"]
Box = tuple[float, float, float, float]  # x0, y0, x1, y1 in pixels of the picture; 0 is its edge, ½ the first centre


class ImageError(ValueError):
    """A picture was refused. The message is one plain sentence for the user that says what to do."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Upright 8-bit RGB (read-only), a digest of its pixels and shape as cache key, and what was done to it."""

    rgb: RGB
    digest: str
    note: str


def read_picture(data: bytes, *, max_side: int = 2048) -> Picture:
    """Decode any upload to upright 8-bit RGB with no side above `max_side` pixels, safely from any thread.

    JPEG, PNG, WebP, GIF, BMP, TIFF and AVIF, whatever the file is called; the first frame of an animation or page of a
    document. Colour profiles are not applied (nor does timm). Raises `ImageError`, and nothing else, on other bytes.
    """
    if not data:
        raise ImageError("The file is empty; choose another picture.")
    if len(data) > MAX_BYTES:
        raise ImageError(f"The file is larger than {MAX_BYTES >> 20} MiB; save a smaller copy.")
    # Not `catch_warnings`, which swaps a list that all threads share: this filter names Pillow alone, and stays.
    if list(warnings.filters[:1]) != [_HUSH]:
        warnings.filterwarnings("ignore", module=r"PIL\.")
    try:
        with _PLACES:
            image, note = _decode(data, max_side)
            rgb = np.asarray(image)  # a copy in immutable bytes, hence read-only for good
    except ImageError:
        raise
    except Image.DecompressionBombError:  # Pillow's own, far higher limit, checked on opening
        raise ImageError(f"The picture is too large: {_SIZE_LIMIT}") from None
    except UnidentifiedImageError:
        if data[4:8] == b"ftyp" and data[8:11] in (b"hei", b"hev", b"mif", b"msf"):
            raise ImageError("HEIC pictures cannot be read here; save it as JPEG.") from None
        raise ImageError(f"This is not a picture that can be read here; choose one of {', '.join(_FORMATS)}.") from None
    except Exception:  # hostile bytes make decoders raise anything, from SyntaxError to MemoryError
        raise ImageError("The picture is damaged or cut off; save it again as PNG or JPEG.") from None
    return Picture(rgb, hashlib.sha256(repr(rgb.shape).encode() + rgb.tobytes()).hexdigest(), note)


def open_image(source: str | os.PathLike | bytes) -> RGB:
    """The pixels of a file or of its bytes, as `read_picture` gives them (no side above 2048). Raises `ImageError`."""
    if isinstance(source, bytes):
        return read_picture(source).rgb
    try:
        if not os.path.isfile(source):  # nor a pipe or device, which could keep us waiting
            raise ImageError("There is no file at this path; give the path of a picture.")
        with open(source, "rb") as file:
            return read_picture(file.read(MAX_BYTES + 1)).rgb
    except OSError:
        raise ImageError("The file cannot be read; check that you may open it.") from None


def _decode(data: bytes, max_side: int) -> tuple[Image.Image, str]:
    image = Image.open(io.BytesIO(data), formats=_FORMATS)  # reads the header only
    _refuse_size(image)
    width, height = image.size
    shrink = min(1.0, max_side / max(width, height))
    # libjpeg decodes at 1/2, 1/4 or 1/8, never below the size asked for: a large photograph then costs little.
    image.draft(None, (math.ceil(width * shrink), math.ceil(height * shrink)))
    image.load()
    flat, converted = _eight_bits(image)
    flat.thumbnail((max_side, max_side), Resampling.LANCZOS, reducing_gap=3.0)
    turn = _if_told(lambda: _UPRIGHT[image.getexif()[_ORIENTATION]])  # no longer in a TIFF: loading it has turned it
    if turn is not None:
        flat = flat.transpose(turn)
        width, height = (height, width) if turn in _CORNERS else (width, height)
    # Counting the pages of a TIFF takes time quadratic in their number, and a hostile file has a million.
    count = "several" if image.format == "TIFF" else _if_told(lambda: getattr(image, "n_frames", 1))
    first = f"first frame of {count}" if _if_told(lambda: getattr(image, "is_animated", False)) else ""
    turned = "" if turn is None else "turned upright by EXIF"
    shrunk = f"shrunk from {width}×{height}" if shrink < 1 else ""
    return flat, ", ".join(filter(None, (first, turned, converted, shrunk)))


def _if_told(question: Callable[[], Any]) -> Any:  # noqa: ANN401
    """The answer, or None: missing or corrupt metadata are no reason to refuse a picture."""
    with contextlib.suppress(Exception):
        return question()


def _refuse_size(image: Image.Image) -> None:
    width, height = image.size
    short, long = sorted(image.size)
    # libtiff makes room for a whole tile, however small the picture: 260 kB of file would become 256 MB and more.
    tags = getattr(image, "tag_v2", {})  # `int`, because a tag may hold text, and text × 2³¹ fills the memory
    pixels = max(width * height, int(tags.get(_TILE_WIDTH, 0)) * int(tags.get(_TILE_LENGTH, 0)))
    if pixels > MAX_PIXELS or long > MAX_SIDE:
        raise ImageError(f"The picture is too large ({width}×{height}): {_SIZE_LIMIT}")
    if short < MIN_SIDE:
        raise ImageError(f"The picture is too small ({width}×{height}); it needs at least {MIN_SIDE} pixels a side.")
    if long > MAX_RATIO * short:
        raise ImageError(f"The picture is too narrow ({width}×{height}); crop it to at most {MAX_RATIO}:1.")


def _eight_bits(image: Image.Image) -> tuple[Image.Image, str]:
    """The image as RGB, and in words what that took."""
    if image.mode[0] in "IF":
        return _scaled(image)
    if image.has_transparency_data:  # an alpha channel, a transparent palette entry or a transparent colour
        image = image.convert("RGBA")
        alpha, white = image.getchannel("A"), Image.new("RGB", image.size, "white")
        white.paste(image, mask=alpha)
        return white, "" if alpha.getextrema() == (255, 255) else "transparency laid on white"
    return image.convert("RGB"), f"{image.mode} converted" if image.mode in ("CMYK", "LAB") else ""


def _scaled(image: Image.Image) -> tuple[Image.Image, str]:
    """16- and 32-bit greys as 8-bit ones (Pillow's `convert` would cut everything above 255 to white).

    16 bits mean 0–65535. 32-bit integers and floats have no agreed range: the first of 0–1, 0–255 and 0–65535 that
    holds all values, else from the lowest to the highest. NaN and infinities are shown as the lowest.
    """
    values = np.asarray(image)
    known = np.isfinite(values)
    low, high = float(values[known].min()), float(values[known].max())
    bits, tops = ("16-bit", (65535,)) if image.mode.startswith("I;16") else ("32-bit", (1, 255, 65535))
    if low >= 0 and high <= tops[-1]:
        low, high = 0.0, next(top for top in tops if high <= top)
    scale = 255 / max(high - low, 1e-30)
    rows = [  # a few at a time, for float64 takes eight times the memory of the result
        np.rint((np.where(np.isfinite(part), part.astype(np.float64), low) - low) * scale).astype(np.uint8)
        for part in np.array_split(values, math.ceil(len(values) / 64))
    ]
    lost = "" if known.all() else ", missing values shown as the lowest"
    return Image.fromarray(np.vstack(rows)).convert("RGB"), f"{bits} scaled to 8-bit{lost}"


@dataclass(frozen=True)
class Preprocessing:
    """What a model wants done to a picture, in timm's words (`timm.data.resolve_model_data_config`).

    `mean` and `std` per channel on the scale 0–1; `crop_pct` = input size / size resized to; `crop_mode`: "center" cuts
    the longer side, "squash" changes the aspect ratio, "border" pads with the mean. A model with one channel is given
    the luminance. Raises `ValueError` on values that make no sense.
    """

    size_hw: tuple[int, int]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    crop_pct: float = 0.875
    crop_mode: str = "center"
    interpolation: str = "bicubic"
    channels: int = 3

    def __post_init__(self) -> None:
        for holds, expected, found in (
            (self.channels in (1, 3), "3 channels, or 1 for the luminance", self.channels),
            (all(1 <= side <= MAX_INPUT_SIDE for side in self.size_hw), f"sides of 1–{MAX_INPUT_SIDE}", self.size_hw),
            (len(self.mean) == len(self.std) == self.channels, f"{self.channels} means and deviations", len(self.mean)),
            (all(abs(value) < 1000 for value in self.mean), "finite means", self.mean),
            (all(0 < value < 1000 for value in self.std), "finite deviations > 0", self.std),
            (0.1 <= self.crop_pct <= 2, "crop_pct from 0.1 to 2", self.crop_pct),
            (self.crop_mode in ("center", "squash", "border"), "crop_mode center, squash or border", self.crop_mode),
            (self.interpolation.upper() in Resampling.__members__, "interpolation as in Pillow", self.interpolation),
        ):
            if not holds:
                raise ValueError(f"Expected {expected}; found {found}.")

    @classmethod
    def from_config(cls, config: dict) -> "Preprocessing":
        """From timm's resolved data config: `input_size` (channels, height, width), `mean`, `std` and the rest."""
        try:
            channels, height, width = map(int, config["input_size"])
            mean, std = (tuple(map(float, config[key])) for key in ("mean", "std"))
            crop_pct = float(config.get("crop_pct") or cls.crop_pct)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"Expected input_size, mean and std as lists of numbers; found {error!r}.") from None
        crop_mode, interpolation = (str(config.get(key) or getattr(cls, key)) for key in ("crop_mode", "interpolation"))
        interpolation = "bilinear" if interpolation == "random" else interpolation  # a choice for training only
        return cls((height, width), mean, std, crop_pct, crop_mode, interpolation, channels)


def prepare(rgb: RGB, preprocessing: Preprocessing) -> tuple[Float32[np.ndarray, "channel rows columns"], Box]:
    """The input of a model, (rgb / 255 − mean) / std, and the part of the picture that it shows.

    Equals timm 1.0's `create_transform(**config, is_training=False)` on the same picture. The box is in the picture's
    pixels and reaches beyond its edges where the transform pads.
    """
    image = Image.fromarray(rgb).convert("RGB" if preprocessing.channels == 3 else "L")
    resized_h, resized_w = _resized_hw(image.height, image.width, preprocessing)
    image = image.resize((resized_w, resized_h), Resampling[preprocessing.interpolation.upper()])
    height, width = preprocessing.size_hw
    top, left = (round(cut / 2) if cut > 0 else int(cut / 2) for cut in (resized_h - height, resized_w - width))
    padding = tuple(round(255 * value) if preprocessing.crop_mode == "border" else 0 for value in preprocessing.mean)
    seen = Image.new(image.mode, (width, height), padding)
    seen.paste(image, (-left, -top))
    pixels = np.asarray(seen, np.float32).reshape(height, width, -1).transpose(2, 0, 1) / np.float32(255)
    mean, std = (np.array(each, np.float32)[:, None, None] for each in (preprocessing.mean, preprocessing.std))
    x_scale, y_scale = rgb.shape[1] / resized_w, rgb.shape[0] / resized_h
    box = (left * x_scale, top * y_scale, (left + width) * x_scale, (top + height) * y_scale)
    return np.ascontiguousarray((pixels - mean) / std), box


def unprepare(pixels: Float32[np.ndarray, "channel height width"], preprocessing: Preprocessing) -> RGB:
    """What the model really saw, for showing: pixels × std + mean as 8-bit RGB, grey where it has one channel."""
    mean, std = (np.array(each, np.float32)[:, None, None] for each in (preprocessing.mean, preprocessing.std))
    seen = np.rint((pixels * std + mean) * 255).clip(0, 255).astype(np.uint8)
    return np.ascontiguousarray(np.broadcast_to(seen, (3, *seen.shape[1:])).transpose(1, 2, 0))


def _resized_hw(height: int, width: int, preprocessing: Preprocessing) -> tuple[int, int]:
    """Height and width before the crop, rounded as torchvision (`int`) and timm (`round`) do."""
    target_h, target_w = (math.floor(side / preprocessing.crop_pct) for side in preprocessing.size_hw)
    if preprocessing.crop_mode == "squash":
        return target_h, target_w
    if preprocessing.crop_mode == "center" and target_h == target_w:  # torchvision's Resize
        return int(target_h * height / min(height, width)), int(target_w * width / min(height, width))
    choose = max if preprocessing.crop_mode == "border" else min  # timm's ResizeKeepRatio
    ratio = choose(height / target_h, width / target_w)
    return max(1, round(height / ratio)), max(1, round(width / ratio))  # timm fails on a strip that rounds to nothing
