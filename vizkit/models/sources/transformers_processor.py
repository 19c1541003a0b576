"""What an image processor of the transformers library does to a picture: in vizkit's words where they give the same
numbers, else by the processor itself, whose geometry is then measured. Never code from the folder."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image
from timm.data import IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD

from vizkit.check import PIXEL_TOLERANCE
from vizkit.image import MAX_INPUT_SIDE, RGB, Box, ImageError, Preprocessing, mean_difference, prepare
from vizkit.models.sources.checkpoint import read_json
from vizkit.models.sources.hub import ModelError

INTERPOLATIONS = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}  # Pillow's numbers
IMAGENET = IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD
KIND = re.compile(r"(ImageProcessor(Fast|Pil)?|FeatureExtractor)$")
BY_SHORTEST = ("CLIP", "ChineseCLIP", "Bit", "ConvNext")  # for which one number is the shorter edge
PLAIN = (*BY_SHORTEST, "", "Beit", "Blip", "DeiT", "DPT", "Pvt", "RTDetr", "Segformer", "Siglip", "ViT")
STEPS = ("do_resize", "do_center_crop", "do_rescale", "do_normalize", "do_convert_rgb", "do_reduce_labels")
WORD = re.compile(r"[\w-]{0,40}")
ROUNDING = 0.02  # of values whose deviation is about 1: what another order of rounding to 8 bits may make
SAME = PIXEL_TOLERANCE / 10  # as other pictures may have more of what is rounded
ALIKE = 0.06  # of 1: mean difference of a picture that lies where it is said, sampled more simply
STEP = 1 / 255
Size = tuple[int, int]
Pixels = np.ndarray  # (channel, row, column), float32
Settings = Mapping[str, Any]


def preprocessing_of(folder: Path, title: str, config: Mapping[str, Any], size_hw: Size | None) -> Preprocessing:
    """From preprocessor_config.json; without one the size of the model, and ImageNet's mean and deviation. `size_hw`:
    where the input shall have another size than the processor gives.

    Where transformers is installed, its processor is asked for a few pictures: unless the words give the same, it is
    what `prepare` uses. Raises ModelError where neither can tell what the model sees.
    """
    about, vision = processor(folder, title), config.get("vision_config", config)
    own = own_processor(folder, title, about)
    kind = KIND.sub("", str(about.get("image_processor_type") or about.get("feature_extractor_type") or ""))
    try:
        side = vision.get("image_size", 224)
        model_hw = (int(side[0]), int(side[1])) if isinstance(side, list | tuple) else (int(side), int(side))
        channels = int(vision.get("num_channels", 3))
        stated = json.loads(own.settings) if own else about
        words = _in_words(KIND.sub("", own.kind) if own else kind, stated, model_hw, channels)
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        if own is None:
            reason = str(error)[:80].rstrip(".")
            raise ModelError(f"The image processor of {title[:60]} makes no sense: {reason}.") from None
        words, model_hw = None, (224, 224)
    if own is None and not (kind in PLAIN and _plain(about)):
        raise ModelError(
            f"The image processor of {title[:60]} ({kind[:40] or 'as it is set'}) does more than vizkit alone can: "
            "pip install -r requirements-transformers.txt lets it prepare the images."
        )
    try:
        needs = words if own is None else _compared(own, words, model_hw)
    except ImageError as error:
        raise ModelError(f"{title[:60]} cannot be shown: {str(error)[:1].lower()}{str(error)[1:]}") from None
    assert needs is not None
    return needs if size_hw is None else needs.of_size(size_hw)


def processor(folder: Path, title: str) -> dict[str, Any]:
    """What the folder says of its image processor, nothing where it has none. Raises ModelError where it is damaged."""
    for name in ("processor_config.json", "preprocessor_config.json"):  # the library's own order
        if not (folder / name).is_file():
            continue
        try:
            about = read_json(folder / name, title)
        except ModelError:
            raise ModelError(f"The {name} of {title[:60]} cannot be read: get it again, or delete it.") from None
        about = about.get("image_processor") if name == "processor_config.json" else about
        if isinstance(about, dict):
            return about
    return {}


def shortest_edge(size: Any) -> int | None:
    return int(size["shortest_edge"]) if isinstance(size, Mapping) and size.get("shortest_edge") else None


# ---- in words --------------------------------------------------------------------------------------------------------
def _plain(about: Settings) -> bool:
    """Whether it only resizes to a size that it states, cuts, and normalises."""
    asked = {name for name, value in about.items() if name.startswith("do_") and value}
    sized = about.get("do_resize", True) or about.get("do_center_crop")
    return asked <= {*STEPS} and bool(sized) and not about.get("include_top")


def _in_words(kind: str, about: Settings, own: Size, channels: int) -> Preprocessing:
    """`own`: of the model, where the processor states no size. Raises many errors where it makes no sense."""
    resized, cut = about.get("size"), about.get("crop_size") if about.get("do_center_crop") else None
    if isinstance(resized, int) and kind in BY_SHORTEST:
        resized = {"shortest_edge": resized}
    size, shortest = _read_size(resized, own), shortest_edge(resized)
    crop_pct, crop_mode = 1.0, "center" if shortest else "squash"  # to height and width, whatever the picture's shape
    if cut is not None:
        size = _read_size(cut, own)
        crop_pct = size[0] / (shortest or _read_size(resized, size)[0])
    elif shortest:
        size = (shortest, shortest)
        if kind == "ConvNext":  # resizes to more and cuts the middle out, but large pictures not
            crop_pct, crop_mode = (float(about["crop_pct"]), "center") if shortest < 384 else (1.0, "squash")
    mean, std = (about.get(f"image_{kind}", values) for kind, values in zip(("mean", "std"), IMAGENET, strict=True))
    if about.get("do_normalize") is False:
        mean, std = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    scale = 255 * float(about.get("rescale_factor", 1 / 255)) if about.get("do_rescale", True) else 255.0
    mean, std = ([float(value) / scale for value in values][:channels] for values in (mean, std))
    interpolation = INTERPOLATIONS[int(about.get("resample", 3))]
    return Preprocessing(size, tuple(mean), tuple(std), crop_pct, crop_mode, interpolation, channels)


def _read_size(size: Any, own: Size) -> Size:
    if isinstance(size, Mapping):
        return (int(size["height"]), int(size["width"])) if size.get("height") else own
    return (int(size), int(size)) if isinstance(size, int) else own


# ---- by itself -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class OwnProcessor:
    """An image processor of transformers by its class and its settings, as JSON: it can be a key, and go elsewhere."""

    kind: str
    settings: str

    def __call__(self, rgb: RGB) -> Pixels:
        try:
            given = _made(self)(Image.fromarray(rgb), return_tensors="pt").get("pixel_values")
        except Exception as error:  # every class has its own way to refuse
            reason = " ".join(str(error).split())[:80].rstrip(".")
            raise ImageError(f"{self.kind} takes no single image: {reason or type(error).__name__}.") from None
        shape = tuple(given.shape) if isinstance(given, torch.Tensor) else None
        if shape is None or len(shape) != 4 or shape[0] != 1 or shape[1] not in (1, 3):
            raise ImageError(f"{self.kind} makes no image of an image: its pixel_values are {shape or 'not there'}.")
        if not all(1 <= side <= MAX_INPUT_SIDE for side in shape[2:]):
            raise ImageError(f"{self.kind} makes {shape[2]}×{shape[3]} pixels of an image, more than any model sees.")
        return given[0].float().cpu().numpy()

    def box(self, picture_hw: Size) -> Box:
        return _box(self, picture_hw)


@lru_cache(maxsize=8)
def _made(own: OwnProcessor) -> Any:
    import transformers

    settings = json.loads(own.settings)
    _refuse_settings(settings, own.kind)
    kind = getattr(transformers, own.kind, None)
    if not (isinstance(kind, type) and issubclass(kind, transformers.BaseImageProcessor)):
        raise ImageError(f"This transformers has no image processor {own.kind[:60]!r}.")
    return kind.from_dict(settings)  # pyright: ignore[reportAttributeAccessIssue]


def own_processor(folder: Path, title: str, about: Settings) -> OwnProcessor | None:
    """As `AutoImageProcessor` opens it; None without transformers, or where nothing says which one it is."""
    if not about:
        return None
    try:
        from transformers import AutoImageProcessor
    except ImportError:
        return None
    try:
        _refuse_settings(about, title[:60])
        made: Any = AutoImageProcessor.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
        return OwnProcessor(type(made).__name__, made.to_json_string())
    except Exception as error:  # a stranger's settings make constructors raise anything
        if not (about.get("image_processor_type") or about.get("feature_extractor_type") or about.get("auto_map")):
            return None
        reason = re.sub(r"\S*/\S+", "", " ".join(str(error).split()))[:100].rstrip(".")
        raise ModelError(f"The image processor of {title[:60]} cannot be made: {reason}.") from None


def _refuse_settings(about: Settings, title: str) -> None:
    """Names of files and of other hosts, commands, and sizes that would fill the memory."""
    for name, value in about.items():
        for each in _leaves(value if name != "auto_map" else None):
            strange = isinstance(each, str) and not WORD.fullmatch(each)
            if strange or (isinstance(each, int | float) and not abs(each) <= MAX_INPUT_SIDE):
                raise ImageError(
                    f"The {name[:40]} of {title} is {str(each)[:40]!r}, which vizkit gives to no processor."
                )
    for name in ("crop_pct", "rescale_factor"):
        if isinstance(value := about.get(name), int | float) and not value > (0.1 if name == "crop_pct" else 0):
            raise ImageError(f"The {name} of {title} is {value}, which makes no sense.")


def _leaves(value: Any) -> list[Any]:
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else None
    return [value] if parts is None else [leaf for part in parts for leaf in _leaves(part)]


def _compared(own: OwnProcessor, words: Preprocessing | None, model_hw: Size) -> Preprocessing:
    """The words with the processor beside them, which makes the pixels unless both give the same; where they are far
    apart, what is measured of it. Raises ImageError where that makes no sense."""
    pictures = [_sample(*hw) for hw in ((300, 480), (480, 300), (61, 47))]
    theirs = [own(rgb) for rgb in pictures]
    ours = [prepare(rgb, words)[0] for rgb in pictures] if words else []
    apart = [mean_difference(*pair) for pair in zip(ours, theirs, strict=bool(ours))] or [np.inf]
    if words and max(apart) < ROUNDING:
        return replace(words, processor=own, translated=max(apart) < SAME)
    tone, (height, width) = _tone(own, model_hw), own(_plain_picture(model_hw, 255)).shape[1:]
    needs = Preprocessing(
        (height, width), tone.mean, tone.std, 1.0, "own", "bilinear", len(tone.mean), tone.order, own, translated=False
    )
    for rgb, given in zip(pictures[:2], theirs, strict=False):
        box = own.box((rgb.shape[0], rgb.shape[1]))
        if not _difference_where(rgb, given, box, tone) < ALIKE:
            raise ImageError(f"{own.kind} cuts or changes every image in another way, so no map can be laid over it.")
    return needs


# ---- measured --------------------------------------------------------------------------------------------------------
class Tone(NamedTuple):
    """Of each channel of the input: (value / 255 − mean) / std."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    order: str

    def shown(self, pixels: Pixels) -> np.ndarray:
        """As colours from 0 to 1."""
        mean, std = (np.array(each)[:, None, None] for each in (self.mean, self.std))
        values = pixels * std + mean
        return values[::-1] if self.order == "BGR" else values


