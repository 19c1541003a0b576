"""What every kind of saved picture gives."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from vizkit.figure.saved.panels import PanelsOf
from vizkit.figure.saved.single import MapOf
from vizkit.models import Loaded
from vizkit.views.subject import Subject

__all__ = ["Drawn", "Kind"]


@dataclass(frozen=True, eq=False)
class Drawn:
    """A picture with its words. `lines`: below the title, beside those on model and picture. `numbers`: what it was
    drawn from, by name."""

    title: str
    lines: tuple[str, ...]
    picture: MapOf | PanelsOf
    numbers: dict[str, np.ndarray]


class Kind(Protocol):
    """A frozen dataclass of plain values: everything that was chosen on the page."""

    def stem(self, loaded: Loaded) -> str:
        """A part of a file's name: what is shown."""
        ...

    def drawn(self, inputs: Subject) -> Drawn:
        """Raises NotApplicable or TraceError where this model has no such picture."""
        ...
