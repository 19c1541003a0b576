"""Any map of a query on the picture, in the canvas that all pages share."""

from typing import Any

import numpy as np
from jaxtyping import UInt8

from vizkit.figure.canvas.rows import Rows
from vizkit.geometry import in_shares
from vizkit.image import Picture
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown, cursor
from vizkit.ui.widgets import map_canvas


def show_map(
    key: str,
    content: Rows,
    shown: Shown,
    picture: Picture,
    draw: str,
    label: str,
    query_key: str = "query",
    instead: UInt8[np.ndarray, "row column 3"] | None = None,
    point: tuple[float, float] | None = None,
    **words: Any,
) -> None:
    """Any map of a query on the picture, at `point`, by default under the page's one cursor.

    `query_key`: the widget that says whose map it is; a click sets it to "patch". `instead`: drawn in the place of the
    picture: what the model saw of it, in another form. `words`: what is said around it, as `hosts.packing.said_of`.
    """
    box = in_shares(shown.box_xyxy, picture.rgb.shape[:2])
    drawn, name, frame = picture.rgb, picture.digest, (0, 0, 1, 1)
    if instead is not None:
        drawn, name, frame = instead, f"{key} {box} {instead.shape} {picture.digest}", box
    special = shown.query if isinstance(shown.query, str) else None
    point = point or cursor()
    map_canvas.card(
        key,
        content.pack(),
        draw,
        query_key,
        image=cached.browser_image(name, drawn),
        size=drawn.shape[:2],
        box=box,
        frame=frame,
        point=point,
        special=special,
        epoch=f"{point}{special}",
        show_grid=instead is None,
        label=f"{label} {shown.name}. Use the arrow keys to move the query.",
        **{"classes": (), **words},
    )
