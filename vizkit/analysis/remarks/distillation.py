"""What a temperature brings out, how far students are from a teacher, and what the parts of a recipe are worth."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.distillation.temperature import probabilities, ranking
from vizkit.analysis.remarks.remark import joined, percent

ALIKE, EVEN, NEAR = 0.01, 0.25, 0.2
"""Answers are alike below so many nats, classes where the first has so much more than an equal share, and two are about
as sure within this part of the teacher's share."""


def softened(logits: Float[Tensor, " label"], temperature: float, labels: Sequence[str]) -> str:
    """The first two classes at T and at 1."""
    own, soft = probabilities(logits, 1.0), probabilities(logits, temperature)
    each = []
    for label in ranking(logits)[:2].tolist():
        instead = "" if temperature == 1 else f" instead of {percent(float(own[label]))}"
        each.append(f"class, “{labels[label]}”, has {percent(float(soft[label]))}{instead}")
    nothing = " nothing is softened:" if temperature == 1 else ""
    return f"At T = {temperature:g}{nothing} the first {each[0]}, the second {each[1]}."


def answered(answers: Mapping[str, str], right: str) -> str:
    """`answers`: the first class by who gives it, of two or more; `right`: "" where nobody knows."""
    by_class = dict[str, list[str]]()
    for name, label in answers.items():
        by_class.setdefault(label, []).append(name)
    if len(by_class) > 1:
        parts = [f"{joined(names)} “{label}”" for label, names in by_class.items()]
        return f"The answers differ: {'; '.join(parts)}{f'. Right is “{right}”' if right else ''}."
    (label,) = by_class
    verdict = "" if not right else ", which is right" if label == right else f", which is wrong: right is “{right}”"
    return f"{'Both' if len(answers) == 2 else 'All'} answer “{label}”{verdict}."


def in_nats(divergence: float) -> str:
    return f"{'less than 0.001' if divergence < 0.0005 else f'{divergence:.3f}'} nats"


def beside_teacher(
    nats: Sequence[float], temperature: float, label: str, shares: Mapping[str, float], classes: int
) -> str:
    """How sure all are of the teacher's first class `label` of so many at T, `shares`, by whose answer, the teacher's
    first; `nats`: the divergence of each other one from the teacher's answer."""
    (first, own), *others = shares.items()
    at, words = f"At T = {temperature:g}", {name: f"{name} ({percent(share)})" for name, share in shares.items()}
    if max(nats) < ALIKE and own * classes < 1 + EVEN:
        return f"{at} all {classes} classes have nearly the same share in every answer: differences no longer show."
    if min(shares.values()) >= 0.995:
        return f"{at} nothing but “{label}” is left in any answer: so low a temperature hides what differs."
    by_how = dict[str, list[str]]()
    for name, share in others:
        how = "about as sure" if abs(share - own) <= NEAR * own else "surer" if share > own else "less sure"
        by_how.setdefault(how, []).append(words[name])
    (how, names), *rest = by_how.items()
    than = "as" if how.startswith("about") else "than"
    said = f"{joined(names)} {'is' if len(names) == 1 else 'are'} {how} of “{label}” {than} {words[first]}"
    return ", ".join([f"{at} {said}", *(f"{joined(names)} {how}" for how, names in rest)]) + "."


def overlapping(shares: Sequence[float]) -> str:
    """By layer the share of attention that both tokens of a distilled model give the same tokens."""
    least, most = (choose(range(len(shares)), key=shares.__getitem__) for choose in (min, max))
    return (
        f"The two tokens give {percent(shares[least])} of their attention to the same tokens in layer {least + 1}, the "
        f"least, and {percent(shares[most])} in layer {most + 1}, the most."
    )


def worth(accuracies: Mapping[str, float], usual: float) -> str:
    """Top-1 in percent of recipes with one change, and of the usual one."""
    worst = sorted(accuracies, key=lambda name: accuracies[name])[:3]
    parts = [f"{name} ({usual - accuracies[name]:.1f})" for name in worst]
    return f"Of the changes that still train these cost the most, in points: {joined(parts)}."
