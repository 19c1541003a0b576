"""The experiment on digits: one student with no, a soft and a hard teacher, trained here."""

import streamlit as st

from vizkit.training.experiments.groups import DIGITS, plan
from vizkit.training.recipe import RecipeError
from vizkit.training.runs.folder import RunFolder, runs_root
from vizkit.ui.plain import plain
from vizkit.ui.session import allowed
from vizkit.ui.session.jobs import JobError, jobs
from vizkit.ui.session.series import series
from vizkit.ui.widgets.run_watch import progress_line
from vizkit.views.distillation.runs import called


def draw() -> None:
    """Drawn again every second while the experiment is at work; with each epoch, and when it begins or ends, the whole
    page."""
    seen = _progress()

    @st.fragment(run_every=1.0 if series().waiting else None)
    def drawn() -> None:
        if seen != _progress():
            st.rerun()
        _experiment()

    drawn()


def _progress() -> tuple[bool, int]:
    """Whether it is at work, and how many epochs its present run has finished."""
    waiting = series().waiting
    return bool(waiting), len(waiting[0][0].metrics()) if waiting else 0


def _experiment() -> None:
    with st.container(border=True):
        st.markdown(
            f"**Try it on digits, in about three minutes.** {DIGITS.images} handwritten digits, a small ViT three "
            "times from the same initial weights: from labels alone, from the softened answers of a CNN too, and from "
            "its first choices. They are trained one after another, as runs of the Train page."
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            busy = bool(series().waiting)
            help = (
                "Of initial weights, order and augmentation: another one shows how much is chance. Runs of several "
                "seeds are laid over one another."
            )
            seed = int(st.number_input("Seed", 0, 999, 0, key="experiment_seed", width=120, disabled=busy, help=help))
            state = states(seed)
            shut = None if allowed.jobs() else allowed.NO_JOBS
            if busy:
                st.button(
                    "Stop", icon=":material/stop:", key="experiment_stop", on_click=series().stop, disabled=bool(shut)
                )
            elif any(run_state != "done" for run_state in state.values()):
                st.button(
                    "Go on" if any(state.values()) else "Start the experiment",
                    icon=":material/play_arrow:",
                    type="primary",
                    key="experiment_start",
                    on_click=start,
                    args=(seed,),
                    disabled=bool(shut),
                    help=shut,
                )
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
    """Train what is not done, and show it above."""
    todo = [(RunFolder(runs_root() / name), recipe) for name, recipe in plan(seed).items()]
    try:
        series().start(todo)
    except (JobError, RecipeError) as error:
        st.session_state["_experiment_refused"] = str(error)
        return
    st.session_state["experiment"] = f"yours: {called(DIGITS)}"
