"""The kinds of pictures that can be saved, one record each: a new one is a class here, under its name in files."""

from vizkit.report.kinds.attention import Attention, Features
from vizkit.report.kinds.chart import Chart
from vizkit.report.kinds.framed import Framed
from vizkit.report.kinds.fused import Fused
from vizkit.report.kinds.heads import Heads
from vizkit.report.kinds.record import Drawn, Kind
from vizkit.report.kinds.relevance import Relevance

__all__ = [
    "KINDS",
    "Attention",
    "Chart",
    "Drawn",
    "Features",
    "Framed",
    "Fused",
    "Heads",
    "Kind",
    "Relevance",
    "Shows",
]

KINDS: dict[str, type] = {
    "attention": Attention,
    "features": Features,
    "fused heads": Fused,
    "all heads": Heads,
    "relevance": Relevance,
    "chart": Chart,
    "boxes": Framed,
}
Shows = Attention | Features | Heads | Relevance | Chart | Framed | Fused
