"""The view Likeness: what references are worth that resemble the picture more and less, over 500 unseen pairs."""

import json
from pathlib import Path

import streamlit as st

from vizkit.analysis.remarks.super_resolution import of_likeness
from vizkit.figure.charts import bars
from vizkit.figure.palette import OTHERS
from vizkit.ui import reading
from vizkit.ui.session import saved
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

LEVELS = Path(__file__).parents[3] / "bundled" / "super_resolution" / "levels.json"
TITLES = {
    "same": "same scene moved",
    "kind": "same kind",
    "other": "another kind",
    "picture": "a photograph",
    "shuffled": "its pixels shuffled",
    "noise": "noise",
    "without": "without reference",
    "bicubic": "bicubic",
}
NO_REFERENCE = ("without", "bicubic")


def view(page: Page) -> None:
    del page
    measured = json.loads(LEVELS.read_text(encoding="utf-8"))
    pictures, levels = measured["pairs"], {name: measured["levels"][name] for name in TITLES}
    gains = {name: tuple(levels[name]["gain"].values()) for name in levels}
    said = of_likeness({TITLES[name]: gain for name, gain in gains.items() if name not in NO_REFERENCE}, pictures)
    remark(said)
    drawn = [name for name in levels if name not in NO_REFERENCE]
    title = "dB above no reference, with 95 % intervals"
    figure = bars([TITLES[name] for name in drawn], [gains[name][0] for name in drawn], title)
    up, down = ([abs(gains[name][end] - gains[name][0]) for name in drawn] for end in (2, 1))
    figure.update_traces(error_x={"type": "data", "array": up, "arrayminus": down, "thickness": 1.5, "color": OTHERS})
    chart(figure, "likeness", f"What a reference is worth: {said.words}")
    st.table(
        {
            "": [TITLES[name] for name in levels],
            "PSNR": [f"{level['psnr']:.2f} dB" for level in levels.values()],
            "above no reference": [
                f"{gain:+.2f} dB ({low:+.2f} to {high:+.2f})".replace("-", "−") if gain else "–"
                for gain, low, high in gains.values()
            ],
            "SSIM": [f"{level['ssim']:.4f}" for level in levels.values()],
        }
    )
    lines = ["reference,psnr_db,above_none_db,low_db,high_db,ssim"]
    lines += [
        ",".join(
            [name, *(f"{value:.4f}" for value in (levels[name]["psnr"], *gains[name])), f"{levels[name]['ssim']:.6f}"]
        )
        for name in levels
    ]
    with st.container(horizontal=True):
        save("likeness", {"": saved.charts_of("What a reference is worth", (said.words,), figure)}, saved.NOTHING)
        st.download_button(
            "Numbers (CSV)",
            "\n".join(lines) + "\n",
            "likeness.csv",
            "text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
    reading.how(
        f"Each bar is the mean over {pictures} drawn scenes that no network has seen, enlarged from 24 to 96 pixels, "
        "of what the reference adds to the same scene enlarged without one; its interval is of other such scenes "
        "(bootstrap over the scenes).",
        r"\mathrm{PSNR} = -10 \log_{10} \overline{(Y - \hat Y)^2}",
        "photographs: the networks have learned from drawn insects; and what other networks would do: with and without "
        "reference it is one of each, trained once.",
        "Yang et al. 2020, table of CUFED5 by similarity; Efron & Tibshirani 1993",
    )
