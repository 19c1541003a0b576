"""Bytes ↔ model input, safely; the only home of mean, std, crop, EXIF and RGB order."""

import base64
import hashlib
import io
import math
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, UInt8
from PIL import Image
from PIL.Image import Resampling

from vizkit.decoding import MAX_BYTES, ImageError, decode, light
from vizkit.isolated import place
from vizkit.isolated_decoding import PLACES, BusyError, decode_isolated
from vizkit.writing import is_regular, read_bytes

MAX_INPUT_SIDE = 4_096  # of a model's input: the configuration of an uploaded model is not trusted either
_PLACES = threading.BoundedSemaphore(PLACES)  # for light pictures, which no slow one keeps waiting
RGB = UInt8[np.ndarray, "height width 3"]
Pixels = UInt8[np.ndarray, "_row _column 3"]
"""RGB too; several of one function may differ in size."""
Box = tuple[float, float, float, float]  # x0, y0, x1, y1 in pixels of the picture; 0 is its edge, ½ the first centre


@dataclass(frozen=True, eq=False)
class Picture:
    """Upright 8-bit RGB (read-only), a digest of its pixels and shape as cache key, and what was done to it."""

    rgb: RGB
    digest: str
    note: str


def read_picture(data: bytes, *, max_side: int = 2048) -> Picture:
    """Decode any upload to upright 8-bit RGB with no side above `max_side` pixels, safely from any thread.

    JPEG, PNG, WebP, GIF, BMP, TIFF and AVIF, whatever the file is called; the first frame of an animation or page of a
    document. Colour profiles are not applied (nor does timm). Numbers without an agreed range (floats, signed integers)
    are scaled, and the note says how. Raises `ImageError`, and nothing else, on other bytes.
    """
    if not data:
        raise ImageError("The file is empty; choose another image.")
    if len(data) > MAX_BYTES:
        raise ImageError(f"The file is larger than {MAX_BYTES >> 20} MiB; save a smaller copy.")
    if light(data):
        with place(_PLACES, BusyError):
            rgb, note = decode(data, max_side)
    else:
        rgb, note = decode_isolated(data, max_side)
    return Picture(rgb, digest_of(rgb), note)


def digest_of(rgb: RGB) -> str:
    """SHA-256 of shape and pixels: what tells an image from every other one, whatever it is called."""
    return hashlib.sha256(repr(rgb.shape).encode() + rgb.tobytes()).hexdigest()


def open_image(source: str | os.PathLike | bytes) -> RGB:
    """The pixels of a file, or of its bytes, as `vizkit.open_image` gives them."""
    try:
        return read_picture(source).rgb if isinstance(source, bytes) else read_image(source)
    except ImageError as error:
        if isinstance(source, bytes):
            raise
        raise ImageError(f"{os.path.basename(source)[:60]!r}: {error}") from None


def read_image(path: str | os.PathLike) -> RGB:
    """The same of a file that whoever asks names himself."""
    try:
        if not os.path.exists(path):
            raise ImageError("There is no file at this path; give the path of an image.")
        if not is_regular(path):
            raise ImageError("This path leads to no file; give the path of an image.")
        return read_picture(read_bytes(path, MAX_BYTES + 1)).rgb
    except OSError:
        raise ImageError("The file cannot be read; check that you may open it.") from None


@runtime_checkable
class Processor(Protocol):
    """What another library does to an image before a model. It can be hashed, and sent to another process."""

    def __call__(self, rgb: RGB) -> Float32[np.ndarray, "channel rows columns"]:
        """The model's input. Raises ImageError for an image that it does not take."""
        ...

    def box(self, picture_hw: tuple[int, int]) -> Box:
        """The part of an image of this size that the input shows."""
        ...


