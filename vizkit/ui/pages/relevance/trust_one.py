"""Every map of one model scored on the chosen image: table, curves, and the maps themselves, best first."""

from dataclasses import dataclass, fields
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from vizkit.analysis.attribution.explaining import Explanation, quantile_of, why_not
from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.trust.scores import Score
from vizkit.analysis.trust.table import Row
from vizkit.analysis.trust.truth_score import Truth
from vizkit.datasets.insects import DECIDING, LABELS
from vizkit.figure.evaluation.removal_curves import removal_curves
from vizkit.figure.overlay import top_of
from vizkit.image import Picture
from vizkit.scoring import truth_of
from vizkit.traces import Trace
from vizkit.ui import export
from vizkit.ui.pages.relevance import trust_table
from vizkit.ui.pages.relevance.trust_again import Again
from vizkit.ui.pages.relevance.trust_choice import Choice, opened
from vizkit.ui.plain import plain
from vizkit.ui.session import background, explained
from vizkit.ui.session.explained import Request
from vizkit.ui.session.remembered import shelf
from vizkit.ui.session.shown import Shown, title
from vizkit.ui.sidebar import inputs
from vizkit.ui.widgets import class_choice
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.tiles import Tile, tiles

TASK = "trust"


@dataclass(frozen=True, eq=False)
class Work:
    """What there is to score: the maps (None: to be computed), the traces of both classes, the truth where known."""

    request: Request
    maps: dict[str, Explanation | None]
    traces: tuple[Trace, Trace | None]
    truth: Truth | None
    measures: tuple[str, ...]

    def todo(self) -> list[tuple[str, str]]:
        """(method, measure) without a result."""
        pairs = [(name, measure) for name in self.maps for measure in self.measures]
        return [pair for pair in pairs if shelf().find(self.key(*pair)) is None]

    def key(self, method: str, measure: str) -> tuple:
        return "score", *self.request.key, method, measure


def show(shown: Shown, picture: Picture, choice: Choice, top: DeltaGenerator) -> None:
    with top:
        classes = class_choice.choose([shown])
    request = class_choice.request_for(shown, picture, classes)
    st.markdown(f"{plain(title(shown.source))} · {class_choice.in_words(request)}{_drawn_truth()}")
    work, nothing = gathered(request, choice)
    todo = work.todo()
    settings = (request.key, tuple(work.maps), work.measures)
    if todo and st.session_state.get("_trust_begun") != settings:
        st.session_state["_trust_begun"] = settings
        background.start(TASK, lambda task: score_all(work, todo, task))
    elif todo and not background.at_work(TASK):
        st.button("Go on", icon=":material/play_arrow:", key="trust_go_on", on_click=background.start,
                  args=(TASK, lambda task: score_all(work, todo, task)))  # fmt: skip
    background.show(TASK)
    scores = {name: merged(name, work) for name in work.maps}
    there = {name: score for name, score in scores.items() if score.figures()}
    if there:
        rows = trust_table.show([list(there.values())], "trust_table")
        _curves_of(there, rows)
        _best_first(work, rows)
        save(request, there, rows)
        trust_table.caveats(rows)
    for sentence in dict.fromkeys([*nothing, *(note for score in scores.values() for note in score.notes)]):
        st.caption(f":material/block: {plain(sentence)}")


def _drawn_truth() -> str:
    """What a drawn picture shows, and by which parts its class differs from the others."""
    insect = inputs.chosen_insect()
    if insect is None:
        return ""

    label = LABELS[insect.label]
    return f" · drawn: a {label}, decided by its {' and '.join(DECIDING[label])}"


def gathered(request: Request, choice: Choice) -> tuple[Work, list[str]]:
    """The maps that can be scored; and the sentences of those that there are not, on this image or for this model."""
    traces = (
        explained.target_trace(request, request.target),
        (None if request.against is None else explained.target_trace(request, request.against)),
    )
    without, fast = why_not(traces[0]), explained.fast_maps(request)
    maps: dict[str, Explanation | None] = {}
    nothing = []
    for name, method in METHODS.items():
        if name in without or (method.slow and name not in choice.slow):
            continue
        explanation = shelf().find((*request.key, name)) if method.slow else fast[name]
        if isinstance(explanation, str):
            nothing.append(explanation)
        else:
            maps[name] = explanation
    truth = truth_of(request.shown.loaded, opened({"image": request.picture}, inputs.chosen_insect()), 0)
    measures = tuple(measure for measure in choice.measures if measure != "truth" or truth is not None)
    return Work(request, maps, traces, truth, measures), nothing


