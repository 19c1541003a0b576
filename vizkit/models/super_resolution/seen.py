"""One small picture through TTSR, and all that its attention saw: places, relevance, results of several kinds."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from vizkit.models.networks.super_resolution.parts import bicubic
from vizkit.models.networks.super_resolution.texture import directions
from vizkit.models.networks.super_resolution.ttsr import TIMES
from vizkit.models.super_resolution.enlarging import bytes_of_pixels, fitting_reference, pixels_of
from vizkit.models.super_resolution.opening import Enlarger

LARGEST_SEEN = 64
"""Pixels of the longer side of a small picture whose whole relevance is looked at."""
SHARPNESS = 30.0
"""Of the softmax in the mixture of all places, as 1/√d is in a transformer; relevance goes from −1 to 1."""
RGB = UInt8[np.ndarray, "_row _column 3"]


@dataclass(frozen=True, eq=False)
class Seen:
    """`reference`: as the network takes it. `queries`, `keys`: 3×3 patches as vectors of length 1, whose product is
    the relevance. `gates`: σ(10 a (S − b)) at 1×, 2× and 4×, 0 (refused) to 1."""

    small: RGB
    reference: RGB
    hard: RGB  # enlarged with the texture of one place for each pixel
    mixture: RGB  # with the mean of all places, weighted by a softmax
    bicubic: RGB
    grid: tuple[int, int]  # places of the small picture
    key_grid: tuple[int, int]  # places of the reference, 4 × 4 pixels each
    place: Int[Tensor, " place"]
    relevance: Float[Tensor, " place"]
    gates: tuple[Float[Tensor, " place"], ...]
    queries: Float[Tensor, "value place"]
    keys: Float[Tensor, "value key"]

    @property
    def gate(self) -> Float[np.ndarray, " place"]:
        """The largest of the three scales, at every place."""
        return torch.stack(self.gates).amax(0).numpy()

    def map_of(self, place: int) -> Float[Tensor, "row column"]:
        """The relevance of every place of the reference for one place of the small picture, −1…1."""
        return (self.queries[:, place] @ self.keys).reshape(self.key_grid)


@torch.inference_mode()
def see(enlarger: Enlarger, small: RGB, reference: RGB) -> Seen:
    """Raises ValueError for a picture with a side above LARGEST_SEEN or a network without a reference."""
    if max(small.shape[:2]) > LARGEST_SEEN:
        raise ValueError(f"Attention is looked at in images of up to {LARGEST_SEEN} pixels.")
    if not enlarger.uses_reference:
        raise ValueError(f"{enlarger.name} has no attention: it was trained without a reference.")
    model, given = enlarger.model, fitting_reference(reference)
    pixels = pixels_of(small, enlarger.device)
    search = model.search(pixels, pixels_of(given, enlarger.device))
    relevance = search.matched.relevance
    hard, mixture = (
        bytes_of_pixels(model.enlarged(pixels, (model.textures(search, sharpness), relevance)))
        for sharpness in (0.0, SHARPNESS)
    )
    rows, columns = small.shape[:2]
    plain = bytes_of_pixels(bicubic(pixels, (TIMES * rows, TIMES * columns)))
    gates = tuple(transfer.gate(relevance)[0].cpu() for transfer in model.transfers)  # type: ignore[operator]
    return Seen(
        small,
        given,
        hard,
        mixture,
        plain,
        (rows, columns),
        tuple(search.key.shape[-2:]),  # type: ignore[arg-type]
        search.matched.place[0].cpu(),
        relevance[0].cpu(),
        gates,
        *(directions(each)[0].cpu() for each in (search.query, search.key)),
    )


def most_changed(result: RGB, other: RGB) -> tuple[int, int]:
    """The place, TIMES × TIMES pixels, around which 3 × 3 places differ most between two enlarged pictures."""
    around = _around(_apart(result, other))
    row, column = np.unravel_index(np.argmax(around), around.shape)
    return int(row), int(column)


def difference_around(result: RGB, other: RGB) -> Float[np.ndarray, "row column"]:
    """Of every place the mean absolute difference of two enlarged pictures over the 3 × 3 places around it, 0 to 1."""
    places = _apart(result, other)
    return _around(places) / _around(np.ones_like(places)) / 255


def _apart(result: RGB, other: RGB) -> Float[np.ndarray, "row column"]:
    """Mean absolute difference of every place, 0 to 255."""
    pixels = np.abs(result.astype(np.float32) - other).mean(2)
    rows, columns = (side // TIMES for side in pixels.shape)
    return pixels.reshape(rows, TIMES, columns, TIMES).mean((1, 3))


def _around(places: Float[np.ndarray, "row column"]) -> Float[np.ndarray, "row column"]:
    """Sums over 3 × 3 places; beyond the border is nothing."""
    (rows, columns), framed = places.shape, np.pad(places, 1)
    return np.sum([framed[y : y + rows, x : x + columns] for y in range(3) for x in range(3)], 0)
