"""All that decides how a kernel walks over an image, and what it gives there."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from vizkit.analysis.convolution.sliding import Kind, Steps, output, reduced
from vizkit.image import RGB

Channel = Literal["grey", "red", "green", "blue"]
CHANNELS: dict[Channel, int | None] = {"grey": None, "red": 0, "green": 1, "blue": 2}
PICTURE_AGAIN = 0.5  # weights that sum to more than this give a picture, not differences
LARGEST_STEP, LARGEST_SIDE_PX = 16, 256


@dataclass(frozen=True)
class Walk:
    """`kernel`: (channel, row, column), () where the largest pixel wins. `mean`, `std`: by which a model normalises the
    image, whose three channels its kernel then reads; else `channel` alone is read, 0 to 255."""

    name: str
    kind: Kind
    kernel: tuple[tuple[tuple[float, ...], ...], ...]
    steps: Steps
    side_px: int = 32
    channel: Channel = "grey"
    bias: float = 0.0
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()

    @cached_property
    def weights(self) -> Float[Tensor, "channel f f2"] | None:
        return torch.tensor(self.kernel, dtype=torch.float64) if self.kernel else None

    @property
    def white(self) -> float | None:
        """The output that is drawn white; None: from blue over zero to red."""
        total = 1.0 if self.weights is None else float(self.weights.sum())
        return 255 * max(1.0, total) if not self.mean and total > PICTURE_AGAIN else None


class Walked(NamedTuple):
    """`image`: what is multiplied; `shades`: the same as it is drawn; `output`: PyTorch's, in double precision."""

    image: Float[Tensor, "channel height width"]
    shades: RGB
    output: Float[Tensor, "out_height out_width"]


def walked(rgb: RGB, walk: Walk) -> Walked:
    """ValueError where the numbers of a walk do not belong together, or are absurd."""
    steps = walk.steps
    sizes = (steps.f, steps.stride, steps.dilation, steps.padding + 1)
    if not all(1 <= size <= LARGEST_STEP for size in sizes) or not 1 <= walk.side_px <= LARGEST_SIDE_PX:
        raise ValueError(f"Nothing walks in steps of {steps} over {walk.side_px} pixels.")
    small = reduced(rgb, walk.side_px)
    grey = np.asarray(Image.fromarray(small).convert("L"))
    if walk.mean:
        channels = grey[..., None] if len(walk.mean) == 1 else small
        values = (channels / 255 - np.array(walk.mean)) / np.array(walk.std)
        shades = small if len(walk.mean) == 3 else _stacked(grey)
    else:
        index = CHANNELS[walk.channel]
        plane = grey if index is None else small[..., index]
        values, shades = plane[..., None], _stacked(plane)
    image = torch.from_numpy(np.ascontiguousarray(values.transpose(2, 0, 1), dtype=np.float64))
    kernel = torch.zeros(1, steps.f, steps.f) if walk.weights is None else walk.weights
    if kernel.shape != (len(image), steps.f, steps.f):
        raise ValueError(f"A kernel of {tuple(kernel.shape)} does not fit {len(image)} channels and f = {steps.f}.")
    return Walked(image, shades, output(image, kernel, steps, walk.kind, walk.bias))


def _stacked(plane: np.ndarray) -> RGB:
    return np.ascontiguousarray(np.stack([plane] * 3, -1))
