"""The canvas of a map on the picture, in which a patch is picked. Imports no torch: the first picture waits for it."""

from typing import Any

import streamlit as st

from vizkit.figure.canvas import LOOK_CSS, LOOK_HTML, LOOK_JS
from vizkit.figure.canvas.rows import text64
from vizkit.figure.palette import OPACITIES, colours
from vizkit.ui.canvas import Canvas
from vizkit.views.rules import POINT

CARD = Canvas("vizkit_look", LOOK_HTML, LOOK_CSS, LOOK_JS)


def card(key: str, rows: dict[str, Any], draw: str, query_key: str = "query", **shown: Any) -> None:
    """Mount one; `rows` as `Rows.pack` gives them. A click goes to `session_state["at"]`, the one cursor of the page,
    and its query is a patch now."""

    def clicked(point: tuple[float, float]) -> None:
        st.session_state["at"], st.session_state[query_key] = point, "patch"

    floor, ceiling = OPACITIES[draw]
    content = {**rows, **shown, "colours": text64(colours()), "floor": floor, "ceiling": ceiling}
    # Streamlit looks for tables in lists, and imports pandas for that: a second before the first picture.
    content = {name: tuple(value) if isinstance(value, list) else value for name, value in content.items()}
    CARD(key=key, data=content, point=(POINT, clicked))
