"""An input of the image's own shape, so that nothing is cropped, for the models that allow it."""

from vizkit.models.families import family
from vizkit.models.recording.kinds import is_torchvision
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
    loaded.preprocessing = loaded.preprocessing.of_seen
    return loaded


def step_px(loaded: Loaded) -> int:
    step = family(loaded.model).step_px(loaded.model, loaded.preprocessing.size_hw)
    if step is None:
        square = "square images" if is_torchvision(loaded.model) else "images"
        raise NotApplicable(f"{loaded.name} takes {square} of its own size only.")
    return step
