"""What every channel of a convolution answers most strongly to, over many pictures (Zeiler & Fergus 2014, fig. 2)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from vizkit.image import RGB, prepare, unprepare
from vizkit.models.probes.convolution.layers_seen import Convolved, seen
from vizkit.models.probes.convolution.receptive_field import Seen
from vizkit.models.sources.loaded import Loaded

Box = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class Answers:
    """For every channel its strongest places, the strongest first: the number, the picture and the place in the
    channel's map. `inputs`: what the model saw of every picture."""

    values: Float[np.ndarray, "channel place"]
    images: Int[np.ndarray, "channel place"]
    rows: Int[np.ndarray, "channel place"]
    columns: Int[np.ndarray, "channel place"]
    inputs: UInt8[np.ndarray, "image height width 3"]


def strongest_places(
    loaded: Loaded,
    pictures: Iterable[RGB],
    index: int,
    *,
    keep: int,
    of_each: int = 1,
    progress: Callable[[int], None] = lambda done: None,
) -> Answers:
    """Of convolution `index`, from 0, after its activation where one follows at once; one pass for each picture.
    `of_each`: at most so many places of a picture, all of them peaks. `progress` is given the number of those done."""
    values, places, images, inputs, columns = [], [], [], [], 1
    for number, rgb in enumerate(pictures):
        progress(number)
        pixels, _ = prepare(rgb, loaded.preprocessing)
        inputs.append(unprepare(pixels, loaded.preprocessing))
        maps = after(seen(loaded, torch.from_numpy(pixels)[None], index).convolved[index])
        columns = maps.shape[2]
        highest = peaks(maps, of_each)
        values.append(highest.values.numpy())
        places.append(highest.indices.numpy())
        images += [number] * highest.values.shape[1]
    height, flat = np.concatenate(values, 1), np.concatenate(places, 1)  # channel place
    order = np.argsort(-height, 1, kind="stable")[:, :keep]
    place = np.take_along_axis(flat, order, 1)
    return Answers(
        np.take_along_axis(height, order, 1),
        np.array(images)[order],
        place // columns,
        place % columns,
        np.stack(inputs),
    )


def peaks(maps: Float[Tensor, "channel row column"], most: int) -> Any:
    """(values, indices) of the highest places, the first the maximum, no other within a quarter of the map of a higher
    one; −∞ where there are no more."""
    away = max(1, min(maps.shape[1:]) // 8)
    around = F.max_pool2d(maps[None], 2 * away + 1, 1, away)[0]
    alone = torch.where(maps == around, maps, -torch.inf) if most > 1 else maps
    return alone.flatten(1).topk(min(most, maps[0].numel()), 1)


def after(layer: Convolved) -> torch.Tensor:
    """What leaves a convolution for the next layers, as far as it is seen."""
    return layer.after.get("activation", layer.after["convolution"])


def patches(answers: Answers, channels: Iterable[int], field: Seen) -> list[list[UInt8[np.ndarray, "height width 3"]]]:
    """What units with this field see at every channel's strongest places; fewer where a channel has fewer peaks."""

    def seen_at(channel: int, place: int) -> Box:
        return field.box((int(answers.rows[channel, place]), int(answers.columns[channel, place])))

    return [
        [
            patch(answers, channel, place, seen_at(channel, place))
            for place, value in enumerate(answers.values[channel])
            if np.isfinite(value)
        ]
        for channel in channels
    ]


def patch(answers: Answers, channel: int, place: int, box_xyxy: Box) -> UInt8[np.ndarray, "height width 3"]:
    """The pixels in a box of the model's input, grey beyond its edges."""
    x0, y0, x1, y1 = box_xyxy
    image = answers.inputs[answers.images[channel, place]]
    out = np.full((y1 - y0, x1 - x0, 3), 128, np.uint8)
    top, left, bottom, right = max(y0, 0), max(x0, 0), min(y1, image.shape[0]), min(x1, image.shape[1])
    out[top - y0 : bottom - y0, left - x0 : right - x0] = image[top:bottom, left:right]
    return out
