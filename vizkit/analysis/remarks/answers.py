"""Answers beside one another: before and after a change, of several models, and with growing strength."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks.remark import joined, of_all, percent

LITTLE = 0.05  # of a probability
HARDLY = 0.1  # the same, over all values of a setting


def after_change(
    before: Float[Tensor, " label"], after: Float[Tensor, " label"], labels: Sequence[str], change: str
) -> str | None:
    """Probabilities with and without a `change`, the words for which begin the sentence ("Without the shift"); None
    where the answer stays and its probability changes by less than 5 points."""
    first, then = int(before.argmax()), int(after.argmax())
    was, now = float(before[first]), float(after[first])
    if first != then:
        return (
            f"{change} the answer changes from “{labels[first]}” ({percent(was)}) to “{labels[then]}” "
            f"({percent(float(after[then]))})."
        )
    if abs(was - now) < LITTLE:
        return None
    return f"{change} the answer stays “{labels[first]}”, with {percent(now)} instead of {percent(was)}."


def along(at: Sequence[float], values: Float[Tensor, "at label"], labels: Sequence[str], name: str) -> str:
    """Answers at two growing values or more of a setting, "α": whether it matters for them, and from where on."""
    firsts = values.argmax(1).tolist()
    first, span = firsts[0], f"from {at[0]:g} to {at[-1]:g}"
    if len(set(firsts)) > 1:
        turns = [index for index in range(1, len(at)) if firsts[index] != firsts[index - 1]]
        later = [f"“{labels[firsts[index]]}” from {at[index]:.2g} on" for index in turns]
        return f"The answer depends on {name}: “{labels[first]}” at {at[0]:g}, {joined(later)}."
    low, high = (float(end) for end in (values[:, first].min(), values[:, first].max()))
    ends = percent(high) if percent(low) == percent(high) else f"{percent(low)} to {percent(high)}"
    if high - low > HARDLY:
        return f"{name} moves the answer but does not change it: “{labels[first]}” with {ends}."
    return f"{name} hardly matters for this image: {span} the answer stays “{labels[first]}”, with {ends}."


def agreement(firsts: Sequence[tuple[str, Mapping[str, str]]]) -> str | None:
    """Of every image its name and the first class by model: on how many models agree, and what they say of the first
    on which they do not. None for less than two models that can be compared."""
    rows = [(image, row) for image, row in firsts if len(row) > 1]
    if not rows:
        return None
    apart = [(image, row) for image, row in rows if len(set(row.values())) > 1]
    models = {model for _, row in rows for model in row}
    who = "Both models agree" if len(models) == 2 else f"All {len(models)} models agree"
    if len(rows) > 1:
        of_one = f"; of “{apart[0][0]}” {joined(groups_of(apart[0][1]))}" if apart else ""
        return f"{who} on {of_all(len(rows) - len(apart), len(rows), 'image')}{of_one}."
    row = rows[0][1]
    return f"{'They differ: ' + '; '.join(groups_of(row)) if apart else f'{who}: “{next(iter(row.values()))}”'}."


def groups_of(row: Mapping[str, str]) -> list[str]:
    """ "a and b say “ant”", of every class that is named."""
    by_class: dict[str, list[str]] = {}
    for model, label in row.items():
        by_class.setdefault(label, []).append(model)
    return [f"{joined(models)} {'says' if len(models) == 1 else 'say'} “{label}”" for label, models in by_class.items()]


def right_on(rows: Sequence[tuple[str, Mapping[str, str]]], noun: str = "image") -> str | None:
    """Of every image (`noun`) what it shows and the first class of each model that knows what it shows: who is wrong
    most often, and who is right. None without an image or a model."""
    models, count = list(dict.fromkeys(model for _, row in rows for model in row)), len(rows)
    if not models:
        return None
    wrong = {model: [(truth, row[model]) for truth, row in rows if row.get(model, truth) != truth] for model in models}
    asked = {model: sum(model in row for _, row in rows) for model in models}
    worst = max(models, key=lambda model: len(wrong[model]))
    best = [model for model in models if len(wrong[model]) == min(map(len, wrong.values()))]
    verb, they_know = ("is", "it knows") if len(best) == 1 else ("are", "they know")
    partly = any(asked[model] < count for model in best)
    on = "" if count == 1 else f" on all that {they_know}" if partly else " on all"
    if not wrong[worst]:
        who = joined(models) if len(models) < 3 else f"All {len(models)} models"
        every = f"every {noun} whose class {they_know}" if partly else of_all(count, count, noun)
        what = f": “{rows[0][0]}”" if count == 1 else f" on {every}"
        return f"{who} {verb} right{what}."
    example = f"“{wrong[worst][0][0]}” for “{wrong[worst][0][1]}”"
    if asked[worst] == 1:
        words = f"{worst} takes {example}"
    else:
        taken = f": it takes {example}" if len(wrong[worst]) == 1 else f"; it takes {example}, for example"
        words = f"{worst} is wrong on {of_all(len(wrong[worst]), asked[worst], noun)}{taken}"
    if not wrong[best[0]]:
        words += f"; {joined(best)} {verb} right{on}"
    elif worst not in best:
        words += f"; {joined(best)} {verb} wrong on {of_all(len(wrong[best[0]]), asked[best[0]], noun)}"
    return f"{words}."


def withstood(kept: Mapping[str, Mapping[str, float]], draws: Mapping[str, tuple[float, float]] | None = None) -> str:
    """Of every model by the kind of change in how many of the changed images, 0 to 1, it gives the answer that it
    gives of the image itself. `draws`: where it was drawn several times, the lowest and the highest of all changes; a
    model whose draws reach those of the best is not said to be worse."""
    means = {model: sum(kinds.values()) / len(kinds) for model, kinds in kept.items()}
    most = max(means, key=lambda model: means[model])
    alike = [model for model, (_, high) in (draws or {}).items() if model != most and high >= (draws or {})[most][0]]
    others = [f"{model} in {percent(mean)}" for model, mean in means.items() if model not in (most, *alike)]
    by_kind = {kind: sum(kinds[kind] for kinds in kept.values()) / len(kept) for kind in kept[most]}
    hardest = min(by_kind, key=lambda kind: by_kind[kind])
    mean = f" in the mean of {'both' if len(kept) == 2 else 'all'} models" * (len(kept) > 1)
    tail = f"; hardest is “{hardest}”, with {percent(by_kind[hardest])}{mean}" if by_kind[hardest] < 1 else ""
    words = f"{most} keeps its answer in {percent(means[most])} of the changes of this image"
    if alike:
        every = joined([f"{model} in {percent(means[model])}" for model in alike])
        words += f" and {every}, which chance alone may make differ"
    return f"{words}{f', {joined(others)}' if others else ''}{tail}."


def stayed_alike(kept: Mapping[str, Mapping[str, float]]) -> str:
    """Of every model without classes by the kind of change the mean likeness of the changed images' embeddings to
    that of the image itself."""
    words = []
    for model, kinds in kept.items():
        least = min(kinds, key=lambda kind: kinds[kind])
        mean = sum(kinds.values()) / len(kinds)
        words.append(
            f"{model}: the likeness of the changed images to the image itself is {mean:.2f} in the mean, the least "
            f"with “{least}”, {kinds[least]:.2f}"
        )
    return f"{'; '.join(words)}."
