"""The canvas that draws a map of a query on a picture, and what it is sent: for the app and for pages of their own."""

from pathlib import Path

__all__ = ["LOOK", "LOOK_CSS", "LOOK_HTML", "LOOK_JS", "SHORT"]

_HERE = Path(__file__).parent

LOOK_HTML = (
    "<section><strong><span></span></strong><div class='map'><canvas tabindex='0' role='application'></canvas>"
    "<button type='button' aria-label='Enlarge' title='Enlarge'>⤢</button></div>"
    "<div class='words'><p><span>0</span><i></i><span></span></p>"
    "<output aria-live='polite'></output><ol></ol></div></section>"
)
LOOK_CSS = (_HERE / "look.css").read_text(encoding="utf-8")
LOOK = tuple(_HERE / name for name in ("short.js", "scales.js", "enlarge.js", "guide.js", "look.js"))
SHORT = LOOK[0]
"""JavaScript before that of every canvas that writes numbers."""
LOOK_JS = "".join(file.read_text(encoding="utf-8") for file in LOOK)
