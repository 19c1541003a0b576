"""Window: what a token attends to in its window, with and without the relative position bias, and the bias itself."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from torch import Tensor

from vizkit.analysis.remarks import swin
from vizkit.analysis.swin.shifted_windows import whole
from vizkit.analysis.swin.window_attention import Sides, lost_to_padding, moved, moved_at, regions, sides
from vizkit.figure.canvas.rows import cell_box
from vizkit.figure.scales import SHARES, between
from vizkit.figure.swin.window_map import window_map
from vizkit.geometry import name_of
from vizkit.models.probes.positions import relative_bias
from vizkit.models.probes.window_parts import WindowParts, window_parts
from vizkit.percent import in_percent
from vizkit.traces import PADDING, Attention
from vizkit.views.blocks import (
    Blocks,
    Chart,
    Heading,
    Line,
    Map,
    Numbers,
    Said,
    Tile,
    Tiles,
    side_by_side,
)
from vizkit.views.controls import choice, layer, number
from vizkit.views.subject import Subject
from vizkit.views.swin.bias import bias_table
from vizkit.views.swin.place import SHIFTS, in_windows, place, point, token_at, within
from vizkit.views.view import How, View

NAMES = {"both": "content + bias: the model", "content": "content alone", "bias": "bias alone"}
NUMBERS_UP_TO = 8  # tokens on a side of the window for which every cell has room for its number
EXACT, REBUILT = 1e-5, 1e-4  # of the scores, and of what the layer hands on


def heads_of_block(of: Sequence[Subject], view: "Window") -> int:
    """Stages have different numbers of heads."""
    return max(
        (each.layers[min(view.block or each.depth, each.depth) - 1].heads for each in of if each.layers), default=1
    )


class Window(View):
    """What a token attends to in its window, with and without the relative bias, or the table of that bias."""

    part: Literal["weights", "table of the bias"] = choice(
        "Show", ("weights", "table of the bias"), "Of the bias all entries, of every head.", key="window_part"
    )

    block: int | None = layer(
        "Block", "Counted through all stages.", default=SHIFTS, plays=True, runs=True, key="swin_block"
    )
    # Not their mean: the mean of each head's softmax is not the softmax of the mean scores.
    head: int = number("Head", 1, heads_of_block, 1, key="window_head", follows=True)

    alone = True
    how = How(
        "The cyan outline is the window, the only tokens that the chosen one can see in this block; hatched ones stand "
        "in it only because the grid was rolled round its edge, and the mask takes them out. Content is the product "
        "of query and key, the bias depends only on how far up, down, left or right a key lies; the maps show both "
        "together and each alone. Of the table of the bias the query reads the outlined part: pairs of one offset have "
        "one entry, which stands where its key lies from the query.",
        r"\begin{gathered} \mathrm{softmax}\!\left(\tfrac{QK^\top}{\sqrt{d}} + B + M\right), \; "
        r"M_{ij} \in \{0, -100\} \\ \text{v2: } \cos(q_i, k_j)\,/\,\tau + B_{ij} + M_{ij} \end{gathered}",
        "shares that add up: softmax mixes content and bias, so the right two maps do not sum to the left one.",
        "Liu et al. 2021, eq. 4 and § 3.2; Liu et al. 2022, eq. 2 and 3",
    )

    def title(self, of: Subject) -> str:
        return f"Attention in a window: block {place(of, self.block).index + 1}, head {self.head}"

    def show(self, of: Subject) -> Blocks:
        here = place(of, self.block)
        parts, each = of.kept(("windows", here.index), partial(taken_apart, of, here.index))
        at, token = point(of), token_at(of, parts.tokens)
        row = Row(parts, each, token, min(self.head, len(parts.relative)) - 1)
        if self.part == "table of the bias":
            ids = parts.ids[row.at[0]]
            yield from bias_table(of, here.index, row.head, row.at[1], ids, here.of.grid)
            yield Line(f"{here.words()} · the query is {name_of(parts.tokens, token)}")
            yield Numbers(lambda: {"bias": relative_bias(of.loaded, here.index).by_offset})
            return
        every, own = moved(each.both, each.content, parts.ids), moved_at(each.both, each.content, row.at)
        yield Said(swin.bias_moves(every, float(own[row.head]), row.head + 1, here.index + 1))
        yield side_by_side(*((Heading(words), mapped(of, row, name, at)) for name, words in NAMES.items()))
        yield Line(here.words())
        masked = int(parts.masked[row.at].sum())
        hatched = f"{masked} of {parts.ids.shape[1]} keys masked, hatched" if masked else "nothing masked for it"
        yield Line(f"{name_of(parts.tokens, token)} · window {row.at[0] + 1} of {len(parts.ids)} · {hatched}")
        yield self.every_head(row)
        yield from step_by_step(row)
        if bool((parts.ids == PADDING).any()):
            yield from padding(parts, token)
        yield Line(proof(parts))
        yield Numbers(
            lambda: {
                "ids": row.laid(parts.ids[row.at[0]]),
                **row.steps(),
                "weights": row.weights("both"),
                **{f"weights_{name}_alone": row.weights(name) for name in ("content", "bias")},
            }
        )

    def every_head(self, row: "Row") -> Tiles:
        window, position = row.at
        weights = dict(enumerate(row.sides.both[window, :, position], 1))
        return Tiles(
            "Every head",
            tuple(tile(row, f"head {n}", each) for n, each in weights.items()),
            "Every head's weights. Click to see it large.",
            picks="head",
            values=tuple(weights),
            chosen=row.head + 1,
            tile_px=100,
        )


@dataclass(frozen=True)
class Row:
    """Of a layer taken apart the row of one token in one head."""

    parts: WindowParts
    sides: Sides
    token: int
    head: int

    @property
    def at(self) -> tuple[int, int]:
        """Its window, and its place there."""
        window, position = (self.parts.ids == self.token).nonzero()[0].tolist()
        return window, position

    def laid(self, values: Tensor) -> np.ndarray:
        """One value for each key, as they lie in the window."""
        return values.view(self.parts.window).numpy()

    def of(self, matrix: Tensor) -> np.ndarray:
        """Of (head, query, key) of the window."""
        return self.laid(matrix[self.head, self.at[1]])

    def weights(self, name: str) -> np.ndarray:
        return self.of(getattr(self.sides, name)[self.at[0]])

    def steps(self) -> dict[str, np.ndarray]:
        """The scores before softmax add up."""
        return {"content": self.of(self.parts.content[self.at[0]]), "bias": self.of(self.parts.relative)}


def taken_apart(of: Subject, index: int) -> tuple[WindowParts, Sides]:
    """The layer in all its windows; the model runs once for each layer and image."""
    parts = window_parts(of.loaded, of.pixels, index)
    return parts, sides(parts.content, parts.relative, parts.masked)


def mapped(of: Subject, row: Row, name: str, at: tuple[float, float]) -> Map:
    parts = row.parts
    weights = Attention(parts.name, getattr(row.sides, name), parts.tokens, parts.tokens, parts.ids, parts.ids)
    rows = in_windows(of, weights, row.head, regions(parts.masked))
    return Map(rows, at, f"Weights of {NAMES[name]}, of", "attention", room=False)


def tile(row: Row, name: str, weights: Tensor) -> Tile:
    """An equal share is among the places of the window."""
    places, grid = on_grid(row, weights), row.parts.tokens.grid
    asks = grid and cell_box(divmod(row.token, grid[1]), grid)
    return Tile(name, places, scale=SHARES.of(places, int((row.parts.ids[row.at[0]] != PADDING).sum())), asks=asks)


def on_grid(row: Row, weights: Tensor) -> np.ndarray:
    """Weights of one window's keys where they lie on the image, 0 elsewhere."""
    ids, tokens = row.parts.ids[row.at[0]], row.parts.tokens
    assert tokens.grid is not None
    flat = weights.new_zeros(len(tokens) + 1)  # the last collects padding
    flat[ids] = weights
    return flat[:-1].view(tokens.grid).numpy()


