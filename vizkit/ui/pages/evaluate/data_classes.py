"""Where a model errs: calibration of all models, then of one its confusions, its classes and its hardest pictures."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from vizkit.analysis.remarks.evaluation import most_frequent_mistake
from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.evaluation.measures import BINS, confusion
from vizkit.evaluation.measures import hardest as hardest_rows
from vizkit.evaluation.outcome import Outcome
from vizkit.evaluation.pictures import open_pictures
from vizkit.figure.evaluation.confusion import confusion as drawn
from vizkit.figure.evaluation.reliability import reliability
from vizkit.figure.palette import CLASSES
from vizkit.ui.plain import plain
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.widgets import data_choice
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark

MOST_LABELS = 30  # in the matrix; of more, those with most mistakes
MOST_SHOWN = 12  # pictures of a cell
ANY, OTHERS = "any", "another class"


def show(outcome: Outcome) -> None:
    calibration(outcome)
    names = [row.name for row in outcome.models]
    keep_valid("eval_model", names)
    chosen = names[0]
    if len(names) > 1:
        chosen = st.segmented_control("One model in detail", names, key="eval_model", bind="query-params",
                                      format_func=plain, required=True, default=names[0]) or names[0]  # fmt: skip
    model = names.index(chosen)
    left, right = st.columns(2, gap="large")
    with left:
        matrix(outcome, model)
    with right:
        cell(outcome, model)
    left, right = st.columns(2, gap="large")
    with left:
        by_class(outcome, model)
    with right:
        hardest(outcome, model)


# ---- calibration -----------------------------------------------------------------------------------------------------
def calibration(outcome: Outcome) -> None:
    st.subheader("Calibration", anchor=False)
    st.caption("On the dashed line accuracy equals confidence. Bars below it: overconfident; above it: underconfident. "
               "Pale bars have few pictures.")  # fmt: skip
    for column, row, colour in zip(st.columns(len(outcome.models)), outcome.models, CLASSES, strict=False):
        bins = row.measures.bins
        figure = reliability([b.low for b in bins], 1 / BINS, [b.confidence for b in bins], [b.accuracy for b in bins],
                             [b.images for b in bins], colour)  # fmt: skip
        with column:
            error = row.measures.ece
            st.markdown(f"**{plain(row.name)}** · ECE {error:.3f}")
            chart(figure, f"eval_reliability_{row.name}",
                  f"Reliability of {row.name}: expected calibration error {error:.3f}")  # fmt: skip


# ---- confusion -------------------------------------------------------------------------------------------------------
def matrix(outcome: Outcome, model: int) -> None:
    """Its cells set the two pickers beside it."""
    st.subheader("Confusion matrix", anchor=False)
    counts = confusion(outcome.judged[model], len(outcome.labels))
    shown = np.arange(len(outcome.labels))
    wrong = counts.sum(1) - np.diagonal(counts) + (counts[:, :-1].sum(0) - np.diagonal(counts))
    if len(shown) > MOST_LABELS:
        shown = np.sort(np.argsort(-wrong, kind="stable")[:MOST_LABELS])
        st.caption(f"The {MOST_LABELS} of {len(outcome.labels)} labels with most mistakes.")
    st.caption("Rows are labels, columns are answers. Click a cell to see its pictures.")
    labels = [outcome.labels[label] for label in shown]
    columns = [*shown.tolist(), *([len(outcome.labels)] if counts[:, -1].any() else [])]
    answers = [*labels, *([OTHERS] if len(columns) > len(labels) else [])]
    key = f"eval_matrix_{outcome.models[model].name}"

    def picked() -> None:
        selected: Any = st.session_state.get(key) or {}
        points = (selected.get("selection") or {}).get("points") or []
        if points:
            st.session_state["eval_label"], st.session_state["eval_answer"] = points[0]["customdata"][:2]

    chart(drawn(labels, answers, counts[np.ix_(shown, columns)]), key,
          f"Confusion matrix of {outcome.models[model].name}", on_select=picked, selection_mode="points")  # fmt: skip
    remark(most_frequent_mistake(counts, outcome.labels, (*outcome.labels, OTHERS)))


def cell(outcome: Outcome, model: int) -> None:
    """The pictures of one label and one answer, the surest first."""
    st.subheader("Pictures of a cell", anchor=False)
    judged, labels = outcome.judged[model], outcome.labels
    first = _likeliest_mistake(outcome, model)
    options, answers = list(labels), [*labels, OTHERS, ANY]
    keep_valid("eval_label", options)
    keep_valid("eval_answer", answers)
    with st.container(horizontal=True):
        label = st.selectbox("Label", options, options.index(first[0]), key="eval_label", bind="query-params",
                             width=220, help="What the picture is.")  # fmt: skip
        answer = st.selectbox("Answer", answers, answers.index(first[1]), key="eval_answer", bind="query-params",
                              width=220, help="What the model predicted.")  # fmt: skip
    of_label = judged.target == options.index(label)
    chosen = of_label if answer == ANY else of_label & (judged.label == answers.index(answer))
    rows = np.flatnonzero(chosen)
    rows = rows[np.argsort(-judged.probability[rows], kind="stable")]
    more = f", the {MOST_SHOWN} most confident shown" if len(rows) > MOST_SHOWN else ""
    st.caption(f"{len(rows):,} of {int(of_label.sum()):,} pictures{more}")
    pictures(outcome, model, rows[:MOST_SHOWN].tolist())


def _likeliest_mistake(outcome: Outcome, model: int) -> tuple[str, str]:
    """Label and answer of the most frequent mistake; the first label and itself where there is none."""
    counts = confusion(outcome.judged[model], len(outcome.labels))
    np.fill_diagonal(counts, 0)
    row, column = divmod(int(counts.argmax()), counts.shape[1])
    if not counts.any():
        return outcome.labels[0], outcome.labels[0]
    return outcome.labels[row], (*outcome.labels, OTHERS)[column]


# ---- classes and pictures --------------------------------------------------------------------------------------------
def by_class(outcome: Outcome, model: int) -> None:
    import pandas as pd

    st.subheader("Class by class", anchor=False)
    percent = st.column_config.NumberColumn(format="percent", width="small")
    rows = outcome.models[model].measures.classes
    table = pd.DataFrame({
        "Label": [row.label for row in rows], "Pictures": [row.images for row in rows],
        "Precision": [row.precision for row in rows], "Recall": [row.recall for row in rows],
        "F1": [row.f1 for row in rows],
    })  # fmt: skip
    st.dataframe(
        table.style.apply(_marked, axis=1), hide_index=True, placeholder="–", key="eval_classes",
        height="content" if len(rows) <= 14 else 520,
        column_config={
            "Precision": st.column_config.NumberColumn(format="percent", width="small",
                                                       help="Of the pictures answered so, how many are."),
            "Recall": st.column_config.NumberColumn(format="percent", width="small",
                                                    help="Of the pictures of this label, how many are answered so."),
            "F1": percent,
        },
    )  # fmt: skip


def _marked(row: Any) -> list[str]:  # noqa: ANN401
    """The label whose pictures are shown."""
    return ["font-weight: bold" if row["Label"] == st.session_state.get("eval_label") else ""] * len(row)


def hardest(outcome: Outcome, model: int) -> None:
    st.subheader("Hardest pictures", anchor=False)
    judged = outcome.judged[model]
    rows = [row for row in hardest_rows(judged, MOST_SHOWN).tolist() if not judged.right[row] or judged.loss[row] > 0.1]
    st.caption("Those with the highest loss: the right label got little of the probability." if rows else
               "None: every right label got nearly all of the probability.")  # fmt: skip
    pictures(outcome, model, rows, label=True)


def pictures(outcome: Outcome, model: int, rows: Sequence[int], *, label: bool = False) -> None:
    """`label`: written too, where pictures of several labels stand together."""
    judged = outcome.judged[model]
    drawn, words = [], []
    for row in rows:
        try:
            rgb, _ = picture_set(outcome)[int(outcome.rows[row])]
        except (DatasetError, IndexError):
            continue
        caption = f"→ {outcome.answer_of(model, row)}, {judged.probability[row]:.0%}"
        if label:
            caption = f"{outcome.labels[int(judged.target[row])]} {caption}"
        drawn.append(data_choice.square(rgb))
        words.append(f"{caption} · {outcome.places[row]}"[:90])
    if len(drawn) < len(rows):
        st.caption(f"{len(rows) - len(drawn)} of the pictures are no longer there.")
    if drawn:
        data_choice.row(drawn, words, data_choice.SIDE_PX)


def picture_set(outcome: Outcome) -> ImageSet:
    return _reopened(outcome.digest, dict(outcome.opened))


@st.cache_resource(max_entries=8, show_spinner=False)
def _reopened(digest: str, _opened: dict[str, Any]) -> ImageSet:
    """The very pictures that were judged. DatasetError where they have changed since."""
    image_set = open_pictures(**_opened)
    if image_set.digest != digest:
        raise DatasetError("The pictures have changed since they were judged; evaluate again to see them.")
    return image_set
