"""The kinds of pictures that can be saved, one record each: a new one is a class here, under its name in files."""

from vizkit.report.kinds.attention import Attention, Features
from vizkit.report.kinds.channel import Channel
from vizkit.report.kinds.chart import Chart
from vizkit.report.kinds.field import Field
from vizkit.report.kinds.filters import Filters
from vizkit.report.kinds.framed import Framed
from vizkit.report.kinds.fused import Fused
from vizkit.report.kinds.heads import Heads
from vizkit.report.kinds.record import Drawn, Kind
from vizkit.report.kinds.relevance import Relevance
from vizkit.report.kinds.slid import Slid

__all__ = [
    "KINDS",
    "Attention",
    "Channel",
    "Chart",
    "Drawn",
    "Features",
    "Field",
    "Filters",
    "Framed",
    "Fused",
    "Heads",
    "Kind",
    "Relevance",
    "Shows",
    "Slid",
]

KINDS: dict[str, type] = {
    "attention": Attention,
    "features": Features,
    "fused heads": Fused,
    "all heads": Heads,
    "relevance": Relevance,
    "channel": Channel,
    "chart": Chart,
    "kernel": Slid,
    "receptive field": Field,
    "filters": Filters,
    "boxes": Framed,
}
Shows = Attention | Features | Heads | Relevance | Channel | Chart | Slid | Field | Filters | Framed | Fused
