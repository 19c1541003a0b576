"""Blocks as the script of a view reads them (stage.js)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from urllib.parse import quote

import numpy as np
from jaxtyping import UInt8

from vizkit.figure.canvas.rows import text64
from vizkit.figure.canvas.tile_maps import tile_maps
from vizkit.figure.palette import MARKS, OPACITIES, SIGNED, colours, faint
from vizkit.figure.saved.panels import chart_marks, panel_of
from vizkit.figure.saved.plate import INK, PALE, Plate
from vizkit.figure.saved.single import WIDTH
from vizkit.figure.saved.svg import svg
from vizkit.geometry import in_shares
from vizkit.image import data_url
from vizkit.views.blocks import (
    Bars,
    Block,
    Canvas,
    Chart,
    Code,
    Columns,
    Folded,
    Formula,
    Grid,
    Heading,
    Line,
    Map,
    Matrix,
    Metrics,
    Picture,
    Proof,
    Said,
    Table,
    Tiles,
)
from vizkit.views.settled import settled
from vizkit.views.subject import Subject

POOLED = 400  # characters from which a text stands once for all frames
PICTURE_PX = 640
PAPER = {"#ffffff": "#0f1120", INK: "#e8eaf6", PALE: "#a5a9c4", "#d9dbe6": "#2d3152"}  # of a chart, in the dark
DARK = "".join(f"[fill='{ink}']{{fill:{dark}}}[stroke='{ink}']{{stroke:{dark}}}" for ink, dark in PAPER.items())

Packed = dict[str, Any]


@dataclass
class Packing:
    """How blocks become what the script reads. `unfolded`: with what few ask for. `pool`: texts by their places;
    `urls`: of pictures by their identity, which hold while the picture does."""

    draw: str
    unfolded: bool = False
    pool: dict[str, int] = field(default_factory=dict)
    urls: dict[int, tuple[np.ndarray, str]] = field(default_factory=dict)

    def frame(self, columns: Iterable[tuple[Sequence[Subject], Iterable[Block]]]) -> list[list[Packed]]:
        return [[self.pooled(part) for part in self.all(blocks, of)] for of, blocks in columns]

    def all(self, blocks: Iterable[Block], of: Sequence[Subject]) -> list[Packed]:
        return [part for block in settled(blocks) for part in self.packed(block, of)]

    def packed(self, block: Block, of: Sequence[Subject]) -> Iterator[Packed]:
        if isinstance(block, Columns):
            parts = [self.all(part, of) for part in block.parts]
            yield {"kind": "columns", "parts": parts, "widths": list(block.widths or (1,) * len(parts))}
        elif isinstance(block, Folded):
            if self.unfolded:
                yield {"kind": "folded", "text": block.title}
                yield from self.all(block.make(), of)
        elif (pack := PACKED.get(type(block))) is not None:
            yield from pack(self, block, of)

    def pooled(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: self.pooled(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.pooled(part) for part in value]
        if isinstance(value, str) and len(value) >= POOLED:
            return {"$": self.pool.setdefault(value, len(self.pool))}
        return value

    def url(self, rgb: UInt8[np.ndarray, "height width 3"], side_px: int = PICTURE_PX) -> str:
        if id(rgb) not in self.urls:
            self.urls[id(rgb)] = rgb, data_url(rgb, side_px)
        return self.urls[id(rgb)][1]


# ---- one block each --------------------------------------------------------------------------------------------------
def _text(kind: str, pack: Packing, block: Any, of: Sequence[Subject]) -> Iterator[Packed]:
    text = next(getattr(block, name) for name in ("text", "latex", "code") if hasattr(block, name))
    yield {"kind": kind, "text": text}


def _subject(block: Map | Tiles, of: Sequence[Subject]) -> Subject:
    return block.of or of[0]


def _map(pack: Packing, block: Map, of: Sequence[Subject]) -> Iterator[Packed]:
    subject = _subject(block, of)
    box = in_shares(subject.box_xyxy, subject.rgb.shape[:2])
    special = block.query if isinstance(block.query, str) else None
    point = point_of(block, subject)
    drawn = subject.rgb if block.instead is None else block.instead
    floor, ceiling = OPACITIES[pack.draw]
    data = block.rows.pack() | {
        "image": pack.url(drawn),
        "size": drawn.shape[:2],
        "box": box,
        "frame": (0, 0, 1, 1) if block.instead is None else box,
        "point": point,
        "special": special,
        "epoch": f"{point}{special}",
        "show_grid": block.instead is None,
        "ringed": block.ringed,
        "label": f"{block.label} {subject.name}. Use the arrow keys to move the query.",
        **said_of(block),
        "colours": text64(colours(block.rows.scale.palette)),
        "floor": floor,
        "ceiling": ceiling,
    }
    yield {"kind": "canvas", "script": "vizkit_look", "data": data, "picks": block.picks}


def point_of(block: Map, of: Subject) -> tuple[float, float]:
    """Where its query lies, in fractions of the picture: the cursor, or what the view chose instead."""
    if isinstance(block.query, str) or block.query == of.asked:
        return of.point
    x0, y0, x1, y1 = in_shares(of.box_xyxy, of.rgb.shape[:2])
    return x0 + block.query[0] * (x1 - x0), y0 + block.query[1] * (y1 - y0)


def said_of(block: Map) -> Packed:
    """The words around a map, as its script reads them."""
    return {
        "classes": list(block.bars),
        **({"sentence": block.said} if block.room else {}),
        "sentences": by_words(block.said_by),
        "quantity": block.quantity,
        "guide": block.guide,
        **({"tour": block.tour} if block.tour else {}),
        **({"elsewhere": block.elsewhere} if block.elsewhere else {}),
    }


def by_words(said_by: Mapping[int, str]) -> list[tuple[str, list[int]]]:
    """Every sentence once, with the tokens of which it is said."""
    found: dict[str, list[int]] = {}
    for query, words in said_by.items():
        found.setdefault(words, []).append(query)
    return list(found.items())


def _tiles(pack: Packing, block: Tiles, of: Sequence[Subject]) -> Iterator[Packed]:
    if block.title:
        yield {"kind": "heading", "text": block.title}
    under = block.over or (_subject(block, of),) * len(block.maps)
    chosen = block.values.index(block.chosen) if block.chosen in block.values else None
    images = [(pack.url(each.rgb), (each.rgb.shape[0], each.rgb.shape[1]), each.box_xyxy) for each in under]
    data = tile_maps(block.maps, images, OPACITIES[pack.draw], block.alt)
    pick = len(block.values) if block.picks else 0
    data |= {"chosen": chosen, "pick": pick, "tile_px": block.tile_px, "matrix": None}
    yield {"kind": "canvas", "script": "vizkit_tiles", "data": data, "picks": block.picks, "values": block.values}


def _grid(pack: Packing, block: Grid, of: Sequence[Subject]) -> Iterator[Packed]:
    data = grid_data(block, OPACITIES[pack.draw], lambda each: pack.url(each.rgb))
    yield {"kind": "canvas", "script": "vizkit_tiles", "data": data, "picks": block.picks, "values": block.told}


def grid_data(block: Grid, opacities: tuple[float, float], url: Callable[[Subject], str]) -> Packed:
    """As tiles.js reads it. `url`: of the picture of a subject."""
    tiles, values = [tile for tile, _ in block.cells], block.told
    under = [(url(each), (each.rgb.shape[0], each.rgb.shape[1]), each.box_xyxy) for _, each in block.cells]
    heads = {
        "rows": [(tile.name, tile.note, tile.more) for tile in block.rows],
        "columns": block.columns,
        "quantity": block.quantity,
        "pictured": block.pictured,
    }
    chosen = values.index(block.chosen) if block.chosen in values else None
    more = {"chosen": chosen, "pick": len(values) if block.picks else 0, "tile_px": 0, "matrix": heads}
    return tile_maps(tiles, under, opacities, block.alt) | more


def _picture(pack: Packing, block: Picture, of: Sequence[Subject]) -> Iterator[Packed]:
    yield {
        "kind": "picture",
        "src": pack.url(block.rgb, 1024),
        "alt": block.alt,
        "caption": block.caption,
        "share": block.share,
        "pixels": max(block.rgb.shape[:2]) < 400,
    }


def _chart(pack: Packing, block: Chart, of: Sequence[Subject]) -> Iterator[Packed]:
    if block.still:
        for part in block.still:
            yield from pack.packed(part, of)
        return
    panel = panel_of(block.figure)
    marks, height = chart_marks(replace(panel, title=block.title or panel.title), 0.0)
    drawn = svg(Plate(WIDTH, height + 6, block.alt, tuple(marks)))
    drawn = drawn.replace(">", f"><style>@media (prefers-color-scheme: dark){{{DARK}}}</style>", 1)
    yield {
        "kind": "picture",
        "src": f"data:image/svg+xml;utf8,{quote(drawn)}",
        "alt": block.alt,
        "caption": "",
        "share": 1.0,
        "pixels": False,
    }


def _bars(pack: Packing, block: Bars, of: Sequence[Subject]) -> Iterator[Packed]:
    yield {"kind": "bars", "html": block.bars.html(), "alt": block.alt}


def _matrix(pack: Packing, block: Matrix, of: Sequence[Subject]) -> Iterator[Packed]:
    yield {"kind": "bars", "html": block.matrix.html(), "alt": block.alt}


def _table(pack: Packing, block: Table, of: Sequence[Subject]) -> Iterator[Packed]:
    names = list(block.rows[0]) if block.rows else []
    rows = [["–" if row.get(name) is None else str(row[name]) for name in names] for row in block.rows]
    grounds = {f"{row},{names.index(name)}": faint(MARKS[mark], 0.36) for (row, name), mark in block.marks.items()}
    helps = [block.helps.get(name, "") for name in names]
    yield {"kind": "table", "names": names, "rows": rows, "caption": block.caption, "helps": helps, "grounds": grounds}


def _metrics(pack: Packing, block: Metrics, of: Sequence[Subject]) -> Iterator[Packed]:
    yield {"kind": "table", "names": ["", "", ""], "rows": [list(item) for item in block.items], "caption": ""}


def _canvas(pack: Packing, block: Canvas, of: Sequence[Subject]) -> Iterator[Packed]:
    over = {} if block.of is None else on_picture(block.of, pack.url(block.of.rgb))
    fields = {name: field for name, (_, field) in block.tells.items()}
    data = {**block.data, **over, "label": block.alt, "alone": True}
    yield {"kind": "canvas", "script": block.script, "data": data, "picks": block.picks, "tells": fields}


def on_picture(of: Subject, url: str) -> Packed:
    """What a script needs to draw on the picture: `box` is what the model sees of it, in shares."""
    return {
        "image": url,
        "image_size": of.rgb.shape[:2],
        "box": in_shares(of.box_xyxy, of.rgb.shape[:2]),
        "point": of.point,
        "colours": text64(colours()),
        "signed": text64(colours(SIGNED)),
    }


def _proof(pack: Packing, block: Proof, of: Sequence[Subject]) -> Iterator[Packed]:
    """As a page has it: what else was compared stands in the place of the trace's own check while that agrees."""
    check = block.trace and block.trace.check
    words = (check.failure or block.words or check.said) if check else block.words
    holds = block.holds and not (check and check.failure)
    yield {"kind": "proof", "text": f"{'Checked' if holds else 'NOT PROVEN'}: {words}"}


PACKED: dict[type, Callable[[Packing, Any, Sequence[Subject]], Iterator[Packed]]] = {
    Heading: partial(_text, "heading"),
    Line: partial(_text, "line"),
    Said: partial(_text, "said"),
    Formula: partial(_text, "formula"),
    Code: partial(_text, "code"),
    Map: _map,
    Tiles: _tiles,
    Grid: _grid,
    Picture: _picture,
    Chart: _chart,
    Bars: _bars,
    Matrix: _matrix,
    Table: _table,
    Metrics: _metrics,
    Canvas: _canvas,
    Proof: _proof,
}
