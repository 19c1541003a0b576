"""The button that copies the address of what is shown."""

from pathlib import Path

from vizkit.ui.canvas import Canvas

HERE = Path(__file__).parent
BUTTON = Canvas(
    "vizkit_copy_link",
    "<button type='button'>Copy link</button><span role='status'></span>\n"
    "<input readonly hidden aria-label='The link to this view'>\n",
    HERE / "copy_link.css",
    HERE / "copy_link.js",
)


def button(left: str) -> None:
    """It copies the browser's own address, which Streamlit keeps up to date with every choice that is bound to it.
    `left`: what is not in it, said to whoever copies it."""
    BUTTON("copy_link", data={"left": left}, width="content")
