"""The very first view, drawn from a recording while torch and the models are being loaded, and then compared with them.

Imports neither: that takes four of the five seconds that a visitor would wait for a picture.
"""

import base64
import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from vizkit.figure.canvas.rows import STEPS
from vizkit.ui.plain import plain
from vizkit.ui.session import cached, chosen, model_names
from vizkit.ui.session.shown import Shown, attempt, blocks, cursor
from vizkit.ui.session.warmup import ready, warm_up
from vizkit.ui.sidebar.inputs import INSECTS
from vizkit.ui.widgets.known import chip_of
from vizkit.ui.widgets.map_canvas import card

RECORDING = Path(__file__).with_name("first.json.gz")  # `python -m tests.ui.widgets.test_first_view` makes it anew
LAYER = 6
MOST_STEPS = 3 / STEPS  # of the largest weight: kernels of other processors round otherwise
MOST_SHARE = 1e-3  # of an answer


@dataclass(frozen=True)
class Recorded:
    """The card of one model: `rows` as the canvas reads them, `classes` with their shares, `line` above the picture."""

    source: str
    line: str
    rows: dict[str, Any]
    classes: list[tuple[str, float]]

    def differs(self, live: "Recorded") -> bool:
        """Whether a visitor would see anything else now."""
        if [name for name, _ in self.classes] != [name for name, _ in live.classes] or self.line != live.line:
            return True
        shares = max(abs(a - b) for (_, a), (_, b) in zip(self.classes, live.classes, strict=True))
        mine, theirs = _weights(self.rows), _weights(live.rows)
        if mine.shape != theirs.shape or shares > MOST_SHARE:
            return True
        return bool(np.abs(mine - theirs).max() > MOST_STEPS * theirs.max())


def applies() -> bool:
    """Whether the address asks for the view that was recorded, and the models are not there yet."""
    asks = set(st.query_params) <= {"at"} and st.session_state.get("query", "patch") == "patch"
    default = asks and chosen.sources() == model_names.bundled()[:2] and st.session_state.get("image") == INSECTS[0]
    return default and not ready()


def show() -> None:
    """The recording; then, in its place, what the models give, which the page draws right after."""
    place, recorded, picture = st.empty(), load(), chosen.picture()
    with place.container():
        st.caption(":material/history: A recording of this view, while the models are being loaded.")
        for block, model in zip(blocks(len(recorded)), recorded, strict=True):
            with block:
                st.markdown(f"**{plain(model_names.title(model.source))}**")
                st.caption(model.line)
                height, width = picture.rgb.shape[:2]
                card(
                    f"first_{model.source}", model.rows, "over image",
                    image=cached.browser_image(picture.digest, picture.rgb), size=(height, width), box=(0, 0, 1, 1),
                    point=cursor(), special=None, epoch="first", show_grid=True, classes=model.classes,
                    label=f"Attention of {model.source}.", sentence="",
                )  # fmt: skip
                st.markdown(chip_of(model.source))
    warm_up()  # only now: an import in another thread makes this one slow
    differing = [model.source for model in recorded if _differs(model)]
    place.empty()
    if differing:
        names = " and ".join(map(model_names.title, differing))
        st.caption(f":red[:material/error: What was shown while {plain(names)} was being loaded was not what the model "
                   "computes here: the picture below is.]")  # fmt: skip
    else:
        st.caption(":green[:material/verified: The recording shown at first agrees with the models.]")


def _differs(recorded: Recorded) -> bool:
    """Compared with the model itself. Where it cannot be shown the page says why."""
    shown = attempt(recorded.source, chosen.picture(), "patch", cursor())
    return isinstance(shown, Shown) and recorded.differs(record(shown))


def record(shown: Shown) -> Recorded:
    """What the card of a model shows, from its trace."""
    from vizkit.analysis.attention.attention_map import layers
    from vizkit.ui import reading
    from vizkit.ui.widgets.canvases import layer_for_browser

    attention, head = layers(shown.trace)[LAYER - 1], shown.loaded.head
    rows = layer_for_browser(attention, None, shown.query, shared=False).pack()
    classes = [(shown.loaded.label(index), round(float(value), 6)) for index, value in head.top(shown.trace.logits)]
    return Recorded(shown.source, reading.layer_line(shown.trace, attention, LAYER, None), rows, classes)


def load() -> list[Recorded]:
    with gzip.open(RECORDING, "rt", encoding="utf-8") as file:
        return [
            Recorded(**{**model, "classes": [(name, share) for name, share in model["classes"]]})
            for model in json.load(file)
        ]


def _weights(rows: dict[str, Any]) -> np.ndarray:
    """The weights behind the sixteen bits that the canvas is sent."""
    return np.frombuffer(base64.b64decode(rows["weights"]), "<u2") * rows["step"] + rows["offset"]
