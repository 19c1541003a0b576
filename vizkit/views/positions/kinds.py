"""Kinds: what four ways to tell places say of one patch, on one grid: learned, sinusoidal, relative, rotary."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from vizkit.analysis.attention.positions import sinusoidal, sinusoidal_2d
from vizkit.analysis.remarks.positions import told_apart
from vizkit.analysis.remarks.remark import begun, joined
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.scales import Scale, robust
from vizkit.models.probes.positions import biased_layers, kind, learned_table, relative_bias, rope_waves
from vizkit.traces import Attention, NotApplicable
from vizkit.views.blocks import Blocks, Columns, Heading, Line, Map, Numbers, first_said
from vizkit.views.controls import choice
from vizkit.views.rows_of import MAX_MATRIX, of_others, similarity_for_browser
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

WORDS = {
    "learned": "learned",
    "sinusoids": "sinusoidal",
    "one row": "sinusoidal, in one row",
    "rotary": "rotary",
    "relative": "relative, of layer 1",
}
ACROSS = 4  # maps in a row of the page


def offered(of: Sequence[Subject]) -> list[str]:
    """Those that one of the models has, or that are computed for it."""
    return ["all", *(name for name in WORDS if any(name in maps_of(each) for each in of))]


class Kinds(View):
    """How near two patches are for four ways to tell places: learned, sinusoidal, relative and rotary."""

    kind: str = choice(
        "Positions",
        offered,
        "All under one cursor, or one of them alone.",
        default="all",
        words={"all": "all side by side"} | WORDS,
        key="positions_kind",
    )

    how = How(
        "Every map is of the patch under the cursor: the cosine of its position with that of every other place, of a "
        "relative bias the share of the weight that it would give by itself, as the mean of the heads. Click a patch "
        "to keep it. A learned table and a bias are the model's own; sinusoids, and rotations where the model has "
        "none, are computed for its grid and its number of channels.",
        r"\cos(e_i, e_j), \qquad \tfrac{2}{d}\sum_k \cos\!\big((p_i - p_j)\,\omega_k\big), \qquad "
        r"\mathrm{softmax}(B)_{ij}",
        "what attention makes of it: the product of query and key comes first.",
        "Dosovitskiy et al. 2020; Vaswani et al. 2017; Liu et al. 2021; Su et al. 2021",
    )

    def title(self, of: Subject) -> str:
        return f"Positions: {WORDS.get(self.kind, 'all kinds')}"

    def show(self, of: Subject) -> Blocks:
        maps = maps_of(of)
        if not maps:
            raise NotApplicable(f"{of.name} has no layer whose tokens lie on a grid.")
        own = [name for name in maps if any(name in each for each in kind(of.loaded))]
        named = joined([WORDS[name] for name in own]) if own else "none of these"
        if self.kind not in ("all", *maps):
            raise NotApplicable(f"{of.name} has no {self.kind} positions. Its own: {named}.")
        chosen = [*dict.fromkeys((*own, *maps))] if self.kind == "all" else [self.kind]
        down, right = next(iter(maps.values()))[0].query_grid or (0, 0)
        yield Line(f"{down} × {right} places · its own: {named} · all others: computed for it")
        across = max(1, ACROSS // (1 + len(of.beside)))
        for start in range(0, len(chosen), across):
            part = chosen[start : start + across]
            yield Columns(tuple((Heading(begun(WORDS[name])), self.over(of, name, *maps[name])) for name in part))
        places = {name.replace(" ", "_"): rows.row_of(rows.query_id(of.asked))[0] for name, (rows, _) in maps.items()}
        yield Numbers(lambda: places)

    def over(self, of: Subject, name: str, rows: Rows, said_by: dict[int, str]) -> Map:
        shares = rows.bounds is None
        return Map(
            rows if shares else replace(rows, scale=cosines(of)),
            of.asked,
            f"Positions, {WORDS[name]}, in",
            "share" if shares else "cosine",
            said=said_by.get(rows.query_id(of.asked), ""),
            said_by=said_by,
            instead=of.seen_rgb if self.kind == "all" else None,  # nothing but what is compared
        )


def maps_of(of: Subject) -> dict[str, tuple[Rows, dict[int, str]]]:
    """With what is said of every patch."""
    return of.kept(("position kinds", of.asked), lambda: {name: (rows, sentences(rows)) for name, rows in every(of)})


def cosines(of: Subject) -> Scale:
    """One scale for all cosines of this model and of those beside it, without what each place has with itself."""
    maps = (rows for each in (of, *of.beside) for rows, _ in maps_of(each).values() if rows.bounds)
    return robust([of_others(rows.values, rows.query_ids) for rows in maps])


def every(of: Subject) -> Iterator[tuple[str, Rows]]:
    """What there is for this model, on the grid of its first layer."""
    first = next((layer for layer in of.layers if layer.query.grid and layer.key.grid), None)
    if first is None:
        return
    places = replace(first.query, special=())
    for name, table in tables(of, first):
        yield name, similarity_for_browser(table.flatten(0, 1), places, of.asked, most=MAX_MATRIX // ACROSS)
    if biased_layers(of.loaded.model):
        yield "relative", by_bias(relative_bias(of.loaded, 0).bias, first)


def tables(of: Subject, first: Attention) -> Iterator[tuple[str, Tensor]]:
    """Vectors (row, column, channel) whose cosine says how near two places are."""
    grid = first.query.grid
    assert grid is not None
    learned = learned_table(of.loaded)
    if learned is not None and learned.shape[:2] == grid:
        yield "learned", learned
    channels = 4 * max(1, (learned.shape[-1] if learned is not None else 64 * first.heads) // 4)
    yield "sinusoids", sinusoidal_2d(grid, channels)
    yield "one row", sinusoidal(math.prod(grid), channels).unflatten(0, grid)
    if "rotary" in kind(of.loaded):
        yield "rotary", rope_waves(of.loaded).permute(1, 2, 0, 3).flatten(2)  # all heads: the mean of their cosines
    else:
        yield "rotary", sinusoidal_2d(grid, 4 * max(1, channels // first.heads // 4))


def by_bias(bias: Tensor, first: Attention) -> Rows:
    """The weights that the bias alone gives, in every window the same."""
    share = bias.softmax(-1).mean(0).numpy()
    groups = np.broadcast_to(share, (len(first.query_ids), *share.shape))
    own = first.query.special, first.key.special
    return Rows(groups, first.key.grid, first.query.grid, first.query_ids.numpy(), first.key_ids.numpy(), *own)


def sentences(rows: Rows) -> dict[int, str]:
    """What is said of every patch that can ask, by its id."""
    asking = np.arange(rows.values.shape[-2]) if rows.query_ids is None else rows.query_ids.ravel()
    first, (_, across) = len(rows.query_special), rows.query_grid or (0, 1)
    near = {query: torch.from_numpy(rows.row_of(query)[0]) for query in asking.tolist() if query >= first}
    shares = rows.bounds is None
    return {
        query: first_said(told_apart(row, divmod(query - first, across), shares=shares)) for query, row in near.items()
    }
