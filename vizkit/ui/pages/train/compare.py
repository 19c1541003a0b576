"""All runs in a table, and the curves of some of them in one picture."""

from typing import Any

import streamlit as st

from vizkit.training.recipe import RecipeError
from vizkit.training.runs.command_line import changes
from vizkit.training.runs.folder import RunFolder, runs
from vizkit.ui import reading
from vizkit.ui.pages.train.at_work import forget_run
from vizkit.ui.session.jobs import jobs
from vizkit.ui.session.model_names import BUNDLED
from vizkit.ui.views import Page
from vizkit.ui.widgets import run_curves

FIRST = 4  # curves at a first visit
STATES = {"died": "ended unexpectedly", "running": "in training"}


def view(page: Page) -> None:
    del page  # it shows runs, not the chosen models
    forget_run()
    own = list(runs())
    shipped = [RunFolder(file.parent) for file in sorted(BUNDLED.glob("*/metrics.jsonl"))]
    table([*own, *shipped], own)
    curves = {run.name: run for run in own if run.metrics()}
    curves |= {f"bundled:{run.name}": run for run in shipped if run.metrics()}
    if not curves:
        st.info("No run has finished an epoch yet. Begin one under Start.", icon=":material/arrow_upward:")
        return
    chosen = st.multiselect(
        "Curves",
        list(curves),
        default=list(curves)[:FIRST],
        key="runs",
        bind="query-params",
        max_selections=8,
        help="Runs to lay over one another. Those of bundled models show what to expect.",
    )
    if chosen:
        run_curves.of_runs({name: curves[name].metrics() for name in chosen})
    how()


def table(listed: list[RunFolder], own: list[RunFolder]) -> None:
    if not listed:
        return
    import pandas as pd

    rows = [row(run, mine=run in own) for run in listed]
    percent = st.column_config.NumberColumn(format="percent")
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        placeholder="",
        height="content" if len(rows) <= 12 else 460,
        column_config={
            "Best val": percent,
            "Test": percent,
            "Images/s": st.column_config.NumberColumn(format="%.0f", help="Median over its epochs."),
            "Minutes": st.column_config.NumberColumn(format="%.1f"),
            "Changed": st.column_config.TextColumn(help="Fields of the recipe that differ from the defaults."),
        },
    )
    st.caption("Choose a run under Watch to resume it, read its card, look inside or delete it.")


def row(run: RunFolder, mine: bool) -> dict[str, Any]:
    """One line; what the run has not told stays empty."""
    metrics, result = run.metrics(), run.read("result.json")
    try:
        recipe = run.recipe
        facts = {"Data": recipe.data, "Model": recipe.model, "Epochs": f"{len(metrics)} of {recipe.epochs}",
                "Changed": ", ".join(f"{name} {value}" for name, value in changes(recipe)
                                     if name not in ("data", "model", "epochs"))}  # fmt: skip
    except RecipeError:
        facts = {"Data": "", "Model": "", "Epochs": str(len(metrics)), "Changed": "its recipe cannot be read"}
    state = jobs().state(run) if mine else "bundled"
    speeds = sorted(line["images_per_s"] for line in metrics)
    return {
        "Run": run.name,
        "State": STATES.get(state, state),
        **{name: facts[name] for name in ("Data", "Model", "Epochs")},
        "Best val": max((line["val_accuracy"] for line in metrics), default=None),
        "Test": result.get("test_accuracy"),
        "Images/s": speeds[len(speeds) // 2] if speeds else None,
        "Minutes": sum(line["seconds"] for line in metrics) / 60 if metrics else None,
        "Changed": facts["Changed"],
    }


def how() -> None:
    reading.how(
        "Compare at the end of a schedule, not halfway: a decaying learning rate wins most of its accuracy in its last "
        "epochs. Differences of a percent or two may be the seed's: train again with another one before you believe "
        "them.",
        r"\text{s.e.} = \sqrt{p(1-p)/N}",
        "which recipe is better for more data, more epochs or larger models.",
        "Bouthillier et al. 2021",
    )
