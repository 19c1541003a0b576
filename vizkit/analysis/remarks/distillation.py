"""What a temperature brings out, and whether two heads say the same."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.distillation.temperature import probabilities, ranking
from vizkit.analysis.remarks.remark import Remark, percent

TWICE = 2.0


def softened(logits: Float[Tensor, " label"], temperature: float, labels: Sequence[str]) -> Remark | None:
    """The second class at T and at 1; None at about 1, where nothing is softened."""
    own, soft = probabilities(logits, 1.0), probabilities(logits, temperature)
    first, second = ranking(logits)[:2].tolist()
    was, now = float(own[second]), float(soft[second])
    if max(was, now) < TWICE * min(was, now):
        return None
    return Remark(f"At T = {temperature:g} the second class, “{labels[second]}”, has {percent(now)} instead of "
                  f"{percent(was)}, the first, “{labels[first]}”, {percent(float(soft[first]))} instead of "
                  f"{percent(float(own[first]))}.", {"second at 1": was, "second at T": now})  # fmt: skip


def two_heads(first: Float[Tensor, " label"], second: Float[Tensor, " label"], labels: Sequence[str]) -> Remark:
    """Probabilities of the heads of the class and of the distillation token."""
    of_first, of_second = int(first.argmax()), int(second.argmax())
    shares = float(first[of_first]), float(second[of_second])
    numbers = {"class token": shares[0], "distillation token": shares[1]}
    if of_first == of_second:
        return Remark(f"Both heads answer “{labels[of_first]}”: the class token with {percent(shares[0])}, the "
                      f"distillation token with {percent(shares[1])}.", numbers)  # fmt: skip
    return Remark(f"The heads differ: the class token answers “{labels[of_first]}” ({percent(shares[0])}), the "
                  f"distillation token “{labels[of_second]}” ({percent(shares[1])}).", numbers)  # fmt: skip
