"""Every map of one model scored on the chosen image: table, curves, and the maps themselves, best first."""

import io
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from vizkit.image import Picture
from vizkit.ui import export
from vizkit.ui.pages.relevance import trust_table
from vizkit.ui.pages.relevance.trust_again import Again
from vizkit.ui.pages.relevance.trust_choice import Choice, opened
from vizkit.ui.plain import plain
from vizkit.ui.session import background, explained
from vizkit.ui.session.explained import Asked, quantile_of
from vizkit.ui.session.remembered import shelf
from vizkit.ui.session.shown import Shown, title
from vizkit.ui.sidebar import inputs
from vizkit.ui.widgets import class_choice
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.tiles import Tile, tiles

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from vizkit.analysis.attribution.explaining import Explanation
    from vizkit.analysis.trust.scores import Score
    from vizkit.analysis.trust.table import Row
    from vizkit.analysis.trust.truth_score import Truth
    from vizkit.traces import Trace

TASK = "trust"


@dataclass(frozen=True, eq=False)
class Work:
    """What there is to score: the maps (None: to be computed), the traces of both classes, the truth where known."""

    asked: Asked
    maps: "dict[str, Explanation | None]"
    traces: "tuple[Trace, Trace | None]"
    truth: "Truth | None"
    measures: tuple[str, ...]

    def todo(self) -> list[tuple[str, str]]:
        """(method, measure) without a result."""
        pairs = [(name, measure) for name in self.maps for measure in self.measures]
        return [pair for pair in pairs if shelf().find(self.key(*pair)) is None]

    def key(self, method: str, measure: str) -> tuple:
        return "score", *self.asked.key, method, measure


def show(one: Shown, picture: Picture, choice: Choice, top: "DeltaGenerator") -> None:
    with top:
        classes = class_choice.choose([one])
    asked = class_choice.asked_of(one, picture, classes)
    st.caption(f"{plain(title(one.source))} · {class_choice.in_words(asked)}{drawn_truth()}")
    work, nothing = gathered(asked, choice)
    todo = work.todo()
    wanted = (asked.key, tuple(work.maps), work.measures)
    if todo and st.session_state.get("_trust_begun") != wanted:
        st.session_state["_trust_begun"] = wanted
        background.start(TASK, lambda task: score_all(work, todo, task))
    elif todo and not background.at_work(TASK):
        st.button("Go on", icon=":material/play_arrow:", key="trust_go_on", on_click=background.start,
                  args=(TASK, lambda task: score_all(work, todo, task)))  # fmt: skip
    background.show(TASK)
    scores = {name: merged(name, work) for name in work.maps}
    there = {name: score for name, score in scores.items() if score.figures()}
    if there:
        rows = trust_table.show([list(there.values())], "trust_table")
        curves_of(there, rows)
        best_first(work, rows)
        save(asked, there, rows)
        trust_table.caveats(rows)
    for sentence in dict.fromkeys([*nothing, *(note for score in scores.values() for note in score.notes)]):
        st.caption(f":material/block: {plain(sentence)}")


def drawn_truth() -> str:
    """What a drawn picture shows, and by which parts its class differs from the others."""
    insect = inputs.chosen_insect()
    if insect is None:
        return ""
    from vizkit.datasets.insects import DECIDING, LABELS

    label = LABELS[insect.label]
    return f" · drawn: a {label}, decided by its {' and '.join(DECIDING[label])}"


def gathered(asked: Asked, choice: Choice) -> tuple[Work, list[str]]:
    """The maps that can be scored; and the sentences of those that there are not, on this image or for this model."""
    from vizkit.analysis.attribution.explaining import METHODS, why_not
    from vizkit.scoring import truth_of

    traces = (
        explained.target_trace(asked, asked.target),
        (None if asked.against is None else explained.target_trace(asked, asked.against)),
    )
    without, fast = why_not(traces[0]), explained.fast_maps(asked)
    maps: dict[str, Explanation | None] = {}
    nothing = []
    for name, method in METHODS.items():
        if name in without or (method.slow and name not in choice.slow):
            continue
        found = shelf().find((*asked.key, name)) if method.slow else fast[name]
        if isinstance(found, str):
            nothing.append(found)
        else:
            maps[name] = found
    truth = truth_of(asked.one.loaded, opened({"image": asked.picture}, inputs.chosen_insect()), 0)
    measures = tuple(measure for measure in choice.measures if measure != "truth" or truth is not None)
    return Work(asked, maps, traces, truth, measures), nothing


