"""What depends on the model alone."""

from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(frozen=True)
class OfModel:
    """A key of what depends on the model alone, whatever the picture is."""

    what: Hashable
