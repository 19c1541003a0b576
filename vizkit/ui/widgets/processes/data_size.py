"""The runs of the view Does it help?: the box that trains those that are missing."""

import shlex
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from vizkit.analysis.remarks.remark import counted
from vizkit.datasets.image_set import DatasetError
from vizkit.training.experiments.data_size import DATA, IMAGES, METHODS, another, folder_of, plan
from vizkit.training.experiments.size_results import method_of, seconds_of
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder, runs, runs_root
from vizkit.ui.duration import duration
from vizkit.ui.plain import plain
from vizkit.ui.session import allowed
from vizkit.ui.session.jobs import JobError, jobs
from vizkit.ui.session.series import series
from vizkit.ui.sidebar import folders
from vizkit.ui.widgets.data_choice import changed, preview
from vizkit.ui.widgets.run_watch import progress_line
from vizkit.views.distillation.teacher_gain import SHIPPED

FOLDER = "a folder on this machine"
SETS = (DATA, "digits", FOLDER)


def images_of(data: str) -> int | None:
    """How many images a set has to learn from; None where it cannot be opened any more, or would have to be
    downloaded."""
    if data.startswith("torchvision:"):
        return None
    try:
        contents = preview(data, 0, 0, changed(data))
    except DatasetError:
        return None
    return IMAGES if data.split(":")[0] == "insects" else contents.images["train"]


# ---- training them ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Planned:
    """One seed of the experiment on one set: where its runs lie, and their recipes by name."""

    folder: Path
    recipes: dict[str, Recipe]

    def run(self, name: str) -> RunFolder:
        return RunFolder(self.folder / name)

    def states(self) -> dict[str, str]:
        """What each run does; empty where it has not begun."""
        by_name = {name: self.run(name) for name in self.recipes}
        return {
            name: jobs().state(run) if (run.path / "recipe.json").is_file() else "" for name, run in by_name.items()
        }


def draw() -> None:
    """One line until it is opened, or while runs are at work; drawn again every two seconds then, and when one has
    ended, the whole page."""
    asked = working() or st.session_state.get("_size_asked", "size_seed" in st.query_params)
    st.session_state["_size_asked"] = asked  # the address forgets a usual seed
    line = st.expander(
        "Train it yourself, on these images or your own",
        expanded=asked,
        icon=":material/model_training:",
        key="size_line",
        on_change="rerun",
    )
    if not line.open:
        return
    seen = _progress()

    @st.fragment(run_every=2.0 if seen[0] else None)
    def drawn() -> None:
        if seen != _progress():
            st.rerun()
        experiment()

    with line:
        drawn()


def _progress() -> tuple[bool, int]:
    """Whether runs are at work, and how many are still to come."""
    return working(), len(series().waiting)


def experiment() -> None:
    with st.container():
        st.markdown(
            f"{len(METHODS)} methods on 1 to 100 % of a set, run after run. "
            "They go on when you leave this page; what is done stays, and a new start trains only what is missing."
        )
        busy = list(series().waiting)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            data = data_picker(bool(busy))
            seed = int(
                st.number_input(
                    "Seed",
                    0,
                    999,
                    0,
                    key="size_seed",
                    bind="query-params",
                    width=120,
                    disabled=bool(busy),
                    help="Of initial weights, order and augmentation. Another seed beside the "
                    "first shows how much is chance.",
                )
            )
        planned = _planned_runs(busy[0][1].data, busy[0][1].seed) if busy else _planned_runs(data, seed)
        if planned is None:
            return
        states = planned.states()
        buttons(planned, states, bool(busy))
        if sentence := st.session_state.pop("_size_refused", None):
            st.warning(plain(sentence), icon=":material/front_hand:")
        if any(states.values()):
            _progress_of(planned, states)


def ours(run: RunFolder) -> bool:
    return run.path.parent.parent == runs_root() and run.path.parent.name.startswith("data_size")


def working() -> bool:
    """Whether runs are to come, or one has not ended yet: one that is stopping, or that a command line has started."""
    return bool(series().waiting) or at_work() is not None


def at_work() -> RunFolder | None:
    run = jobs().active(runs_root() / folder_of(DATA))
    return run if run is not None and ours(run) else None


def data_picker(busy: bool) -> str:
    """The set's name; empty while a folder is still to be named."""
    chosen = st.selectbox(
        "Data",
        SETS,
        key="size_data",
        width=240,
        disabled=busy,
        help="Drawn insects as shipped; handwritten digits; or your own images: "
        "a folder with one folder of images for each class.",
    )
    if chosen != FOLDER:
        return str(chosen)
    return folders.choose("size_folder", 240, disabled=busy)


