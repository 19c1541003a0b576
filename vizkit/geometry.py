"""Where a token is: id ↔ cell ↔ box of pixels, which tokens share a window, how far two cells lie apart.

Ids run over the special tokens first, then over the grid row by row, left to right, top to bottom.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vizkit.traces import PADDING, Attention, Tokens

Box = tuple[float, float, float, float]


def size_of(pixels: Tensor) -> tuple[int, int]:
    """(height, width) of images whose last two axes these are."""
    return pixels.shape[-2], pixels.shape[-1]


def cell_of(tokens: Tokens, token_id: int) -> tuple[int, int] | None:
    """(row, column) of a token on its grid; None for special tokens and tokens without a place."""
    index = token_id - len(tokens.special)
    if tokens.grid is None or not 0 <= index < tokens.grid[0] * tokens.grid[1]:
        return None
    return divmod(index, tokens.grid[1])


def id_of(tokens: Tokens, cell: tuple[int, int]) -> int:
    """Id of the token in cell (row, column); ValueError when the cell is not on the grid."""
    rows, columns = tokens.grid or (0, 0)
    if not (0 <= cell[0] < rows and 0 <= cell[1] < columns):
        raise ValueError(f"Cell {cell} is not on the {rows} × {columns} grid of {tokens.name}.")
    return len(tokens.special) + cell[0] * columns + cell[1]


def name_of(tokens: Tokens, token_id: int) -> str:
    """What to call a token on a page: its special name, its row and column counted from 1, or its number."""
    if token_id < len(tokens.special):
        return f"[{tokens.special[token_id]}]"
    cell = cell_of(tokens, token_id)
    return f"row {cell[0] + 1}, column {cell[1] + 1}" if cell else f"token {token_id + 1}"


def id_at(tokens: Tokens, point_xy: tuple[float, float]) -> int | None:
    """The token under a point in fractions of the model's input, (0, 0) top left; points outside go to the edge."""
    if tokens.grid is None:
        return None
    rows, columns = tokens.grid
    row = min(max(int(point_xy[1] * rows), 0), rows - 1)
    column = min(max(int(point_xy[0] * columns), 0), columns - 1)
    return id_of(tokens, (row, column))


def middle_of(tokens: Tokens, token_id: int) -> tuple[float, float]:
    """The middle of a token in fractions (x, y) of the model's input; that of all for a token without a place."""
    cell, (rows, columns) = cell_of(tokens, token_id), tokens.grid or (1, 1)
    return (0.5, 0.5) if cell is None else ((cell[1] + 0.5) / columns, (cell[0] + 0.5) / rows)


def in_shares(box_xyxy: Box, size_hw: tuple[int, ...]) -> Box:
    """A part of an image, in shares of its width and height."""
    (x0, y0, x1, y1), (height, width) = box_xyxy, size_hw
    return x0 / width, y0 / height, x1 / width, y1 / height


def along(covered: Float[Tensor, "row column"], steps: int) -> list[tuple[float, float]]:
    """Points (x, y) through what is covered by more than half, from one end of its longest axis to the other, in
    fractions of the grid; each in the middle of an equal part of it, none where there are fewer places than steps."""
    places = (covered > 0.5).nonzero().float() + 0.5
    if len(places) < steps:
        return []
    *_, axes = torch.linalg.svd(places - places.mean(0), full_matrices=False)
    order = ((places - places.mean(0)) @ axes[0]).argsort()
    middles = [part.mean(0) / torch.tensor(covered.shape) for part in places[order].tensor_split(steps)]
    return [(float(column), float(row)) for row, column in middles]


def into_box(point_xy: tuple[float, float], box_xyxy: Box, size_hw: tuple[int, int]) -> tuple[float, float]:
    """A point in fractions of an image of `size_hw` pixels, in fractions of `box_xyxy` (pixels) on that image."""
    x, y = point_xy[0] * size_hw[1], point_xy[1] * size_hw[0]
    x0, y0, x1, y1 = box_xyxy
    return (x - x0) / (x1 - x0), (y - y0) / (y1 - y0)


def out_of_box(point_xy: tuple[float, float], box_xyxy: Box, size_hw: tuple[int, int]) -> tuple[float, float]:
    """The other way: fractions of `box_xyxy` (pixels) in fractions of the image of `size_hw` pixels."""
    x0, y0, x1, y1 = box_xyxy
    return (x0 + point_xy[0] * (x1 - x0)) / size_hw[1], (y0 + point_xy[1] * (y1 - y0)) / size_hw[0]


