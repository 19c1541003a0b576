"""Networks that enlarge a picture by a reference: open one, enlarge any picture, see what its attention took."""

from vizkit.models.super_resolution.enlarging import enlarge
from vizkit.models.super_resolution.opening import Enlarger, bundled_enlargers, open_enlarger
from vizkit.models.super_resolution.seen import Seen, difference_around, most_changed, see
from vizkit.models.super_resolution.tracing import trace

__all__ = [
    "Enlarger",
    "Seen",
    "bundled_enlargers",
    "difference_around",
    "enlarge",
    "most_changed",
    "open_enlarger",
    "see",
    "trace",
]
