"""The view Does it help?: the same student with no, a soft and a hard teacher, from runs that were trained."""

from dataclasses import dataclass

import streamlit as st

from vizkit.analysis.remarks.remark import counted
from vizkit.figure.training.learning_curves import learning_curves
from vizkit.training.experiments.groups import (
    DIGITS,
    PUBLISHED,
    Experiment,
    Outcome,
    curves,
    experiments,
    name_of,
    outcomes,
    plan,
    student_of,
)
from vizkit.training.recipe import RecipeError
from vizkit.training.runs.folder import RunFolder, runs, runs_root
from vizkit.ui import reading
from vizkit.ui.pages.distillation.by_size import by_size
from vizkit.ui.plain import plain
from vizkit.ui.session import allowed
from vizkit.ui.session.jobs import JobError, jobs
from vizkit.ui.session.model_names import BUNDLED
from vizkit.ui.session.series import series
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.run_watch import progress_line

SEEDS_ABOVE = "With how many seeds it was better than the student of the same seed without a teacher."
GAIN = (
    "Test accuracy above that without a teacher, ± one standard error of two shares of so many test pictures. The runs "
    "share these pictures, so this is on the safe side."
)
OTHER = ", which leave out how much another seed would change."
ONCE = ("Runs", "From … to", "Seeds above")  # columns that say nothing where each teaching has one run
SHIPPED = BUNDLED / "experiments" / "distillation"


@dataclass(frozen=True)
class Group:
    """One experiment as the picker names it."""

    name: str
    experiment: Experiment


def view(page: Page) -> None:
    del page  # it shows runs, not the chosen models
    by_size()
    live()
    published()
    how()


# ---- the runs --------------------------------------------------------------------------------------------------------
def live() -> None:
    """Drawn again every second while the experiment is at work; when it begins or ends, the whole page once."""
    at_work = bool(series().waiting)

    @st.fragment(run_every=1.0 if at_work else None)
    def drawn() -> None:
        if at_work != bool(series().waiting):
            st.rerun()  # begun or over: the whole page, which draws this again every second, or no more
        experiment = chosen()
        if experiment is None:
            st.info("No runs yet of one student with and without a teacher. Begin with the digits below.",
                    icon=":material/arrow_downward:")  # fmt: skip
        else:
            comparison(experiment)
        _experiment_on_digits()

    drawn()


def chosen() -> Experiment | None:
    """One of the experiments that there are: shipped ones first, and the one at work before all."""
    groups = [Group(experiment.title, experiment) for experiment in experiments(shipped())]
    groups += [
        Group(f"yours: {experiment.title}", experiment) for experiment in experiments(runs(), student_of(DIGITS))
    ]
    if not groups:
        return None
    names = [f"{group.name} ({i + 1})" if group.name in [g.name for g in groups[:i]] else group.name
             for i, group in enumerate(groups)]  # fmt: skip
    if st.session_state.pop("_experiment_begun", False):
        student = student_of(DIGITS)
        mine = (name for name, group in zip(names, groups, strict=True)
                if group.experiment.student == student and name.startswith("yours"))  # fmt: skip
        st.session_state["experiment"] = next(mine, names[0])
    keep_valid("experiment", names)
    name = st.selectbox("Experiment", names, key="experiment", bind="query-params", width=460,
                        help="Runs that differ in the teacher only; your own come from the Train page.")  # fmt: skip
    return groups[names.index(str(name))].experiment


def shipped() -> list[RunFolder]:
    return [RunFolder(file.parent) for file in sorted(SHIPPED.glob("*/recipe.json"))]


def comparison(experiment: Experiment) -> None:
    if any(run.metrics() for run in experiment.runs):
        for column, what, name in zip(st.columns(2), ("val_accuracy", "val_loss"), ("accuracy", "loss"), strict=True):
            with column:
                _curve_chart(experiment, what, f"Validation {name}")
    else:
        st.caption("No run has finished an epoch yet.")
    results = outcomes(experiment)
    table(results)
    if sentence := verdict(results):
        st.markdown(sentence)


def _curve_chart(experiment: Experiment, what: str, name: str) -> None:
    lines = curves(experiment, what)
    st.markdown(f"**{name}**")
    figure = learning_curves(lines, name.lower(), percent=what.endswith("accuracy"))
    chart(figure, f"taught_{what}", f"{name} by epoch: {', '.join(line.name for line in lines)}")


def table(results: list[Outcome]) -> None:
    import pandas as pd

    percent = st.column_config.NumberColumn(format="%.1f %%")
    rows = [
        {
            "Taught": line.taught,
            "Teacher": name_of(line.teacher) or "–",
            "Runs": line.runs,
            "Best validation": hundred(line.best_val),
            "Test": hundred(line.test),
            "From … to": f"{min(line.tests.values()):.1%} … {max(line.tests.values()):.1%}" if line.tests else "–",
            "Seeds above": f"{line.above} of {line.pairs}" if line.pairs else "–",
            "Gain": "–" if line.gain is None else f"{100 * line.gain:+.1f} ± {100 * (line.gain_error or 0):.1f} points",
        }
        for line in results
    ]
    columns = None if any(line.runs > 1 for line in results) else [name for name in rows[0] if name not in ONCE]
    st.dataframe(pd.DataFrame(rows), hide_index=True, height="content", placeholder="–", column_order=columns,
                 column_config={"Best validation": percent, "Test": percent,
                                "Seeds above": st.column_config.TextColumn(help=SEEDS_ABOVE),
                                "Gain": st.column_config.TextColumn(help=GAIN)})  # fmt: skip


