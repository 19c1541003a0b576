"""Several maps of one picture side by side in the browser: a map's growth by layer, or what every method says."""

from collections.abc import Callable, Sequence
from typing import Any

from vizkit.analysis.attribution.explaining import Explanation
from vizkit.analysis.attribution.methods import METHODS
from vizkit.figure.canvas.tile_maps import Tile as Tile
from vizkit.figure.canvas.tile_maps import tile_maps
from vizkit.figure.palette import OPACITIES
from vizkit.image import Picture
from vizkit.ui.canvas import script_canvas
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown, title
from vizkit.views.rules import below

TILES = script_canvas("vizkit_tiles")


def tile(name: str, value: Explanation | str | None) -> Tile:
    """The map; or its sentence, because a map that is zero or the same everywhere would look like one."""
    method = METHODS[name]
    if value is None:
        return Tile(method.title, None, "Not computed yet.", method.asks)
    if isinstance(value, str):
        return Tile(method.title, None, value, method.asks)
    more = " ".join(filter(None, [method.caveat, method.differs, *value.notes, f"({method.source})"]))
    return Tile(method.title, value.heat.numpy(), method.asks, more, value.signed, "%" if method.shares else "")


def tiles(
    key: str,
    maps: Sequence[Tile],
    shown: Shown,
    picture: Picture,
    draw: str,
    limits: Sequence[tuple[int | float, int | float]],
    *,
    label: str = "",
    chosen: int | None = None,
    on_pick: Callable[[int], None] | None = None,
    tile_px: int = 120,
) -> None:
    """`limits`: the values at the two ends of every map's colours. `tile_px`: the least width of a map."""

    data = _packed(maps, [shown] * len(maps), picture, draw, limits, label)
    data |= {"chosen": chosen, "pick": on_pick is not None, "tile_px": tile_px, "matrix": None}
    TILES(key, data, pick=(below(len(maps)), on_pick))


def matrix(
    key: str,
    rows: Sequence[Tile],
    columns: Sequence[Shown],
    maps: Sequence[Sequence[Tile]],
    picture: Picture,
    draw: str,
    limits: Sequence[Sequence[tuple[int | float, int | float]]],
    *,
    label: str = "",
    named: bool = True,
    chosen: int | None = None,
    on_pick: Callable[[int], None] | None = None,
) -> None:
    """Maps in rows, a column for each model: each row's name and note stand once, before it, and what the colours say
    once above all. `maps` and `limits` are (row, column). `named`: models' names stand above on wide pages too."""
    flat = [tile for row in maps for tile in row]
    data = _packed(flat, [*columns] * len(rows), picture, draw, [ends for row in limits for ends in row], label)
    heads = {
        "rows": [(tile.name, tile.note, tile.more) for tile in rows],
        "columns": [title(shown.source) for shown in columns],
        "named": named,
        "signed": any(tile.signed for tile in flat),
        "plain": any(not tile.signed and tile.values.size for tile in flat),
    }
    data |= {"chosen": chosen, "pick": on_pick is not None, "tile_px": 0, "matrix": heads}
    TILES(key, data, pick=(below(len(flat)), on_pick))


def _packed(
    maps: Sequence[Tile],
    columns: Sequence[Shown],
    picture: Picture,
    draw: str,
    limits: Sequence[tuple[int | float, int | float]],
    label: str,
) -> dict[str, Any]:
    """As tiles.js reads it; `columns`: the model of every map, which saw its own part of the picture."""
    size_hw, image = picture.rgb.shape[:2], cached.browser_image(picture.digest, picture.rgb)
    boxes = [shown.box_xyxy for shown in columns]
    return tile_maps(maps, limits, boxes, size_hw, image, OPACITIES[draw], label)
