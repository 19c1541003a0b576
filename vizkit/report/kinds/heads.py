"""All layers and heads for one query."""

from dataclasses import dataclass

from vizkit.analysis.attention.attention_map import all_heads, find_query, layers
from vizkit.figure.saved.all_heads import HeadsOf
from vizkit.geometry import name_of
from vizkit.models import Loaded
from vizkit.report.kinds.attention import failure_of, queried
from vizkit.report.kinds.record import Drawn
from vizkit.traces import NotApplicable
from vizkit.views.subject import Subject

__all__ = ["Heads"]


@dataclass(frozen=True)
class Heads:
    """`query`: as of `Attention`. `shared`: one colour scale for a layer, else for each map."""

    query: str | tuple[float, float]
    shared: bool = False

    def stem(self, loaded: Loaded) -> str:
        return f"all_heads_{queried(self.query)}"

    def drawn(self, inputs: Subject) -> Drawn:
        trace = inputs.trace(self.query)
        recorded = layers(trace)
        if not recorded:
            raise NotApplicable(trace.no_attention + ".")
        maps = [None if layer is None else layer.numpy() for layer in all_heads(trace, self.query)]
        last = recorded[-1]
        scale = "one scale for each layer" if self.shared else "each map on its own scale"
        return Drawn(
            "Attention of all layers and heads",
            (f"Query: {name_of(last.query, find_query(last, self.query)[0])}", *failure_of(trace)),
            HeadsOf(maps, self.shared, f"share of the query's attention; {scale}"),
            {f"layer{number}": layer for number, layer in enumerate(maps, 1) if layer is not None},
        )