# ---- the work, in a thread -------------------------------------------------------------------------------------------
def score_all(work: Work, todo: list[tuple[str, str]], task: background.Task) -> None:
    request, store = work.request, shelf()
    again = Again(request, work.traces[0])
    for index, (name, measure) in enumerate(todo):

        def progress(done: int, total: int, index: int = index, name: str = name) -> None:
            task.report(f"{METHODS[name].title}: {index + 1} of {len(todo)}", index * total + done, len(todo) * total)

        progress(0, 1)
        explanation = work.maps[name] or store.find((*request.key, name))
        if explanation is None:
            explanation = explained.slow_map(request, name, progress)
            store.put((*request.key, name), explanation)
        if not isinstance(explanation, str):
            store.put(work.key(name, measure), again.score(explanation, measure, work.truth, progress))
        if index + 1 == len(todo) or todo[index + 1][0] != name:
            task.results += 1


# ---- what is shown ---------------------------------------------------------------------------------------------------
def merged(method: str, work: Work) -> Score:
    """All measures of one map that are there, as one score."""
    parts = [part for measure in work.measures if (part := shelf().find(work.key(method, measure))) is not None]
    values_by_field: dict[str, Any] = {}
    for field in fields(Score):
        values = [getattr(part, field.name) for part in parts if getattr(part, field.name) is not None]
        if field.name == "notes":
            values_by_field["notes"] = tuple(note for value in values for note in value)
        elif values and field.name != "method":
            values_by_field[field.name] = values[0]
    return Score(method, **values_by_field)


def _curves_of(there: dict[str, Score], rows: list[Row]) -> None:
    curves = {row.title: there[row.method].curves for row in rows if row.method in there}
    measured = {name: curve for name, curve in curves.items() if curve is not None}
    if not measured:
        return
    chance = next(score.chance for score in there.values() if score.chance is not None)
    for column, name, x, words in zip(
        st.columns(2), ("deletion", "insertion"), ("places removed", "places inserted"),
        ("Deletion: a good map falls early", "Insertion: a good map rises early"), strict=True,
    ):  # fmt: skip
        lines = {method: getattr(curve, name).numpy() for method, curve in measured.items()}
        figure = removal_curves(lines, chance.share.numpy(), getattr(chance, name).numpy(), x, words)
        with column:
            chart(figure, f"trust_{name}", f"{words}: probability of the class by method")


def _best_first(work: Work, rows: list[Row]) -> None:
    request, drawn, tops = work.request, [], []
    for row in rows:
        explanation = work.maps.get(row.method)
        if explanation is not None:
            rank = "" if row.rank is None else f"rank {row.rank:.1f}"
            drawn.append(Tile(row.title, explanation.heat.numpy(), rank, signed=explanation.signed))
            tops.append(top_of(explanation.heat.numpy(), quantile_of(explanation)))
    limits = [(-top if tile.signed else 0.0, top) for tile, top in zip(drawn, tops, strict=True)]
    label = f"Evidence for {request.shown.loaded.label(request.target)} in {request.shown.name}"
    tiles(f"trust_maps_{request.shown.source}", drawn, request.shown, request.picture, "over image", limits,
          label=label, tile_px=110)  # fmt: skip


def save(request: Request, there: dict[str, Score], rows: list[Row]) -> None:
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
        return export.npz_of(**arrays)

    stem = export.name_of_file(f"{request.shown.trace.model}_{request.shown.loaded.label(request.target)}_trust")
    with st.popover("Save", icon=":material/download:"):
        st.download_button("Table (CSV)", trust_table.as_csv(rows), f"{stem}.csv", "text/csv", key="trust_csv",
                           on_click="ignore")  # fmt: skip
        st.download_button("Curves (NPZ)", numbers, f"{stem}.npz", "application/zip", key="trust_npz",
                           on_click="ignore")  # fmt: skip
