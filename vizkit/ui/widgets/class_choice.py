"""Which class is explained: A, chosen by name, or A against B, for models that need not know the same classes."""

from dataclasses import dataclass

import streamlit as st

from vizkit.heads import ITSELF
from vizkit.image import Picture
from vizkit.ui.plain import plain
from vizkit.ui.session.explained import Request, key_of
from vizkit.ui.session.shown import Shown, keep_valid, title
from vizkit.ui.widgets.known import chip

PREDICTED = "what each model predicts"
NOTHING = "no other class"
MOST_ANSWERS = 3
MOST_NAMES = 1500  # sent to the browser; of models with more classes the likeliest ones


@dataclass(frozen=True)
class Classes:
    """The two names that were chosen."""

    target: str
    against: str


def choose(shown: list[Shown]) -> Classes:
    names = list(dict.fromkeys(name for model in shown for name in names_of(model)))
    keep_valid("class_a", [PREDICTED, *names])
    keep_valid("class_b", [NOTHING, *names])
    kinds = dict.fromkeys(model.loaded.head.output for model in shown)
    help = "Type to search. The class whose logit is explained: the maps show the evidence for it."
    if any(model.loaded.head.target(model.trace.logits) == ITSELF for model in shown):
        help += " Without classes: the length of the embedding, along its own direction."
    label = (" or ".join(kinds) if len(kinds) < 3 else "output").capitalize()
    target = st.selectbox(
        label, [PREDICTED, *names], key="class_a", bind="query-params", width=195, help=help
    )  # fmt: skip
    if not any(model.loaded.head.exclusive for model in shown):
        return Classes(target or PREDICTED, NOTHING)
    against = st.selectbox(
        "Against", [NOTHING, *names], key="class_b", bind="query-params", width=195,
        help="Explains the difference of two logits: red is evidence for the first class, blue for the second.",
    )  # fmt: skip
    return Classes(target or PREDICTED, against or NOTHING)


def names_of(shown: Shown) -> dict[str, int]:
    """Class index by a name that only this class has; the likeliest first where there are too many to list."""
    count = len(shown.trace.logits)
    indices = range(count) if count <= MOST_NAMES else shown.trace.logits.topk(MOST_NAMES).indices.tolist()
    by_name: dict[str, int] = {}
    for index in indices:
        name = shown.loaded.label(index)
        by_name[f"{name} (class {index})" if name in by_name else name] = index
    return by_name


def request_for(shown: Shown, picture: Picture, classes: Classes) -> Request:
    """NotApplicable with a sentence where this model does not know a chosen class."""
    from vizkit.traces import NotApplicable

    names = names_of(shown)
    loaded, head = shown.loaded, shown.loaded.head
    predicted = head.target(shown.trace.logits)
    for name in (classes.target, classes.against):
        if name not in (PREDICTED, NOTHING) and name not in names:
            gives = "predicts" if head.probable else "gives"
            raise NotApplicable(
                f"{title(shown.source)} has no {head.output} “{name}”; it {gives} “{loaded.label(predicted)}”."
            )
    target = predicted if classes.target == PREDICTED else names[classes.target]
    against = None if classes.against == NOTHING else names[classes.against]
    if against is not None and not head.exclusive:
        raise NotApplicable(f"{title(shown.source)} gives {head.gives}, so nothing is explained against another.")
    if against == target:
        raise NotApplicable(f"{title(shown.source)}: both classes are “{shown.loaded.label(target)}”; choose another.")
    return Request(shown, picture, key_of(shown, picture), target, against)


def in_words(request: Request) -> str:
    """What is explained, with what the model answers, as Markdown."""
    loaded, logits = request.shown.loaded, request.shown.trace.logits
    head, values = loaded.head, loaded.head.values(logits)

    def label_of(index: int) -> str:
        value = float(logits.norm()) if index == ITSELF else float(values[index])
        text = f"length {value:.4g}" if index == ITSELF else head.text(value)
        return f"**{plain(loaded.label(index))}** ({text})"

    rival = "" if request.against is None else f" against {label_of(request.against)}"
    answers = head.answers(logits)
    answer = ""
    if head.probable and request.target not in answers:
        named = ", ".join(label_of(index) for index in answers[:MOST_ANSWERS])
        answer = f" · it predicts {named or 'none of its labels'}"
    return f"for {label_of(request.target)}{rival}{answer} {chip(loaded)}".rstrip()
