"""The view Likeness: what references are worth that resemble the picture more and less, over 500 unseen pairs."""

import json
from pathlib import Path

import streamlit as st

from vizkit.figure.charts import bars
from vizkit.ui import reading
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart

LEVELS = Path(__file__).parents[3] / "bundled" / "super_resolution" / "levels.json"
TITLES = {
    "same": "same scene, moved",
    "kind": "same kind",
    "other": "another kind",
    "picture": "a photograph",
    "shuffled": "its pixels shuffled",
    "noise": "noise",
    "without": "without reference",
    "bicubic": "bicubic",
}


def view(page: Page) -> None:
    del page
    measured = json.loads(LEVELS.read_text(encoding="utf-8"))
    names = [name for name in TITLES if name in measured["levels"]]
    decibels = [measured["levels"][name]["psnr"] for name in names]
    gains = [value - measured["levels"]["bicubic"]["psnr"] for value in decibels]
    figure = bars([TITLES[name] for name in names[:-1]], gains[:-1], "dB above bicubic interpolation")
    chart(figure, "likeness", "What a reference is worth")
    st.table({"": [TITLES[name] for name in names], "PSNR": [f"{value:.2f} dB" for value in decibels],
              "SSIM": [f"{measured['levels'][name]['ssim']:.4f}" for name in names]})  # fmt: skip
    lines = ["reference,psnr_db,ssim"]
    lines += [f"{name},{measured['levels'][name]['psnr']:.4f},{measured['levels'][name]['ssim']:.6f}" for name in names]
    st.download_button("Numbers (CSV)", "\n".join(lines) + "\n", "likeness.csv", "text/csv",
                       icon=":material/download:", on_click="ignore")  # fmt: skip
    reading.how(
        f"Each bar is the mean of {measured['pairs']} drawn scenes that no network has seen, enlarged from 24 × 24 to "
        "96 × 96. Only a reference that resembles the picture helps; a useless one is refused, so that it costs next "
        "to nothing.",
        r"\mathrm{PSNR} = -10 \log_{10} \overline{(Y - \hat Y)^2}",
        "photographs: the networks have learned from drawn insects.",
        "Yang et al. 2020, table of CUFED5 by similarity",
    )
