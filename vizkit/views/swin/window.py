"""Window: what a token attends to in its window, with and without the relative position bias."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from torch import Tensor

from vizkit.analysis.remarks import swin
from vizkit.analysis.swin.shifted_windows import whole
from vizkit.analysis.swin.window_attention import Sides, lost_to_padding, moved, regions, sides
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.swin.window_map import window_map
from vizkit.geometry import name_of
from vizkit.models.probes.window_parts import WindowParts, window_parts
from vizkit.views.blocks import Block, Chart, Columns, Heading, Line, Map, Numbers, Said, Tile, Tiles, first_said
from vizkit.views.controls import head, layer
from vizkit.views.rows_of import MAX_MATRIX
from vizkit.views.subject import Subject
from vizkit.views.swin.place import SHIFTS, place, token_at, within
from vizkit.views.view import How, View

NAMES = {"both": "content + bias: the model", "content": "content alone", "bias": "bias alone"}
NUMBERS_UP_TO = 8  # tokens on a side of the window for which every cell has room for its number
EXACT, REBUILT = 1e-5, 1e-4  # of the scores, and of what the layer hands on


@dataclass(frozen=True)
class Asked:
    """The token under the cursor: its id, its window, and its place in it."""

    token: int
    window: int
    position: int


@dataclass(frozen=True)
class Window(View):
    """What a token attends to in its window, with and without the relative bias."""

    block: int | None = layer(
        "Block", "Counted through all stages.", default=SHIFTS, plays=True, runs=True, key="swin_block"
    )
    head: int | None = head(key="window_head")

    alone: ClassVar = True
    how: ClassVar = How(
        "The blue outline is the window, the only tokens that the chosen one can see in this block; hatched ones stand "
        "in it only because the grid was rolled round its edge, and the mask takes them out. Content is the product "
        "of query and key, the bias depends only on how far up, down, left or right a key lies; the pictures show both "
        "together and each alone.",
        r"\begin{gathered} \mathrm{softmax}\!\left(\tfrac{QK^\top}{\sqrt{d}} + B + M\right), \; "
        r"M_{ij} \in \{0, -100\} \\ \text{v2: } \cos(q_i, k_j)\,/\,\tau + B_{ij} + M_{ij} \end{gathered}",
        "shares that add up: softmax mixes content and bias, so the right two pictures do not sum to the left one.",
        "Liu et al. 2021, eq. 4 and § 3.2; Liu et al. 2022, eq. 2 and 3",
    )

    def title(self, of: Subject) -> str:
        which = "mean of heads" if self.head is None else f"head {self.head}"
        return f"Attention in a window: block {place(of, self.block).index + 1}, {which}"

    def show(self, of: Subject) -> Iterator[Block]:
        here = place(of, self.block)
        parts, each = of.kept(("windows", here.index), partial(taken_apart, of, here.index))
        token = token_at(of, parts.tokens)
        asked = Asked(token, *(parts.ids == token).nonzero()[0].tolist())
        chosen = None if self.head is None else min(self.head, len(parts.relative)) - 1
        top = max(float(fused(getattr(each, name), chosen)[asked.window, asked.position].max()) for name in NAMES)
        maps = [
            (Heading(words), self.mapped(of, words, rows_of(fused(getattr(each, name), chosen), parts, asked, top)))
            for name, words in NAMES.items()
        ]
        yield Columns(tuple(maps))
        differs = moved(each.both, each.content, parts.ids)
        yield Said(first_said(swin.bias_moves(differs, here.index + 1)))
        count = len(parts.relative)
        yield Line(here.words() + (f" · the last is shown for head {self.head}" if (self.head or 0) > count else ""))
        masked = int(parts.masked[asked.window, asked.position].sum())
        hatched = f"{masked} of {parts.ids.shape[1]} keys masked, hatched" if masked else "nothing masked for it"
        yield Line(
            f"{name_of(parts.tokens, token)} · window {asked.window + 1} of {len(parts.ids)} · {hatched} · one scale, "
            f"0 to {top:.0%}, for the three maps, another one for all heads"
        )
        yield from self.every_head(parts, each, asked)
        yield Heading("The chosen token's row, step by step")
        yield from row_by_row(parts, each, chosen, asked)
        if bool((parts.ids < 0).any()):
            yield from padding(parts, token)
        yield Line(proof(parts))
        yield Numbers(partial(numbers, parts, each, asked, chosen))

    def mapped(self, of: Subject, words: str, rows: Rows) -> Map:
        return Map(rows, of.asked, f"Weights of {words}, of", "attention", room=False)

    def every_head(self, parts: WindowParts, each: Sides, asked: Asked) -> Iterator[Block]:
        """All heads, on one scale for the three."""
        rows = {name: getattr(each, name)[asked.window, :, asked.position].numpy() for name in NAMES}
        highest, numbered = max(float(row.max()) for row in rows.values()), tuple(range(1, len(parts.relative) + 1))
        yield Columns(
            tuple(
                (
                    Tiles(
                        f"Every head, {NAMES[name]}",
                        tuple(Tile(f"head {n}", on_grid(row[n - 1], parts, asked), unit="%") for n in numbered),
                        ((0.0, highest),) * len(numbered),
                        f"Every head's weights, {NAMES[name]}. Click to see it large.",
                        "head",
                        numbered,
                        self.head,
                        100,
                    ),
                )
                for name, row in rows.items()
            )
        )


def taken_apart(of: Subject, index: int) -> tuple[WindowParts, Sides]:
    """The layer in all its windows; the model runs once for each layer and picture."""
    parts = window_parts(of.loaded, of.pixels, index)
    return parts, sides(parts.content, parts.relative, parts.masked)


def fused(weights: Tensor, head: int | None) -> Tensor:
    return weights.mean(1) if head is None else weights[:, head]


def rows_of(weights: Tensor, parts: WindowParts, asked: Asked, top: float) -> Rows:
    """All windows; above `MAX_MATRIX` weights only the chosen row."""
    values, ids, region = weights.numpy(), parts.ids.numpy(), regions(parts.masked).numpy()
    query_ids, query_regions = ids, region
    if values.size > MAX_MATRIX:
        window, position = asked.window, asked.position
        values, ids = values[window, position][None, None], ids[window][None]
        query_ids, query_regions = query_ids[window, position][None, None], region[window, position][None, None]
        region = region[window][None]
    grid = parts.tokens.grid
    return Rows(values, grid, grid, query_ids, ids, top=top, query_regions=query_regions, key_regions=region)


def on_grid(row: np.ndarray, parts: WindowParts, asked: Asked) -> np.ndarray:
    """Weights of one window's keys where they lie on the picture, 0 elsewhere."""
    ids = parts.ids[asked.window].numpy()
    assert parts.tokens.grid is not None
    flat = np.zeros(len(parts.tokens))
    flat[ids[ids >= 0]] = row[ids >= 0]
    return flat.reshape(parts.tokens.grid)


