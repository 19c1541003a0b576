"""The view Shuffle: the same patches in another order, with and without positions."""

import numpy as np
import streamlit as st
import torch

from vizkit.analysis.attention.patches import grid_of, permutation, shuffle
from vizkit.image import Picture, prepare, unprepare
from vizkit.models.probes.positions import first_grid
from vizkit.ui import reading
from vizkit.ui.plain import plain
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown
from vizkit.ui.views import Page
from vizkit.ui.widgets.known import say


def view(page: Page) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        seed = int(st.number_input("Another order", 1, 999, 1, key="shuffle_seed", bind="query-params", width=140))
    for column, shown in page.columns():
        with column:
            reading.guarded(_both_orders, shown, page.picture, seed)
    reading.how(
        "The same patches in another order. With its positions the model sees another image; without them a plain ViT "
        "cannot distinguish the two: its predictions stay exactly the same, right or wrong.",
        r"\mathrm{Attention}(\Pi X) = \Pi\,\mathrm{Attention}(X)",
        "how well a model trained without positions would do: this one was trained with them.",
        "Dosovitskiy et al. 2020, appendix D.4",
    )


def _both_orders(shown: Shown, picture: Picture, seed: int) -> None:
    loaded, preprocessing = shown.loaded, shown.loaded.preprocessing
    rows, columns = first_grid(loaded, preprocessing.size_hw)
    pixels = prepare(picture.rgb, preprocessing)[0]
    patch = preprocessing.size_hw[0] // rows
    grid_of(preprocessing.size_hw, patch)
    image = shuffle(torch.from_numpy(pixels), patch, permutation(rows * columns, seed)).numpy()
    left, right = st.columns(2)
    left.image(unprepare(pixels, preprocessing), caption="in order", alt="The patches in order", width="stretch")
    right.image(unprepare(image, preprocessing), caption="shuffled", alt="The patches shuffled", width="stretch")
    say(loaded)
    for with_positions in (True, False):
        st.markdown("**with positions**" if with_positions else "**positions removed**")
        answers = [
            cached.shuffled_logits(shown.source, picture.digest, preprocessing, s, with_positions, loaded, picture.rgb)
            for s in (None, seed)
        ]
        for where, logits in zip(st.columns(2), answers, strict=True):
            lines = loaded.head.lines(torch.from_numpy(logits), loaded.label, 3)
            where.markdown("  \n".join(f"{plain(name)}: **{text}**" for name, text in lines))
        change = float(np.abs(answers[0] - answers[1]).max())
        st.caption(f"largest change of a {loaded.head.number}: {change:.2g}")