def proof(parts: WindowParts) -> str:
    words = (
        f"content + bias + mask are {within(parts.score_error)} the scores that the layer gave to its softmax, and its "
        f"weights give {within(parts.branch_error)} what it hands on"
    )
    ok = parts.score_error <= EXACT and parts.branch_error <= REBUILT
    return f"Checked: {words}." if ok else f"Not right, so do not trust these maps: {words}."


def step_by_step(row: Row) -> Blocks:
    """Content, bias, their sum, weights: laid out as the window."""
    parts, (content, bias) = row.parts, row.steps().values()
    limit = float(max(abs(each).max() for each in (content, bias, content + bias))) or 1.0
    hidden, padded = row.laid(parts.masked[row.at]), row.laid(parts.ids[row.at[0]] == PADDING)
    room = max(parts.window) <= NUMBERS_UP_TO
    scores = between(-limit, limit, signed=True), (1 if limit >= 1 else 2) if room else None
    shares = replace(SHARES, equal=100 / np.count_nonzero(~hidden)), 1 if room else None
    names = named(parts, row.laid(parts.ids[row.at[0]]))
    rows = (
        ("content: q · k, scaled", content, scores),
        ("+ relative position bias", bias, scores),
        ("= scores", content + bias, scores),
        ("weights, %, own scale", np.where(hidden, np.nan, 100 * row.weights("both")), shares),
    )
    yield Heading("The chosen token's row, step by step")
    charts = []
    for title, values, (scale, digits) in rows:
        query = divmod(row.at[1], parts.window[1])
        figure = window_map(values, "", scale, hidden=hidden, padded=padded, query=query, digits=digits, **names)
        charts.append(Chart(figure, title, title))
    yield side_by_side(*charts)
    words = [
        f"Head {row.head + 1}; its weights are the softmax of these scores.",
        "The first three share one scale; the weights’ colours are doublings of an equal share of the window.",
        "Rows and columns are those of the grid; framed: the token itself.",
        *(["Hatched: masked, −100 is added and nothing is left."] if hidden.any() else []),
        *(["Struck through: padding."] if padded.any() else []),
    ]
    yield Line(" ".join(words))


