"""The computed sentence below a picture, in one look on all pages."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.ui.plain import plain
from vizkit.ui.sidebar.inputs import chosen_insect

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.remarks.remark import Remark
    from vizkit.traces import Attention
    from vizkit.ui.session.shown import Shown


def remark(*said: "Remark | None") -> None:
    """The first of them that says something, as a short line right below what it is about; else nothing."""
    if words := sentence(*said):
        st.markdown(f":primary[:material/insights:] {plain(words)}")


def sentence(*said: "Remark | None") -> str:
    """The same for a canvas, which has a place for it between its picture and what is listed below."""
    return next((each.words for each in said if each is not None), "")


def covered_by_insect(shown: "Shown", grid: tuple[int, int]) -> "Tensor | None":
    """How much of every place of a map the drawn insect covers, (row, column), 0 to 1; None for all other pictures."""
    import torch

    from vizkit.analysis.remarks.places import cover

    sample = chosen_insect()
    return None if sample is None else cover(torch.from_numpy(sample.insect).float(), shown.box_xyxy, grid)


def of_layer(shown: "Shown", attention: "Attention", layer: int, head: int | None) -> "Remark | None":
    """What stands out in the row of the query, else in all rows. `layer` from 1, `head` from 0, None the mean."""
    from vizkit.analysis.remarks.attention import of_head, of_map

    covered = covered_by_insect(shown, attention.key.grid) if attention.key.grid else None
    return of_map(attention, shown.query, layer, head, covered) or of_head(attention, layer, head)
