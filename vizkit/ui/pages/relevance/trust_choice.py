"""What can be chosen in the Trust view: over which pictures, which maps, which scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vizkit.analysis.attribution.methods import METHODS
from vizkit.datasets.image_set import ImageSet, Source, digest_of
from vizkit.image import RGB, Picture
from vizkit.ui.session import linked_picture
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.sidebar import inputs

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from vizkit.datasets.insects import Sample

MEASURES = {
    "deletion": "deletion, insertion",
    "road": "ROAD",
    "randomisation": "random weights",
    "infidelity": "infidelity",
    "sensitivity": "sensitivity",
}
USUAL = ("deletion", "road", "randomisation")
THIS = "this image"
COUNTS = (12, 24, 50, 100, 200)


@dataclass(frozen=True)
class Choice:
    """`over`: THIS, "insects", "digits", or anything else for the uploads. `slow`: further methods. `measures`: those
    of `analysis.trust.scores`, always with "truth", which is left out where it is not known."""

    over: str
    images: int
    slow: tuple[str, ...]
    measures: tuple[str, ...]


def choices(top: "DeltaGenerator") -> Choice:
    """`top`: the row for what stands beside each other."""
    uploads, _ = inputs.read_uploads()
    options = [THIS, "insects", "digits", *([f"your {len(uploads)} images"] if len(uploads) > 1 else [])]
    linked_picture.say_missing("trust_over", options)
    keep_valid("trust_over", options)
    with top:
        over = st.segmented_control(
            "Over", options, default=THIS, required=True, key="trust_over", bind="query-params",
            help="Insects are newly drawn: no bundled model has seen them, and where they are is known to the pixel.",
        )  # fmt: skip
        images = 0
        if over in ("insects", "digits"):
            images = int(st.select_slider("Images", COUNTS, 24, key="trust_images", bind="query-params", width=220))
    slow = st.pills(
        "More maps, which run the model again, some dozen times each",
        [name for name, method in METHODS.items() if method.slow],
        selection_mode="multi", key="slow_maps", bind="query-params", format_func=lambda name: METHODS[name].title,
    )  # fmt: skip
    measures = st.pills(
        "Scores", list(MEASURES), default=list(USUAL), selection_mode="multi", key="trust_scores",
        bind="query-params", format_func=lambda name: MEASURES[name],
        help="Where the insect and its deciding parts are known, pointing and mass are always measured. Infidelity "
        "and sensitivity run the model hundreds of times more.",
    )  # fmt: skip
    return Choice(over or THIS, images, tuple(name for name in METHODS if name in slow),
                  ("truth", *(name for name in MEASURES if name in measures)))  # fmt: skip


@dataclass(frozen=True, eq=False)
class Opened(Source):
    """Pictures of this session. `drawn`: the insect where the only picture is one."""

    pictures: Sequence[Picture]
    names: Sequence[str]
    drawn: "Sample | None" = None

    def picture(self, index: int) -> RGB:
        return self.pictures[index].rgb

    def place(self, index: int) -> str:
        return self.names[index]

    def insect(self, index: int) -> "Sample | None":
        return self.drawn


def opened(pictures: dict[str, Picture], drawn: "Sample | None" = None) -> ImageSet:
    """Pictures of this session as a set; their classes are not known."""
    source = Opened(list(pictures.values()), list(pictures), drawn)
    digest = digest_of(*(picture.digest for picture in pictures.values()))
    return ImageSet("your images", "test", ("unknown",), np.zeros(len(pictures), np.int64), source, digest)
