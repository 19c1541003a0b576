"""What an image processor of the transformers library does to a picture, in vizkit's words."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vizkit.image import Preprocessing
from vizkit.models.sources.checkpoint import read_json
from vizkit.models.sources.hub import ModelError

INTERPOLATIONS = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}  # Pillow's numbers
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
Size = tuple[int, int]


def preprocessing_of(folder: Path, title: str, config: Mapping[str, Any], size_hw: Size | None) -> Preprocessing:
    """From preprocessor_config.json; without one the size of the model, and ImageNet's mean and deviation."""
    about = processor(folder, title)
    vision = config.get("vision_config", config)
    try:
        side = vision.get("image_size", 224)
        own = (int(side[0]), int(side[1])) if isinstance(side, list | tuple) else (int(side), int(side))
        resized, cut = about.get("size"), about.get("crop_size") if about.get("do_center_crop") else None
        size, shortest = _read_size(resized, own), shortest_edge(resized)
        crop_pct, crop_mode = 1.0, "squash"  # to height and width, whatever the picture's shape
        if cut is not None:
            size = _read_size(cut, own)
            crop_pct, crop_mode = size[0] / (shortest or _read_size(resized, size)[0]), "center"
        elif shortest:
            size, crop_mode = (shortest, shortest), "center"
            if shortest < 384 and about.get("crop_pct"):  # ConvNeXt resizes to more, and cuts the middle out
                crop_pct = float(about["crop_pct"])
        mean, std = (about.get(f"image_{kind}", values) for kind, values in zip(("mean", "std"), IMAGENET, strict=True))
        if about.get("do_normalize") is False:
            mean, std = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
        scale = 255 * float(about.get("rescale_factor", 1 / 255)) if about.get("do_rescale", True) else 255.0
        channels = int(vision.get("num_channels", 3))
        mean, std = ([float(value) / scale for value in values][:channels] for values in (mean, std))
        interpolation = INTERPOLATIONS[int(about.get("resample", 3))]
        return Preprocessing(size_hw or size, tuple(mean), tuple(std), crop_pct, crop_mode, interpolation, channels)
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        raise ModelError(
            f"The image processor of {title[:60]} makes no sense: {str(error)[:80].rstrip('.')}."
        ) from None


def processor(folder: Path, title: str) -> dict[str, Any]:
    """What the folder says of its image processor, nothing where it has none. Raises ModelError where it is damaged."""
    for name in ("preprocessor_config.json", "processor_config.json"):
        if not (folder / name).is_file():
            continue
        try:
            about = read_json(folder / name, title)
        except ModelError:
            raise ModelError(f"The {name} of {title[:60]} cannot be read: get it again, or delete it.") from None
        about = about.get("image_processor", about)
        if isinstance(about, dict):
            return about
    return {}


def _read_size(size: Any, own: Size) -> Size:
    if isinstance(size, Mapping):
        return (int(size["height"]), int(size["width"])) if "height" in size else own
    return (int(size), int(size)) if isinstance(size, int) else own


def shortest_edge(size: Any) -> int | None:
    return int(size["shortest_edge"]) if isinstance(size, Mapping) and "shortest_edge" in size else None
