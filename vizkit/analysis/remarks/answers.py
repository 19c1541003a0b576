"""Answers beside one another: before and after a change, of several models, and with growing strength."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks.remark import Remark, joined, of_all, percent

LITTLE = 0.05  # of a probability
HARDLY = 0.1  # the same, over all values of a setting


def after_change(
    before: Float[Tensor, " label"], after: Float[Tensor, " label"], labels: Sequence[str], change: str
) -> Remark | None:
    """Probabilities with and without a `change`, the words for which begin the sentence ("Without the shift"); None
    where the answer stays and its probability changes by less than 5 points."""
    first, then = int(before.argmax()), int(after.argmax())
    was, now = float(before[first]), float(after[first])
    numbers = {"before": was, "after": now}
    if first != then:
        return Remark(
            f"{change} the answer changes from “{labels[first]}” ({percent(was)}) to “{labels[then]}” "
            f"({percent(float(after[then]))}).",
            numbers,
        )
    if abs(was - now) < LITTLE:
        return None
    return Remark(
        f"{change} the answer stays “{labels[first]}”, with {percent(now)} instead of {percent(was)}.", numbers
    )


def along(at: Sequence[float], values: Float[Tensor, "at label"], labels: Sequence[str], name: str) -> Remark:
    """Answers at two growing values or more of a setting, "α": whether it matters for them, and from where on."""
    firsts = values.argmax(1).tolist()
    first, span = firsts[0], f"from {at[0]:g} to {at[-1]:g}"
    if len(set(firsts)) > 1:
        turns = [index for index in range(1, len(at)) if firsts[index] != firsts[index - 1]]
        later = [f"“{labels[firsts[index]]}” from {at[index]:.2g} on" for index in turns]
        words = f"The answer depends on {name}: “{labels[first]}” at {at[0]:g}, {joined(later)}."
        return Remark(words, {"turns": len(turns)})
    low, high = (float(end) for end in (values[:, first].min(), values[:, first].max()))
    ends = percent(high) if percent(low) == percent(high) else f"{percent(low)} to {percent(high)}"
    numbers = {"lowest": low, "highest": high}
    if high - low > HARDLY:
        return Remark(f"{name} moves the answer but does not change it: “{labels[first]}” with {ends}.", numbers)
    return Remark(
        f"{name} hardly matters for this picture: {span} the answer stays “{labels[first]}”, with {ends}.", numbers
    )


def agreement(firsts: Sequence[Mapping[str, str]]) -> Remark | None:
    """Of every image the first class by model. None for less than two models that can be compared."""
    rows = [row for row in firsts if len(row) > 1]
    if not rows:
        return None
    same = [len(set(row.values())) == 1 for row in rows]
    models = list(dict.fromkeys(model for row in rows for model in row))
    who = "both models agree" if len(models) == 2 else f"all {len(models)} models agree"
    numbers = {"agreed": sum(same), "images": len(rows)}
    if len(rows) == 1:
        (row,) = rows
        if same[0]:
            return Remark(f"{who.capitalize()}: “{next(iter(row.values()))}”.", numbers)
        return Remark(f"They differ: {'; '.join(groups_of(row))}.", numbers)
    alone = {model: sum(_stands_alone(model, row) for row in rows) for model in models}
    most = max(alone, key=lambda model: alone[model])
    words = f"{who[0].upper()}{who[1:]} on {of_all(sum(same), len(rows), 'image')}"
    if len(models) > 2 and alone[most]:
        words += f"; {most} differs from all others on {of_all(alone[most], len(rows), 'image')}"
    return Remark(f"{words}.", numbers)


def groups_of(row: Mapping[str, str]) -> list[str]:
    """ "a and b say “ant”", of every class that is named."""
    by_class: dict[str, list[str]] = {}
    for model, label in row.items():
        by_class.setdefault(label, []).append(model)
    return [f"{joined(models)} {'says' if len(models) == 1 else 'say'} “{label}”" for label, models in by_class.items()]


def _stands_alone(model: str, row: Mapping[str, str]) -> bool:
    others = {label for name, label in row.items() if name != model}
    return model in row and len(others) == 1 and row[model] not in others


def flips(answers: Mapping[str, Sequence[object]], strengths: Sequence[str]) -> Remark:
    """At which strength each model first gives another answer than for the picture itself, which is the first."""
    first = {
        model: next((at for at, each in enumerate(given) if each != given[0]), None) for model, given in answers.items()
    }
    changed = {model: at for model, at in first.items() if at is not None}
    if not changed:
        who = "Every model keeps" if len(first) > 1 else f"{next(iter(first))} keeps"
        return Remark(f"{who} its answer up to {strengths[-1]}.", {})
    earliest = min(changed.values())
    names = [model for model, at in changed.items() if at == earliest]
    verb = "change their answers" if len(names) > 1 else "changes its answer"
    later = " first" if len(changed) > len(names) else ""
    steady = [model for model in first if model not in changed]
    kept = (
        f"; {joined(steady)} {'keep theirs' if len(steady) > 1 else 'keeps its own'} up to {strengths[-1]}"
        if steady
        else ""
    )
    return Remark(f"{joined(names)} {verb}{later} at {strengths[earliest]}{kept}.", {"step": earliest})
