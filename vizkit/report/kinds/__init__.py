"""The kinds of pictures that can be saved, one record each: a new one is a class here, under its name in files."""

from vizkit.report.kinds.channel import Channel
from vizkit.report.kinds.chart import Chart
from vizkit.report.kinds.field import Field
from vizkit.report.kinds.filters import Filters
from vizkit.report.kinds.framed import Framed
from vizkit.report.kinds.record import Drawn, Kind
from vizkit.report.kinds.relevance import Relevance
from vizkit.report.kinds.slid import Slid

__all__ = [
    "KINDS",
    "Channel",
    "Chart",
    "Drawn",
    "Field",
    "Filters",
    "Framed",
    "Kind",
    "Relevance",
    "Shows",
    "Slid",
]

KINDS: dict[str, type] = {
    "relevance": Relevance,
    "channel": Channel,
    "chart": Chart,
    "kernel": Slid,
    "receptive field": Field,
    "filters": Filters,
    "boxes": Framed,
}
Shows = Relevance | Channel | Chart | Slid | Field | Filters | Framed
