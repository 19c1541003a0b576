"""The table of runs: what each has reached, its colour, and a box that shows or hides its curves; and the table of
what differs between those shown."""

from base64 import b64encode
from functools import partial
from typing import Any

import streamlit as st

from vizkit.figure.palette import CLASSES
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.command_line import data_name
from vizkit.training.runs.comparing import differing
from vizkit.training.runs.folder import RunFolder
from vizkit.training.runs.measure import speed_of
from vizkit.ui.canvas import hear
from vizkit.ui.pages.train import model
from vizkit.ui.pages.train.fields import in_words, title_of
from vizkit.ui.session.jobs import jobs
from vizkit.views.bundled import title
from vizkit.views.rules import below, record, several

STATES = {"died": "ended unexpectedly", "running": "in training"}
MOST_HIGH = 10  # rows; of more the table scrolls


def dot(place: int) -> str:
    """A disc in the colour of a line, as the address of a picture."""
    colour = CLASSES[place % len(CLASSES)]
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4.5" cy="4.5" r="3" fill="{colour}"/></svg>'  # noqa: E501
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"


def choose(runs: dict[str, RunFolder]) -> None:
    """Every run with its colour; the boxes at the left are those of st.session_state["runs"], the names of what is
    shown."""
    import pandas as pd

    names = list(runs)
    rows = [{"": dot(place)} | row(name, run) for place, (name, run) in enumerate(runs.items())]
    percent = st.column_config.NumberColumn(format="percent")
    key = f"runs_table_{st.session_state.get('_runs_drawn', 0)}_{'/'.join(names)}"
    ticked = [place for place, name in enumerate(names) if name in st.session_state["runs"]]

    def tick(told: dict[str, Any]) -> None:
        others = [name for name in st.session_state["runs"] if name not in names]
        st.session_state["runs"] = [*others, *(names[place] for place in sorted(told["rows"]))]

    st.dataframe(
        pd.DataFrame(rows),
        key=key,
        hide_index=True,
        placeholder="",
        height="content" if len(rows) <= MOST_HIGH else 400,
        on_select=partial(hear, key, "selection", record(rows=several(below(len(names)), len(names))), tick),
        selection_mode="multi-row",
        selection_default={"selection": {"rows": ticked}},
        alt="Runs: colour, name, state and results",
        column_config={
            "": st.column_config.ImageColumn(width=36, help="The colour of its curves."),
            "Run": st.column_config.Column(width=112),
            "Best val": percent,
            "Test": percent,
            "Images/s": st.column_config.NumberColumn(format="%.0f", help="Median over its epochs."),
            "Minutes": st.column_config.NumberColumn(format="%.1f"),
        },
    )


def row(name: str, run: RunFolder) -> dict[str, Any]:
    """One line; what the run has not told stays empty."""
    metrics, result = run.metrics(), run.read("result.json")
    recipe = recipe_of(run)
    state = "bundled" if name.startswith("bundled:") else jobs().state(run)
    return {
        "Run": title(name),
        "Test": result.get("test_accuracy"),  # first, where a narrow page does not cut it off
        "Minutes": sum(line["seconds"] for line in metrics) / 60 if metrics else None,
        "Best val": max((line["val_accuracy"] for line in metrics), default=None),
        "Epochs": f"{len(metrics)} of {recipe.epochs}" if recipe else str(len(metrics)),
        "Model": model.in_words(data_name(recipe.model)) if recipe else "",
        "State": STATES.get(state, state),
        "Images/s": speed_of(metrics),
    }


def recipe_of(run: RunFolder) -> Recipe | None:
    try:
        return run.recipe
    except RecipeError:
        return None


def unequal(recipes: dict[str, Recipe]) -> dict[str, list[Any]]:
    """Field → its value in every recipe, of those in which they differ."""
    return {field: values for field, values in differing(recipes).items() if field != "licence"}


def differences(runs: dict[str, RunFolder], places: dict[str, int]) -> None:
    """A column for each field in which the recipes of the shown runs differ, and no other."""
    import pandas as pd

    recipes = {name: recipe for name, run in runs.items() if (recipe := recipe_of(run))}
    if len(recipes) < 2:
        return
    columns = unequal(recipes)
    st.markdown("**What differs** between the shown runs")
    if not columns:
        st.caption("Nothing: they follow the same recipe.")
        return
    test = [runs[name].read("result.json").get("test_accuracy") for name in recipes]
    table = {"": [dot(places[name]) for name in recipes], "Run": [title(name) for name in recipes]}
    table |= {"Test": test}
    table |= {title_of(field): [in_words(field, value) for value in values] for field, values in columns.items()}
    st.dataframe(
        pd.DataFrame(table),
        key="runs_differ",
        hide_index=True,
        placeholder="",
        height="content",
        alt="Fields of the recipes that differ between the shown runs",
        column_config={
            "": st.column_config.ImageColumn(width=36),
            "Run": st.column_config.Column(width=160),
            "Test": st.column_config.NumberColumn(format="percent"),
        },
    )
