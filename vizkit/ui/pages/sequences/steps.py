"""The view Step by step: one token through one layer of the transformer, every number of it."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.traces import tolerance
from vizkit.ui import reading
from vizkit.ui.pages.sequences import strips, typed
from vizkit.ui.pages.sequences.steps_of import attention, embedding, feed_forward
from vizkit.ui.session import saved
from vizkit.ui.session.remembered import remembered
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from vizkit.models.sequences import SequenceModel
    from vizkit.models.sequences.walk import Walk

CANVAS = "sequence_steps"


def view(page: Page) -> None:
    del page  # its models see images
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        model = typed.choose_any({typed.TRANSFORMER: typed.TITLES[typed.TRANSFORMER], **typed.LANGUAGE})
    words = typed.choose_text(model, row)
    walked, words, target = walked_of(model, words)
    layers = [layer.name for layer in (*walked.encoder, *walked.decoder)]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        keep_valid("steps_layer", layers)
        layer = st.select_slider("Layer", layers, key="steps_layer", bind="query-params", width=260)
        inside = layers.index(layer) < len(walked.encoder)
        side = words if inside else ("[BEGIN]", *target)
        keep_valid("steps_token", range(1, len(side) + 1))
        token = int(st.slider("Token", 1, max(2, len(side)), key="steps_token", bind="query-params", width=260))
        heads = len(walked.encoder[0].attention.weights)
        keep_valid("steps_head", range(1, heads + 1))
        head = int(st.number_input("Head", 1, heads, key="steps_head", bind="query-params", width=110))
    token = min(token, len(side)) - 1
    steps = steps_of(model, walked, layers.index(layer), token, head - 1, words, target)
    label = f"The steps of “{side[token]}” through {layer} of the {typed.title_of(model)}"
    content = strips.for_browser(steps, f"{model.name} {words} {layer} {token} {head}", label, side, token)
    strips.mount(CANVAS, content, _picked)
    proof(walked)
    save("steps", {"": saved.charts_of("Step by step", (label,), *strips.panels(steps))}, saved.NOTHING)
    reading.how(
        "Each strip is a vector, a cell for each number. Choose a token above, or the layer and the head; go on step "
        "by step, or play. In the decoder a token first looks at what is written, then at the source.",
        r"\mathrm{LN}(x + \mathrm{MHA}(x)), \quad \mathrm{LN}(y + \mathrm{FFN}(y)), \quad "
        r"\mathrm{FFN}(y) = \max(0, yW_1 + b_1)\,W_2 + b_2",
        "what a number means: a channel has no name.",
        "Vaswani et al. 2017, § 3",
    )


@remembered
def walked_of(model: "SequenceModel", words: tuple[str, ...]) -> "tuple[Walk, tuple[str, ...], tuple[str, ...]]":
    """(every number, the words that are read, those that are written from them). Of a language model the line with its
    arrow; nothing is written."""
    from vizkit.models.sequences import greedy
    from vizkit.models.sequences.walk import refuse_others, walk, walk_text

    refuse_others(model)  # before it writes
    if model.translates:
        target = greedy(model, words).words
        return walk(model, words, target), words, target
    ids = model.line_ids(words)
    return walk_text(model, ids), tuple(model.vocabulary.spelled(ids)), ()


def steps_of(
    model: "SequenceModel",
    walked: "Walk",
    index: int,
    token: int,
    head: int,
    words: tuple[str, ...],
    target: tuple[str, ...],
) -> list[strips.Step]:
    """Of layer `index`, counted through encoder and decoder; the first has the embedding, the last the logits."""
    depth = len(walked.encoder)
    layer = (*walked.encoder, *walked.decoder)[index]
    side = words if index < depth else ("[BEGIN]", *target)
    embedded = walked.source if index < depth else walked.target
    assert embedded is not None  # of a translation there are both
    steps = list(embedding(embedded, token, side[token])) if index in (0, depth) else []
    own = "Self-attention" if index < depth and model.task != "causal" else "Masked self-attention"
    steps += attention(layer.attention, token, head, side, side, own)
    if layer.cross is not None:
        steps += attention(layer.cross, token, head, side, words, "Cross-attention")
    steps += feed_forward(layer.feed_forward, token, "Feed-forward")
    if index == depth + len(walked.decoder) - 1:
        steps.append(last(model, walked, token, side))
    return steps


def last(model: "SequenceModel", walked: "Walk", token: int, side: tuple[str, ...]) -> strips.Step:
    """The output of the last layer as probabilities: of the next word, of a masked model of the word at this place."""
    from vizkit.models.sequences import predictions

    logits = walked.logits[token]
    top = predictions(model, logits[None], 10)[0]
    likely, layers = logits.softmax(-1).topk(10), walked.decoder or walked.encoder
    place = "at" if model.task == "masked" else "after"
    return strips.Step(
        "Output", "Logits", "softmax(W x + b)",
        f"One score for each of the {len(logits)} words of the vocabulary; {place} “{side[token]}” the most "
        f"probable word is “{top[0].word}”, {top[0].probability:.1%}.",
        (strips.Strip("x", layers[-1].feed_forward.left[token]), strips.Strip("logits of all words", logits),
         strips.Strip("softmax: the ten most probable", likely.values, [choice.word for choice in top], "weights")),
    )  # fmt: skip


def proof(walked: "Walk") -> None:
    """Whether the numbers on this page end where the model does."""
    import torch

    words = f"Computed from these numbers, {reading.within('the logits are the model’s own,', walked.error)}"
    holds = walked.error <= tolerance(torch.float32)
    st.caption(f":green[:material/verified: {words}]" if holds else f":red[:material/error: {words}]")


def _picked(word: int) -> None:
    st.session_state["steps_token"] = word
