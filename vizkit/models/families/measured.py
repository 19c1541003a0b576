"""Where the tokens of an unknown model lie, measured: noise is put over a part of the picture, and the tokens that
change have seen it.

Only what comes before the first attention runs: there every query still stands for the pixels that it was made of.
Noise left of a line, right of it, above and below, for lines at growing places, gives the first and last pixel of each
token.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import torch
from torch import Tensor, nn

from vizkit.models.recording.unmixed import Unmixed
from vizkit.traces import Tokens

Size = tuple[int, int]

STEPS_PX = (16, 8, 4, 2, 1)  # from one line to the next: smaller ones only where two tokens cannot be told apart
MOST_PASSES = 2_400  # of one picture through the embedding; Swin's 56 × 56 tokens take 830
BATCH = 16
SMALL = 1e-4  # of a token's largest change: less is rounding
FITTED_STEP_PX = 8
WIDE = 0.75  # of a side
ALIKE = 0.99  # correlation of the centres with those of a grid


class Placed(NamedTuple):
    """`ids` (group, position): which of the tokens each query of the first attention layer is."""

    tokens: Tokens
    ids: Tensor


class _ReachedError(Exception):
    """The first attention has been reached; nobody needs the rest of the pass."""


class _FirstQueries(Unmixed):
    """Keeps the queries of the first attention call, (image · group, head, query, channel), and ends the pass there."""

    queries: Tensor | None = None

    def asked(self, layer: int, queries: Tensor | None, keys: Tensor | None) -> None:
        self.queries = queries
        raise _ReachedError


def measured(
    model: nn.Module,
    size_hw: Size,
    channels: int,
    device: torch.device,
    dtype: torch.dtype = torch.float32,
) -> Placed | None:
    """The tokens of the first attention layer for an input of `size_hw` pixels; None where they are no grid.

    Tokens that no pixel changes are special. Every cell of the grid has to be taken exactly once, in an order of rows
    and columns that the pixels say; otherwise nothing is said.
    """
    draw = torch.Generator().manual_seed(0)
    picture, noise = (torch.randn(1, channels, *size_hw, generator=draw).to(device, dtype) for _ in range(2))
    passes = 0
    for step in (step for step in STEPS_PX if step < min(size_hw)):
        passes += 2 * sum(side // step for side in size_hw)
        if passes > MOST_PASSES:
            return None
        extents = []
        for axis in (-1, -2):  # columns, rows
            extent = _extents(model, picture, noise, axis, step)
            if extent is None:
                return None
            extents.append(extent)
        placed = _placed([seen for seen, _ in extents], size_hw)
        if placed is not None:
            return placed
        # Where every token sees most of the picture (normalisation over all of it) smaller steps tell nothing more.
        wide = [
            (seen[1] - seen[0]).nan_to_num(side) > WIDE * side
            for (seen, _), side in zip(extents, size_hw[::-1], strict=True)
        ]
        if step <= FITTED_STEP_PX and all(bool(axis.all()) for axis in wide):
            return _fitted([centre for _, centre in extents], size_hw)
    return None


def given(grid: Size, count: int, size_hw: Size) -> Placed | None:
    """`count` tokens of one group of which the last fill a grid, row by row; None where they are too few."""
    special = count - grid[0] * grid[1]
    return Placed(_tokens(grid, special, size_hw), torch.arange(count)[None]) if special >= 0 else None


def _tokens(grid: Size, special: int, size_hw: Size) -> Tokens:
    names = ("cls",) if special == 1 else tuple(f"special {i + 1}" for i in range(special))
    stride, row_stride = size_hw[1] / grid[1], size_hw[0] / grid[0]
    return Tokens("patches", names, grid, stride=stride, aspect=row_stride / stride)


def _extents(model: nn.Module, picture: Tensor, noise: Tensor, axis: int, step: int) -> tuple[Tensor, Tensor] | None:
    """(2, group, position): before and after which pixel along an axis each token begins and ends, to within `step`.
    (group, position): the pixel at which half of its change has passed, the mean of both directions. NaN for a token
    that no pixel changes."""
    side = picture.shape[axis]
    lines = torch.arange(step, side, step, device=picture.device)
    places = torch.arange(side, device=picture.device)
    places = places if axis == -1 else places[:, None]
    before = _changes(model, (torch.where(places < line, noise, picture) for line in lines), picture)
    after = _changes(model, (torch.where(places >= line, noise, picture) for line in lines), picture)
    whole = _changes(model, iter([noise]), picture)
    if before is None or after is None or whole is None:
        return None
    changed = SMALL * whole[0]
    # As the line moves on, more of a token lies before it: it counts how many lines pass before the token begins.
    begins = (before <= changed).sum(0) * step
    ends = (after > changed).sum(0) * step
    half = (before <= whole[0] / 2).sum(0) + (after > whole[0] / 2).sum(0)
    centres = (half + 1) / 2 * step  # between the last line that half has not passed and the next one
    seen = torch.stack([begins, ends, centres]).cpu().double()
    seen[:, (whole[0] <= SMALL * whole.max()).cpu()] = torch.nan
    return seen[:2], seen[2]


def _changes(model: nn.Module, pictures: Iterator[Tensor], plain: Tensor) -> Tensor | None:
    """(picture, group, position): how far the queries of each picture are from those of the plain one."""
    changes = []
    while parts := list(islice(pictures, BATCH)):  # never all of them: a large input has gigabytes of pictures
        batch = torch.cat([plain, *parts])
        watch = _FirstQueries()
        try:
            with torch.no_grad(), watch:
                model(batch)
        except _ReachedError:
            pass
        except Exception:  # a stranger's model refuses several pictures at once in its own way
            return None
        queries = watch.queries
        if queries is None or queries.shape[0] % len(batch) or queries.dim() not in (3, 4):
            return None
        queries = queries.unflatten(0, (len(batch), -1)).float()  # image, group (or head), …, query, channel
        off = (queries[1:] - queries[:1]).abs().amax(-1)
        # In three axes heads stand beside the images, in four groups do. All heads of a token see the same pixels.
        changes.append(off.amax(1, keepdim=True) if queries.dim() == 4 else off.amax(2))
    return torch.cat(changes) if changes else None


def _placed(extents: list[Tensor], size_hw: Size) -> Placed | None:
    """The grid that the tokens' extents make, where they make one."""
    (x0, x1), (y0, y1) = extents
    special = x0.isnan() & y0.isnan()
    if bool((x0.isnan() != y0.isnan()).any()) or bool(special.all()):
        return None
    on_grid = ~special
    rows, row_of = torch.unique(torch.stack([y0, y1], -1)[on_grid], dim=0, return_inverse=True)
    columns, column_of = torch.unique(torch.stack([x0, x1], -1)[on_grid], dim=0, return_inverse=True)
    grid = (len(rows), len(columns))
    cells = row_of * grid[1] + column_of
    if len(cells) != grid[0] * grid[1] or len(cells.unique()) != len(cells) or len(cells) < 2:
        return None
    for ends, side in ((rows, size_hw[0]), (columns, size_hw[1])):
        centres, cell = ends.sum(-1) / 2, side / len(ends)
        # Sorted by where they begin, they also have to end in order, each near its own share of the picture.
        expected = (torch.arange(len(ends)) + 0.5) * cell
        if bool((ends[:, 1].diff() < 0).any()) or bool(((centres - expected).abs() > max(cell, 16)).any()):
            return None
    return _with_special(special, cells, grid, size_hw)


def _with_special(special: Tensor, cells: Tensor, grid: Size, size_hw: Size) -> Placed:
    """Special tokens first, the others by their cells."""
    count = int(special.sum())
    ids = torch.empty(special.shape, dtype=torch.long)
    ids[special], ids[~special] = torch.arange(count), count + cells
    return Placed(_tokens(grid, count, size_hw), ids)


def _fitted(centres: list[Tensor], size_hw: Size) -> Placed | None:
    """The grid of square cells, row by row, that noisy centres (x, y) of one group of tokens follow."""
    x, y = centres
    special = x.isnan()
    count = int((~special).sum())
    rows = round((count * size_hw[0] / size_hw[1]) ** 0.5)
    grid = (rows, count // max(rows, 1))
    square = grid[0] * grid[1] == count and grid[0] * size_hw[1] == grid[1] * size_hw[0]
    if len(special) != 1 or min(grid) < 2 or not square:
        return None
    cells = torch.arange(count)
    for measured_px, cell in ((x, cells % grid[1]), (y, cells // grid[1])):
        if torch.corrcoef(torch.stack([measured_px[~special], cell.double()]))[0, 1] < ALIKE:
            return None
    return _with_special(special, cells, grid, size_hw)
