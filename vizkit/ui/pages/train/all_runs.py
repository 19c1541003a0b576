"""Runs on the same pictures: their curves in one picture, a table that is its legend, and what differs."""

import streamlit as st

from vizkit.analysis.remarks.evaluation import best_run
from vizkit.training.runs.command_line import data_name
from vizkit.training.runs.folder import RunFolder, runs
from vizkit.ui import reading
from vizkit.ui.duration import duration
from vizkit.ui.pages.train import runs_table
from vizkit.ui.pages.train.at_work import forget_run
from vizkit.ui.session.address import keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets import run_curves
from vizkit.ui.widgets.controls import more
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.run_watch import recorded
from vizkit.views.bundled import title

ALL, MANY = "all", 99
UNREADABLE = "unknown"


def view(page: Page) -> None:
    del page  # it shows runs, not the chosen models
    forget_run()
    listed = {run.name: run for run in runs()}
    listed |= recorded()
    groups = _first_shown(by_data(listed))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        keep_valid("runs_data", [*groups, ALL], next(iter(groups), ALL))
        group = str(
            st.selectbox(
                "Data",
                [*groups, ALL],
                key="runs_data",
                bind="query-params",
                width=200,
                help="Runs are compared on the same images.",
            )
        )
        axes = run_curves.choose_axes()
        with more():
            axes = run_curves.choose_log(axes)
            st.multiselect(
                "Shown runs", list(listed), None, title, key="runs", bind="query-params", on_change=_draw_anew
            )
    members = listed if group == ALL else groups[group]
    places = {name: place for place, name in enumerate(members)}
    charts = st.container()
    runs_table.choose(members)
    shown = {name: run for name, run in members.items() if name in st.session_state["runs"] and run.metrics()}
    with charts:
        if shown:
            tests = {
                title(name): (
                    float(result["test_accuracy"]),
                    int(result["test_images"]),
                    duration(sum(line["seconds"] for line in run.metrics())),
                )
                for name, run in shown.items()
                if {"test_accuracy", "test_images"} <= (result := run.read("result.json")).keys()
            }
            recipes = {name: recipe for name, run in shown.items() if (recipe := runs_table.recipe_of(run))}
            differ = [runs_table.title_of(field) for field in runs_table.unequal(recipes)]
            remark(best_run(tests, [f"{words[:1].lower()}{words[1:]}" for words in differ]))
            run_curves.of_runs(shown, places, axes)
        else:
            st.info("Tick runs in the table below to see their curves.", icon=":material/check_box:")
    runs_table.differences(shown, places)
    how()


def by_data(listed: dict[str, RunFolder]) -> dict[str, dict[str, RunFolder]]:
    """Set of pictures → its runs, the set of the latest run first; those without a curve come last."""
    groups: dict[str, dict[str, RunFolder]] = {}
    for name, run in listed.items():
        recipe = runs_table.recipe_of(run)
        groups.setdefault(data_name(recipe.data) if recipe else UNREADABLE, {})[name] = run
    return dict(sorted(groups.items(), key=lambda group: not any(run.metrics() for run in group[1].values())))


def _first_shown(groups: dict[str, dict[str, RunFolder]]) -> dict[str, dict[str, RunFolder]]:
    """Of each set its first run and the one that differs from it in the fewest settings, where nobody has chosen; those
    sets first that have runs of one's own, then the most alike two."""
    pairs = {group: _alike(members) for group, members in groups.items()}
    if "runs" not in st.session_state and "runs" not in st.query_params:
        st.session_state["runs"] = [name for pair in pairs.values() for name in pair[1]]
    own = {group for group, members in groups.items() if members.keys() - recorded()}
    return dict(sorted(groups.items(), key=lambda group: group[0] not in own and 1 + pairs[group[0]][0]))


def _alike(runs: dict[str, RunFolder]) -> tuple[int, list[str]]:
    """(in how many settings they differ, the first run and the one most like it)."""
    recipes = {name: recipe for name, run in runs.items() if run.metrics() and (recipe := runs_table.recipe_of(run))}
    first, *others = [*recipes] or [""]
    each = [(len(runs_table.unequal({first: recipes[first], name: recipes[name]})), [first, name]) for name in others]
    return min(each, default=(MANY, [*recipes]))


def _draw_anew() -> None:
    """The table keeps the visitor's own ticks; other ones need a new table."""
    st.session_state["_runs_drawn"] = st.session_state.get("_runs_drawn", 0) + 1


def how() -> None:
    reading.how(
        "Compare at the end of a schedule, not halfway: a decaying learning rate wins most of its accuracy in its last "
        "epochs. Differences of a percent or two may be the seed's: train again with another one before you believe "
        "them.",
        r"\text{s.e.} = \sqrt{p(1-p)/N}",
        "which recipe is better for more data, more epochs or larger models.",
        "Bouthillier et al. 2021",
    )