def proof(parts: WindowParts) -> str:
    words = (
        f"content + bias + mask are {within(parts.score_error)} the scores that the layer gave to its softmax, and its "
        f"weights give {within(parts.branch_error)} what it hands on"
    )
    ok = parts.score_error <= EXACT and parts.branch_error <= REBUILT
    return f"Checked: {words}." if ok else f"Not right, so do not trust these pictures: {words}."


def row_by_row(parts: WindowParts, each: Sides, head: int | None, asked: Asked) -> Iterator[Block]:
    """Content, bias, their sum, weights: one row each, laid out as the window. The mean of heads adds up as well."""
    content, bias, weights = steps(parts, each, head, asked)
    limit = float(max(abs(content).max(), abs(bias).max(), abs(content + bias).max())) or 1.0
    hidden = parts.masked[asked.window, asked.position].view(parts.window).numpy()
    padded = (parts.ids[asked.window] < 0).view(parts.window).numpy()
    names = names_in(parts, asked.window)
    room, across = max(parts.window) <= NUMBERS_UP_TO, parts.window[1]
    rows = (
        ("content: q · k, scaled", content, True),
        ("+ relative position bias", bias, True),
        ("= scores", content + bias, True),
        (
            "weights after softmax, %, on their own scale",
            np.where(hidden, np.nan, 100 * weights),
            False,
        ),  # 0 where hidden
    )
    charts = []
    for name, values, signed in rows:
        figure = window_map(
            values,
            "",
            hidden=hidden,
            padded=padded,
            row_names=names[0],
            column_names=names[1],
            query=divmod(asked.position, across),
            signed=signed,
            limit=limit if signed else None,
            digits=(1 if limit >= 1 or not signed else 2) if room else None,
        )
        charts.append((Chart(figure, name, name),))
    yield Columns(tuple(charts))
    words = [
        "Mean over heads" if head is None else f"Head {head + 1}",
        "the first three share one scale; rows and columns are those of the grid; framed: the token itself.",
        *(["Hatched: masked, −100 is added and nothing is left."] if hidden.any() else []),
        *(["Struck through: padding."] if padded.any() else []),
    ]
    yield Line("; ".join(words[:2]) + " " + " ".join(words[2:]))


