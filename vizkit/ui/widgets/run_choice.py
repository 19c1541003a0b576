"""Which run the page Train is about: the same in all its views that can show it."""

from collections.abc import Sequence

import streamlit as st

from vizkit.training.runs.comparing import along
from vizkit.training.runs.folder import RunFolder, runs_root
from vizkit.ui.plain import plain
from vizkit.ui.session.address import put
from vizkit.ui.widgets.run_curves import steps_of
from vizkit.views import bundled
from vizkit.work_folder import at_or_before, steps_in

RUN, OF = "_train_run", "_train_steps_of"
LEARNED_STEP = "learned_step"  # of the view Learned, also below the curves
TURNED = "_epoch_turned"  # to which the answers were turned last


def wished() -> str:
    """The run that was chosen last, else that of the address; "" for none."""
    return str(st.session_state.get(RUN) or st.query_params.get("run", ""))


def choose(known: Sequence[str], usual: str, help: str) -> str:
    """The run that is wished where it is `known`, else the `usual` one, which the wish outlives."""
    asked = wished() or usual
    shown = st.session_state["run"] = asked if asked in known else usual
    st.selectbox("Run", known, key="run", format_func=bundled.title, on_change=_take, width=220, help=help)
    put("run", asked)  # by hand: a bound widget leaves out of the address what is its default
    if st.session_state.setdefault(OF, shown) != shown:
        st.session_state[OF] = shown
        _to_its_end(shown)
    return shown


def _to_its_end(name: str) -> None:
    """A step and an epoch that were chosen of another run are not this one's. They are set, not forgotten: the browser
    would send them again."""
    own = bundled.FOLDER / name.partition(":")[2] if name.startswith("bundled:") else runs_root() / name
    run = RunFolder(bundled.RECORDED_FOLDER if name == bundled.RECORDED else own)
    for key, ends in ((LEARNED_STEP, steps_in(run.path)[-1:]), ("run_epoch", [len(run.metrics())])):
        if ends[:1] > [0] and key in st.session_state:
            st.session_state[key] = ends[0]


def turn(run: RunFolder, epoch: int) -> None:
    """Another epoch turns the answers to what the run had kept by its end; they can be turned by themselves too."""
    metrics, kept = run.metrics(), steps_in(run.path)
    before, st.session_state[TURNED] = st.session_state.get(TURNED, len(metrics)), epoch
    ends = along(metrics, "step", steps_of(run))
    if before != epoch and kept and ends:
        st.session_state[LEARNED_STEP] = at_or_before(int(ends[epoch - 1]), kept)


def turned_to(run: RunFolder) -> int:
    """The step whose answers are shown below the curves, 0 for the last one."""
    kept = steps_in(run.path) if run.has_model else []
    asked = str(st.session_state.get(LEARNED_STEP, st.query_params.get(LEARNED_STEP)))  # of a link it is drawn later
    return next((step for step in kept[:-1] if str(step) == asked), 0)


def say_missing(shown: str) -> None:
    """Why it is not the run that was wished."""
    if (asked := wished()) not in ("", shown):
        known = (
            plain(bundled.title(asked)) if RUN in st.session_state else "The run of this link"
        )  # else words of anybody
        instead = plain(bundled.title(shown))
        st.caption(
            f"{known} has no checkpoints to show here: this is {instead}, another network, which comes with vizkit."
        )


def _take() -> None:
    st.session_state[RUN] = st.session_state["run"]
