"""The map of one way to explain a class."""

from dataclasses import dataclass, field
from typing import Literal

from vizkit.analysis.attribution.explaining import Explanation, quantile_of
from vizkit.analysis.attribution.methods import METHODS
from vizkit.figure.overlay import top_of
from vizkit.figure.saved.single import MapOf
from vizkit.from_json import LATER, ReportError
from vizkit.heads import ITSELF
from vizkit.models import Loaded
from vizkit.report.kinds.record import Drawn
from vizkit.views.subject import Subject

__all__ = ["Relevance"]


@dataclass(frozen=True)
class Relevance:
    """`method`: a name in METHODS. `target`, `against`: numbers of classes, −1 being an embedding itself. `top`: where
    colours end if several maps share a scale, else None: at this map's own largest. `layer`: where a class activation
    map is made, "" being before the head."""

    method: str
    target: int
    against: int | None = None
    scale: Literal["from 0", "from lowest"] = "from 0"
    top: float | None = None
    layer: str = field(default="", metadata=LATER)

    def stem(self, loaded: Loaded) -> str:
        rival = "" if self.against is None else f"_against_{loaded.label(self.against)}"
        place = f"_{self.layer}" if self.layer else ""
        return f"{self.method}{place}_{loaded.label(self.target)}{rival}" if _classed(self.method) else self.method

    def drawn(self, inputs: Subject) -> Drawn:
        if self.method not in METHODS:
            raise ReportError(f"There is no method {self.method[:40]!r}; there are {', '.join(METHODS)}.")
        method, loaded = METHODS[self.method], inputs.loaded
        for label in (self.target, self.against or 0):
            if label < ITSELF:
                raise ReportError(f"Class {label} does not exist: classes count from 0.")
        explanation = inputs.explanation(self.method, self.target, self.against, self.layer)
        places = explanation.heat.numpy()
        own = top_of(places, quantile_of(explanation))
        top = own if self.top is None else self.top
        low = float(places.min()) if self.scale == "from lowest" and not explanation.signed else 0.0
        unit = "%" if method.shares else ""
        rival = "" if self.against is None else f" against {loaded.label(self.against)}"
        what = method.measures("logit" if loaded.head.probable else "value")
        title = method.title + (f" at {self.layer}" if self.layer else "")
        return Drawn(
            title + (f" for {loaded.label(self.target)}{rival}" if _classed(self.method) else ", for no class"),
            (method.asks, *explanation.notes),
            MapOf(
                places,
                low,
                top,
                what + _ends(explanation, self.top),
                unit,
                explanation.signed,
                beyond=bool(abs(places).max() > 1.0001 * top),
            ),
            {"places": places},
        )


def _classed(method: str) -> bool:
    """Whether its map depends on the class."""
    return method in METHODS and METHODS[method].needs != "trace"


def _ends(explanation: Explanation, shared: float | None) -> str:
    sides = "; red for it, blue against it" if explanation.signed else ""
    return f"{sides}; one scale for all models" if shared is not None else sides
