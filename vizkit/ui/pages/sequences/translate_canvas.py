"""The canvas of Translate: what it receives, and what it reports."""

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from vizkit.figure.canvas.rows import text64
from vizkit.ui.canvas import Canvas, linked
from vizkit.ui.session.address import drop, put
from vizkit.views.rules import below, maybe, one_of, record, tuple_of, whole

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    from vizkit.models.sequences.generating import Written
    from vizkit.traces import Attention, Trace

HERE = Path(__file__).parent
KINDS = ("encoder", "decoder", "cross")
HEAD = tuple_of(below(1000), maybe(below(1000)))  # of a layer; the script knows how many there are
TRANSLATE = Canvas(
    "vizkit_translate",
    "<div class='translate'><div class='controls'><button>◀ Step</button><button>▶ Play</button>"
    "<button>Step ▶</button><button class='undo'>Undo the forced words</button></div><div class='inside'>"
    "<svg class='arcs' tabindex='0' role='img'></svg>"
    "<section><h4 class='next-title'></h4><div class='next'></div><p class='says'></p>"
    "<div class='heads'></div></section></div></div>",
    HERE / "translate.css",
    HERE / "translate.js",
)


def forced(text: str) -> tuple[str, ...]:
    """The words with which the target has to begin, by a click or the link; for this source only."""
    kept = st.session_state.get("_sequence_force")
    if kept is None and (written := st.query_params.get("force")):
        kept = st.session_state["_sequence_force"] = (text, tuple(written.split(" "))[:40])
    return kept[1] if kept and kept[0] == text else ()


def forget_forced() -> None:
    st.session_state["_sequence_force"] = ("", ())
    drop("force")


def arcs(
    key: str,
    text: str,
    source: tuple[str, ...],
    written: "Written",
    trace: "Trace",
    label: str,
    shares: "Float[Tensor, 'word token'] | None" = None,
) -> None:
    """Mount the canvas. A forced word, the step and the chosen heads stay in the session and in the address. `shares`:
    of a model without attention, rows that sum to 1, how much of a written word comes from each of the source."""
    words = [step.taken.word for step in written.steps]
    known = [{choice.word for choice in step.top} for step in written.steps]

    def force(told: dict[str, Any]) -> None:
        step, word = told["step"], told["word"]
        if not step:
            forget_forced()
        elif word in known[step - 1]:
            st.session_state["_sequence_force"] = (text, (*words[: step - 1], word))

    def keep_word(at: int) -> None:
        st.session_state["_sequence_at"] = at

    def keep_heads(pick: dict[str, Any]) -> None:
        st.session_state["_sequence_pick"] = pick

    if prefix := forced(text):
        put("force", " ".join(prefix))
    else:
        drop("force")
    data = for_browser(text, source, written, trace, label, shares)
    TRANSLATE(
        key,
        data,
        force=(record(step=whole(0, len(words)), word=one_of({"", *chain(*known)})), force),
        at=(whole(1, len(words)), keep_word),
        pick=(record(**{part["kind"]: HEAD for part in data["parts"]}), keep_heads),
    )


def for_browser(
    text: str,
    source: tuple[str, ...],
    written: "Written",
    trace: "Trace",
    label: str,
    shares: "Float[Tensor, 'word token'] | None",
) -> dict[str, Any]:
    outputs = tuple(
        {
            "word": step.taken.word,
            "forced": step.taken.word != step.top[0].word,
            "top": tuple((choice.word, choice.probability) for choice in step.top),
        }
        for step in written.steps
    )
    return {
        "of": f"{label} {text} {' '.join(output['word'] for output in outputs)}",
        "source": source,
        "source_title": "Source",
        "target_title": "Written",
        "outputs": outputs,
        "parts": _parts(trace, shares),
        "forcible": True,
        "at": _at(),
        "pick": _pick(),
        "label": f"{label}: {text} becomes {' '.join(written.words)}. Arrow keys go from word to word.",
    }


def _parts(trace: "Trace", shares: "Float[Tensor, 'word token'] | None") -> tuple[dict[str, Any], ...]:
    """Every layer, and all of them multiplied; without attention the shares of the gradient."""
    from vizkit.analysis.sequences.rollout import origins

    if shares is not None:
        return (_part("cross", shares[None], "Gradient"),)
    layers = tuple(_part(kind_of(layer), layer.weights[0]) for layer in trace.attention)
    if not any(part["kind"] == "encoder" for part in layers):
        return layers
    multiplied = origins(trace)
    return (*layers, _part("encoder", multiplied.encoder[None], "Encoder, rollout"),
            _part("cross", multiplied.source[None], "Rollout → source"))  # fmt: skip


def kind_of(layer: "Attention") -> str:
    """Which of the three kinds of attention a layer of an encoder–decoder is."""
    if layer.query.name != layer.key.name:
        return "cross"
    return "decoder" if layer.query.name == "target" else "encoder"


def _part(kind: str, weights: "Tensor", title: str = "") -> dict[str, Any]:
    heads, queries, keys = weights.shape
    values = text64(weights.float().numpy().astype("<f4"))
    return {"kind": kind, "heads": heads, "queries": queries, "keys": keys, "weights": values, "title": title}


def _at() -> int:
    """The word in focus: clicked, else from the link; 0 leaves it to the canvas."""
    at = st.session_state.get("_sequence_at")
    if at is not None:
        put("word", str(at))
        return at
    return (linked("word", tuple_of(whole(0, 999))) or (0,))[0]


def _pick() -> dict[str, tuple[int, int | None]]:
    """Of each kind of attention the layer and the head, from 0, None the mean: chosen, else from the link."""
    pick = st.session_state.get("_sequence_pick")
    if pick is not None:
        put("heads", ",".join(f"{kind}.{of[0]}.{'' if of[1] is None else of[1]}" for kind, of in pick.items()))
        return pick
    pick = {}
    for entry in st.query_params.get("heads", "").split(","):
        kind, _, rest = entry.partition(".")
        layer, _, head = rest.partition(".")
        if kind in KINDS and layer.isdecimal() and len(layer) < 4 and (head.isdecimal() or not head) and len(head) < 4:
            pick[kind] = int(layer), int(head) if head else None
    return pick