def _planned_runs(data: str, seed: int) -> Planned | None:
    """What the pickers ask for; None with a sentence where that cannot be."""
    if not data:
        st.caption("Choose a folder with one folder of images for each class.")
        return None
    with st.spinner("Opening the images …"):
        images = images_of(data)
    if images is None:
        st.error("These images cannot be opened for training; the Train page says why.", icon=":material/broken_image:")
        return None
    folder = runs_root() / folder_of(data)
    try:
        return Planned(folder, plan(folder.as_posix(), seed, data, images))
    except RecipeError as error:
        st.error(plain(error), icon=":material/edit:")
        return None


def buttons(planned: Planned, states: dict[str, str], busy: bool) -> None:
    missing = [name for name, state in states.items() if state != "done"]
    with st.container(horizontal=True, vertical_alignment="center"):
        if busy:
            st.button(
                "Stop",
                icon=":material/stop:",
                key="size_stop",
                on_click=series().stop,
                disabled=not allowed.jobs(),
                help="The present step is finished; a new start goes on after the last epoch.",
            )
            return
        if not missing:
            st.caption(":material/check_circle: All runs of this seed are done.")
            return
        label = "Go on" if any(states.values()) else "Train them"
        if run := at_work():
            here = "is stopping" if jobs().own(run) else "is in training by a command line; stop it there"
            st.caption(f":material/hourglass_top: {plain(run.name)} {here}.")
            return
        st.button(
            label,
            icon=":material/play_arrow:",
            type="primary",
            key="size_start",
            on_click=start,
            args=(planned,),
            disabled=not allowed.jobs(),
            help=None if allowed.jobs() else allowed.NO_JOBS,
        )
        st.caption(f":material/schedule: {counted(len(missing), 'run')} to train. {time_of(planned, missing)}")
    with st.expander("The same as a command", icon=":material/terminal:"):
        st.code(command(planned), language="bash", wrap_lines=True)


def command(planned: Planned) -> str:
    recipe = next(iter(planned.recipes.values()))
    options = [] if recipe.data == DATA else ["--data", recipe.data]
    options += ["--seed", str(recipe.seed)] if recipe.seed else []
    return shlex.join(["python", "-m", "vizkit", "data-size", *options, "-o", planned.folder.as_posix()])


def start(planned: Planned) -> None:
    try:
        todo = [(planned.run(name), recipe) for name, recipe in planned.recipes.items()]
        if taken := next((run.name for run, recipe in todo if another(run, recipe)), ""):
            raise JobError(f"{planned.folder / taken} holds another run; move it away first.")
        series().start(todo)
    except (JobError, RecipeError) as error:
        st.session_state["_size_refused"] = str(error)


# ---- how long, how far -----------------------------------------------------------------------------------------------
def time_of(planned: Planned, missing: list[str]) -> str:
    """From runs that this machine has finished, else from the shipped ones, which says so."""
    own = seconds_left(planned, missing, list(runs(planned.folder)))
    if own is not None:
        return f"About {duration(own)}, as long as the others took."
    past = [RunFolder(file.parent) for file in SHIPPED.glob("*/recipe.json")]
    like = next(iter(planned.recipes.values())).data == DATA
    shipped = seconds_left(planned, missing, past) if like else None
    if shipped is None:
        return "How long is known when the first of each method is done."
    on = past[0].read("versions.json")
    cores = f", {on['threads']} thread{'s' if on['threads'] > 1 else ''}" if on.get("threads") else ""
    return f"The shipped ones took {duration(shipped)} ({on.get('device', 'CPU')}{cores})."


def seconds_left(planned: Planned, missing: list[str], past: list[RunFolder]) -> float | None:
    by_method = {method: seconds_of(past, method) for method in METHODS}
    needed = [by_method[method_of(planned.run(name))] for name in missing]
    known = [seconds for seconds in needed if seconds is not None]
    return sum(known) if len(known) == len(needed) else None


def _progress_of(planned: Planned, states: dict[str, str]) -> None:
    done = sum(state == "done" for state in states.values())
    missing = [name for name, state in states.items() if state != "done"]
    left = seconds_left(planned, missing, list(runs(planned.folder))) if missing else None
    words = [f"**{done} of {len(states)} runs done**", f"about {duration(left)} for the others" if left else ""]
    st.progress(done / len(states), text=" · ".join(part for part in words if part))
    begun = [name for name, state in states.items() if state not in ("", "done")]
    for name in begun:
        progress_line(planned.run(name), states[name])