def pixel_box(tokens: Tokens, token_id: int, size_hw: tuple[int, int]) -> Box | None:
    """(x0, y0, x1, y1) of a token in an input of `size_hw` pixels: its share of it, not its receptive field."""
    cell = cell_of(tokens, token_id)
    if cell is None or tokens.grid is None:
        return None
    height, width = size_hw[0] / tokens.grid[0], size_hw[1] / tokens.grid[1]
    return (cell[1] * width, cell[0] * height, (cell[1] + 1) * width, (cell[0] + 1) * height)


def steps_px(tokens: Tokens) -> Float[Tensor, "2"]:
    """(down, right): how far the neighbours of a token lie, in input pixels."""
    return torch.tensor([tokens.stride * tokens.aspect, tokens.stride], dtype=torch.float32)


def all_ids(count: int) -> Int[Tensor, "1 token"]:
    """One group that holds every token in order: global attention."""
    return torch.arange(count)[None]


def window_ids(
    grid: tuple[int, int],
    window: tuple[int, int],
    shift: tuple[int, int] = (0, 0),
    *,
    pad_first: bool = False,
    dilated: bool = False,
) -> Int[Tensor, "window token"]:
    """Which tokens meet in each window: the grid is rolled by −shift, padded at the bottom and right, and cut.

    `pad_first`: pad before the roll (torchvision's Swin; timm rolls first). `dilated`: tokens at equal strides meet
    instead of neighbours (the grid attention of MaxViT, Tu et al. 2022). Padding has the id PADDING.
    """
    rows, columns = grid
    down, right = -rows % window[0], -columns % window[1]
    ids = torch.arange(rows * columns).view(rows, columns)

    def roll(ids: Tensor) -> Tensor:
        return ids.roll((-shift[0], -shift[1]), (0, 1))

    def pad(ids: Tensor) -> Tensor:
        return torch.nn.functional.pad(ids, (0, right, 0, down), value=PADDING)

    ids = roll(pad(ids)) if pad_first else pad(roll(ids))
    rows, columns = ids.shape
    if dilated:  # (window, stride) instead of (count, window)
        ids = ids.view(window[0], rows // window[0], window[1], columns // window[1]).permute(1, 3, 0, 2)
        return ids.reshape(-1, window[0] * window[1])
    return cut(ids, window)


def cut(places: Int[Tensor, "row column"], window: tuple[int, int]) -> Int[Tensor, "window token"]:
    """Cut into windows, row by row, and each window into its places, row by row."""
    rows, columns = places.shape
    parts = places.view(rows // window[0], window[0], columns // window[1], window[1])
    return parts.permute(0, 2, 1, 3).reshape(-1, window[0] * window[1])


def regions(size: tuple[int, int], window: tuple[int, int], shift: tuple[int, int]) -> Int[Tensor, "row column"]:
    """The region of every place of a rolled and padded grid of `size`: 3 · its strip of rows + its strip of columns.
    In a window only equal ones may meet (Liu et al. 2021, arXiv 2103.14030, § 3.2 and fig. 4).

    Strips of an axis: what lies before the last window, what of the last window was there before the roll, and the last
    `shift` places. An axis that is not shifted is all strip 2 when the other one is; without any shift all is region 0.
    """
    if not any(shift):
        return torch.zeros(size, dtype=torch.long)
    strips = []
    for side, extent, by in zip(size, window, shift, strict=True):
        place = torch.arange(side)
        strips.append((place >= side - extent).long() + (place >= side - by).long() if by else torch.full((side,), 2))
    return 3 * strips[0][:, None] + strips[1][None]


def merging(name: str, source: Tokens, target: Tokens, window: tuple[int, int] = (2, 2)) -> Attention:
    """Neighbours that become one token as attention with equal weights, such as Swin's 2×2 patch merging (Liu et al.
    2021, § 3.1); odd edges are padded. Special tokens have no part in it."""
    rows, columns = source.grid or (0, 0)
    ids = window_ids((rows, columns), window)
    count = window[0] * window[1]
    weights = torch.full((len(ids), 1, 1, count), 1 / count)
    return Attention(name, weights, target, source, torch.arange(len(ids))[:, None], ids, learned=False)


def on_grid(values: Float[Tensor, " key"], ids: Int[Tensor, " key"], tokens: Tokens) -> Float[Tensor, "row column"]:
    """One number for each id, laid on the grid; NaN where no id lies. Special tokens and padding are left out."""
    rows, columns = tokens.grid or (0, 0)
    first = len(tokens.special)
    out = torch.full((rows * columns,), float("nan"), device=values.device)
    placed = (ids >= first) & (ids < first + rows * columns)
    out[ids[placed] - first] = values[placed].float()
    return out.view(rows, columns)
