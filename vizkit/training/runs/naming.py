"""Names of runs: what somebody typed, made into the name of a folder. No torch."""

import re
import unicodedata
from collections.abc import Callable

from vizkit.training.tuning import WEIGHTS  # a folder of such a name would pass for a file

LONGEST = 80
_OTHER = re.compile(r"[^\w.-]+")


def safe_name(typed: str) -> str:
    """Letters, digits, -, _ and dots, at most 80, with a letter or digit first; everything else becomes one -. "" where
    nothing is left."""
    name = _OTHER.sub("-", unicodedata.normalize("NFKC", typed))
    name = name.lstrip("-._")[:LONGEST].rstrip("-.")
    return WEIGHTS.sub(lambda suffix: f"-{suffix[1]}", name)


def free_name(stem: str, taken: Callable[[str], bool]) -> str:
    """`stem`, or the first of stem-2, stem-3 … that is not taken."""
    name, count = stem, 2
    while taken(name):
        ending = f"-{count}"
        name, count = stem[: LONGEST - len(ending)] + ending, count + 1
    return name
