"""The mended copy of a data set: the button that writes it, and the way to a model that learns from it."""

import streamlit as st

from vizkit.datasets.image_set import DatasetError
from vizkit.evaluation.data_set.mending import write_mended
from vizkit.evaluation.data_set.opening import open_labelled
from vizkit.training.runs.naming import free_name, safe_name
from vizkit.ui.plain import plain
from vizkit.ui.session import allowed
from vizkit.ui.session.address import go_next
from vizkit.ui.session.chosen import bare
from vizkit.ui.sidebar import folders
from vizkit.ui.widgets.data_choice import FOLDER
from vizkit.ui.widgets.run_watch import tune
from vizkit.views.data_set.suspects import Mend

WRITTEN, FAILED = "_mended", "_mended_failed"


def draw(mend: Mend) -> None:
    """The button that writes what is decided, and after it the copy's name with the way on."""
    if not allowed.jobs():
        st.info(allowed.NO_JOBS, icon=":material/lock:")
        return
    name = st.session_state.get(WRITTEN, {}).get(mend, "")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Write a mended copy",
            icon=":material/healing:",
            key="mend_write",
            disabled=bool(name),
            on_click=_write,
            args=(mend,),
            help="A new folder beside the runs: all images, with the labels that you decided.",
        )
        if name:
            st.caption(f"{plain(mend.said)} Written: {plain(name)}.", width="content")
            st.button("Fine-tune on it", icon=":material/tune:", key="mend_tune", on_click=_tune, args=(mend, name))
    if sentence := st.session_state.pop(FAILED, ""):
        st.error(plain(sentence), icon=":material/error:")


def _write(mend: Mend) -> None:
    """The new folder is then known by its name, as folders are offered."""
    root = folders.mended_root()
    stem = safe_name(f"{mend.name}-mended") or "mended"
    folder = root / free_name(stem, lambda name: (root / name).exists())
    try:
        with st.spinner("Writing the copy …"):
            write_mended(open_labelled(mend.source, mend.split, size_px=mend.size_px), dict(mend.decided), folder)
    except (DatasetError, OSError) as error:
        st.session_state[FAILED] = f"The copy could not be written: {error}"
        return
    folders.offered.clear()
    st.session_state[WRITTEN] = {**st.session_state.get(WRITTEN, {}), mend: f"{root.name}/{folder.name}"}


def _tune(mend: Mend, name: str) -> None:
    tune(bare(mend.model))
    st.session_state.update({"train_data": FOLDER, "train_folder": name, "_images_given": True})
    go_next("pages/train.py")
