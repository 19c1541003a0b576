"""An input of the image's own shape, so that nothing is cropped, for the models that allow it."""

from dataclasses import replace

from vizkit.models.families import cnn, dual_scale, gradual_reduction, swin, vit
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable


def whole_image_size(loaded: Loaded, image_hw: tuple[int, int]) -> tuple[int, int]:
    """(height, width) with about the area of the model's own input and the shape of an image of `image_hw`.

    Both sides are multiples of what the model needs (its patch; 32 pixels for stages that halve), so the image is
    stretched by less than one such step. Raises NotApplicable for models that take one size only.
    """
    own = loaded.preprocessing.size_hw
    step = step_px(loaded)
    area, aspect = own[0] * own[1], image_hw[0] / image_hw[1]
    height, width = (area * aspect) ** 0.5, (area / aspect) ** 0.5
    return max(step, round(height / step) * step), max(step, round(width / step) * step)


def see_everything(loaded: Loaded) -> Loaded:
    """The same model without its crop: the whole image is resized to its input."""
    loaded.preprocessing = replace(loaded.preprocessing, crop_pct=1.0, crop_mode="squash")
    return loaded


def step_px(loaded: Loaded) -> int:
    model = loaded.model
    if type(model).__module__.startswith("torchvision") and not swin.matches(model):
        raise NotApplicable(f"{loaded.name} takes square images of its own size only.")
    if vit.matches(model):
        tokens = vit.tokens_of(model, loaded.preprocessing.size_hw)
        return round(tokens.stride)
    if swin.matches(model) or cnn.matches(model):
        return 32 if min(loaded.preprocessing.size_hw) >= 128 else 4
    if dual_scale.matches(model) or gradual_reduction.matches(model):
        return int(model.step_px)  # pyright: ignore
    raise NotApplicable(f"{loaded.name} takes images of its own size only.")
