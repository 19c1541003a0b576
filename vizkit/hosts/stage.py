"""A view as its script in the browser reads it (stage.js): the blocks of every model, at every step of the field that
is played, so that turning it needs no server."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from vizkit.figure.canvas.rows import text64
from vizkit.figure.canvas.tile_maps import Tile, tile_maps
from vizkit.figure.palette import OPACITIES, colours
from vizkit.figure.saved.panels import chart_marks, panel_of
from vizkit.figure.saved.plate import Plate
from vizkit.figure.saved.single import WIDTH
from vizkit.figure.saved.svg import svg
from vizkit.image import data_url
from vizkit.standalone.page import proof
from vizkit.views.blocks import (
    Block,
    Canvas,
    Chart,
    Formula,
    Grid,
    Heading,
    Limits,
    Line,
    Map,
    Metrics,
    Picture,
    Proof,
    Said,
    Table,
    Tiles,
    flat,
)
from vizkit.views.controls import controls
from vizkit.views.subject import Subject
from vizkit.views.view import View

__all__ = ["FRAMES_BYTES", "stage"]

FRAMES_BYTES = 3_000_000
MOST_FRAMES = 50
POOLED = 400  # characters from which a text stands once for all frames


def stage(
    view: View, of: Sequence[Subject], draw: str = "over image", most_bytes: int = FRAMES_BYTES
) -> dict[str, Any]:
    """`draw`: a key of OPACITIES. Where all steps together would take more than `most_bytes`, the present one stands
    alone. Raises NotApplicable where the view has no meaning for these subjects."""
    field, pool = _played(view, of), dict[str, int]()
    settings = {str(value): replace(view, **{field["name"]: value}) for value in field["values"]} if field else {}
    frames, size = dict[str, Any](), 0
    for step, set_so in settings.items():
        frames[step] = _frame(set_so, of, draw, pool)
        size += len(json.dumps(frames[step]))
        if size + sum(map(len, pool)) > most_bytes:
            field, frames, pool = None, {}, {}
            break
    titles = [""] if view.together or len(of) == 1 else [each.name for each in of]
    return {"titles": titles, "field": field, "frames": frames or {"": _frame(view, of, draw, pool)}, "pool": [*pool]}


def _played(view: View, of: Sequence[Subject]) -> dict[str, Any] | None:
    """The field that is a step of a sequence, with all its values."""
    for name, control in controls(view).items():
        low, high = control.ends(of)
        if control.plays and 0 < high - low < MOST_FRAMES * control.step:
            count = round((high - low) / control.step) + 1
            values = [low + step * control.step for step in range(count)]
            now = getattr(view, name)
            return {
                "name": name,
                "label": control.label,
                "help": control.help,
                "values": values,
                "value": values[-1] if now is None else now,
            }
    return None


def _frame(view: View, of: Sequence[Subject], draw: str, pool: dict[str, int]) -> list[list[Any]]:
    """The blocks of every column, packed."""
    groups = [list(of)] if view.together else [[each] for each in of]
    return [
        [
            _pooled(packed, pool)
            for block in flat(view.show(group if view.together else group[0]))
            for packed in _packed(block, group, draw)
        ]
        for group in groups
    ]


def _pooled(value: Any, pool: dict[str, int]) -> Any:  # noqa: ANN401 - what JSON can hold
    if isinstance(value, dict):
        return {name: _pooled(part, pool) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_pooled(part, pool) for part in value]
    if isinstance(value, str) and len(value) >= POOLED:
        return {"$": pool.setdefault(value, len(pool))}
    return value


# ---- one block each --------------------------------------------------------------------------------------------------
def _packed(block: Block, of: Sequence[Subject], draw: str) -> Iterator[dict[str, Any]]:
    pack = PACKED.get(type(block))
    if pack is not None:
        yield from pack(block, of, draw)


def _text(kind: str, block: Any, of: Sequence[Subject], draw: str) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    yield {"kind": kind, "text": getattr(block, "text", "") or getattr(block, "latex", "")}


def _subject(block: Map | Tiles, of: Sequence[Subject]) -> Subject:
    return next(each for each in of if block.of in (None, each))


def _map(block: Map, of: Sequence[Subject], draw: str) -> Iterator[dict[str, Any]]:
    subject = _subject(block, of)
    height, width = subject.rgb.shape[:2]
    x0, y0, x1, y1 = subject.box_xyxy
    special = block.query if isinstance(block.query, str) else None
    box = (x0 / width, y0 / height, x1 / width, y1 / height)
    drawn = subject.rgb if block.instead is None else block.instead
    floor, ceiling = OPACITIES[draw]
    data = block.rows.pack() | {
        "image": data_url(drawn, 640),
        "size": drawn.shape[:2],
        "box": box,
        "frame": (0, 0, 1, 1) if block.instead is None else box,
        "point": subject.point,
        "special": special,
        "epoch": f"{subject.point}{special}",
        "show_grid": block.instead is None,
        "label": f"{block.label} {subject.name}. Use the arrow keys to move the query.",
        "classes": list(block.bars),
        "sentence": block.said,
        "colours": text64(colours()),
        "floor": floor,
        "ceiling": ceiling,
    }
    yield {"kind": "canvas", "script": "vizkit_look", "data": data}


def _tiles(block: Tiles, of: Sequence[Subject], draw: str) -> Iterator[dict[str, Any]]:
    if block.title:
        yield {"kind": "heading", "text": block.title}
    subject = _subject(block, of)
    chosen = block.values.index(block.chosen) if block.chosen in block.values else None
    data = _maps(block.maps, block.limits, [subject] * len(block.maps), block.alt, draw)
    data |= {"chosen": chosen, "pick": bool(block.picks), "tile_px": block.tile_px, "matrix": None}
    yield {"kind": "canvas", "script": "vizkit_tiles", "data": data, "picks": block.picks, "values": block.values}


def _grid(block: Grid, of: Sequence[Subject], draw: str) -> Iterator[dict[str, Any]]:
    maps = [tile for row in block.maps for tile in row]
    limits = [ends for row in block.limits for ends in row]
    data = _maps(maps, limits, [*block.of] * len(block.rows), block.alt, draw)
    heads = {
        "rows": [(tile.name, tile.note, tile.more) for tile in block.rows],
        "columns": [each.name for each in block.of],
        "named": True,
        "signed": any(tile.signed for tile in maps),
        "plain": any(not tile.signed and tile.values.size for tile in maps),
    }
    data |= {"chosen": None, "pick": bool(block.picks), "tile_px": 0, "matrix": heads}
    values = [value for value in block.values for _ in block.of]
    yield {"kind": "canvas", "script": "vizkit_tiles", "data": data, "picks": block.picks, "values": values}


def _maps(maps: Sequence[Tile], limits: Sequence[Limits], of: Sequence[Subject], alt: str, draw: str) -> dict[str, Any]:
    picture = of[0].rgb if of else None
    if picture is None:
        return {}
    boxes = [each.box_xyxy for each in of]
    size_hw = picture.shape[0], picture.shape[1]
    return tile_maps(maps, limits, boxes, size_hw, data_url(picture, 640), OPACITIES[draw], alt)


def _picture(block: Picture, of: Sequence[Subject], draw: str) -> Iterator[dict[str, Any]]:
    yield {
        "kind": "picture",
        "src": data_url(block.rgb),
        "alt": block.alt,
        "caption": block.caption,
        "share": block.share,
        "pixels": max(block.rgb.shape[:2]) < 400,
    }


def _chart(block: Chart, of: Sequence[Subject], draw: str) -> Iterator[dict[str, Any]]:
    panel = panel_of(block.figure)
    marks, height = chart_marks(replace(panel, title=block.title or panel.title), 0.0)
    drawn = svg(Plate(WIDTH, height + 6, block.alt, tuple(marks)))
    yield {
        "kind": "picture",
        "src": f"data:image/svg+xml;utf8,{_escaped(drawn)}",
        "alt": block.alt,
        "caption": "",
        "share": 1.0,
        "pixels": False,
    }


def _escaped(text: str) -> str:
    from urllib.parse import quote

    return quote(text)


def _table(block: Table, of: Sequence[Subject], draw: str) -> Iterator[dict[str, Any]]:
    names = list(block.rows[0]) if block.rows else []
    rows = [["–" if row.get(name) is None else str(row[name]) for name in names] for row in block.rows]
    yield {"kind": "table", "names": names, "rows": rows, "caption": block.caption}


def _metrics(block: Metrics, of: Sequence[Subject], draw: str) -> Iterator[dict[str, Any]]:
    yield {"kind": "table", "names": ["", "", ""], "rows": [list(item) for item in block.items], "caption": ""}


def _canvas(block: Canvas, of: Sequence[Subject], draw: str) -> Iterator[dict[str, Any]]:
    yield {"kind": "canvas", "script": block.script, "data": block.data}


def _proof(block: Proof, of: Sequence[Subject], draw: str) -> Iterator[dict[str, Any]]:
    yield {"kind": "proof", "text": f"Proof: {proof(block.trace.check)}"}


PACKED: dict[type, Callable[[Any, Sequence[Subject], str], Iterator[dict[str, Any]]]] = {
    Heading: partial(_text, "heading"),
    Line: partial(_text, "line"),
    Said: partial(_text, "said"),
    Formula: partial(_text, "formula"),
    Map: _map,
    Tiles: _tiles,
    Grid: _grid,
    Picture: _picture,
    Chart: _chart,
    Table: _table,
    Metrics: _metrics,
    Canvas: _canvas,
    Proof: _proof,
}
