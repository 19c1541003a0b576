"""Of the view Memory: how often an answer is wholly right, by the number of letters and by the length of the gap."""

import streamlit as st

from vizkit.analysis.remarks.sequences import of_memory
from vizkit.figure.sequences.repeated import Repeated, repeated_lines
from vizkit.training.experiments.memory import COUNT, SHIPPED, TASKS, curves
from vizkit.training.runs.folder import RunFolder
from vizkit.ui import reading
from vizkit.ui.session import saved
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

WORDS = {"copy": "repeat the letters", "reverse": "say them backwards"}
ALONG = {"length": "letters, after a gap of 8 dots", "gap": "dots between 5 letters and the question mark"}
"""By letters first, which shows what a network without attention forgets: gaps cost an LSTM nothing."""
UNITS = {"length": "letters", "gap": "dots"}
LEARNED = {"length": 8, "gap": 24}


def draw() -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        task = st.segmented_control("Task", TASKS, default=TASKS[0], required=True, key="memory_task",
                                    bind="query-params", format_func=WORDS.__getitem__) or TASKS[0]  # fmt: skip
        by = st.segmented_control("By", list(ALONG), default="length", required=True, key="memory_by",
                                  bind="query-params") or "length"  # fmt: skip
    runs = [RunFolder(file.parent) for file in sorted(SHIPPED.glob("*/recipe.json"))]
    lines = curves(runs, task, by)
    drawn = [Repeated(line.method, line.at, line.runs) for line in lines]
    figure = repeated_lines(drawn, ALONG[by], "answers wholly right", LEARNED[by])
    chart(figure, "memory_match", f"Answers wholly right, {ALONG[by]}, for each network")
    for said in of_memory({line.method: line.runs for line in lines}, lines[0].at, LEARNED[by], UNITS[by]):
        remark(said)
    seeds = len(lines[0].shares[0])
    st.caption(f"Thin: {seeds} seeds, {COUNT} texts at each point; thick: their means; about 45,000 parameters each. "
               "Right of the dotted line nothing like it was learned from.")  # fmt: skip
    what = (f"Task: {WORDS[task]}; {seeds} seeds",)
    save("memory_match", {"": saved.charts_of("Answers wholly right", what, figure)}, saved.NOTHING)
    reading.how(
        "Every network reads some letters, then dots, then a question mark, and has to give the letters back. Without "
        "attention all of them have to fit into one vector and to survive the gap.",
        None,
        "what larger networks or longer training would reach.",
        "the task: Hochreiter & Schmidhuber 1997; Graves et al. 2014; the runs: docs/memory.md",
    )
