"""What a temperature brings out, whether students, heads and tokens agree, and what a recipe did to pictures."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from vizkit.analysis.distillation.temperature import probabilities, ranking
from vizkit.analysis.remarks.remark import counted, joined, of_all, percent

TWICE = 2.0


def softened(logits: Float[Tensor, " label"], temperature: float, labels: Sequence[str]) -> str:
    """The second class at T and at 1, where that differs much, else that little is softened."""
    own, soft = probabilities(logits, 1.0), probabilities(logits, temperature)
    first, second = ranking(logits)[:2].tolist()
    was, now = float(own[second]), float(soft[second])
    if temperature == 1:
        return (
            f"At T = 1 nothing is softened: the first class, “{labels[first]}”, has "
            f"{percent(float(own[first]))}, the second, “{labels[second]}”, {percent(was)}."
        )
    if max(was, now) < TWICE * min(was, now):
        return (
            f"T = {temperature:g} changes little here: the first class, “{labels[first]}”, has "
            f"{percent(float(soft[first]))} instead of {percent(float(own[first]))}."
        )
    return (
        f"At T = {temperature:g} the second class, “{labels[second]}”, has {percent(now)} instead of "
        f"{percent(was)}, the first, “{labels[first]}”, {percent(float(soft[first]))} instead of "
        f"{percent(float(own[first]))}."
    )


def two_heads(first: Float[Tensor, " label"], second: Float[Tensor, " label"], labels: Sequence[str]) -> str:
    """Probabilities of the heads of the class and of the distillation token."""
    of_first, of_second = int(first.argmax()), int(second.argmax())
    shares = float(first[of_first]), float(second[of_second])
    if of_first == of_second:
        return (
            f"Both heads answer “{labels[of_first]}”: the class token with {percent(shares[0])}, the "
            f"distillation token with {percent(shares[1])}."
        )
    return (
        f"The heads differ: the class token answers “{labels[of_first]}” ({percent(shares[0])}), the "
        f"distillation token “{labels[of_second]}” ({percent(shares[1])})."
    )


def taught(
    teacher: Float[Tensor, " label"],
    students: Mapping[str, Float[Tensor, " label"]],
    temperature: float,
    labels: Sequence[str],
) -> str:
    """Which student's logits are farthest from the teacher's at T, and at which class most."""
    soft = probabilities(teacher, temperature)
    apart = {
        name: float((soft * (soft / probabilities(logits, temperature)).log()).nansum().clamp(min=0))
        for name, logits in students.items()
    }
    farthest = max(apart, key=lambda name: apart[name])
    own = probabilities(students[farthest], temperature)
    at = int((own - soft).abs().argmax())
    which = f"{farthest} differs most from the teacher" if len(students) > 1 else f"{farthest} differs from the teacher"
    return (
        f"At T = {temperature:g} {which} over “{labels[at]}”, {percent(float(own[at]))} instead of "
        f"{percent(float(soft[at]))}: a divergence of {apart[farthest]:.3f} nats."
    )


def agreed(right: Mapping[str, float], agrees: Mapping[str, float], pictures: int) -> str:
    """Shares of pictures on which students give the label, and the teacher's first choice."""
    most = max(agrees, key=lambda name: agrees[name])
    others = [f"{name} on {percent(share)}" for name, share in agrees.items() if name != most]
    beside = f", {joined(others)}" if others else ""
    return (
        f"On {percent(agrees[most])} of {counted(pictures, 'picture')} {most} gives the teacher's first "
        f"choice{beside}; it is right on {percent(right[most])}."
    )


def overlapping(layer: int, share: float) -> str:
    """The share of attention that both tokens of a distilled model give the same keys."""
    return f"In layer {layer} the two tokens give {percent(share)} of their attention to the same tokens."


# ---- augmentation ---------------------------------------------------------------------------------------------------
def drawn(operations: int, unchanged: int, pictures: int) -> str:
    """Operations that RandAugment drew for each of the pictures, each applied with probability 0.5."""
    each = "The operation drawn" if operations == 1 else f"Each of the {operations} operations drawn"
    kept = of_all(unchanged, pictures, "picture")
    return (
        f"{each} is applied with probability 0.5, so that {percent(0.5**operations)} of all pictures stay as "
        f"they are: in this draw {kept}."
    )


def erased(lost: int, pictures: int, chance: float) -> str:
    """Pictures that lost a rectangle, where each does so with this chance."""
    return (
        f"In this draw {of_all(lost, pictures, 'picture')} lost a rectangle, where a chance of {chance:g} "
        f"makes {chance * pictures:.1f} on average."
    )


def mixed(shares: Mapping[str, float], names: tuple[str, str]) -> str:
    """λ of each way of mixing: the share of the first of two pictures, and of its label."""
    parts = [f"{percent(share)} with {kind}" for kind, share in shares.items()]
    return (
        f"In this draw “{names[0]}” is {joined(parts)}, of the picture, and of the label before smoothing; "
        f"the rest is “{names[1]}”."
    )


def skipped(branches: int, working: float, drawn: Bool[np.ndarray, "image branch"]) -> str:
    """Residual branches that work on average, and in a draw."""
    here = float((~drawn).sum(1).mean())
    return (
        f"On average {working:.1f} of {branches} branches work on a picture in training, in this draw "
        f"{here:.1f} over {counted(len(drawn), 'picture')}; when the model is used, all do."
    )


def worth(accuracies: Mapping[str, float], usual: float) -> str:
    """Top-1 in percent of recipes with one change, and of the usual one."""
    worst = sorted(accuracies, key=lambda name: accuracies[name])[:3]
    parts = [f"{name} ({usual - accuracies[name]:.1f})" for name in worst]
    return f"Of the changes that still train these cost the most, in points: {joined(parts)}."
