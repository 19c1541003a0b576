"""How often models of texts are right, whole texts and single words, by length, and where they are wrong."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from vizkit.analysis.remarks.evaluation import texts as remark
from vizkit.evaluation.measures import Interval, ratio_interval, share_interval
from vizkit.figure.charts import paired_bars
from vizkit.percent import in_percent
from vizkit.traces import NotApplicable, not_applicable
from vizkit.training.sequences.answers import TEXTS, TextAnswers
from vizkit.views.blocks import Block, Chart, Heading, Job, Later, Line, Numbers, Said, Table, side_by_side
from vizkit.views.evaluate.measured import ends
from vizkit.views.evaluate.recorded import RECORDED
from vizkit.views.measured_with import others
from vizkit.views.sequences.known import BERT, BUNDLED, GPT, TRANSLATING, trained_texts
from vizkit.views.subject import Subject
from vizkit.writing import read_record

MODELS = (*TRANSLATING, GPT, BERT)
TITLES = {BUNDLED[name]: name for name in MODELS}
DATA = {
    "dates": "dates to be written as numbers",
    "copy": "letters to be repeated",
    "reverse": "letters said backwards",
}
WHOLE, WORDS, GROUPS = "texts wholly right", "words right", 8


def names(of: Sequence[Subject]) -> list[str]:
    return [*MODELS, *trained_texts()]


def measured(of: Subject, name: str) -> Iterator[Block]:
    """How often a model is right, beside the others of the same texts, by length, and where it is most wrong."""
    source, written = source_of(name)
    job = Job(("answers to texts", source, written), f"{name} answers {TEXTS:,} texts", partial(run, source))
    shipped = recorded().get(BUNDLED.get(name, ""))
    button = "Measure anew" if shipped else f"Measure on {TEXTS:,} unseen texts"

    def show(found: Mapping[Any, TextAnswers]) -> Iterator[Block]:
        answers = found.get(job.key, shipped)
        return shown(name, answers, anew=job.key in found) if answers else iter(())

    yield Later(of, (job,), show, button, only_asked=shipped is not None)


def shown(name: str, answers: TextAnswers, *, anew: bool) -> Iterator[Block]:
    right, words = answers.wrong == 0, both(answers)[1]
    yield Said(remark(name, int(right.sum()), len(right), words.value))
    yield side_by_side(*charts(name, answers))
    yield from mistakes(answers)
    when = "Measured here" if anew else "Recorded, as it comes with vizkit"
    yield Line(
        f"{when}: {len(right):,} test texts, {DATA[answers.data]}, which had no part in any training. A word is right "
        "where it is the likeliest after the true words before it, for a model of hidden words the likeliest at its "
        "place; the table shows what a model writes by itself. Intervals: bootstrap over the texts."
    )
    counts = {
        "names": np.array(["asked", "wrong"]),
        "x": answers.length,
        "values": np.stack([answers.asked, answers.wrong]),
    }
    yield Numbers(lambda: counts)


def charts(name: str, answers: TextAnswers) -> Iterator[Block]:
    """Beside the other models of the same texts, then by length."""
    beside = {title_of(each): own for each, own in recorded().items() if own.data == answers.data}
    every = {name: answers} | {title: own for title, own in beside.items() if title != name}
    yield compared({title: both(each) for title, each in every.items()}, "Right answers of models of the same texts")
    groups = [group for group in np.array_split(np.unique(answers.length), GROUPS) if len(group)]
    spans = [(int(group[0]), int(group[-1])) for group in groups]
    by_length = {f"{low}{'' if low == high else f' to {high}'} words": both(answers, low, high) for low, high in spans}
    yield compared(by_length, f"{name}: right answers by the length of the text")


def title_of(model: str) -> str:
    """As the picker calls the network of a recorded model: "LSTM", whatever it was taught."""
    return TITLES[model.replace("copy", "dates")]


@lru_cache(maxsize=256)
def both(answers: TextAnswers, low: int = 0, high: int = 10**6) -> tuple[Interval, Interval]:
    """Of the texts of `low` to `high` words: the share that is wholly right, and that of the words."""
    own = (low <= answers.length) & (answers.length <= high)
    wrong, asked = answers.wrong[own], answers.asked[own]
    return share_interval(wrong == 0), ratio_interval(np.stack([asked - wrong, asked], 1).astype(np.float64))


def compared(rows: Mapping[str, tuple[Interval, Interval]], title: str) -> Chart:
    shares = {
        kind: 100 * np.array([ends(each[place]) for each in rows.values()]) for place, kind in enumerate((WHOLE, WORDS))
    }
    figure = paired_bars([*rows], {kind: values[:, 0].tolist() for kind, values in shares.items()}, "%")
    for kind, values in shares.items():
        more, less = (values[:, 2] - values[:, 0]).tolist(), (values[:, 0] - values[:, 1]).tolist()
        figure.update_traces(
            error_x={"type": "data", "array": more, "arrayminus": less, "symmetric": False},
            text=[in_percent(share / 100, 1) for share in values[:, 0]],  # near 100 % all bars look alike
            textposition="inside",
            insidetextanchor="start",
            selector={"name": kind},
        )
    figure.update_xaxes(range=[0, 101])
    said = ", ".join(
        f"{name} {in_percent(whole.value, 1)} and {in_percent(words.value, 1)}" for name, (whole, words) in rows.items()
    )
    return Chart(figure, f"{title}, {WHOLE} and {WORDS}: {said}", f"{title}, with 95 % intervals")


def mistakes(answers: TextAnswers) -> Iterator[Block]:
    wrong = int((answers.wrong > 0).sum())
    if not wrong:
        yield Heading("No answer is wrong")
        return
    yield Heading(f"The worst of {wrong:,} wrong answers" if wrong > 1 else "The only wrong answer")
    rows = tuple({"Text": text, "Right answer": true, "Its answer": own} for text, true, own in answers.worst)
    yield Table(rows, "Texts, what is right, and what the model says")


# ---- the models ------------------------------------------------------------------------------------------------------
@cache
def recorded() -> dict[str, TextAnswers]:
    """By model; of these weights alone."""
    changed = others("evaluation/texts.npz")
    known = read_record(RECORDED / "texts.npz", dict[str, TextAnswers])
    return {name: own for name, own in known.items() if f"sequences/{name}" not in changed}


def source_of(name: str) -> tuple[str, int]:
    """A model by its name, and when its weights were written. NotApplicable where it is not here."""
    if name in MODELS:
        return f"bundled:{BUNDLED[name]}", 0
    try:
        source = trained_texts()[name]
        return source, (Path(source) / "model.safetensors").stat().st_mtime_ns
    except (KeyError, OSError):
        raise NotApplicable(f"{name} is not here: choose another model.") from None


def run(source: str, progress: Any) -> TextAnswers:
    from vizkit.models import ModelError
    from vizkit.models.sequences import open_sequence
    from vizkit.training.sequences.answers import answered

    with not_applicable(ModelError):
        return answered(open_sequence(source), progress=progress)
