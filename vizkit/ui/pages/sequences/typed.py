"""What all views of Sequences share: which model of texts is shown, and the text that was typed for it."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from vizkit.datasets.sequences import dates, gaps
from vizkit.datasets.sequences.opening import split_text
from vizkit.traces import NotApplicable
from vizkit.training.runs.folder import runs
from vizkit.ui.pages.sequences.brought import brought, dialog
from vizkit.ui.plain import plain
from vizkit.ui.session.jobs import ACTIVE, jobs
from vizkit.ui.session.remembered import remembered
from vizkit.ui.session.shown import keep_valid
from vizkit.vocabulary import TextError

if TYPE_CHECKING:
    from vizkit.models.sequences import SequenceModel

TRANSFORMER = "bundled:dates_transformer"
TITLES = {
    TRANSFORMER: "Transformer",
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
LANGUAGE_NETWORKS = ("masked_lm", "causal_lm")
LONGEST = 200  # characters
TASK_TITLES = {"copy": "letters and a gap", "dates": "a date"}
MODEL, MISSING = "sequence_model", "_sequence_model_missing"


class Text(NamedTuple):
    """What a text is called, where it is kept, its examples, and how many pixels its field is wide."""

    label: str
    key: str
    examples: tuple[str, ...]
    width: int = 340


LETTERS = Text("Letters, then dots", "sequence_letters", ("bfac........?", "hag?", "bcdaefgh....?"))
FREE = Text("Any text", "sequence_words", (
    "The animal didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too wide.",
    "translate English to German: The house is wonderful.",
    "The cat sat on the [MASK].",
), 460)  # fmt: skip
TEXTS = {"dates": Text("Any date", "sequence_text", dates.EXAMPLES), "copy": LETTERS, "reverse": LETTERS}
SPELLED = ("c", "a", "f", "e")


def opened(source: str) -> "SequenceModel":
    """A model by its name in the picker. Raises ModelError with a sentence."""
    if source in brought():
        return _opened(source, 0, *brought()[source])
    folder = trained_here().get(source)
    if folder is None:
        return _opened(source, 0)
    return _opened(source, (folder / "model.safetensors").stat().st_mtime_ns, folder.name, str(folder))


@remembered
def _opened(source: str, written_ns: int, _title: str = "", _path: str = "") -> "SequenceModel":
    """`written_ns`: of its weights, which another training may have replaced. Bundled models need no path."""
    from vizkit.models.sequences import open_sequence

    model = open_sequence(_path or source)
    return replace(model, name=_title) if _title else model


def trained_here() -> dict[str, Path]:
    """Finished runs that have learned from texts, as "run:<name>" and their folder, latest first."""
    own = [run for run in runs() if run.has_model and not run.learns_pictures and jobs().state(run) not in ACTIVE]
    return {f"run:{run.name}": run.path for run in own if run.recipe.model in (*NETWORK_TITLES, *LANGUAGE_NETWORKS)}


def choose_model(key: str, titles: dict[str, str]) -> "SequenceModel":
    keep_valid(key, titles)
    source = st.selectbox(
        "Model", list(titles), key=key, bind="query-params", width=200, format_func=lambda name: titles[name]
    )
    from vizkit.models import ModelError

    try:
        return opened(source)
    except ModelError as sentence:  # a run or an upload that is gone or damaged
        raise NotApplicable(str(sentence)) from None


def choose_any(titles: dict[str, str]) -> "SequenceModel":
    """One of those that ship, a run that was trained here, or what the visitor opened: the same on all views."""
    here = {source: source.removeprefix("run:") for source in trained_here()}
    known = titles | here | {name: of.title for name, of in brought().items()}
    linked = st.query_params.get(MODEL)
    if MODEL not in st.session_state and linked and linked not in {**TITLES, **LANGUAGE, **known}.values():
        st.session_state[MISSING] = linked[:60]
    model = choose_model(MODEL, known)
    dialog(MODEL)
    _say_what_is_missing(next(iter(known)))
    return model


def _say_what_is_missing(default: str) -> None:
    """A link may show what another session opened, and then opens on the default; until a model is chosen."""
    if st.session_state[MODEL] != default:
        st.session_state.pop(MISSING, None)
    elif name := st.session_state.get(MISSING):
        st.warning(f"This link shows {plain(name)}, which is not here: open its files again, or choose another model.")


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


def choose_text(model: "SequenceModel | None" = None, row: Any = st) -> tuple[str, ...]:  # noqa: ANN401
    """The tokens of the text that was typed, a date where `model` is None; NotApplicable with a sentence where the
    model cannot read it. `row`: where the field stands; the examples stand below, where they have room on a phone."""
    data = "dates" if model is None else model.data
    of = TEXTS.get(data, FREE)
    st.session_state.setdefault(of.key, of.examples[0])
    text = row.text_input(of.label, key=of.key, bind="query-params", max_chars=LONGEST, width=of.width)
    st.pills("Examples", of.examples[1:], key=f"_{of.key}_example", on_change=_take_example, args=(of.key,),
             label_visibility="collapsed")  # fmt: skip
    try:
        return split_text(data, text) if model is None or data in TEXTS else model.split(text)
    except TextError as sentence:
        raise NotApplicable(str(sentence)) from None


def _take_example(key: str) -> None:
    if example := st.session_state[f"_{key}_example"]:
        st.session_state[key] = example
    st.session_state[f"_{key}_example"] = None


def title_of(model: "SequenceModel") -> str:
    """As the picker calls it."""
    source = f"bundled:{model.name}"
    return (TITLES | LANGUAGE).get(source, model.name)


def facts(model: "SequenceModel") -> str:
    """How often this model is right, in words, and how large it is."""
    right, count = model.facts.get("test_accuracy"), model.facts.get("test_images")
    size = f"{model.parameters / 1000:.0f} k parameters"
    return f"{right:.1%} of {count:,} unseen texts exactly right · {size}" if right is not None and count else size
