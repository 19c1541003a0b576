"""The view Translate: a text becomes another one, word after word; arcs show who looks at whom."""

import streamlit as st

from vizkit.ui import reading
from vizkit.ui.pages.sequences.translate_canvas import arcs, forced, forget_forced
from vizkit.ui.pages.sequences.typed import TITLES, choose_model, choose_text, facts
from vizkit.ui.views import Page
from vizkit.vocabulary import TextError


def view(page: Page) -> None:
    from vizkit.models.sequences import continue_with, greedy, trace_pair

    with st.container(horizontal=True, vertical_alignment="bottom"):
        model = choose_model()
        words = choose_text(model.data)
    text, title = " ".join(words), TITLES.get(f"bundled:{model.name}", model.name)
    try:
        written = continue_with(model, words, forced(text))
    except TextError:  # a link with words that this model has not
        forget_forced()
        written = greedy(model, words)
    trace = trace_pair(model, words, written.words)
    st.markdown(f"**{''.join(written.words)}** · {facts(model)}")
    arcs("translate", text, words, written, trace, title)
    if not trace.attention:
        st.caption(
            f"The {title} has no attention: all that it knows of the source when it begins to write is its last state, "
            "so there are no lines to draw."
        )
    reading.proof(trace)
    reading.how(
        "Orange: which words of the source a written word looks at. Blue: the source's words at one another. "
        "Green: a written word at those before it, never at later ones. Hover a word; click a probability to write "
        "that word instead.",
        r"\mathrm{softmax}(Q K^\top / \sqrt{d_k} + \text{mask})\, V",
        "why a word was written: weights say where a layer looks, not what it makes of it.",
        "Vaswani et al. 2017",
    )
