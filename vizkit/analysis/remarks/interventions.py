"""What becomes of an answer when something in the model is changed."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attribution.logit_lens import stays_from
from vizkit.analysis.attribution.smallest_set import Search
from vizkit.analysis.remarks.remark import Remark, counted, joined, percent

LITTLE = 0.02


def of_answers(names: Sequence[str], before: Sequence[float], after: Sequence[float], edits: int) -> Remark | None:
    """Probabilities of the same classes, before and after so many edits. None without an edit."""
    if not edits:
        return None
    first, now = (max(range(len(names)), key=each.__getitem__) for each in (before, after))
    numbers = {"before": before[first], "after": after[first], "edits": edits}
    with_ = f"With {counted(edits, 'change')} "
    fell = f"from {percent(before[first])} to {percent(after[first])}"
    if first != now:
        return Remark(
            f"{with_}the answer is {names[now]} ({percent(after[now])}) and no longer {names[first]}, "
            f"which goes {fell}.",
            numbers,
        )
    if abs(after[first] - before[first]) < LITTLE:
        return Remark(f"{with_}the answer hardly moves: {names[first]}, {fell}.", numbers)
    return Remark(f"{with_}the answer stays {names[first]}, {fell}.", numbers)


def of_smallest(result: Search, what: str, name: str) -> Remark:
    """How many parts, called `what`, the answer `name` needs, or falls without."""
    count, first, last = len(result.order), result.probability[0], result.probability[-1]
    numbers = {"taken": count, "parts": result.parts, "probability": last}
    alone = f"{count} of {result.parts} {what} ({percent(count / result.parts)})"
    if not result.reached:
        return Remark(f"{alone} are not enough yet: {name} is at {percent(last)}.", numbers)
    if not count:
        return Remark(f"No {what} are needed: {name} is the answer without any, at {percent(first)}.", numbers)
    if result.goal == "keep":
        return Remark(f"{alone} alone keep{'s' if count == 1 else ''} the answer {name}, at {percent(last)}.", numbers)
    return Remark(f"Without {alone} the answer is no longer {name}, which falls to {percent(last)}.", numbers)


def of_deciding(differences: Mapping[str, tuple[float, float]]) -> Remark:
    """By model how many logits more deciding parts cost than other pixels, with the half of its 95 % interval."""
    numbers = {name: mean for name, (mean, _) in differences.items()}
    surely = {name: mean for name, (mean, half) in differences.items() if mean > half}
    rest = [name for name in differences if name not in surely]
    if not surely:
        return Remark("No model surely loses more by the deciding parts than by as many other pixels.", numbers)
    best = max(surely, key=surely.__getitem__)
    mean, half = differences[best]
    words = f"{len(surely)} of {len(differences)} models surely lose more by the deciding parts"
    words += f", {best} the most: {mean:.2f} ± {half:.2f} logits more"
    return Remark(f"{words}; not {joined(rest)}." if rest else f"{words}.", numbers)


def of_heads(
    names: Sequence[tuple[int, int]], lost: Sequence[float], half: Sequence[float], correlation: float
) -> Remark:
    """Nats that the answer loses without each head, (layer, head) from 0, with halves of 95 % intervals, and the rank
    correlation of a gradient's estimate with them."""
    best = max(range(len(lost)), key=lost.__getitem__)
    idle = sum(abs(value) <= width for value, width in zip(lost, half, strict=True))
    layer, head = names[best]
    words = (
        f"Head {head + 1} of layer {layer + 1} matters most: without it the answer loses {lost[best]:.2f} ± "
        f"{half[best]:.2f} nats. {idle} of {len(lost)} heads cannot be told from no loss at all"
    )
    words += (
        f"; the gradient orders them alike to {correlation:.2f} (1 would be the same order)."
        if correlation == (correlation)
        else "."
    )
    return Remark(words, {"most": lost[best], "idle": idle, "correlation": correlation})


def of_lens(name: str, answers: Sequence[int], target: int, shares: Sequence[float], read: str) -> Remark:
    """From which layer on `read`, what the head reads, says class `target`, called `name`. `answers`: the likeliest
    class after each layer, `shares`: the probability of `target` there."""
    layers, first = len(answers), stays_from(answers, target)
    numbers = {"layers": layers, "from layer": 0 if first is None else first + 1, "at the end": shares[-1]}
    there = [layer for layer, answer in enumerate(answers, 1) if answer == target]
    if first is None:
        when = f"not after the last layer, but after {_listed(there)}" if there else "after no layer"
        return Remark(f"{name} is the likeliest answer {when}; at the end it has {percent(shares[-1])}.", numbers)
    if first == 0:
        return Remark(f"Read off {read}, the answer {name} is there after the first layer already and stays.", numbers)
    when = "only after the last layer" if first == layers - 1 else f"from layer {first + 1} of {layers} on and stays"
    earlier = [layer for layer in there if layer <= first]
    lost = f"; it was there before, after {_listed(earlier)}, and was lost again" if earlier else ""
    return Remark(f"Read off {read}, the answer {name} is there {when}{lost}.", numbers)


def of_patches(name: str, saying: int, patches: int, layer: int, others: Sequence[tuple[str, int]]) -> Remark:
    """How many patches say a class after a layer, from 1, and which other class most of the others say."""
    numbers = {"saying": saying, "patches": patches, "layer": layer}
    rest = f"; {others[0][1]:,} say {others[0][0]}" if others else ""
    return Remark(f"After layer {layer}, {saying:,} of {patches:,} patches say {name}{rest}.", numbers)


def of_contributions(
    name: str, heads: Float[Tensor, "layer head"], mlp: Float[Tensor, " layer"], total: float
) -> Remark:
    """Which head or MLP adds the most to a logit, and which takes the most from it."""
    parts = {f"head {h + 1} of layer {i + 1}": float(v) for i, row in enumerate(heads) for h, v in enumerate(row)}
    parts |= {f"the MLP of layer {i + 1}": float(value) for i, value in enumerate(mlp)}
    most, least = max(parts, key=parts.__getitem__), min(parts, key=parts.__getitem__)
    numbers = {"most": parts[most], "least": parts[least], "logit": total}
    words = f"Of the {_signed(total)} for {name}, {most} gives the most ({_signed(parts[most])})"
    against = f"; {least} says most against it ({_signed(parts[least])})" if parts[least] < 0 else ""
    return Remark(f"{words}{against}.", numbers)


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def _listed(layers: Sequence[int]) -> str:
    """ "layer 3", "layers 3 and 5", "layers 3 to 6", "7 layers"."""
    if len(layers) == 1:
        return f"layer {layers[0]}"
    if layers[-1] - layers[0] == len(layers) - 1:
        return f"layers {layers[0]} to {layers[-1]}"
    return f"layers {joined([*map(str, layers)])}" if len(layers) < 5 else f"{len(layers)} layers"
