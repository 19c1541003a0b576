"""Which class is explained: A, found by name, or A against B, for models that need not know the same classes."""

from dataclasses import dataclass

import streamlit as st

from vizkit.image import Picture
from vizkit.ui.plain import plain
from vizkit.ui.session.explained import Asked, key_of
from vizkit.ui.session.shown import Shown, keep_valid, title

PREDICTED = "what each model predicts"
NOTHING = "no other class"
MOST_NAMES = 1500  # sent to the browser; of models with more classes the likeliest ones


@dataclass(frozen=True)
class Classes:
    """The two names that were chosen."""

    target: str
    against: str


def choose(shown: list[Shown]) -> Classes:
    names = list(dict.fromkeys(name for one in shown for name in names_of(one)))
    keep_valid("class_a", [PREDICTED, *names])
    keep_valid("class_b", [NOTHING, *names])
    target = st.selectbox(
        "Class", [PREDICTED, *names], key="class_a", bind="query-params", width=195,
        help="Type to search. Whose logit is explained: the maps show what speaks for this class.",
    )  # fmt: skip
    against = st.selectbox(
        "Against", [NOTHING, *names], key="class_b", bind="query-params", width=195,
        help="Explains the difference of two logits: red speaks for the first class, blue for the second.",
    )  # fmt: skip
    return Classes(target or PREDICTED, against or NOTHING)


def names_of(one: Shown) -> dict[str, int]:
    """Class index by a name that only this class has; the likeliest first where there are too many to list."""
    count = len(one.trace.logits)
    indices = range(count) if count <= MOST_NAMES else one.trace.logits.topk(MOST_NAMES).indices.tolist()
    found: dict[str, int] = {}
    for index in indices:
        name = one.loaded.label(index)
        found[f"{name} (class {index})" if name in found else name] = index
    return found


def asked_of(one: Shown, picture: Picture, classes: Classes) -> Asked:
    """NotApplicable with a sentence where this model does not know a chosen class."""
    from vizkit.traces import NotApplicable

    names = names_of(one)
    predicted = int(one.trace.logits.argmax())
    for name in (classes.target, classes.against):
        if name not in (PREDICTED, NOTHING) and name not in names:
            raise NotApplicable(
                f"{title(one.source)} has no class “{name}”; it would answer “{one.loaded.label(predicted)}”."
            )
    target = predicted if classes.target == PREDICTED else names[classes.target]
    against = None if classes.against == NOTHING else names[classes.against]
    if against == target:
        raise NotApplicable(f"{title(one.source)}: both classes are “{one.loaded.label(target)}”; choose another one.")
    return Asked(one, picture, key_of(one, picture), target, against)


def in_words(asked: Asked) -> str:
    """What is explained, with the model's probabilities, as Markdown."""
    probabilities = asked.one.trace.logits.softmax(0)

    def said(index: int) -> str:
        share = f" ({float(probabilities[index]):.1%})" if asked.one.loaded.classifies else ""
        return f"**{plain(asked.one.loaded.label(index))}**{share}"

    rival = "" if asked.against is None else f" against {said(asked.against)}"
    predicted = int(probabilities.argmax())
    answer = "" if predicted == asked.target or not asked.one.loaded.classifies else f" · it answers {said(predicted)}"
    return f"for {said(asked.target)}{rival}{answer}"
