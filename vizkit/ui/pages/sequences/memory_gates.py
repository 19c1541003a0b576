"""Of the view Memory: the gates of an LSTM, its cell and its state, or the states of an RNN, word after word."""

import streamlit as st
import torch

from vizkit.analysis.remarks.sequences import of_forget_gates
from vizkit.figure.charts import heat_map
from vizkit.ui import reading
from vizkit.ui.pages.sequences.typed import choose_model, choose_task_text, of_task
from vizkit.ui.session import saved
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

TOGETHER = "Memory left"
GATES = {
    TOGETHER: "how much of what was written into the cell at a word is left after the last one",
    "Forget gate": "what is kept of the cell (1) or cleared (0)",
    "Input gate": "what is let into the cell",
    "Output gate": "what of the cell is shown",
    "Cell": "what is remembered",
    "State": "what the next step sees",
}


def draw() -> None:
    from vizkit.analysis.sequences.gates import lstm_gates, memory_left, rnn_states
    from vizkit.models.sequences import greedy
    from vizkit.models.sequences.recurrent import given_to_cells

    with st.container(horizontal=True, vertical_alignment="bottom"):
        task, words = choose_task_text("gates")
        model = choose_model("gates_model", {s: t for s, t in of_task(task).items() if t != "Transformer"})
        written = greedy(model, words).words
        reader, _ = given_to_cells(model, words, written)
        lstm = isinstance(reader.network, torch.nn.LSTM)
        names = list(GATES) if lstm else ["State"]
        chosen = st.selectbox("Of the reader", names, key="gates_of" if lstm else "gates_of_rnn", bind="query-params",
                              width=170)  # fmt: skip
    if isinstance(reader.network, torch.nn.LSTM):
        gates = lstm_gates(reader.network, reader.vectors)
        left = memory_left(gates)
        shown = {TOGETHER: left, "Forget gate": gates.forget, "Input gate": gates.input, "Output gate": gates.output,
                 "Cell": gates.cell, "State": gates.hidden}  # fmt: skip
        values, said = shown[chosen], of_forget_gates(left.mean(1).tolist(), words)
    else:
        values, said = rnn_states(reader.network, reader.vectors), None  # pyright: ignore[reportArgumentType]
    order = values.mean(0).argsort(descending=True)  # units have no order of their own
    signed = chosen in ("Cell", "State")
    figure = heat_map(values[:, order].T.numpy(), "word of the source", "unit, sorted by its mean", square=False,
                      signed=signed, limit=None if signed else 1.0, height=420,
                      x_names=[f"{place} {word}" for place, word in enumerate(words, 1)])  # fmt: skip
    figure.update_xaxes(type="category")  # plotly would take "12 ." for a number
    chart(figure, "memory_gates", f"{chosen} of every unit after every word")
    st.caption(f"{chosen}: {GATES[chosen]}.")
    remark(said)
    what = (f"{model.name} reads {' '.join(words)}", GATES[chosen])
    save("memory_gates", {"": saved.charts_of(chosen, what, figure)}, saved.NOTHING)
    reading.how(
        "A column is a word, a row one unit of the network. What was written at a word survives as long as the forget "
        "gate stays near 1: the cell's way through time is a product of these gates, not of matrices.",
        r"c_t = f_t \odot c_{t-1} + i_t \odot \tanh(\dots), \quad h_t = o_t \odot \tanh(c_t)",
        "what a unit stands for.",
        "Hochreiter & Schmidhuber 1997; Gers et al. 2000",
    )
