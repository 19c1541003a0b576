"""What can be saved of the page: the panels as they are on the picture."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vizkit.ui.pages.detection.canvas import Panel
from vizkit.ui.session import saved
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from vizkit.report.kinds.framed import OnPicture
    from vizkit.ui.pages.detection.given import Given

DIGITS = 6
PLACE = "#ffffff"
"""The chosen place, a dot."""


def keep(
    key: str,
    given: "Given",
    title: str,
    panels: "Sequence[Panel | OnPicture]",
    more: dict[str, Callable[[], bytes]] | None = None,
) -> None:
    """The popover Save below a picture. `more`: NPZ files by their labels."""
    from vizkit.report.item import Item
    from vizkit.report.kinds.framed import Framed
    from vizkit.views.subject import Subject, no_model

    shown = tuple(on_picture(panel) if isinstance(panel, Panel) else panel for panel in panels)
    shows = Framed(title, (given.title, given.detector.name), given.number, shown)
    if given.number:
        save(key, {"": Item(shows, "", "", "", link=saved.link())}, saved.NOTHING, more)
    else:
        save(key, {"": saved.item_of_picture(shows)}, Subject(no_model, given.rgb), more)


def on_picture(panel: Panel) -> "OnPicture":
    from vizkit.figure.saved.boxes import Frame, Track
    from vizkit.report.kinds.framed import OnPicture

    frames = [Frame(_four(box.box), box.colour, box.text, box.dashed) for box in panel.boxes]
    tracks = [
        Track(tuple((round(x, DIGITS), round(y, DIGITS)) for x, y in points), colour) for points, colour in panel.paths
    ]
    tracks += [] if panel.at is None else [Track((panel.at,), PLACE)]
    cells = (
        ()
        if panel.heat is None
        else tuple(tuple(float(f"{value:.{DIGITS}g}") for value in row) for row in panel.heat.float().tolist())
    )
    return OnPicture(panel.title, tuple(frames), tuple(tracks), cells)


def _four(box: tuple[float, ...]) -> tuple[float, float, float, float]:
    x0, y0, x1, y1 = (round(float(side), DIGITS) for side in box)
    return x0, y0, x1, y1