def _plain_picture(hw: Size, *colour: int) -> RGB:
    return np.broadcast_to(np.array(colour, np.uint8), (*hw, 3)).copy()


def _tone(own: OwnProcessor, hw: Size) -> Tone:
    black, white, tint = (own(_plain_picture(hw, *c)).astype(np.float64) for c in ((0,), (255,), (51, 102, 204)))
    inside = np.isfinite(black) & (white - black > 1e-9)
    if not inside.any((1, 2)).all():
        raise ImageError(f"{own.kind} changes the colours of every image in another way.")
    low, high, middle = (
        [float(np.median(each[inside[c]])) for c, each in enumerate(values)] for values in (black, white, tint)
    )
    std = [1 / (bright - dark) for dark, bright in zip(low, high, strict=True)]
    mean = [-dark * each for dark, each in zip(low, std, strict=True)]
    seen = [round(255 * (value * s + m)) for value, m, s in zip(middle, mean, std, strict=True)]
    grey = max(seen) - min(seen) <= 1
    order = "BGR" if not grey and np.allclose(seen, (204, 102, 51), atol=2) else "RGB"
    if not grey and order == "RGB" and not np.allclose(seen, (51, 102, 204), atol=2):
        raise ImageError(f"{own.kind} makes other colours of those of an image.")
    return Tone(tuple(round(each, 7) for each in mean), tuple(round(each, 7) for each in std), order)


