"""The kinds of pictures that can be saved, one record each: a new one is a class here, under its name in files."""

from vizkit.report.kinds.chart import Chart
from vizkit.report.kinds.record import Drawn, Kind

__all__ = [
    "KINDS",
    "Chart",
    "Drawn",
    "Kind",
    "Shows",
]

KINDS: dict[str, type] = {
    "chart": Chart,
}
Shows = Chart
