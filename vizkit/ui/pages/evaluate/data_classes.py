"""Where a model errs: its pictures, its confusions and its classes, then the calibration of all models."""

from typing import Any

import numpy as np
import streamlit as st

from vizkit.analysis.remarks.evaluation import most_frequent_mistake
from vizkit.evaluation.browsing import KINDS
from vizkit.evaluation.measures import BINS, confusion
from vizkit.evaluation.outcome import Outcome
from vizkit.figure.evaluation.confusion import confusion as drawn
from vizkit.figure.evaluation.reliability import reliability
from vizkit.figure.palette import CLASSES
from vizkit.ui.pages.evaluate import browser
from vizkit.ui.pages.evaluate.browser import OTHERS
from vizkit.ui.plain import plain
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.views.rules import one_of, tuple_of, whole

MOST_LABELS = 30  # in the matrix; of more, those with most mistakes


def show(outcome: Outcome) -> None:
    names = [row.name for row in outcome.models]
    keep_valid("eval_model", names)
    chosen = names[0]
    if len(names) > 1:
        chosen = (
            st.segmented_control(
                "One model in detail",
                names,
                key="eval_model",
                bind="query-params",
                format_func=plain,
                required=True,
                default=names[0],
            )
            or names[0]
        )
    model = names.index(chosen)
    left, right = st.columns(2, gap="medium")
    with left:
        browser.show(outcome, model)
    with right:
        matrix(outcome, model)
        by_class(outcome, model)
    calibration(outcome)


# ---- calibration -----------------------------------------------------------------------------------------------------
def calibration(outcome: Outcome) -> None:
    st.subheader("Calibration", anchor=False)
    st.caption(
        "On the dashed line accuracy equals confidence. Bars below it: overconfident; above it: underconfident. "
        "Pale bars have few pictures."
    )
    for column, row, colour in zip(st.columns(len(outcome.models)), outcome.models, CLASSES, strict=False):
        bins = row.measures.bins
        figure = reliability(
            [b.low for b in bins],
            1 / BINS,
            [b.confidence for b in bins],
            [b.accuracy for b in bins],
            [b.images for b in bins],
            colour,
        )
        with column:
            error = row.measures.ece
            st.markdown(f"**{plain(row.name)}** · ECE {error:.3f}")
            chart(
                figure,
                f"eval_reliability_{row.name}",
                f"Reliability of {row.name}: expected calibration error {error:.3f}",
            )


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
    st.caption("Rows are labels, columns are answers. Click a cell to see its pictures alone.")
    labels = [outcome.labels[label] for label in shown]
    columns = [*shown.tolist(), *([len(outcome.labels)] if counts[:, -1].any() else [])]
    answers = [*labels, *([OTHERS] if len(columns) > len(labels) else [])]
    key = f"eval_matrix_{outcome.models[model].name}"

    def picked(cell: tuple[str, str, int]) -> None:
        st.session_state["eval_label"], st.session_state["eval_answer"] = cell[:2]
        st.session_state["eval_kind"] = KINDS[0]

    chart(
        drawn(labels, answers, counts[np.ix_(shown, columns)]),
        key,
        f"Confusion matrix of {outcome.models[model].name}",
        (tuple_of(one_of(labels), one_of(answers), whole(0, int(counts.sum()))), picked),
    )
    remark(most_frequent_mistake(counts, outcome.labels, (*outcome.labels, OTHERS)))


# ---- classes --------------------------------------------------------------------------------------------
def by_class(outcome: Outcome, model: int) -> None:
    import pandas as pd

    st.subheader("Class by class", anchor=False)
    percent = st.column_config.NumberColumn(format="percent", width="small")
    rows = outcome.models[model].measures.classes
    table = pd.DataFrame(
        {
            "Label": [row.label for row in rows],
            "Pictures": [row.images for row in rows],
            "Precision": [row.precision for row in rows],
            "Recall": [row.recall for row in rows],
            "F1": [row.f1 for row in rows],
        }
    )
    st.dataframe(
        table.style.apply(_marked, axis=1),
        hide_index=True,
        placeholder="–",
        key="eval_classes",
        height="content" if len(rows) <= 14 else 520,
        column_config={  # narrow enough to be seen whole in half a page
            "Label": st.column_config.TextColumn(width=140),
            "Pictures": st.column_config.NumberColumn(width="small"),
            "Precision": st.column_config.NumberColumn(
                format="percent", width="small", help="Of the pictures answered so, how many are."
            ),
            "Recall": st.column_config.NumberColumn(
                format="percent", width="small", help="Of the pictures of this label, how many are answered so."
            ),
            "F1": percent,
        },
    )


def _marked(row: Any) -> list[str]:
    """The label whose pictures are shown."""
    return ["font-weight: bold" if row["Label"] == st.session_state.get("eval_label") else ""] * len(row)