# ---- the work, in a thread -------------------------------------------------------------------------------------------
def score_all(work: Work, todo: list[tuple[str, str]], task: background.Task) -> None:
    from vizkit.analysis.attribution.methods import METHODS

    asked, store = work.asked, shelf()
    again = Again(asked, work.traces[0])
    for index, (name, measure) in enumerate(todo):

        def progress(done: int, total: int, index: int = index, name: str = name) -> None:
            task.report(f"{METHODS[name].title}: {index + 1} of {len(todo)}", index * total + done, len(todo) * total)

        progress(0, 1)
        explanation = work.maps[name] or store.find((*asked.key, name))
        if explanation is None:
            explanation = explained.slow_map(asked, name, progress)
            store.put((*asked.key, name), explanation)
        if not isinstance(explanation, str):
            store.put(work.key(name, measure), again.score(explanation, measure, work.truth, progress))
        if index + 1 == len(todo) or todo[index + 1][0] != name:
            task.results += 1


# ---- what is shown ---------------------------------------------------------------------------------------------------
def merged(method: str, work: Work) -> "Score":
    """All measures of one map that are there, as one score."""
    from vizkit.analysis.trust.scores import Score

    parts = [part for measure in work.measures if (part := shelf().find(work.key(method, measure))) is not None]
    found: dict[str, Any] = {}
    for field in fields(Score):
        values = [getattr(part, field.name) for part in parts if getattr(part, field.name) is not None]
        if field.name == "notes":
            found["notes"] = tuple(note for value in values for note in value)
        elif values and field.name != "method":
            found[field.name] = values[0]
    return Score(method, **found)


def curves_of(there: "dict[str, Score]", rows: "list[Row]") -> None:
    from vizkit.figure.evaluation.removal_curves import removal_curves

    curves = {row.title: there[row.method].curves for row in rows if row.method in there}
    measured = {name: each for name, each in curves.items() if each is not None}
    if not measured:
        return
    chance = next(score.chance for score in there.values() if score.chance is not None)
    for column, name, x, words in zip(
        st.columns(2), ("deletion", "insertion"), ("places taken away", "places put back"),
        ("Deletion: a good map falls early", "Insertion: a good map rises early"), strict=True,
    ):  # fmt: skip
        lines = {method: getattr(each, name).numpy() for method, each in measured.items()}
        figure = removal_curves(lines, chance.share.numpy(), getattr(chance, name).numpy(), x, words)
        with column:
            chart(figure, f"trust_{name}", f"{words}: probability of the class by method")


def best_first(work: Work, rows: "list[Row]") -> None:
    from vizkit.figure.overlay import top_of

    asked, drawn, tops = work.asked, [], []
    for row in rows:
        explanation = work.maps.get(row.method)
        if explanation is not None:
            rank = "" if row.rank is None else f"rank {row.rank:.1f}"
            drawn.append(Tile(row.title, explanation.heat.numpy(), rank, signed=explanation.signed))
            tops.append(top_of(explanation.heat.numpy(), quantile_of(explanation)))
    limits = [(-top if one.signed else 0.0, top) for one, top in zip(drawn, tops, strict=True)]
    label = f"What speaks for {asked.one.loaded.label(asked.target)} in {asked.one.source}"
    tiles(f"trust_maps_{asked.one.source}", drawn, asked.one, asked.picture, "over image", limits, label=label,
          tile_px=110)  # fmt: skip


def save(asked: Asked, there: "dict[str, Score]", rows: "list[Row]") -> None:
    def numbers() -> bytes:
        arrays: dict[str, Any] = {}
        for name, score in there.items():
            if score.curves is not None:
                arrays |= {f"{name}_deletion": score.curves.deletion.numpy(),
                           f"{name}_insertion": score.curves.insertion.numpy(),
                           "share": score.curves.share.numpy()}  # fmt: skip
            if score.chance is not None:
                arrays |= {"chance_deletion": score.chance.deletion.numpy(),
                           "chance_insertion": score.chance.insertion.numpy()}  # fmt: skip
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        return buffer.getvalue()

    stem = export.name_of_file(f"{asked.one.trace.model}_{asked.one.loaded.label(asked.target)}_trust")
    with st.popover("Save", icon=":material/download:"):
        st.download_button("Table (CSV)", trust_table.as_csv(rows), f"{stem}.csv", "text/csv", key="trust_csv",
                           on_click="ignore")  # fmt: skip
        st.download_button("Curves (NPZ)", numbers, f"{stem}.npz", "application/zip", key="trust_npz",
                           on_click="ignore")  # fmt: skip
        st.caption("A chart saves itself: the camera in its corner.")
