"""Of the view Memory: how often an answer is wholly right, by the number of letters and by the length of the gap."""

import streamlit as st

from vizkit.analysis.remarks.sequences import of_memory
from vizkit.figure.sequences.banded import Banded, banded_lines
from vizkit.training.experiments.memory import SHIPPED, TASKS, Curve, curves
from vizkit.training.runs.folder import RunFolder
from vizkit.ui import reading
from vizkit.ui.session import saved
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

WORDS = {"copy": "repeat the letters", "reverse": "say them backwards"}
ALONG = {"gap": "dots between 5 letters and the question mark", "length": "letters, after a gap of 8 dots"}
LEARNED = {"gap": 24, "length": 8}


def draw() -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        task = st.segmented_control("Task", TASKS, default=TASKS[0], required=True, key="memory_task",
                                    bind="query-params", format_func=WORDS.__getitem__) or TASKS[0]  # fmt: skip
        by = st.segmented_control("By", list(ALONG), default="gap", required=True, key="memory_by",
                                  bind="query-params") or "gap"  # fmt: skip
    runs = [RunFolder(file.parent) for file in sorted(SHIPPED.glob("*/recipe.json"))]
    lines = curves(runs, task, by)
    figure = banded_lines([_banded(line) for line in lines], ALONG[by], "answers wholly right", LEARNED[by])
    chart(figure, "memory_match", f"Answers wholly right, {ALONG[by]}, for each network")
    remark(of_memory({line.method: [share.mean for share in line.estimates] for line in lines}, lines[0].at,
                     LEARNED[by], ALONG[by]))  # fmt: skip
    seeds = len(lines[0].shares[0])
    st.caption(f"Means of {seeds} seeds with 95 % intervals, about 45,000 parameters each. Right of the dotted line "
               "nothing like it was learned from.")  # fmt: skip
    what = (f"Task: {WORDS[task]}; {seeds} seeds",)
    save("memory_match", {"": saved.charts_of("Answers wholly right", what, figure)}, saved.NOTHING)
    reading.how(
        "Every network reads some letters, then dots, then a question mark, and has to give the letters back. Without "
        "attention all of them have to fit into one vector and to survive the gap.",
        None,
        "what larger networks or longer training would reach.",
        "the task: Hochreiter & Schmidhuber 1997; Graves et al. 2014; the runs: docs/memory.md",
    )


def _banded(line: Curve) -> Banded:
    shares = line.estimates
    low, high = ([getattr(share, end) for share in shares] for end in ("low", "high"))
    return Banded(line.method, line.at, [share.mean for share in shares], low, high)