def hundred(share: float | None) -> float | None:
    return None if share is None else 100 * share


def verdict(results: list[Outcome]) -> str:
    """What the table allows to say, and no more: its standard errors are those of the test pictures."""
    counts = sorted({len(line.tests) for line in results if line.tests})
    seeds = counted(counts[0], "seed") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds" if counts else ""
    gains = [(line, line.gain, line.gain_error) for line in results]
    known = [(line, gain, error) for line, gain, error in gains if gain is not None and error is not None]
    if not known:
        return ""
    best, gain, error = max(known, key=lambda row: row[1])
    if gain > 2 * error:
        return (f":green[:material/trending_up:] With {seeds} the teacher helped: **{plain(best.taught)}** is "
                f"**{100 * gain:.1f} points** above no teacher, {gain / max(error, 1e-9):.1f} "
                f"standard errors of {best.images:,} test pictures{OTHER if counts[0] == 1 else '.'}")  # fmt: skip
    if max(abs(gain) for _, gain, _ in known) <= 2 * max(error for *_, error in known):
        return (f":material/trending_flat: With {seeds} no teaching differs from no teacher by more than two standard "
                f"errors of {best.images:,} test pictures: the difference may be chance.")  # fmt: skip
    return f":material/trending_down: With {seeds} no teacher did better than none."


# ---- the experiment on digits ----------------------------------------------------------------------------------------
def _experiment_on_digits() -> None:
    with st.container(border=True):
        st.markdown(
            f"**Try it on digits, in about three minutes.** {DIGITS.images} handwritten digits, a small ViT three "
            "times from the same initial weights: from labels alone, from the softened answers of a CNN too, and from "
            "its first choices. They are trained one after another, as runs of the Train page."
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            busy = bool(series().waiting)
            seed = int(st.number_input("Seed", 0, 999, 0, key="experiment_seed", width=120, disabled=busy,
                                       help="Of initial weights, order and augmentation: another one shows how much "
                                       "is chance. Runs of several seeds are laid over one another."))  # fmt: skip
            state = states(seed)
            if busy:
                st.button("Stop", icon=":material/stop:", key="experiment_stop", on_click=series().stop,
                          disabled=not allowed.jobs())  # fmt: skip
            elif any(run_state != "done" for run_state in state.values()):
                label = "Go on" if any(state.values()) else "Start the experiment"
                st.button(label, icon=":material/play_arrow:", type="primary", key="experiment_start", on_click=start,
                          args=(seed,), disabled=not allowed.jobs(),
                          help=None if allowed.jobs() else allowed.NO_JOBS)  # fmt: skip
            else:
                st.caption(":material/check_circle: All three runs of this seed are done.")
        if sentence := st.session_state.pop("_experiment_refused", None):
            st.warning(plain(sentence), icon=":material/front_hand:")
        if any(state.values()):
            for name, run_state in state.items():
                progress_line(RunFolder(runs_root() / name), run_state)


def states(seed: int) -> dict[str, str]:
    """What each run of the experiment does; empty where it has not begun. While one is at work, of that one's seed."""
    waiting = series().waiting
    names = list(plan(waiting[0][1].seed if waiting else seed))
    folders = {name: RunFolder(runs_root() / name) for name in names}
    return {name: jobs().state(run) if (run.path / "recipe.json").is_file() else "" for name, run in folders.items()}


def start(seed: int) -> None:
    try:
        series().start([(RunFolder(runs_root() / name), recipe) for name, recipe in plan(seed).items()])
    except (JobError, RecipeError) as error:
        st.session_state["_experiment_refused"] = str(error)
        return
    st.session_state["_experiment_begun"] = True


# ---- words -----------------------------------------------------------------------------------------------------------
def published() -> None:
    with st.expander("Results of the paper", icon=":material/article:"):
        import pandas as pd

        columns = ("Taught", "DeiT-Ti", "DeiT-S", "DeiT-B")
        percent = {name: st.column_config.NumberColumn(format="%.1f %%", width="small") for name in columns[1:]}
        st.dataframe(pd.DataFrame(PUBLISHED, columns=columns), hide_index=True, height="content",
                     column_config=percent)  # fmt: skip
        st.caption("Top-1 on ImageNet at 224², teacher RegNetY-16GF with 82.9 %, T = 3 and λ = 0.1 where soft "
                   "(Touvron et al. 2021, table 3).")  # fmt: skip


def how() -> None:
    reading.how(
        "The first picture: how much more accurate a student with a teacher is than one without, by how many pictures "
        "it learned from; where a whisker crosses zero, no difference is shown. Below, every line is the same student "
        "on the same pictures: only the teacher differs, and the seed where a band shows the lowest and highest of "
        "several. Compare test accuracies at the end, and believe a gain when it is larger than two of its standard "
        "errors and other seeds give it too.",
        r"\mathcal L = (1-\lambda)\,\mathrm{CE}(z_s, y) + \lambda \begin{cases} T^2\,\mathrm{KL}\!\left("
        r"p_t^{(T)} \,\|\, p_s^{(T)}\right) & \text{soft} \\ \mathrm{CE}(z_s, \arg\max z_t) & \text{hard} \end{cases}",
        "whether another student, another teacher or a longer training would gain as much.",
        "Hinton, Vinyals & Dean 2015; Touvron et al. 2021, § 5.2",
    )