@lru_cache(maxsize=4096)
def _box(own: OwnProcessor, picture_hw: Size) -> Box:
    """Where pictures land that grow brighter from left to right, or from top to bottom."""
    black, white = (own(_plain_picture(picture_hw, value)).mean(0) for value in (0, 255))
    inside = white - black > 1e-6
    rows, columns = (np.flatnonzero(inside.any(axis)) for axis in (1, 0))
    if not rows.size:
        raise ImageError(f"{own.kind} shows nothing of an image of {picture_hw[0]}×{picture_hw[1]} pixels.")
    part = np.ix_(rows, columns)
    ends = []
    for axis, places in ((1, columns), (0, rows)):
        ramp = own(_ramp(picture_hw, axis)).mean(0)
        if ramp.shape != black.shape or not inside[part].all():
            raise ImageError(f"{own.kind} cuts an image as no rectangle.")
        shown = ((ramp - black) / np.where(inside, white - black, 1))[part]
        line = shown.mean(1 - axis)
        along = line * picture_hw[axis]
        middle = (line > 0.1) & (line < 0.9)
        middle = middle if middle.sum() >= 4 else np.full(len(line), True)
        step, start = (
            np.polyfit(places[middle] + 0.5, along[middle], 1)
            if len(places) > 1
            else (picture_hw[axis] / len(places), -places[0] * picture_hw[axis])
        )
        off = np.abs(along - start - step * (places + 0.5))[middle].max()
        if step <= 0 or off > max(1.0, 2 * step, 0.01 * picture_hw[axis]) or (shown.std(1 - axis) > 8 * STEP).any():
            raise ImageError(f"{own.kind} turns an image or cuts it into parts, so no map can be laid over it.")
        ends += [(float(start), float(start + step * ramp.shape[axis]))]
    (left, right), (top, bottom) = ends
    return left, top, right, bottom


