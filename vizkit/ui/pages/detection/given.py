"""What is looked at and by which model: a drawn scene by its number, or the picture of the sidebar."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from jaxtyping import UInt8

from vizkit.image import Picture, digest_of
from vizkit.ui.pages.detection import DRAWN, OWN
from vizkit.ui.pages.detection.detectors import detector, source_of, sources
from vizkit.ui.plain import plain
from vizkit.ui.session.remembered import remembered
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.sidebar.strip import STRIP, small
from vizkit.ui.views import NothingShownError, Page
from vizkit.views.rules import one_of

if TYPE_CHECKING:
    from vizkit.datasets.scenes.drawing import Scene
    from vizkit.models.detection.matching import Things
    from vizkit.models.detection.opening import Detector

RGB = UInt8[np.ndarray, "_row _column 3"]
SCENES, SHARP_PX = 1_000, 480
STRIP_OF = (6, 1, 2, 3, 4, 9, 12, 15)
"""Scenes of the test split that are offered as pictures. In the first every insect is found and none twice, but for
queries that do not look at each other; scene 4 has no insect."""


@dataclass(frozen=True, eq=False)
class Given:
    """`rgb`: what the model is given; `shown`: the same, sharper. `number`: of a drawn scene, from 1, and its `truth`,
    in pixels of `rgb`."""

    source: str
    detector: "Detector"
    rgb: RGB
    shown: RGB
    digest: str
    title: str
    number: int = 0
    truth: "Scene | None" = None

    @property
    def things(self) -> "Things | None":
        """What there is to find, where it is known."""
        from vizkit.models.detection.assignments import things_of

        height, width = self.rgb.shape[:2]
        return None if self.truth is None else things_of(self.truth.boxes_xyxy, self.truth.labels, (height, width))

    @property
    def key(self) -> tuple[str, str]:
        """What results of this model and this picture are kept by."""
        return source_of(self.source), self.digest


def choose(page: Page) -> Given:
    """The controls of the picture and the model. NothingShownError where there is no model, or it cannot be read."""
    from vizkit.models.sources.hub import ModelError

    known = sources()
    if not known:
        st.info("There is no model that finds things yet: train one with the recipe detr-small.")
        raise NothingShownError
    with st.container(horizontal=True, vertical_alignment="center"):
        of = st.segmented_control(
            "Picture",
            (DRAWN, OWN),
            default=DRAWN,
            required=True,
            key="det_of",
            bind="query-params",
            label_visibility="collapsed",
        )
        if of == DRAWN:
            thumbnails()
        with st.popover("Options", icon=":material/tune:"):
            number = 0
            if of == DRAWN:
                number = int(
                    st.number_input(
                        "Scene",
                        1,
                        SCENES,
                        STRIP_OF[0],
                        key="det_scene",
                        bind="query-params",
                        width=120,
                        help="Scenes that no model of ours has learned from.",
                    )
                )
            keep_valid("det_model", known)
            source = st.selectbox("Model", list(known), key="det_model", bind="query-params", format_func=str)
    try:
        model = detector(source_of(known[source]), known[source])
    except ModelError as error:
        st.warning(plain(error), icon=":material/warning:")
        raise NothingShownError from None
    if not number:
        if known[source].startswith("bundled:"):
            st.caption(
                ":material/info: This model knows drawn water insects alone: it gives their names to whatever "
                "is in other pictures."
            )
        return _own(known[source], model, page.picture)
    scene = drawn(number, model.preprocessing.size_hw[0])
    sharp = drawn(number, SHARP_PX)
    digest = digest_of(scene.picture)
    return Given(known[source], model, scene.picture, sharp.picture, digest, f"scene {number}", number, scene)


def thumbnails() -> None:
    """A few scenes to begin with."""

    def picked(name: str) -> None:
        st.session_state["det_scene"] = tiles[name]

    tiles = {f"scene {number}": number for number in STRIP_OF}
    pictures = tuple({"name": name, "picture": _small(number), "place": 0} for name, number in tiles.items())
    linked = st.query_params.get("det_scene", STRIP_OF[0])  # before its widget was drawn for the first time
    chosen = f"scene {st.session_state.get('det_scene', linked)}"
    with st.container(width=480):
        STRIP(
            key="det_strip",
            data={"tiles": pictures, "chosen": chosen, "samples": "", "count": 0},
            name=(one_of(tiles), picked),
        )


@remembered
def drawn(number: int, size_px: int) -> "Scene":
    """Scene 1, 2, … of the test split."""
    from vizkit.datasets.scenes.drawing import SIZES_PX, draw_scene

    return draw_scene(number - 1, split="test", size_px=min(max(size_px, SIZES_PX[0]), SIZES_PX[1]))


def _small(number: int) -> str:
    return small(f"scene {number}", drawn(number, SHARP_PX).picture)


def _own(source: str, model: "Detector", picture: Picture) -> Given:
    name = str(st.session_state.get("image", ""))
    return Given(source, model, picture.rgb, picture.rgb, picture.digest, name)
