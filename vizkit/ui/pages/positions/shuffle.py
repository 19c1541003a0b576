"""The view Shuffle: the same patches in another order, with and without positions."""

import numpy as np
import streamlit as st
import torch

from vizkit.analysis.attention.patches import grid_of, permutation, shuffle
from vizkit.analysis.remarks import positions
from vizkit.analysis.remarks.positions import Answers
from vizkit.figure.charts import paired_bars
from vizkit.image import Picture, prepare, unprepare
from vizkit.models.probes.positions import first_grid
from vizkit.ui import reading
from vizkit.ui.pages.positions.many import answers_of, over_samples
from vizkit.ui.plain import plain
from vizkit.ui.session.shown import Shown
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.known import say
from vizkit.ui.widgets.remark import remark

KINDS = {True: "with its positions", False: "positions removed"}
SHOWN_CLASSES = 3


def view(page: Page) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        seed = int(st.number_input("Another order", 1, 999, 1, key="shuffle_seed", bind="query-params", width=140))
    for index, (column, shown) in enumerate(page.columns()):
        with column:
            reading.guarded(_both_orders, index, shown, page.picture, seed)
    reading.how(
        "The same patches in another order. With its positions the model sees another image; without them a plain ViT "
        "cannot distinguish the two: its predictions stay exactly the same, right or wrong.",
        r"\mathrm{Attention}(\Pi X) = \Pi\,\mathrm{Attention}(X)",
        "how well a model trained without positions would do: this one was trained with them.",
        "Dosovitskiy et al. 2020, appendix D.4",
    )


def _both_orders(index: int, shown: Shown, picture: Picture, seed: int) -> None:
    pictures(shown, picture, seed)
    answers = {kind: answers_of(shown, [picture], seed, kind)[0] for kind in KINDS}
    loaded = shown.loaded
    if loaded.head.probable:
        labels = [loaded.label(i) for i in range(len(shown.trace.logits))]
        remark(positions.shuffled(answers[True], answers[False], labels))
        say(loaded)
        bars(index, shown, answers)
    else:
        values(shown, answers)
    over_samples(index, shown, seed)


def pictures(shown: Shown, picture: Picture, seed: int) -> None:
    loaded, preprocessing = shown.loaded, shown.loaded.preprocessing
    rows, columns = first_grid(loaded, preprocessing.size_hw)
    pixels = prepare(picture.rgb, preprocessing)[0]
    patch = preprocessing.size_hw[0] // rows
    grid_of(preprocessing.size_hw, patch)
    image = shuffle(torch.from_numpy(pixels), patch, permutation(rows * columns, seed)).numpy()
    drawn = beside(unprepare(pixels, preprocessing), unprepare(image, preprocessing))
    with st.container(width=520):
        st.image(drawn, alt="The patches in order, and shuffled", width="stretch")
    st.caption("left in order, right shuffled")


def beside(left: np.ndarray, right: np.ndarray, gap: int = 8) -> np.ndarray:
    """Two RGB pictures of one size as one, with nothing between them: side by side on a phone too. At least 240 pixels
    each, so that patches keep their edges."""
    zoom = -(-240 // left.shape[0])
    opaque = [np.dstack([each, np.full(each.shape[:2], 255, np.uint8)]) for each in (left, right)]
    first, second = (each.repeat(zoom, 0).repeat(zoom, 1) for each in opaque)
    return np.concatenate([first, np.zeros((len(first), gap, 4), np.uint8), second], 1)


def bars(index: int, shown: Shown, answers: dict[bool, Answers]) -> None:
    """Every class that comes first somewhere, and the runner-up where that is one alone; one axis for all."""
    head, label = shown.loaded.head, shown.loaded.label
    firsts = [int(logits.argmax()) for kind in answers.values() for logits in (kind.in_order, kind.shuffled)]
    second = [output for output, _ in head.top(answers[True].in_order, 2)] if len(set(firsts)) == 1 else []
    classes = list(dict.fromkeys([*firsts, *second]))
    for kind, name in KINDS.items():
        orders = {"in order": answers[kind].in_order, "shuffled": answers[kind].shuffled}
        values = {order: head.values(logits)[classes].tolist() for order, logits in orders.items()}
        figure = paired_bars([label(i) for i in classes], values, "probability", name.capitalize())
        figure.update_xaxes(range=[0, 1])
        chart(figure, f"shuffle_{index}_{kind}", f"Probability of the first answers, {name}")


def values(shown: Shown, answers: dict[bool, Answers]) -> None:
    """What a model gives that has no classes."""
    for kind, name in KINDS.items():
        st.markdown(f"**{name.capitalize()}**")
        for where, logits in zip(st.columns(2), (answers[kind].in_order, answers[kind].shuffled), strict=True):
            lines = shown.loaded.head.lines(logits, shown.loaded.label, SHOWN_CLASSES)
            where.markdown("  \n".join(f"{plain(label)}: **{text}**" for label, text in lines))
        change = float((answers[kind].in_order - answers[kind].shuffled).abs().max())
        st.caption(f"largest change of a {shown.loaded.head.number}: {change:.2g}")
