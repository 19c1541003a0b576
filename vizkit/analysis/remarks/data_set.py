"""What a set of labelled pictures shows first, as one model sees it."""

from collections.abc import Sequence

from vizkit.analysis.remarks.remark import counted, of_all, percent


def on_the_map(right: int, known: int, purity: float, chance: float, by: str) -> str:
    """`right` of the `known` pictures whose label the model has. `purity`: the share of a picture's nearest on the map
    with its label, and by `chance`, 0 to 1. `by`: by what pictures lie near, "features"."""
    begin = f"The model is right on {of_all(right, known, 'picture')}" if known else "It knows none of these labels"
    near = f"of the pictures nearest to one on this map of {by} {percent(purity)} have its label"
    if purity <= 1.5 * chance:
        return f"{begin}; {near}, hardly more than the {percent(chance)} of chance."
    return f"{begin}; {near}, by chance it would be {percent(chance)}."


def chosen(wrong: int, count: int, mistakes: Sequence[tuple[str, str]]) -> str:
    """`mistakes`: label and answer of each of those `count` pictures that are `wrong`."""
    begin = f"{counted(count, 'picture')} chosen, {wrong or 'none'} answered wrong"
    if not mistakes:
        return f"{begin}."
    (label, answer), times = max(((pair, mistakes.count(pair)) for pair in mistakes), key=lambda each: each[1])
    return f"{begin}, most often “{label}” as “{answer}” ({times})."
