"""What all views of Sequences share: which model of texts is shown, and the text that was typed for it."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.datasets.sequences import dates
from vizkit.datasets.sequences.opening import split_text
from vizkit.traces import NotApplicable
from vizkit.ui.session.remembered import remembered
from vizkit.ui.session.shown import keep_valid
from vizkit.vocabulary import TextError

if TYPE_CHECKING:
    from vizkit.models.sequences import SequenceModel

TITLES = {
    "bundled:dates_transformer": "Transformer",
    "bundled:dates_lstm_attention": "LSTM with attention",
    "bundled:dates_lstm": "LSTM",
    "bundled:dates_rnn": "RNN",
}
LANGUAGE = {"bundled:dates_bert": "BERT, tiny", "bundled:dates_gpt": "GPT, tiny"}
LONGEST = 200  # characters


@remembered
def opened(source: str) -> "SequenceModel":
    from vizkit.models.sequences import open_sequence

    return open_sequence(source)


def choose_model(key: str = "sequence_model", titles: dict[str, str] = TITLES) -> "SequenceModel":
    keep_valid(key, titles)
    source = st.selectbox(
        "Model", list(titles), key=key, bind="query-params", width=200, format_func=lambda name: titles[name]
    )
    return opened(source)


def choose_text(data: str = "dates") -> tuple[str, ...]:
    """The tokens of the text that was typed; NotApplicable with a sentence where no model can read it."""
    st.session_state.setdefault("sequence_text", dates.EXAMPLES[0])
    text = st.text_input("Any date", key="sequence_text", bind="query-params", max_chars=LONGEST, width=340)
    st.pills(
        "Examples", dates.EXAMPLES[1:], key="_sequence_example", on_change=_take_example, label_visibility="collapsed"
    )
    try:
        return split_text(data, text)
    except TextError as sentence:
        raise NotApplicable(str(sentence)) from None


def _take_example() -> None:
    if example := st.session_state["_sequence_example"]:
        st.session_state["sequence_text"] = example
    st.session_state["_sequence_example"] = None


def facts(model: "SequenceModel") -> str:
    """How often this model is right, in words, and how large it is."""
    right, count = model.facts.get("test_accuracy"), model.facts.get("test_images")
    size = f"{model.parameters / 1000:.0f} k parameters"
    return f"{right:.1%} of {count:,} unseen dates exactly right · {size}" if right is not None and count else size
