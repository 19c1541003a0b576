"""What a recipe did to the pictures of a draw, and what its parts were worth."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool

from vizkit.analysis.remarks.remark import Remark, counted, joined, of_all, percent


def drawn(operations: int, unchanged: int, pictures: int) -> Remark:
    """Operations that RandAugment drew for each of the pictures, each applied with probability 0.5."""
    each = "The operation drawn" if operations == 1 else f"Each of the {operations} operations drawn"
    kept = of_all(unchanged, pictures, "picture")
    return Remark(f"{each} is applied with probability 0.5, so that {percent(0.5**operations)} of all pictures stay as "
                  f"they are: in this draw {kept}.", {"operations": operations, "unchanged": unchanged})  # fmt: skip


def erased(lost: int, pictures: int, chance: float) -> Remark:
    """Pictures that lost a rectangle, where each does so with this chance."""
    return Remark(f"In this draw {of_all(lost, pictures, 'picture')} lost a rectangle, where a chance of {chance:g} "
                  f"makes {chance * pictures:.1f} on average.", {"lost": lost, "chance": chance})  # fmt: skip


def mixed(shares: Mapping[str, float], names: tuple[str, str]) -> Remark:
    """λ of each way of mixing: the share of the first of two pictures, and of its label."""
    parts = [f"{percent(share)} with {kind}" for kind, share in shares.items()]
    return Remark(f"In this draw “{names[0]}” is {joined(parts)}, of the picture and of the label; the rest is "
                  f"“{names[1]}”.", {**shares})  # fmt: skip


def skipped(branches: int, working: float, drawn: Bool[np.ndarray, "image branch"]) -> Remark:
    """Residual branches that work on average, and in a draw."""
    here = float((~drawn).sum(1).mean())
    return Remark(f"On average {working:.1f} of {branches} branches work on a picture in training, in this draw "
                  f"{here:.1f} over {counted(len(drawn), 'picture')}; when the model is used, all do.",
                  {"average": working, "draw": here})  # fmt: skip


def worth(accuracies: Mapping[str, float], usual: float) -> Remark:
    """Top-1 in percent of recipes with one change, and of the usual one."""
    worst = sorted(accuracies, key=lambda name: accuracies[name])[:3]
    parts = [f"{name} ({usual - accuracies[name]:.1f})" for name in worst]
    return Remark(f"Of the changes that still train these cost the most, in points: {joined(parts)}.",
                  {name: accuracies[name] for name in worst})  # fmt: skip
