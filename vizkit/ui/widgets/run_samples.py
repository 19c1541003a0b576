"""What a run's last epoch says about some validation pictures."""

from contextlib import suppress
from typing import Any

import numpy as np
import streamlit as st

from vizkit.datasets import samples
from vizkit.datasets.image_set import DatasetError
from vizkit.datasets.opening import open_set
from vizkit.percent import in_percent
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.training.tuning import classes_in
from vizkit.ui.plain import plain
from vizkit.ui.sidebar.inputs import take
from vizkit.ui.widgets.data_choice import SIDE_PX, row, square


def show(run: RunFolder, whose: str = "of the last epoch", more: str = "", each: str = "") -> None:
    """Pictures with the answer below: a tick, or a cross and what it should have been. `each`: before each answer."""
    shown = run.read("samples.json")
    if not shown:
        return
    st.markdown(f"**Answers {whose}** to images that it does not learn from{more}")
    try:
        recipe = run.recipe
        with st.spinner("Opening validation images …"):
            rows = tuple(int(sample["index"]) for sample in shown)
            opened = pictures(recipe.data, recipe.data_seed, rows, classes_in(run.path))
    except (DatasetError, RecipeError) as error:
        st.caption(f"The images cannot be shown: {plain(error)}")
        return
    images, labels = opened
    words = [f"{each}{answer(sample, labels)}" for sample in shown]
    row(images, words, 96)


def choose_own(run: RunFolder) -> None:
    """In the sidebar a picture of the data of this run; one that is there already stays. To be called in a callback."""
    with suppress(DatasetError, RecipeError):
        recipe, shown = run.recipe, run.read("samples.json")
        known = {"insects": samples.INSECTS, "digits": [name for name in samples.names() if name.startswith("digit ")]}
        if own := known.get(recipe.data.partition(":")[0]):
            if st.session_state.get("image") not in own:
                st.session_state["image"] = own[0]
        elif shown:
            rgb, label = (images := open_set(recipe.data, "val", seed=recipe.data_seed))[shown[0]["index"]]
            take(images.labels[label], rgb)


def answer(sample: dict[str, Any], labels: tuple[str, ...]) -> str:
    """ "✓ bee, 93 %", or "✗ bee, 41 %, is ant"."""
    predicted, label = labels[sample["predicted"]], labels[sample["label"]]
    words = f"{predicted}, {in_percent(sample['probability'])}"
    return f"✓ {words}" if predicted == label else f"✗ {words}, is {label}"


def counts_of(recipe: Recipe) -> tuple[int, int] | None:
    """How many pictures a run learns from and is validated on; None where they are not here any more."""
    try:
        return counts(recipe.data, recipe.images, recipe.data_seed)
    except DatasetError:
        return None


@st.cache_data(max_entries=16, show_spinner=False)
def counts(data: str, images: int, seed: int) -> tuple[int, int]:
    train = open_set(data, "train", images=images or None, seed=seed)
    return len(train), len(open_set(data, "val", seed=seed))


@st.cache_data(max_entries=16, show_spinner=False)
def pictures(
    data: str, seed: int, rows: tuple[int, ...], classes: tuple[str, ...]
) -> tuple[list[np.ndarray], tuple[str, ...]]:
    """Raises DatasetError: the folder may have gone since, or have lost images or some of the `classes`."""
    images = open_set(data, "val", size_px=SIDE_PX, seed=seed)
    if max(rows) >= len(images) or images.labels != (classes or images.labels):
        raise DatasetError(f"{images.name} has changed since the run.")
    return [square(images[row][0]) for row in rows], images.labels
