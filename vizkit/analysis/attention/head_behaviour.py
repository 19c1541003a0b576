"""What every head looks at, as numbers: how far, how evenly, and on which kind of patch its weight lies.

The classes of Voita et al. 2019 (arXiv 1905.09418, § 4: positional heads), in the plane: itself, neighbours, the same
row or column, the border; the class token and the registers; patches of the same colour. Distance: Dosovitskiy et al.
2020 (arXiv 2010.11929), fig. 7 right. Works on weights in their groups; no dense matrix is formed for windows.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.attention.statistics import mean_distance_px, mean_entropy
from vizkit.traces import Attention, Trace

BEHAVIOURS: tuple[str, ...] = (
    "distance",
    "distance_px",
    "entropy",
    "own",
    "neighbours",
    "row",
    "column",
    "border",
    "colour",
    "class",
    "registers",
)
"""In patches and in input pixels; H / log N from 0 to 1; `colour` in multiples of chance; all others are shares of the
weights of patches, 0 to 1. NaN where a layer has no such tokens or they have no place."""

SIMILAR = 0.25  # the patches nearest in colour, of those that a query compares
REGISTER = "reg"


@dataclass(frozen=True)
class Relations:
    """Of every pair of a query and a key in their groups: a factor for its weight, by the name of a behaviour.
    `evenly`: the same for `colour` if a query looked at all other patches alike."""

    of: Attention
    factors: dict[str, Float[Tensor, "group query key"]]
    evenly: Float[Tensor, "group query key"] | None

    def fit(self, other: Attention) -> bool:
        same = (other.query, other.key) == (self.of.query, self.of.key)
        return same and all(torch.equal(getattr(other, ids), getattr(self.of, ids)) for ids in ("query_ids", "key_ids"))


def cell_colours(pixels: Float[Tensor, "channel height width"], grid: tuple[int, int]) -> Float[Tensor, "cell channel"]:
    """The mean of the input under every cell of a grid, row by row."""
    return torch.nn.functional.adaptive_avg_pool2d(pixels.float(), grid).flatten(1).T


def relations(attention: Attention, pixels: Float[Tensor, "channel height width"] | None = None) -> Relations:
    """`pixels`: the model's input, for the colours; its scale is that of the model, channel by channel."""
    query, key = attention.query, attention.key
    if query.grid is None or key.grid is None or not attention.in_one_image:
        return Relations(attention, {}, None)
    cells, patch = [], []
    for tokens, ids in ((query, attention.query_ids), (key, attention.key_ids)):
        rows, columns = tokens.grid or (0, 0)
        cell = ids - len(tokens.special)
        patch.append((cell >= 0) & (cell < rows * columns))
        cells.append(cell.clamp(0, rows * columns - 1))
    asks = patch[0][:, :, None]
    (y, x), (v, u) = (
        (cell // tokens.grid[1], cell % tokens.grid[1])  # pyright: ignore[reportOptionalSubscript]
        for cell, tokens in zip(cells, (query, key), strict=True)
    )
    border = (v == 0) | (u == 0) | (v == key.grid[0] - 1) | (u == key.grid[1] - 1)
    kinds = {"border": asks & (patch[1] & border)[:, None]}
    for name, special in _special(key.special).items():
        kinds[name] = asks & torch.isin(attention.key_ids, torch.tensor(special))[:, None]
    evenly = None
    if query.grid == key.grid:
        down, right = (v[:, None] - y[:, :, None]).abs(), (u[:, None] - x[:, :, None]).abs()
        both, itself = asks & patch[1][:, None], (down == 0) & (right == 0)
        others = both & ~itself
        kinds |= {
            "own": both & itself,
            "neighbours": others & (down <= 1) & (right <= 1),
            "row": others & (down == 0),
            "column": others & (right == 0),
        }
        if pixels is not None:
            colours = cell_colours(pixels, key.grid)
            kinds["colour"], evenly = _alike(torch.cdist(colours[cells[0]], colours[cells[1]]), others)
    count = patch[0].sum().clamp(min=1)
    factors = {name: kind.float() / count for name, kind in kinds.items()}
    return Relations(attention, factors, None if evenly is None else evenly / count)


def _special(names: tuple[str, ...]) -> dict[str, list[int]]:
    kinds = {
        "class": [i for i, name in enumerate(names) if not name.startswith(REGISTER)],
        "registers": [i for i, name in enumerate(names) if name.startswith(REGISTER)],
    }
    return {kind: ids for kind, ids in kinds.items() if ids}


def _alike(
    apart: Float[Tensor, "group query key"], others: Bool[Tensor, "group query key"]
) -> tuple[Bool[Tensor, "group query key"], Float[Tensor, "group query key"]]:
    """Which other patches are the nearest in colour, and the share of them that a query has, on all of its others."""
    count = others.sum(-1, keepdim=True)
    nearest = apart.masked_fill(~others, math.inf).sort(-1).values
    last = (count * SIMILAR).ceil().long().clamp(min=1) - 1
    alike = others & (apart <= nearest.gather(-1, last))
    return alike, others * (alike.sum(-1, keepdim=True) / count.clamp(min=1))


def behaviours(attention: Attention, related: Relations) -> dict[str, Float[Tensor, " head"]]:
    """Every one of BEHAVIOURS for each head of a layer (one number where only the mean over heads was recorded)."""
    _, heads, _, keys = attention.shape
    out = dict.fromkeys(BEHAVIOURS, torch.full((heads,), math.nan))
    out["entropy"] = mean_entropy(attention) / (math.log(keys) if keys > 1 else 1.0)
    if attention.in_one_image:
        out["distance_px"] = mean_distance_px(attention)
        out["distance"] = out["distance_px"] / attention.key.stride
    factors = related.factors | ({} if related.evenly is None else {"evenly": related.evenly})
    if factors:
        stacked = torch.stack([*factors.values()]).to(attention.weights.device)
        weights = attention.weights.float().transpose(0, 1).flatten(1)  # head, every pair
        shares = dict(zip(factors, stacked.flatten(1) @ weights.T, strict=True))
        if (evenly := shares.pop("evenly", None)) is not None:
            shares["colour"] = shares["colour"] / evenly
        out |= shares
    return out


def by_layer(
    trace: Trace, pixels: Float[Tensor, "channel height width"] | None = None
) -> Iterator[dict[str, Float[Tensor, " head"]]]:
    """Of every layer with learned attention, in the order of the forward pass. `pixels`: what the model was given."""
    related = None
    for attention in layers(trace):
        if related is None or not related.fit(attention):
            related = relations(attention, pixels)
        yield behaviours(attention, related)
