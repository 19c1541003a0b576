"""Which class is explained: A, chosen by name, or A against B, for models that need not know the same classes."""

from dataclasses import dataclass

import streamlit as st

from vizkit.heads import ITSELF
from vizkit.image import Picture
from vizkit.ui.plain import plain
from vizkit.ui.session.explained import Request, key_of
from vizkit.ui.session.shown import Shown, keep_valid, title
from vizkit.ui.widgets.known import chip
from vizkit.views.relevance.decision import NOTHING, PREDICTED, asked, classes_by_name

MOST_ANSWERS = 3


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
    target = st.selectbox(label, [PREDICTED, *names], key="class_a", bind="query-params", width=195, help=help)
    if not any(model.loaded.head.exclusive for model in shown):
        return Classes(target or PREDICTED, NOTHING)
    against = st.selectbox(
        "Against",
        [NOTHING, *names],
        key="class_b",
        bind="query-params",
        width=195,
        help="Explains the difference of two logits: red is evidence for the first class, blue for the second.",
    )
    return Classes(target or PREDICTED, against or NOTHING)


def names_of(shown: Shown) -> dict[str, int]:
    """See `classes_by_name`."""
    return classes_by_name(shown.loaded, shown.trace.logits)


def request_for(shown: Shown, picture: Picture, classes: Classes) -> Request:
    """NotApplicable with a sentence where this model does not know a chosen class."""
    chosen = asked(shown.loaded, shown.trace.logits, title(shown.source), classes.target, classes.against)
    return Request(shown, picture, key_of(shown, picture), *chosen)


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
