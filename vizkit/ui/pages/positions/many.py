"""A part of the view Shuffle: the same experiment on several pictures that the model should know."""

from collections.abc import Sequence

import streamlit as st
import torch

from vizkit.analysis.remarks import positions
from vizkit.analysis.remarks.positions import Answers
from vizkit.figure.charts import bars
from vizkit.image import Picture
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown
from vizkit.ui.sidebar import inputs
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark

AT_ONCE = 10_000_000  # parameters; above, 48 passes take more than a few seconds and are made when wanted


def over_samples(index: int, shown: Shown, seed: int) -> None:
    """On how many samples the first answer is another one after shuffling."""
    loaded = shown.loaded
    if not loaded.head.exclusive:
        return
    names = samples_for(loaded.labels)
    if loaded.parameters > AT_ONCE and not st.toggle(
        f"Also on {len(names)} samples", key=f"shuffle_many_{index}", help=f"Runs the model {4 * len(names)} times."
    ):
        return
    with st.spinner(f"Shuffling {len(names)} samples …"):
        pictures = [inputs.sample(name) for name in names]
        own, without = (answers_of(shown, pictures, seed, kind) for kind in (True, False))
    changed = [float(sum(not each.kept for each in kind)) for kind in (own, without)]
    title = f"Another answer after shuffling, of {len(names)} samples"
    figure = bars(["with its positions", "positions removed"], changed, "samples", title)
    figure.update_xaxes(range=[0, len(names)])
    chart(figure, f"shuffle_many_{index}_bars", title)
    remark(positions.over_pictures(own, without))


def samples_for(labels: tuple[str, ...]) -> list[str]:
    """The samples that show a class of the model, or, where it knows none of them, the drawn insects."""
    known = set(labels)
    return [name for name in inputs.samples() if name.removeprefix("digit ") in known] or list(inputs.INSECTS)


def answers_of(shown: Shown, pictures: Sequence[Picture], seed: int, with_positions: bool) -> list[Answers]:
    digests, rgb = tuple(picture.digest for picture in pictures), [picture.rgb for picture in pictures]
    in_order, shuffled = (
        torch.from_numpy(
            cached.shuffled_logits(
                shown.source, digests, shown.loaded.preprocessing, order, with_positions, shown.loaded, rgb
            )
        )
        for order in (None, seed)
    )
    return [Answers(*logits) for logits in zip(in_order, shuffled, strict=True)]
