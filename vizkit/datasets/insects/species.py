"""The twelve classes, how each is drawn, and the parts by which it is known."""

from collections.abc import Callable

from vizkit.datasets.insects import bugs, larvae, nymphs
from vizkit.datasets.insects.specimen import Specimen

__all__ = ["DECIDING", "LABELS", "SPECIES"]

SPECIES: dict[str, Callable[[Specimen], None]] = {
    "mayfly nymph": nymphs.mayfly,
    "stonefly nymph": nymphs.stonefly,
    "damselfly nymph": nymphs.damselfly,
    "dragonfly nymph": nymphs.dragonfly,
    "cased caddisfly larva": larvae.caddisfly,
    "alderfly larva": larvae.alderfly,
    "mosquito larva": larvae.mosquito,
    "midge larva": larvae.midge,
    "diving beetle": bugs.diving_beetle,
    "backswimmer": bugs.backswimmer,
    "water strider": bugs.water_strider,
    "water scorpion": bugs.water_scorpion,
}
LABELS = tuple(SPECIES)

# The parts to look at when telling the class. "tails" are all thin things behind: tail filaments and breathing tubes.
DECIDING: dict[str, tuple[str, ...]] = {
    "mayfly nymph": ("tails", "gills"),
    "stonefly nymph": ("tails", "wing pads", "antennae"),
    "damselfly nymph": ("gills",),
    "dragonfly nymph": ("abdomen", "wing pads"),
    "cased caddisfly larva": ("case",),
    "alderfly larva": ("gills", "tails"),
    "mosquito larva": ("thorax", "tails"),
    "midge larva": ("abdomen",),
    "diving beetle": ("abdomen", "legs"),
    "backswimmer": ("legs", "abdomen"),
    "water strider": ("legs",),
    "water scorpion": ("legs", "tails"),
}
