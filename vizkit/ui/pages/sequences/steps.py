"""The view Step by step: one token through one layer of the transformer, every number of it."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.traces import tolerance
from vizkit.ui import export, reading
from vizkit.ui.pages.sequences import strips, typed
from vizkit.ui.pages.sequences.steps_of import attention, embedding, feed_forward
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.views import Page

if TYPE_CHECKING:
    from vizkit.models.sequences import SequenceModel
    from vizkit.models.sequences.walk import Walk

CANVAS = "sequence_steps"


def view(page: Page) -> None:
    from vizkit.models.sequences import greedy
    from vizkit.models.sequences.walk import walk

    del page  # its models see images
    words = typed.choose_text()
    model = typed.opened("bundled:dates_transformer")
    target = greedy(model, words).words
    walked = walk(model, words, target)
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
    label = f"The steps of “{side[token]}” through {layer} of the transformer"
    content = strips.for_browser(steps, f"{words} {layer} {token} {head}", label, side, token)
    strips.mount(CANVAS, content, _picked)
    proof(walked)
    st.download_button(
        "Numbers (NPZ)", lambda: export.npz_of(**strips.arrays(steps)), "step_by_step.npz", "application/zip",
        key="steps_npz", icon=":material/download:", on_click="ignore",
    )  # fmt: skip
    reading.how(
        "Each strip is a vector, a cell for each number. Choose a token above, or the layer and the head; go on step "
        "by step, or play. In the decoder a token first looks at what is written, then at the source.",
        r"\mathrm{LN}(x + \mathrm{MHA}(x)), \quad \mathrm{LN}(y + \mathrm{FFN}(y)), \quad "
        r"\mathrm{FFN}(y) = \max(0, yW_1 + b_1)\,W_2 + b_2",
        "what a number means: a channel has no name.",
        "Vaswani et al. 2017, § 3",
    )


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
    own = "Self-attention" if index < depth else "Masked self-attention"
    steps += attention(layer.attention, token, head, side, side, own)
    if layer.cross is not None:
        steps += attention(layer.cross, token, head, side, words, "Cross-attention")
    steps += feed_forward(layer.feed_forward, token, "Feed-forward")
    if index == depth + len(walked.decoder) - 1:
        steps.append(last(model, walked, token, side))
    return steps


def last(model: "SequenceModel", walked: "Walk", token: int, side: tuple[str, ...]) -> strips.Step:
    """The decoder's output as probabilities of the next word."""
    from vizkit.models.sequences import predictions

    logits = walked.logits[token]
    top = predictions(model, logits[None], 10)[0]
    likely = logits.softmax(-1).topk(10)
    return strips.Step(
        "Output", "Logits", "softmax(W x + b)",
        f"One score for each of the {len(logits)} words of the vocabulary; after “{side[token]}” the most probable "
        f"word is “{top[0].word}”, {top[0].probability:.1%}.",
        (strips.Strip("x", walked.decoder[-1].feed_forward.left[token]), strips.Strip("logits of all words", logits),
         strips.Strip("softmax: the ten most probable", likely.values, [choice.word for choice in top], "weights")),
    )  # fmt: skip


def proof(walked: "Walk") -> None:
    """Whether the numbers on this page end where the model does."""
    import torch

    words = f"Computed from these numbers, {reading.within('the logits are the model’s own,', walked.error)}"
    holds = walked.error <= tolerance(torch.float32)
    st.caption(f":green[:material/verified: {words}]" if holds else f":red[:material/error: {words}]")


def _picked() -> None:
    word = st.session_state[CANVAS].word
    if word is not None:
        st.session_state["steps_token"] = int(word)
