"""Attention between two images as TTSR has it (Yang et al. 2020, arXiv 2006.04139): which place of the reference is
most like each place of the small picture, and the texture that stands there.

    r_ij = ⟨q_i / ‖q_i‖, k_j / ‖k_j‖⟩ over 3×3 patches        relevance
    h_i = argmax_j r_ij,  T_i = v_{h_i}                        hard attention: one place, not a mixture
    s_i = max_j r_ij                                           soft attention: how far to trust it
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

LARGEST_BLOCK = 2**22
"""Relevances computed at a time, of all pictures together: 16 MiB."""

Map = Float[Tensor, "_picture _channel _row _column"]
Patches = Float[Tensor, "_picture _value _place"]
AROUND = tuple((row, column) for row in (-1, 0, 1) for column in (-1, 0, 1))


class Match(NamedTuple):
    """For each place of the small picture, row after row: the place of the reference it takes its texture from."""

    place: Int[Tensor, "picture place"]
    relevance: Float[Tensor, "picture place"]  # −1 … 1


def directions(features: Map) -> Patches:
    """The 3×3 patch around each place (zeros beyond the border) as a vector of length 1."""
    return F.normalize(F.unfold(features, 3, padding=1), dim=1)


def relevance(
    queries: Patches, keys: Patches, largest: int = LARGEST_BLOCK
) -> Iterator[Float[Tensor, "picture query key"]]:
    """r_ij of `directions`, block after block of queries: at most `largest` numbers at a time (one query at least)."""
    step = max(1, largest // (len(keys) * keys.shape[-1]))
    for start in range(0, queries.shape[-1], step):
        yield queries[:, :, start : start + step].transpose(1, 2) @ keys


def match(query: Map, key: Map, largest: int = LARGEST_BLOCK) -> Match:
    """The best place for each query. Of equal ones the first; the gradient goes through the relevance alone."""
    queries, keys = directions(query), directions(key)
    with torch.no_grad():
        place = torch.cat([block.argmax(-1) for block in relevance(queries, keys, largest)], dim=1)
    chosen = keys.gather(2, place[:, None].expand(-1, keys.shape[1], -1))
    return Match(place, (queries * chosen).sum(1))


def neighbours(
    place: Int[Tensor, "picture place"], grid: tuple[int, int], key_grid: tuple[int, int]
) -> Int[Tensor, "picture_place 9"]:
    """Which rows of the reference overlap at each place when the 3×3 patches that were chosen are laid out.

    Place p is covered by the patch of each of its neighbours p − d, which has k = h(p − d) in its middle and so k + d
    at p. Rows are counted through all pictures; the row after the last stands for "nothing".
    """
    (rows, columns), (key_rows, key_columns) = grid, key_grid
    at = place.reshape(-1, 1, rows, columns)
    both = torch.cat([at // key_columns, at % key_columns], dim=1)
    padded = F.pad(both, (1, 1, 1, 1), value=-9)
    first = torch.arange(len(place), device=place.device)[:, None, None] * key_rows * key_columns
    nothing = len(place) * key_rows * key_columns
    chosen = []
    for d_row, d_column in AROUND:
        window = padded[:, :, 1 - d_row : 1 - d_row + rows, 1 - d_column : 1 - d_column + columns]
        row, column = window[:, 0] + d_row, window[:, 1] + d_column
        inside = (row >= 0) & (row < key_rows) & (column >= 0) & (column < key_columns)
        chosen.append(torch.where(inside, first + row * key_columns + column, nothing).reshape(-1))
    return torch.stack(chosen, 1)


def gathered(values: Map, rows: Int[Tensor, "picture_place 9"], grid: tuple[int, int], scale: int) -> Map:
    """The texture at every place: the mean of the patches that overlap there, 3·scale pixels wide each.

    `values`: features of the reference, `scale` times as fine as the places. Nothing is unfolded: a place and its
    scale × scale pixels are one row of a table, of which nine are added up.
    """
    cells = F.pixel_unshuffle(values, scale)
    table = cells.flatten(2).transpose(1, 2).flatten(0, 1)
    nothing = len(table)
    table = torch.cat([table, table.new_zeros(1, table.shape[1])])
    total = F.embedding_bag(rows, table, mode="sum", padding_idx=nothing)
    mean = total / (rows != nothing).sum(1, keepdim=True).clamp(min=1)
    return F.pixel_shuffle(mean.reshape(len(values), -1, cells.shape[1]).transpose(1, 2).unflatten(2, grid), scale)


def mixed(query: Map, key: Map, values: Map, scale: int, sharpness: float, largest: int = LARGEST_BLOCK) -> Map:
    """What attention of transformers would give instead: the mean of all places, weighted by softmax(sharpness · r)."""
    cells = F.pixel_unshuffle(values, scale).flatten(2).transpose(1, 2)
    blocks = relevance(directions(query), directions(key), largest)
    parts = [(block * sharpness).softmax(-1) @ cells for block in blocks]
    return F.pixel_shuffle(torch.cat(parts, 1).transpose(1, 2).unflatten(2, query.shape[-2:]), scale)
