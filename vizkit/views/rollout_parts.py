"""What rollout is drawn from: its rows as a canvas takes them, and what they are called."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from torch import Tensor

from vizkit.analysis.attribution.rollout import Rollout as Row
from vizkit.analysis.attribution.rollout import same_place
from vizkit.figure.canvas.rows import Rows
from vizkit.geometry import id_of, name_of
from vizkit.percent import in_percent
from vizkit.traces import Attention, Tokens

Asked = str | tuple[int, int] | None
MOST_HOVERED = 2_500_000  # weights sent to a browser for hovering


def named(row: Row) -> str:
    words = {
        "cls": "the class token",
        "dist": "the distillation token",
        "cls+dist": "both tokens, their mean",
        "mean": "the mean of all places",
    }
    return words.get(row.query, f"the patch at {row.query}" if row.query.startswith("row ") else f"[{row.query}]")


def in_layer(tokens: Tokens, asked: Asked, last: Tokens) -> Asked:
    """What asks, a cell of `last` as the one there on a layer's own grid."""
    return (
        same_place(asked, last.grid, tokens.grid) if isinstance(asked, tuple) and last.grid and tokens.grid else asked
    )


def others(grid: Tensor, own: tuple[int, int] | None) -> Tensor:
    """Without what the place that asks has of itself."""
    rest = grid.clone()
    if own is not None:
        rest[own] = 0
    return rest


def on_grid(tokens: Tokens, token: int, of: Tokens) -> str:
    """A token's name, with its grid where that is not the one `of` others."""
    grid = tokens.grid if tokens.grid != of.grid and token >= len(tokens.special) else None
    return name_of(tokens, token) + (f" of {grid[0]} × {grid[1]}" if grid else "")


def within_image(row: Row) -> str:
    """The largest place as a share of the image's part, where that is another number than as a share of the row."""
    image, most = float(row.grid.sum()), float(row.grid.max())
    both = [in_percent(share) for share in (most, most / max(image, 1e-12))]
    if both[0] == both[1]:
        return ""
    return f"The largest place has {both[0]} of the whole row, {both[1]} of what lies on the image."


def masses(row: Row) -> Iterator[tuple[str, float]]:
    """What the image, each special token and padding take."""
    yield "on the image", float(row.grid.sum())
    yield from ((f"[{name}]", mass) for name, mass in row.special.items())
    if row.padding > 1e-6:
        yield "padding", row.padding


def how_followed(layers: list[Attention]) -> str:
    """One sentence for models whose layers do not all see all tokens."""
    parts = []
    if any(each.shape[0] > 1 for each in layers if each.learned):
        parts.append("Within a layer attention stays inside its window, and shifted windows connect the windows")
    if any(not each.learned for each in layers):
        parts.append("a merged token's share is divided equally among the tokens it was made of")
    return "; ".join(parts) + f", down to patches of {layers[0].key.stride:g} pixels." if parts else ""


def one_row(row: Row, tokens: Tokens, asked: Asked) -> Rows:
    """As a canvas draws it: the share of every special token and place of the input."""
    special, asks, position = row.tokens.special, (row.query,), 0
    if isinstance(asked, tuple):
        asks, position = tokens.special, id_of(tokens, asked)
    elif asked in tokens.special:
        asks, position = tokens.special, tokens.special.index(asked)
    values = np.concatenate([np.array([row.special[name] for name in special]), row.grid.numpy().ravel()])[None]
    return Rows(
        values.astype(np.float32),
        row.tokens.grid,
        tokens.grid,
        np.array([position]),
        None,
        asks,
        special,
        verb="takes",
    )


def all_rows(content: Rows, asked: object, tokens: Tokens, rows: Tensor) -> Rows:
    """Every row, so that hovering shows them; `content` where that is too much, or lacks this query."""
    other = (isinstance(asked, str) and asked not in tokens.special) or rows.shape[1] != content.values.shape[-1]
    return content if rows.numel() > MOST_HOVERED or other else replace(content, values=rows.numpy(), query_ids=None)
