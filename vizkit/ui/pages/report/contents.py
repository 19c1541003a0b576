"""The contents of the report, whose lines are dragged to where they belong; under each picture are buttons that do the
same from a keyboard."""

from collections.abc import Mapping
from pathlib import Path

from vizkit.report.document import Entry
from vizkit.report.making import headed
from vizkit.ui.canvas import Canvas
from vizkit.ui.session import report as session_report
from vizkit.views import entry as entry_of
from vizkit.views.rules import below, tuple_of

HERE = Path(__file__).parent
CONTENTS = Canvas("vizkit_contents", "<ol aria-label='Contents'></ol>", HERE / "contents.css", HERE / "contents.js")


def show(kept: dict[int, Entry], titles: Mapping[int, str]) -> None:
    """Of two or more pictures. `titles`: of those that can be made."""
    if len(kept) < 2:
        return

    def moved(places: tuple[int, int]) -> None:
        at, to = places
        session_report.move([*kept][at], to - at)

    lines = [headed(titles.get(at) or entry_of(each.item.shows).title, each.item) for at, each in kept.items()]
    place = below(len(kept))
    CONTENTS("report_contents", {"lines": lines}, move=(tuple_of(place, place), moved))
