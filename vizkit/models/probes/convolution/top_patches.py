"""What every channel of a convolution answers most strongly to, over many pictures (Zeiler & Fergus 2014, fig. 2)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8

from vizkit.image import RGB, prepare, unprepare
from vizkit.models.probes.convolution.layers_seen import Convolved, seen
from vizkit.models.sources.loaded import Loaded

Box = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class Answers:
    """For every channel its strongest places, at most one in a picture, the strongest first: the number, the picture
    and the place in the channel's map. `inputs`: what the model saw of every picture."""

    values: Float[np.ndarray, "channel place"]
    images: Int[np.ndarray, "channel place"]
    rows: Int[np.ndarray, "channel place"]
    columns: Int[np.ndarray, "channel place"]
    inputs: UInt8[np.ndarray, "image height width 3"]


def strongest_places(
    loaded: Loaded, pictures: Iterable[RGB], index: int, *, keep: int, progress: Callable[[int], None]
) -> Answers:
    """Of convolution `index`, from 0, after its activation where one follows at once; one pass for each picture.
    `progress` is given the number of those done."""
    values, places, inputs, columns = [], [], [], 1
    for number, rgb in enumerate(pictures):
        progress(number)
        pixels, _ = prepare(rgb, loaded.preprocessing)
        inputs.append(unprepare(pixels, loaded.preprocessing))
        maps = after(seen(loaded, torch.from_numpy(pixels)[None], index).convolved[index])
        columns = maps.shape[2]
        peaks = maps.flatten(1).max(1)
        values.append(peaks.values.numpy())
        places.append(peaks.indices.numpy())
    height, flat = np.stack(values, 1), np.stack(places, 1)  # channel image
    order = np.argsort(-height, 1, kind="stable")[:, :keep]
    place = np.take_along_axis(flat, order, 1)
    return Answers(np.take_along_axis(height, order, 1), order, place // columns, place % columns, np.stack(inputs))


def after(layer: Convolved) -> torch.Tensor:
    """What leaves a convolution for the next layers, as far as it is seen."""
    return layer.after.get("activation", layer.after["convolution"])


def patch(answers: Answers, channel: int, place: int, box_xyxy: Box) -> UInt8[np.ndarray, "height width 3"]:
    """The pixels in a box of the model's input, grey beyond its edges."""
    x0, y0, x1, y1 = box_xyxy
    image = answers.inputs[answers.images[channel, place]]
    out = np.full((y1 - y0, x1 - x0, 3), 128, np.uint8)
    top, left, bottom, right = max(y0, 0), max(x0, 0), min(y1, image.shape[0]), min(x1, image.shape[1])
    out[top - y0 : bottom - y0, left - x0 : right - x0] = image[top:bottom, left:right]
    return out
