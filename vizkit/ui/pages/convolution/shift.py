"""The view Shift by a pixel: the picture moves, and what a model sees in it stays, or does not."""

import json
from functools import cache
from typing import Any

import streamlit as st
import torch

from vizkit.analysis.remarks import convolution
from vizkit.figure import shift
from vizkit.image import Picture, prepare, unprepare
from vizkit.models.probes.convolution.shifting import Moved, answers_when_moved, moved
from vizkit.ui import reading
from vizkit.ui.plain import plain
from vizkit.ui.session import cached, model_names, saved
from vizkit.ui.session.model_names import BUNDLED
from vizkit.ui.session.shown import Shown
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

MOST_PX = 16
DISTANCES_PX = tuple(range(-MOST_PX, MOST_PX + 1))
MEASURED = BUNDLED / "experiments" / "shift" / "digits.json"


def view(page: Page) -> None:
    with st.container(width=320):
        distance_px = int(
            st.slider("Moved to the right by, pixels", -MOST_PX, MOST_PX, 4, key="shift_px", bind="query-params")
        )
    if not page.shown:
        return
    answers = {model_names.title(shown.source): _answers(shown, page.picture) for shown in page.shown}
    cosines = {name: each.cosine[:, 0].double().numpy() for name, each in answers.items()}
    firsts = {name: each.logits[:, 0].argmax(-1).numpy() for name, each in answers.items()}
    left, right = st.columns([2, 3])
    with left:
        _picture(page.shown[0], page.picture, distance_px)
        for shown, (name, each) in zip(page.shown, answers.items(), strict=True):
            st.caption(f"**{plain(name)}** · {_line(shown, each, distance_px)}")
    with right:
        figure = shift.cosines(DISTANCES_PX, cosines, distance_px)
        chart(figure, "shift_cosines", "Cosine of the features with those of the unmoved picture, by distance")
        remark(convolution.moved(DISTANCES_PX, cosines, firsts, distance_px))
    measured = _measured()
    lines = (f"Picture: {st.session_state.get('image', '')}",)
    save("shift", {"This picture": saved.charts_of("Features of a picture that moves", lines, figure),
                   "Right answers": saved.charts_of("Right answers when pictures move", (), measured)},
         saved.NOTHING)  # fmt: skip
    reading.how(
        "A convolution gives the same numbers one pixel further when the picture moves by one pixel; strides and "
        "patches break that, the pooling over all places at the end mends most of it. An MLP on pixels sees another "
        "input. What comes in at the side repeats the border.",
        r"f(T_\delta x) = T_\delta f(x) \ \text{(equivariance)}, \qquad g(T_\delta x) = g(x) \ \text{(invariance)}",
        "what an architecture can learn: with pictures moved in training, as these models were trained, all of them "
        "learn some of it.",
        "LeCun et al. 1998, § II; Zhang 2019",
    )


def _answers(shown: Shown, picture: Picture) -> Moved:
    """At all distances, in one pass for each: no model runs because the slider moves."""

    def make() -> Moved:
        pixels = torch.from_numpy(prepare(picture.rgb, shown.loaded.preprocessing)[0])[None].to(shown.loaded.device)
        with cached.device_lock():
            answers = answers_when_moved(shown.loaded, pixels, DISTANCES_PX)
        return Moved(*(each.cpu() for each in answers))

    return cached.made(shown.source, picture, shown.loaded, ("moved", MOST_PX), make)


def _picture(shown: Shown, picture: Picture, distance_px: int) -> None:
    """As the first model sees it."""
    pixels = torch.from_numpy(prepare(picture.rgb, shown.loaded.preprocessing)[0])[None]
    seen = unprepare(moved(pixels, distance_px)[0].numpy(), shown.loaded.preprocessing)
    zoom = max(1, -(-360 // seen.shape[1]))
    with st.container(width=360):
        st.image(seen.repeat(zoom, 0).repeat(zoom, 1), width="stretch",
                 alt=f"What the model sees, moved by {distance_px} pixels")  # fmt: skip


def _line(shown: Shown, answers: Moved, distance_px: int) -> str:
    head, at = shown.loaded.head, DISTANCES_PX.index(distance_px)
    line = f"cosine {float(answers.cosine[at, 0]):.3f}"
    if not head.probable:
        return line
    before, after = (answers.logits[each, 0] for each in (DISTANCES_PX.index(0), at))
    (first, share), *_ = head.top(before, 1)
    now = float(head.values(after)[first])
    return f"{plain(shown.loaded.label(first))}: {share:.1%} unmoved, {now:.1%} moved · {line}"


def _measured() -> Any:  # noqa: ANN401 - a chart, whose class is Plotly's own matter
    """The shipped table, `python -m vizkit shift`."""
    table = _table()
    lines = {
        model_names.title(line["model"]): (line["distance_px"], line["right"], line["right_half"])
        for line in table["lines"]
    }
    figure = shift.right_answers(lines, f"{table['lines'][0]['images']} test pictures of {table['data']}")
    chart(figure, "shift_measured", "Right answers by distance, with 95 % intervals")
    remark(convolution.robust(lines))
    return figure


@cache
def _table() -> dict[str, Any]:
    """Read once: it comes with vizkit and does not change."""
    return json.loads(MEASURED.read_text(encoding="utf-8"))
