"""Whether a model has learned a shortcut, in words."""

import numpy as np
from jaxtyping import Bool

from vizkit.analysis.remarks.remark import of_all, percent

CLEAR = 8.0  # of a cluster's score, in deviations: objects that lie anywhere stay below it (docs/dataset.md)


def place_in_words(place: Bool[np.ndarray, "row column"]) -> str:
    """Where the middle of a place lies, in thirds: "in the top left corner", "at the right edge", "in the middle"."""
    rows, columns = np.nonzero(place)
    down, across = ((np.mean(at) + 0.5) / side for at, side in zip((rows, columns), place.shape, strict=True))
    vertical = "top" if down < 1 / 3 else "bottom" if down > 2 / 3 else ""
    horizontal = "left" if across < 1 / 3 else "right" if across > 2 / 3 else ""
    if vertical and horizontal:
        return f"in the {vertical} {horizontal} corner"
    return f"at the {vertical or horizontal} edge" if vertical or horizontal else "in the middle"


def shortcut(
    label: str,
    members: int,
    of_label: int,
    where: str,
    score: float,
    accuracies: tuple[float, float, float] | None,
    falls: bool,
) -> str:
    """`where`: of the place. `score`: of `evaluation.data_set.shortcuts.Cluster`. `accuracies`: on the pictures as they
    are, with the place hidden, with another place hidden, None where nobody tried; `falls`: whether that is more than
    chance."""
    clear = score >= CLEAR
    found = f"In {of_all(members, of_label, 'picture')} of “{label}” the model looks at a place {where} more than "
    found += "it ever does in other labels." if clear else "in other labels, though not by much."
    if accuracies is None:
        return found
    before, after, other = (percent(each) for each in accuracies)
    tried = f"With it hidden {after} of them are right instead of {before}, with another place hidden {other}"
    if clear and falls:
        return f"{found} {tried}: a shortcut."
    if falls:
        return f"{found} {tried}: what lies there counts, as an object does that often lies there."
    return f"{found} {tried}: the answers do not hang on it alone."