def steps(parts: WindowParts, each: Sides, head: int | None, asked: Asked) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(content, bias, weights of both) of the chosen row, laid out as the window."""

    def laid(values: Tensor) -> np.ndarray:  # head key
        return (values.mean(0) if head is None else values[head]).view(parts.window).numpy()

    window, position = asked.window, asked.position
    own = (parts.content[window, :, position], parts.relative[:, position], each.both[window, :, position])
    content, bias, weights = map(laid, own)
    return content, bias, weights


def names_in(parts: WindowParts, window: int) -> tuple[list[str], list[str]]:
    """Rows and columns of the grid, counted from 1, along the window; a dash where there is only padding."""
    assert parts.tokens.grid is not None
    ids, across = parts.ids[window].view(parts.window).numpy(), parts.tokens.grid[1]
    rows = [str(line.max() // across + 1) if line.max() >= 0 else "–" for line in ids]
    columns = [str(line.max() % across + 1) if line.max() >= 0 else "–" for line in ids.T]
    return rows, columns


def padding(parts: WindowParts, token: int) -> Iterator[Block]:
    """Where the grid is padded, and how much every token attends to it."""
    assert parts.tokens.grid is not None
    lost = lost_to_padding(parts.weights, parts.ids)
    grid, window = parts.tokens.grid, parts.window
    size = (grid[0] + -grid[0] % window[0], grid[1] + -grid[1] % window[1])
    ids = whole(parts.ids, size, window).numpy()
    yield Heading("Padding")
    yield Line(
        f"Windows of {window[0]} × {window[1]} do not divide {grid[0]} × {grid[1]} tokens, so {size[0] - grid[0]} rows "
        f"and {size[1] - grid[1]} columns of zeros are added. No mask is made for them; that of a shift covers some by "
        f"chance. The chosen token gives {float(lost[parts.ids == token]):.1%} of its attention to them, all tokens "
        f"together {float(lost.nanmean()):.1%}."
    )
    figure = window_map(
        100 * whole(lost, size, window).numpy(),
        "attention lost to padding, %, on the grid as the block cuts it",
        hidden=np.zeros(size, bool),
        padded=ids < 0,
        row_names=[str(n // grid[1] + 1) if n >= 0 else "–" for n in ids.max(1)],
        column_names=[str(n % grid[1] + 1) if n >= 0 else "–" for n in ids.max(0)],
        lines=window,
        height=min(520, 140 + 24 * size[0]),
    )
    yield Chart(figure, "Windows over the padded grid")


def numbers(parts: WindowParts, each: Sides, asked: Asked, head: int | None) -> dict[str, np.ndarray]:
    content, bias, weights = steps(parts, each, head, asked)
    alone = {
        f"weights_{name}_alone": fused(getattr(each, name), head)[asked.window, asked.position].numpy()
        for name in ("content", "bias")
    }
    ids = parts.ids[asked.window].view(parts.window).numpy()
    return {"ids": ids, "content": content, "bias": bias, "weights": weights, **alone}