def named(parts: WindowParts, ids: np.ndarray) -> dict[str, Any]:
    """Rows and columns of the grid, counted from 1, along places of it; a dash where there is only padding."""
    assert parts.tokens.grid is not None
    across = parts.tokens.grid[1]
    rows = [str(n // across + 1) if n >= 0 else "–" for n in ids.max(1)]
    return {"row_names": rows, "column_names": [str(n % across + 1) if n >= 0 else "–" for n in ids.max(0)]}


def padding(parts: WindowParts, token: int) -> Blocks:
    """Where the grid is padded, and how much every token attends to it."""
    assert parts.tokens.grid is not None
    lost = lost_to_padding(parts.weights, parts.ids)
    grid, window = parts.tokens.grid, parts.window
    ids = whole(parts.ids, grid, window).numpy()
    size = ids.shape
    yield Heading("Padding")
    yield Line(
        f"Windows of {window[0]} × {window[1]} do not divide {grid[0]} × {grid[1]} tokens, so {size[0] - grid[0]} rows "
        f"and {size[1] - grid[1]} columns of zeros are added. No mask is made for them; that of a shift covers some by "
        f"chance. The chosen token gives {in_percent(float(lost[parts.ids == token]))} of its attention to them, "
        f"all tokens together {in_percent(float(lost.nanmean()))}."
    )
    percent = 100 * whole(lost, grid, window).numpy()
    figure = window_map(
        percent,
        "attention lost to padding, %, on the grid as the block cuts it",
        between(0, float(np.nanmax(percent)) or 1),
        hidden=np.zeros(size, bool),
        padded=ids == PADDING,
        lines=window,
        height=min(520, 140 + 24 * size[0]),
        **named(parts, ids),
    )
    yield Chart(figure, "Windows over the padded grid")
