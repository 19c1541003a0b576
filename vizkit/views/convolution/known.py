"""Which data a model knows: the samples and the bundled models beside it are of the same."""

from typing import TYPE_CHECKING, Literal

from vizkit.datasets import samples

if TYPE_CHECKING:
    from vizkit.models import Loaded

Data = Literal["digits", "insects"]


def data_of(loaded: "Loaded") -> Data:
    """Digits, where its classes are digits; else insects."""
    return "digits" if loaded.labels and all(label.isdigit() for label in loaded.labels) else "insects"


def samples_for(loaded: "Loaded") -> list[str]:
    """Digits for a model of digits, for all others insects and photographs."""
    digits = data_of(loaded) == "digits"
    return [name for name in samples.names() if (samples.kind_of(name) == "digits") == digits]
