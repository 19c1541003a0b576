"""The button that copies the address of what is shown."""

from pathlib import Path

from streamlit.components.v2 import component

HERE = Path(__file__).parent
BUTTON = component(
    "vizkit_copy_link",
    html="<button type='button'>Copy link</button><span role='status'></span>\n"
    "<input readonly hidden aria-label='The link to this view'>\n",
    css=(HERE / "copy_link.css").read_text(encoding="utf-8"),
    js=(HERE / "copy_link.js").read_text(encoding="utf-8"),
)


def button() -> None:
    """It copies the browser's own address, which Streamlit keeps up to date with every choice that is bound to it."""
    BUTTON(key="copy_link", width="content", height="content")
