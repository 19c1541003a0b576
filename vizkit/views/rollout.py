"""Rollout: which patches contribute to one token when all layers are multiplied."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import astuple, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from torch import Tensor

from vizkit.analysis.attribution.layer_product import stream
from vizkit.analysis.attribution.rollout import Rollout as Row
from vizkit.analysis.attribution.rollout import rollout_by_layer, rollout_matrix, rollout_terms
from vizkit.analysis.attribution.sinks import Sink, sinks
from vizkit.analysis.remarks import places
from vizkit.analysis.remarks.maps import without_brightest
from vizkit.analysis.remarks.remark import begun
from vizkit.figure.attention.matrix import patches_on_axes
from vizkit.figure.canvas.rows import cell_box, text64
from vizkit.figure.scales import DOUBLINGS, Scale, of_shares, robust
from vizkit.percent import in_percent
from vizkit.traces import Attention, NotApplicable, Tokens
from vizkit.views.blocks import (
    Blocks,
    Canvas,
    Later,
    Line,
    Link,
    Map,
    Numbers,
    Part,
    Picture,
    Proof,
    Said,
    Tile,
    Tiles,
    first_said,
)
from vizkit.views.controls import changed, choice, layer, number, query, scale, switch
from vizkit.views.relevance.erasing import erasing, followed
from vizkit.views.rollout_parts import (
    all_rows,
    how_followed,
    in_layer,
    masses,
    named,
    on_grid,
    one_row,
    others,
    within_image,
)
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

WORDS = {"cls": "class", "dist": "distillation", "cls+dist": "class + distillation", "mean": "mean of places"}
SHINES = 8.0  # times an equal share that a sink has in the product: else it does not outshine the rest
MOST_TOKENS = 1600  # of which the full matrix is shown: the work grows with the cube
MOST_MULTIPLIED = 800  # tokens up to which the product of all rows is made at every layer


def queries(of: Sequence[Subject]) -> list[str]:
    special = dict.fromkeys(name for each in of for step in stream(each.whole()) for name in step.query.special)
    named = [name for name in WORDS if name in ("cls", "mean") or set(name.split("+")) <= set(special)]
    return [*named, "patch", *(name for name in special if name not in (*named, "pool"))]


class Rollout(View):
    """Attention rollout: the share of every patch in one token, after the layers from `start` to `depth`."""

    query: str | tuple[int, int] = query(
        "Which token",
        "“Class” is the class token; in a model without one it is what the head reads instead, a pool or the mean. A "
        "click in an image chooses that patch.",
        default="cls",
        options=queries,
        words=WORDS,
    )
    fusion: Literal["mean", "max", "min"] = choice(
        "Heads joined by",
        ("mean", "max", "min"),
        "How the heads of a layer become one matrix. Rows are divided by their sum afterwards.",
    )
    depth: int | None = layer(
        "Up to layer", "Where the product ends: step through the layers to see the row develop.", plays=True
    )
    discard: float = number(
        "Drop the smallest weights",
        0.0,
        0.95,
        0.0,
        "This share of each layer's weights, the smallest, is set to zero; never what a token keeps itself.",
        step=0.05,
        more=True,
    )
    residual: float = number(
        "Weight of the identity",
        0.0,
        1.0,
        0.5,
        "It stands for the residual connection: 0 is attention alone, 1 the identity alone. The paper takes 0.5.",
        step=0.05,
        more=True,
    )
    start: int = layer(
        "From layer", "Layers before it are left out, as if they were the identity.", default=1, more=True
    )
    scale: Literal["doublings", "linear"] = scale()
    full: bool = switch(
        "Full matrix",
        "The rows of all tokens at once, as one map; with the query “patch”, hovering then shows any patch's row. It "
        "takes the work of one row for every token.",
        more=True,
    )

    how = How(
        "Bright places contribute most to the marked token when the attention of all layers is multiplied, with half "
        "of each step for the residual connection. Click a patch to choose its row; step through the layers to see it "
        "develop; point at a patch in the small image for the products whose sum its share is.",
        r"\hat A_l = \lambda I + (1 - \lambda)\,\overline{A}_l, \quad R = \hat A_L \cdots \hat A_1, \quad "
        r"r \leftarrow r\,\hat A_l \ \text{ for one row}",
        "why the model predicts a class. Values, MLPs and normalisation are left out, all heads have equal weight, and "
        "no class is chosen; a model can attend to a place without using it. For one class, or one against another, "
        "open Relevance.",
        "Abnar & Zuidema 2020, eq. 1; discarding after github.com/jacobgil/vit-explain; windows and merging: Liu et "
        "al. 2021, § 3.2",
    )

    def title(self, of: Subject) -> str:
        start, depth, deepest = self.span(stream(of.whole()))
        return f"Rollout: layers {start} to {depth} of {deepest}"

    def show(self, of: Subject) -> Blocks:
        layers = stream(of.whole())
        tokens = next(each.query for each in reversed(layers) if each.query.grid)
        start, depth, deepest = self.span(layers)
        asked = of.cell(tokens, self.query) if self.query == "patch" or isinstance(self.query, tuple) else self.query
        grown = self.rows(of, asked, start)
        row = grown[depth - start]
        yield Line(
            f"layers {start} to {depth} of {deepest} · in each a token keeps {in_percent(self.residual)} of itself "
            f"(residual connection) · what reaches {self.whose(row)}{self.coarser(layers, depth)}"
        )
        here = [each.query for each in layers if each.learned][depth - 1]
        there = in_layer(here, asked, tokens)
        content = one_row(row, here if here.grid else tokens, there)
        if self.full and depth == deepest and (matrix := self.matrix(of, layers, quiet=True)) is not None:
            content = all_rows(content, asked, tokens, matrix)
        own = there if isinstance(there, tuple) and here.grid == row.grid.shape else None
        who, sunk = named(row), self.sunk(of, row, start, depth, own)
        scale = of_shares(self.scale)
        if sunk and self.scale == DOUBLINGS:  # which would show the sink and nothing else
            scale = robust([each.grid.numpy() for each in grown], "%")
        if sunk and (after := max(sink.layer for sink in sunk) + 1) <= depth:
            yield Link(f"The product from layer {after} on, without the sink", replace(self, start=after))
        yield Map(
            replace(content, scale=scale),
            asked if isinstance(asked, str) else of.asked,
            "Rollout of",
            "share of the row",
            tuple(masses(row)),
            places.swallowed(row.grid, f"what {who} takes", *astuple(sunk[0]))
            if sunk
            else self.sentence(of, row, grown, start, own),
            "query",
            ringed=tuple(sink.place for sink in sunk),
        )
        if len(row.tokens) <= MOST_MULTIPLIED:
            yield self.terms(of, asked, row, own, depth, start, deepest)
        yield Line(" ".join(filter(None, (within_image(row), how_followed(layers)))))
        if len(grown) > 1:
            yield Tiles(
                f"Layer by layer{self.own}",
                tuple(self.tile(f"layer {start + i}", each, asked, tokens, scale) for i, each in enumerate(grown)),
                "The row after a layer. Click to see it large.",
                "depth",
                tuple(range(start, deepest + 1)),
                depth,
                66,
            )
        if followed(of, of.loaded):
            yield self.checked(of, grown[-1], asked, deepest)
        if {"cls", "dist"} <= set(tokens.special):
            several = {name: self.rows(of, name, start)[depth - start] for name in WORDS}
            yield Tiles(
                f"The rows of a distilled model{self.own}",
                tuple(self.tile(WORDS[name], each, name, tokens, scale) for name, each in several.items()),
                "Whose row. Click to see it large.",
                "query",
                tuple(WORDS),
                self.query,
                66,
            )
        if self.full:
            yield Part(partial(self.drawn_matrix, of, layers))
        yield Proof(of.whole())
        yield Numbers(partial(numbers, grown, start, row))

    # ---- what is computed --------------------------------------------------------------------------------------------
    def span(self, layers: list[Attention]) -> tuple[int, int, int]:
        """(the first layer, the last, how many there are)."""
        deepest = sum(each.learned for each in layers)
        start = min(self.start, deepest)
        return start, min(max(self.depth or deepest, start), deepest), deepest

    def rows(self, of: Subject, asked: object, start: int) -> list[Row]:
        """The row after every layer from `start` on."""
        return of.made(rollout_by_layer, of.whole(), asked, self.fusion, self.discard, start - 1, self.residual)  # pyright: ignore[reportArgumentType]

    def checked(self, of: Subject, row: Row, asked: object, depth: int) -> Later:
        """What is left of the answer without the brightest places of all layers' product, the same at every step: at
        once of the usual one, of others when it is asked for, for a slider runs no model."""
        usual = not {*changed(self)} - {"depth", "scale", "full"}
        key = ("rollout", asked, self.fusion, self.discard, self.residual, self.start, depth)
        target = of.loaded.head.target(of.whole().logits)
        job = erasing(of, key, lambda: row.grid, target)
        button = "" if usual else "Blur its brightest 10 %, and ask again"

        def said(done: Mapping[Hashable, Any]) -> Blocks:
            if job.key in done:
                words = without_brightest(done[job.key], of.loaded.head)
                whose = f", for {of.loaded.label(target)}" if of.loaded.classifies else ""
                yield Said(f"In the product of all layers{whose}, {words}.")

        return Later(of, (job,), said, button, only_asked=not usual)

    def sunk(self, of: Subject, row: Row, start: int, depth: int, own: tuple[int, int] | None) -> list[Sink]:
        """Places of the product that shine because they are sinks in one of its layers; never `own`, that of the query,
        which the identity makes bright."""
        least, trace = SHINES * float(row.grid.mean()), of.whole()
        if row.grid.shape != trace.attention[0].key.grid:
            return []
        inside = (sink for sink in of.made(sinks, trace) if start <= sink.layer <= depth)
        return [sink for sink in inside if sink.place != own and float(row.grid[sink.place]) >= least]

    def matrix(self, of: Subject, layers: list[Attention], *, quiet: bool = False) -> Tensor | None:
        """The rows of all tokens; None, or NotApplicable with a sentence, where that is too much."""
        most = max(len(tokens) for each in layers for tokens in (each.query, each.key))
        if most > MOST_TOKENS and len(layers[-1].query) > MOST_TOKENS:
            if quiet:
                return None
            raise NotApplicable(f"No full matrix: {most:,} tokens take {most:,} times the work of this row.")
        start, _, _ = self.span(layers)
        return of.made(rollout_matrix, of.whole(), self.fusion, self.discard, start - 1, self.residual)

    def drawn_matrix(self, of: Subject, layers: list[Attention]) -> Blocks:
        rows = self.matrix(of, layers)
        assert rows is not None
        tokens = next(each.query for each in reversed(layers) if each.query.grid)
        yield Picture(
            patches_on_axes(rows.numpy(), tokens, layers[0].key, of.seen_rgb),
            "Rollout of all tokens as a matrix",
            f"All layers: {rows.shape[0]} queries down, {rows.shape[1]} tokens of the input across, largest "
            f"{in_percent(float(rows.max()))}.",
        )

    def terms(
        self,
        of: Subject,
        asked: object,
        row: Row,
        own: tuple[int, int] | None,
        depth: int,
        start: int,
        deepest: int,
    ) -> Canvas:
        """Of which products each share of the row is the sum; at first that of the largest place."""
        options = (self.fusion, self.discard, start - 1, self.residual, depth - start)
        found = of.made(rollout_terms, of.whole(), asked, *options)  # pyright: ignore[reportArgumentType]
        shares, place = row.mass.rows[0], len(row.tokens.special) + int(others(row.grid, own).argmax())
        largest = " + ".join(
            f"{in_percent(taken)} of {on_grid(found.tokens, int(token), row.tokens)} × its {in_percent(passed)}"
            for token, taken, passed in zip(found.through[place], found.taken[place], found.passed[place], strict=True)
        )
        seen = on_grid(row.tokens, place, found.tokens)
        said = f"{begun(named(row))} has {in_percent(shares[place])} of {seen}: {largest} + …"
        data = {
            "query": begun(named(row)),
            "key_special": row.tokens.special,
            "key_grid": row.tokens.grid,
            "through_special": found.tokens.special,
            "through_grid": found.tokens.grid,
            "count": found.through.shape[1],
            "through": text64(found.through, "<u2"),
            "taken": text64(found.taken, "<f4"),
            "passed": text64(found.passed, "<f4"),
            "shares": text64(shares, "<f4"),
            "place": place,
            "layers": [start, depth, deepest],
        }
        alt = f"Layer {depth} times the product of the layers before it: point at a patch to see the terms of its share"
        return Canvas("vizkit_terms", data, alt, still=(Line(said),), of=of)

    @property
    def own(self) -> str:
        """Of small maps that have no scale in common."""
        return "" if self.scale == DOUBLINGS else ", each to its own largest value"

    def tile(self, name: str, row: Row, asked: object, tokens: Tokens, scale: Scale) -> Tile:
        """A small map; of one that asks from a place the scale leaves that place out."""
        cell = asked if isinstance(asked, tuple) and tokens.grid else None
        own = cell[0] * row.grid.shape[1] + cell[1] if cell and row.grid.shape == tokens.grid else None
        asks = cell_box(cell, tokens.grid) if cell and tokens.grid else None
        return Tile(name, row.grid.numpy(), scale=scale.of(row.grid.numpy(), own=own), asks=asks)

    # ---- words -------------------------------------------------------------------------------------------------------
    def whose(self, row: Row) -> str:
        return f"{named(row)}, which the head reads" if self.query == "cls" and row.query != "cls" else named(row)

    def coarser(self, layers: list[Attention], depth: int) -> str:
        """On which grid a patch asks, where the last layer's is another."""
        end = [i for i, each in enumerate(layers) if each.learned][depth - 1]
        here = next((each.query.grid for each in layers[end::-1] if each.query.grid), None)
        last = next(each.query.grid for each in reversed(layers) if each.query.grid)
        return f" of that layer's {here[0]} × {here[1]}" if here and here != last and self.query == "patch" else ""

    def sentence(self, of: Subject, row: Row, grown: list[Row], start: int, own: tuple[int, int] | None) -> str:
        """The share on a drawn insect by layer or of this row, or how concentrated it is; without `own`, the place that
        asks, which the identity makes bright."""
        covered, who = of.covered(row.grid.shape), named(row)
        by_layer = None
        if covered is not None and start == 1 and own is None:
            shares = [float((each.grid * covered).sum() / each.grid.sum().clamp(min=1e-12)) for each in grown]
            by_layer = places.from_layer_on(shares, float(covered.mean()), f"rollout of {who}")
        what = f"what {who} takes from {'the image' if own is None else 'the other patches'}"
        seen = others(row.grid, own)
        return first_said(by_layer, places.where(seen, covered, what), places.spread(seen, what))


def numbers(grown: list[Row], start: int, row: Row) -> dict[str, np.ndarray]:
    """The map, and every layer's row: its places, what special tokens and padding take."""
    return {
        "places": row.grid.numpy(),
        "by_layer": np.stack([each.grid.numpy() for each in grown]),
        "layer": np.arange(start, start + len(grown)),
        "special": np.array([list(each.special.values()) for each in grown]),
        "special_names": np.array(list(grown[-1].special), dtype=str),
        "padding": np.array([each.padding for each in grown]),
    }
