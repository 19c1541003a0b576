"""What a teacher adds to a ViT by how many pictures it learns from: of the shipped runs of the data-size experiment."""

import streamlit as st

from vizkit.analysis.comparison.seed_interval import Estimate
from vizkit.analysis.remarks.data_size import signed
from vizkit.analysis.remarks.remark import joined
from vizkit.figure.evaluation.data_size import Line, teacher_gain
from vizkit.training.experiments.data_size import METHODS
from vizkit.training.experiments.size_findings import TEACHERS, teacher_finding, teacher_gains
from vizkit.training.experiments.size_results import studies
from vizkit.training.runs.folder import RunFolder
from vizkit.ui.session.model_names import BUNDLED
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark

SHIPPED = BUNDLED / "experiments" / "data_size"


CONTROLS = {"DeiT alone": "the same DeiT of the same seeds without", "ViT": "the ViT of the same seeds without"}


def by_size() -> None:
    """The gain of each kind of teacher with its interval, and the sentence on where one helps and where not."""
    for study in studies(RunFolder(file.parent) for file in sorted(SHIPPED.glob("*/recipe.json"))):
        gains = teacher_gains(study)
        if gains:
            seeds = joined([str(seed) for seed in study.seeds])
            st.caption(f"A DeiT with a CNN for a teacher against {CONTROLS[study.control]}: {study.data} at "
                       f"{study.side_px} × {study.side_px} pixels, seeds {seeds}, 95 % intervals; without a whisker, "
                       "one seed.")  # fmt: skip
            lines = [line_of(method, gains[kind]) for method, kind in TEACHERS.items() if kind in gains]
            chart(teacher_gain(lines, study.sizes), "teacher_gain", alt(gains))
            remark(teacher_finding(study))
            with st.expander("Numbers", icon=":material/table:"):
                table(gains)


def table(gains: dict[str, dict[int, Estimate]]) -> None:
    import pandas as pd

    sizes = sorted({images for gained in gains.values() for images in gained})
    rows = [{"Points above no teacher": kind, **{f"{images:,} images": signed(gained.get(images)) for images in sizes}}
            for kind, gained in gains.items()]  # fmt: skip
    st.dataframe(pd.DataFrame(rows), hide_index=True, height="content")


def line_of(method: str, gained: dict[int, Estimate]) -> Line:
    """One seed alone does not say how much another would change, so it has no whisker."""
    about, means = METHODS[method], [gain.mean for gain in gained.values()]
    halves = [gain.half if gain.seeds > 1 else 0.0 for gain in gained.values()]
    low, high = ([mean + sign * half for mean, half in zip(means, halves, strict=True)] for sign in (-1, 1))
    return Line(TEACHERS[method], "DeiT", list(gained), means, low, high, hollow=about.teacher == "same",
                dash="dot" if about.distillation == "soft" else "solid")  # fmt: skip


def alt(gains: dict[str, dict[int, Estimate]]) -> str:
    parts = [f"{kind}: {', '.join(f'{gain.mean:+.1%} with {images:,}' for images, gain in gained.items())}"
             for kind, gained in gains.items()]  # fmt: skip
    return f"Accuracy above no teacher, {'; '.join(parts)}"
