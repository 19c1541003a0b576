"""The kinds of pictures that can be saved, one record each: a new one is a class here, under its name in files."""

from vizkit.report.kinds.attention import Attention, Features
from vizkit.report.kinds.channel import Channel
from vizkit.report.kinds.heads import Heads
from vizkit.report.kinds.record import Drawn, Kind
from vizkit.report.kinds.relevance import Relevance
from vizkit.report.kinds.rollout import Multiplied

__all__ = ["KINDS", "Attention", "Channel", "Drawn", "Features", "Heads", "Kind", "Multiplied", "Relevance", "Shows"]

KINDS: dict[str, type] = {
    "attention": Attention,
    "features": Features,
    "all heads": Heads,
    "rollout": Multiplied,
    "relevance": Relevance,
    "channel": Channel,
}
Shows = Attention | Features | Heads | Multiplied | Relevance | Channel
