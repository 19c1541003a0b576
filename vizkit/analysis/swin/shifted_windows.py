"""Shifted windows on paper: the grid as attention gets it, which region a place belongs to, and which pairs may meet.

Liu et al. 2021 (arXiv 2103.14030), § 3.2 and fig. 4: instead of many uneven windows the grid is rolled by (−s, −s) and
cut into even ones; where a roll has put strangers side by side, a mask keeps them apart. Numbers of regions are those
of the published code (and timm's), so that its mask can be laid beside ours.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from vizkit.geometry import cut, regions, window_ids
from vizkit.traces import PADDING, Attention, Map

Size = tuple[int, int]


@dataclass(frozen=True)
class Layout:
    """A grid rolled, padded and ready to be cut. The last three describe places of that rolled grid.

    `ids`: which token lies there, PADDING (−1) for none. `regions`: 0 to 8; only equal ones may meet. `windows`: which
    window, row by row.
    """

    grid: Size
    window: Size
    shift: Size
    pad_first: bool
    ids: Int[Tensor, "row column"]
    regions: Int[Tensor, "row column"]
    windows: Int[Tensor, "row column"]

    @property
    def count(self) -> int:
        return int(self.windows.max()) + 1


def layout(grid: Size, window: Size, shift: Size = (0, 0), *, pad_first: bool = False) -> Layout:
    """Where every token of `grid` lies after the roll by −`shift` (rows, columns). `pad_first`: `geometry.window_ids`.

    ValueError where a window or grid has no extent, or the shift is not smaller than the window.
    """
    if min(grid) < 1 or not all(0 <= s < w for s, w in zip(shift, window, strict=True)):
        raise ValueError(f"Windows of {window} shifted by {shift} do not cut a grid of {grid}.")
    ids = whole(window_ids(grid, window, shift, pad_first=pad_first), grid, window)
    size = (ids.shape[0], ids.shape[1])
    down, right = (torch.arange(side) for side in size)
    windows = down[:, None] // window[0] * (size[1] // window[1]) + right[None] // window[1]
    return Layout(grid, window, shift, pad_first, ids, regions(size, window, shift), windows)


def whole(parts: Shaped[Tensor, "window token"], grid: Size, window: Size) -> Shaped[Tensor, "row column"]:
    """What `cut` cut, put together again: as many rows and columns as windows need to cover the grid."""
    down, across = (-(-side // extent) for side, extent in zip(grid, window, strict=True))
    return parts.view(down, across, *window).permute(0, 2, 1, 3).reshape(down * window[0], across * window[1])


def allowed(layout: Layout, window: int) -> Bool[Tensor, "query key"]:
    """Which pairs of one window may see each other: those of one region. The others get −100 before softmax.

    Padding is not kept apart: it has a region like every place.
    """
    region = cut(layout.regions, layout.window)[window]
    return region[:, None] == region[None]


def members(layout: Layout, window: int) -> list[tuple[int, int, int]]:
    """(region, its places in this window, how many of them are padding), by the number of the region."""
    region, ids = cut(layout.regions, layout.window)[window], cut(layout.ids, layout.window)[window]
    return [
        (number, int((region == number).sum()), int((ids[region == number] == PADDING).sum()))
        for number in region.unique().tolist()
    ]


def strangers(layout: Layout, window: int) -> int:
    """How many pairs (query, key) of tokens the mask lets through though they lie further apart than a window reaches.

    0 but where a grid is padded after the roll (timm): there the strips of the mask count the padding too, so it misses
    the line along which the two edges of the image meet.
    """
    ids = cut(layout.ids, layout.window)[window]
    row, column = ids // layout.grid[1], ids % layout.grid[1]
    far = ((row[:, None] - row[None]).abs() >= layout.window[0]) | (
        (column[:, None] - column[None]).abs() >= layout.window[1]
    )
    real = (ids != PADDING)[:, None] & (ids != PADDING)[None]
    return int((far & real & allowed(layout, window)).sum())


def window_of(layout: Layout, token_id: int) -> tuple[int, int]:
    """(the window that holds a token, its place in it); KeyError for an id that is not on the grid."""
    where = (cut(layout.ids, layout.window) == token_id).nonzero().tolist()
    if token_id < 0 or not where:
        raise KeyError(token_id)
    return where[0][0], where[0][1]


def pieces(layout: Layout) -> Int[Tensor, "row column"]:
    """For every token, at its own place on the grid, which piece it belongs to: tokens of one piece may meet."""
    out = torch.zeros(layout.grid[0] * layout.grid[1], dtype=torch.long)
    real = layout.ids != PADDING
    out[layout.ids[real]] = (9 * layout.windows + layout.regions)[real]
    return out.view(layout.grid)


def across_lines(attention: Attention, windows: Layout) -> Map | None:
    """The share of its weight, mean over heads, that every token gives to those that the block before, whose windows
    lie regularly, kept apart from it: exactly 0 where its region lies within one of them. None where only some rows
    were kept."""
    if attention.query_ids.shape != attention.key_ids.shape:
        return None
    before = pieces(layout(windows.grid, windows.window)).flatten()
    ids = attention.query_ids
    window, query = (ids != PADDING).nonzero(as_tuple=True)
    apart = before[ids][:, :, None] != before[ids][:, None]
    met = apart & (ids != PADDING)[:, None] & torch.stack([allowed(windows, n) for n in range(windows.count)])
    shares = (attention.weights.float().mean(1) * met).sum(-1)
    places = torch.zeros(len(before))
    places[ids[window, query]] = shares[window, query]
    return places.view(windows.grid)


def evenly(may_meet: Bool[Tensor, "query key"]) -> Float[Tensor, "query key"]:
    """The weights when all contents are alike: softmax of 0 where a pair may meet and −100 where not."""
    return torch.where(may_meet, 0.0, -100.0).softmax(-1)
