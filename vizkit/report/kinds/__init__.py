"""The kinds of pictures that can be saved, one record each: a new one is a class here, under its name in files."""

from vizkit.report.kinds.chart import Chart
from vizkit.report.kinds.framed import Framed
from vizkit.report.kinds.record import Drawn, Kind
from vizkit.report.kinds.relevance import Relevance

__all__ = [
    "KINDS",
    "Chart",
    "Drawn",
    "Framed",
    "Kind",
    "Relevance",
    "Shows",
]

KINDS: dict[str, type] = {
    "relevance": Relevance,
    "chart": Chart,
    "boxes": Framed,
}
Shows = Relevance | Chart | Framed
