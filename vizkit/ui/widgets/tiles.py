"""Several maps of one picture side by side in the browser: a map's growth by layer, or what every method says."""

from collections.abc import Callable, Sequence
from typing import Any

from vizkit.figure.canvas.tile_maps import Tile as Tile
from vizkit.figure.canvas.tile_maps import tile_maps
from vizkit.figure.palette import OPACITIES
from vizkit.image import Picture
from vizkit.ui.canvas import script_canvas
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown
from vizkit.views.rules import below

TILES = script_canvas("vizkit_tiles")


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
    under = [(image, (size_hw[0], size_hw[1]), shown.box_xyxy) for shown in columns]
    return tile_maps(maps, limits, under, OPACITIES[draw], label)
