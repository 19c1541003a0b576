"""Of the view Memory: what a step of training and an answer cost by the length of the text."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import streamlit as st

from vizkit.analysis.remarks.sequences import of_times
from vizkit.figure.charts import curves
from vizkit.ui import reading
from vizkit.ui.pages.sequences.typed import NETWORK_TITLES
from vizkit.ui.session import saved
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

MEASURED = Path(__file__).parents[3] / "bundled" / "experiments" / "memory" / "times.json"
WHAT = {"training": "A step of training, 8 texts", "writing": "Writing an answer of that length"}
PATHS = {  # Vaswani et al. 2017, table 1: per layer, the steps that wait for one another, the longest path
    "Self-attention": ("n² · d", "1", "1"),
    "Recurrent": ("n · d²", "n", "n"),
    "Convolution": ("k · n · d²", "1", "logₖ n"),
    "Self-attention, restricted": ("r · n · d", "1", "n / r"),
}


@cache
def measured() -> dict:
    """As `python -m vizkit memory --times` wrote it."""
    return json.loads(MEASURED.read_text(encoding="utf-8"))


def draw() -> None:
    from vizkit.models.sequences.timing import exponent

    chosen = st.segmented_control("Time of", list(WHAT), default="training", required=True, key="times_of",
                                  bind="query-params", format_func=WHAT.__getitem__) or "training"  # fmt: skip
    content = measured()
    lengths = content["lengths"]
    seconds = {NETWORK_TITLES[name]: times[chosen] for name, times in content["networks"].items()}
    lines = {title: (np.array(lengths), 1000 * np.array(each)) for title, each in seconds.items()}
    figure = curves(lines, "words", "milliseconds", log=True, mode="lines+markers")
    figure.update_xaxes(tickvals=lengths, ticktext=[str(length) for length in lengths])
    chart(figure, "memory_times", f"{WHAT[chosen]}: milliseconds by length")
    powers = {title: exponent(lengths, each) for title, each in seconds.items()}
    remark(of_times(powers, chosen))
    st.caption(f"Measured on {content['machine']}; about 190,000 parameters each.")
    st.dataframe(
        [{"layer": name, "complexity": work, "steps in sequence": steps, "longest path": path}
         for name, (work, steps, path) in PATHS.items()],
        hide_index=True,
    )  # fmt: skip
    save("memory_times", {"": saved.charts_of(WHAT[chosen], (f"Measured on {content['machine']}",), figure)},
         saved.NOTHING)  # fmt: skip
    reading.how(
        "In training a transformer sees all words at once; a recurrent network goes through them one after another. "
        "In writing both take a step for each word. The table says why: n words, d channels, kernel k, "
        "neighbourhood r.",
        None,
        "other machines: on a GPU the transformer's training gains most, because its steps do not wait.",
        "Vaswani et al. 2017, table 1",
    )
