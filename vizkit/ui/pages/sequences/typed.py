"""What all views of Sequences share: which model of texts is shown, and the text that was typed for it."""

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from vizkit.datasets.sequences import dates, gaps
from vizkit.datasets.sequences.opening import split_text
from vizkit.traces import NotApplicable
from vizkit.training.runs.folder import runs
from vizkit.ui.session.jobs import ACTIVE, jobs
from vizkit.ui.session.remembered import remembered
from vizkit.ui.session.shown import keep_valid
from vizkit.vocabulary import TextError

if TYPE_CHECKING:
    from vizkit.models.sequences import SequenceModel

TITLES = {
    "bundled:dates_transformer": "Transformer",
    "bundled:dates_lstm_attention": "LSTM + attention",
    "bundled:dates_lstm": "LSTM",
    "bundled:dates_rnn": "RNN",
}
NETWORK_TITLES = {
    "seq2seq_transformer": "Transformer",
    "seq2seq_lstm_attention": "LSTM + attention",
    "seq2seq_lstm": "LSTM",
    "seq2seq_rnn": "RNN",
}
LANGUAGE = {"bundled:dates_bert": "BERT, tiny", "bundled:dates_gpt": "GPT, tiny"}
LONGEST = 200  # characters
TASK_TITLES = {"copy": "letters and a gap", "dates": "a date"}
SPELLED = ("c", "a", "f", "e")


def opened(source: str) -> "SequenceModel":
    """A model by its name in the picker. Raises ModelError with a sentence."""
    folder = translating_here().get(source)
    if folder is None:
        return _opened(source, 0)
    return _opened(str(folder), (folder / "model.safetensors").stat().st_mtime_ns)


@remembered
def _opened(source: str, written_ns: int) -> "SequenceModel":
    """`written_ns`: of its weights, which another training may have replaced."""
    from vizkit.models.sequences import open_sequence

    return open_sequence(source)


def translating_here() -> dict[str, Path]:
    """Finished runs that have learned to rewrite dates, as "run:<name>" and their folder, latest first."""
    own = [run for run in runs() if run.has_model and not run.learns_pictures and jobs().state(run) not in ACTIVE]
    return {f"run:{run.name}": run.path for run in own
            if run.recipe.data == "dates" and run.recipe.model in NETWORK_TITLES}  # fmt: skip


def choose_model(key: str = "sequence_model", titles: dict[str, str] = TITLES) -> "SequenceModel":
    keep_valid(key, titles)
    source = st.selectbox(
        "Model", list(titles), key=key, bind="query-params", width=200, format_func=lambda name: titles[name]
    )
    return opened(source)


def of_task(task: str) -> dict[str, str]:
    """The bundled models that translate in this task, with their titles."""
    return {source.replace("dates", task): title for source, title in TITLES.items()}


def choose_task_text(key: str) -> tuple[str, tuple[str, ...]]:
    """Letters to be copied after a gap of a chosen length, or a typed date: (task, tokens)."""
    task = st.segmented_control("Text", ["copy", "dates"], default="copy", required=True, key=f"{key}_task",
                                bind="query-params", format_func=TASK_TITLES.__getitem__)  # fmt: skip
    if task == "dates":
        return task, choose_text()
    gap = st.slider("Gap", 0, 40, 16, key="gap", bind="query-params", width=220, help="Learned were gaps up to 24.")
    return "copy", gaps.source(SPELLED, int(gap))


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