def _ramp(hw: Size, axis: int) -> RGB:
    """Grey, from black to white along an axis; across it levels alternate, so that their mean is exact."""
    rows, columns = np.ogrid[: hw[0], : hw[1]]
    along, across = (rows, columns) if axis == 0 else (columns, rows)
    values = np.floor(255 * (along + 0.5) / hw[axis] + (across * 0.6180339887) % 1)
    return np.repeat(values.clip(0, 255).astype(np.uint8)[..., None], 3, 2)


def _sample(height: int, width: int) -> RGB:
    """Soft colours with a grain, in a light frame: what cuts margins off cuts it off here."""
    draw = np.random.default_rng(height * width)
    coarse = draw.integers(20, 200, (6, 6, 3), dtype=np.uint8)
    soft = np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)).astype(int)
    edge = (height // 8, width // 8)
    soft[: edge[0]], soft[-edge[0] :], soft[:, : edge[1]], soft[:, -edge[1] :] = 235, 235, 235, 235
    return (soft + draw.integers(-20, 21, soft.shape)).clip(0, 255).astype(np.uint8)


def _difference_where(rgb: RGB, given: Pixels, box: Box, tone: Tone) -> float:
    """Mean difference of an input from its picture, read at the places where the box says that it lies."""
    left, top, right, bottom = box
    (height, width), (rows, columns) = rgb.shape[:2], given.shape[1:]
    x = left + (np.arange(columns) + 0.5) / columns * (right - left)
    y = top + (np.arange(rows) + 0.5) / rows * (bottom - top)
    across, down = (x > 0) & (x < width), (y > 0) & (y < height)
    there = rgb[y[down].astype(int)][:, x[across].astype(int)].transpose(2, 0, 1) / 255
    here = tone.shown(given)[:, down][:, :, across]
    if len(np.unique(tone.mean)) == 1 and np.ptp(here, axis=0).max() < 2 * STEP:
        here, there = here.mean(0), there.mean(0)
    return float(np.abs(here - there).mean())
