"""What a temperature brings out, how students and tokens differ, and what the parts of a recipe are worth."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.distillation.temperature import probabilities, ranking
from vizkit.analysis.remarks.remark import joined, percent


def softened(logits: Float[Tensor, " label"], temperature: float, labels: Sequence[str]) -> str:
    """The first two classes at T and at 1."""
    own, soft = probabilities(logits, 1.0), probabilities(logits, temperature)
    first, second = ranking(logits)[:2].tolist()
    was, now = ([percent(float(p[label])) for label in (first, second)] for p in (own, soft))
    if temperature == 1:
        return (
            f"At T = 1 nothing is softened: the first class, “{labels[first]}”, has {was[0]}, the second, "
            f"“{labels[second]}”, {was[1]}."
        )
    return (
        f"At T = {temperature:g} the first class, “{labels[first]}”, has {now[0]} instead of {was[0]}, the second, "
        f"“{labels[second]}”, {now[1]} instead of {was[1]}."
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
    names: tuple[str, str],
    teacher: Float[Tensor, " label"],
    student: Float[Tensor, " label"],
    temperature: float,
    labels: Sequence[str],
) -> str:
    """Where a student's probabilities at T differ most from its teacher's. `names`: of the student and the teacher."""
    soft, own = (probabilities(logits, temperature) for logits in (teacher, student))
    divergence = float((soft * (soft / own).log()).nansum().clamp(min=0))
    at = int((own - soft).abs().argmax())
    return (
        f"At T = {temperature:g} {names[0]} differs most from its teacher, {names[1]}, over “{labels[at]}”: "
        f"{percent(float(own[at]))} instead of {percent(float(soft[at]))}. The divergence is {divergence:.3f} nats."
    )


def overlapping(layer: int, share: float) -> str:
    """The share of attention that both tokens of a distilled model give the same keys."""
    return f"In layer {layer} the two tokens give {percent(share)} of their attention to the same tokens."


def worth(accuracies: Mapping[str, float], usual: float) -> str:
    """Top-1 in percent of recipes with one change, and of the usual one."""
    worst = sorted(accuracies, key=lambda name: accuracies[name])[:3]
    parts = [f"{name} ({usual - accuracies[name]:.1f})" for name in worst]
    return f"Of the changes that still train these cost the most, in points: {joined(parts)}."