@dataclass(frozen=True)
class Preprocessing:
    """What a model wants done to an image, in timm's words (`timm.data.resolve_model_data_config`).

    `mean` and `std` per channel of the input on the scale 0–1; `crop_pct` = input size / size resized to; `crop_mode`:
    "center" cuts the longer side, "squash" changes the aspect ratio, "border" pads with the mean, "own" is known to
    `processor` alone, and `size_hw` is then that of a square image. A model with one channel is given the luminance;
    `channel_order`: "RGB" or "BGR". `processor`: the model's own, where it has one; unless `translated`, these words do
    not give the same numbers, and it makes the input. Raises `ValueError` on values that make no sense.
    """

    size_hw: tuple[int, int]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    crop_pct: float = 0.875
    crop_mode: str = "center"
    interpolation: str = "bicubic"
    channels: int = 3
    channel_order: str = "RGB"
    processor: Processor | None = None
    translated: bool = True

    def __post_init__(self) -> None:
        for holds, expected, found in (
            (self.channels in (1, 3), "3 channels, or 1 for the luminance", self.channels),
            (all(1 <= side <= MAX_INPUT_SIDE for side in self.size_hw), f"sides of 1–{MAX_INPUT_SIDE}", self.size_hw),
            (len(self.mean) == len(self.std) == self.channels, f"{self.channels} means and deviations", len(self.mean)),
            (all(abs(value) < 1000 for value in self.mean), "finite means", self.mean),
            (all(0 < value < 1000 for value in self.std), "finite deviations > 0", self.std),
            (0.1 <= self.crop_pct <= 2, "crop_pct from 0.1 to 2", self.crop_pct),
            (self.crop_mode in self._crop_modes, f"crop_mode {', '.join(self._crop_modes)}", self.crop_mode),
            (self.channel_order in ("RGB", "BGR"), "channels as RGB or BGR", self.channel_order),
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

    @property
    def _crop_modes(self) -> tuple[str, ...]:
        return ("center", "squash", "border", *(() if self.processor is None else ("own",)))

    @property
    def of_seen(self) -> "Preprocessing":
        """For what the model sees already (`seen`): `prepare` cuts and resizes nothing."""
        return replace(self.of_size(self.size_hw), crop_pct=1.0, crop_mode="squash")

    def of_size(self, size_hw: tuple[int, int]) -> "Preprocessing":
        """For an input of another size than the model's own processor gives."""
        crop_mode = "squash" if self.crop_mode == "own" else self.crop_mode
        return replace(self, size_hw=size_hw, crop_mode=crop_mode, processor=None, translated=True)


def prepare(rgb: RGB, preprocessing: Preprocessing) -> tuple[Float32[np.ndarray, "channel rows columns"], Box]:
    """The input of a model, (rgb / 255 − mean) / std, and the part of the image that it shows.

    Equals timm 1.0's `create_transform(**config, is_training=False)` on the same image. The box is in the image's
    pixels and reaches beyond its edges where the transform pads. Raises ImageError where the model's own processor does
    not take the image.
    """
    box = seen_box((rgb.shape[0], rgb.shape[1]), preprocessing)
    if preprocessing.processor is not None and not preprocessing.translated:
        return preprocessing.processor(rgb), box
    image = Image.fromarray(rgb).convert("RGB" if preprocessing.channels == 3 else "L")
    resized_h, resized_w = _resized_hw(image.height, image.width, preprocessing)
    image = image.resize((resized_w, resized_h), Resampling[preprocessing.interpolation.upper()])
    height, width = preprocessing.size_hw
    top, left = _corner(resized_h, resized_w, preprocessing)
    padding = tuple(round(255 * value) if preprocessing.crop_mode == "border" else 0 for value in preprocessing.mean)
    seen = Image.new(image.mode, (width, height), padding)
    seen.paste(image, (-left, -top))
    pixels = np.asarray(seen, np.float32).reshape(height, width, -1).transpose(2, 0, 1) / np.float32(255)
    pixels = pixels[::-1] if preprocessing.channel_order == "BGR" else pixels
    mean, std = (np.array(each, np.float32)[:, None, None] for each in (preprocessing.mean, preprocessing.std))
    return np.ascontiguousarray((pixels - mean) / std), box


def prepare_all(pictures: Sequence[RGB], preprocessing: Preprocessing) -> Float32[np.ndarray, "image channel row col"]:
    """The inputs of several images at once. Raises ImageError where the model takes each in a size of its own."""
    prepared = [prepare(rgb, preprocessing)[0] for rgb in pictures]
    if len({each.shape for each in prepared}) > 1:
        raise ImageError("This model takes every image in a size of its own: give it images of one size.")
    return np.stack(prepared)


def mean_difference(one: Float32[np.ndarray, "_ _ _"], other: Float32[np.ndarray, "_ _ _"]) -> float:
    """Of two inputs, in normalised values; infinite where their shapes differ."""
    return float(np.abs(one - other).mean()) if one.shape == other.shape else math.inf


def seen_box(picture_hw: tuple[int, int], preprocessing: Preprocessing) -> Box:
    """The part of an image of this size that the model's input shows, see `prepare`."""
    if preprocessing.processor is not None and preprocessing.crop_mode == "own":
        return preprocessing.processor.box(picture_hw)
    resized_h, resized_w = _resized_hw(*picture_hw, preprocessing)
    top, left = _corner(resized_h, resized_w, preprocessing)
    height, width = preprocessing.size_hw
    x_scale, y_scale = picture_hw[1] / resized_w, picture_hw[0] / resized_h
    return left * x_scale, top * y_scale, (left + width) * x_scale, (top + height) * y_scale


def _corner(resized_h: int, resized_w: int, preprocessing: Preprocessing) -> tuple[int, int]:
    """(top, left) of the crop in the resized image; negative where it is padded."""
    height, width = preprocessing.size_hw
    top, left = (round(cut / 2) if cut > 0 else int(cut / 2) for cut in (resized_h - height, resized_w - width))
    return top, left


def data_url(rgb: RGB, side_px: int = 1024, exact_px: int = 256) -> str:
    """The image as a page loads it, at most `side_px` long and wide; up to `exact_px` every pixel stays as it is."""
    image = Image.fromarray(rgb)
    small = max(image.size) <= exact_px
    image.thumbnail((side_px, side_px))
    buffer = io.BytesIO()
    image.save(buffer, "PNG" if small else "JPEG", quality=90)
    return f"data:image/{'png' if small else 'jpeg'};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def unprepare(pixels: Float32[np.ndarray, "channel height width"], preprocessing: Preprocessing) -> RGB:
    """What the model really saw, for showing: pixels × std + mean as 8-bit RGB, grey where it has one channel."""
    mean, std = (np.array(each, np.float32)[:, None, None] for each in (preprocessing.mean, preprocessing.std))
    seen = np.rint((pixels * std + mean) * 255).clip(0, 255).astype(np.uint8)
    seen = seen[::-1] if preprocessing.channel_order == "BGR" else seen
    return np.ascontiguousarray(np.broadcast_to(seen, (3, *seen.shape[1:])).transpose(1, 2, 0))


def whole_box(rgb: Pixels) -> Box:
    """All of it."""
    return 0.0, 0.0, float(rgb.shape[1]), float(rgb.shape[0])


def zoomed(rgb: Pixels, times: int) -> Pixels:
    """So many times as large, every pixel a square."""
    return rgb.repeat(times, 0).repeat(times, 1)


def side_of(preprocessing: Preprocessing) -> int:
    """In pixels, of pictures that are drawn for a model."""
    return min(512, max(32, *preprocessing.size_hw))


def seen(rgb: RGB, preprocessing: Preprocessing) -> UInt8[np.ndarray, "rows columns 3"]:
    """An image as the model sees it, resized and cut; with `preprocessing.of_seen` the input is the same, exactly."""
    return unprepare(prepare(rgb, preprocessing)[0], preprocessing)


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
