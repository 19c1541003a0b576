"""Two pictures of the same size, one over the other, and a bar that is dragged between them."""

from pathlib import Path

from vizkit.ui.canvas import Canvas

HERE = Path(__file__).parent
SWIPE = Canvas(
    "vizkit_swipe",
    "<div class='swipe'><p class='titles'><span></span><span></span></p><div class='frame'><img><img><i></i>"
    "<input type='range' min='0' max='1000' value='500' aria-label='Bar between the two pictures'></div></div>",
    HERE / "swipe.css",
    HERE / "swipe.js",
)


def swipe(key: str, left: str, right: str, titles: tuple[str, str], columns: int) -> None:
    """Mount it. `left`, `right`: data URLs; `columns`: the picture's width in pixels, at most as wide is it shown
    unless it is tiny."""
    SWIPE(key, {"left": left, "right": right, "titles": titles, "columns": columns})
