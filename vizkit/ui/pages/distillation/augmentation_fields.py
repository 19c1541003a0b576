"""What the parts of the view Augmentation ask for in the same way: models, seeds, and pictures as a model sees them."""

import numpy as np
import streamlit as st

from vizkit.image import ImageError, Picture, Preprocessing, prepare, unprepare
from vizkit.models import Loaded, ModelError
from vizkit.traces import NotApplicable
from vizkit.ui.plain import plain
from vizkit.ui.session import cached

TILE_PX = 150
PLAIN = Preprocessing((224, 224), (0.5,) * 3, (0.5,) * 3, crop_pct=1.0)


def models_of(sources: list[str]) -> dict[str, Loaded]:
    """The chosen models that can be loaded; nothing is run."""
    models = {}
    for source in sources:
        try:
            models[source] = cached.model(source)
        except (ModelError, NotApplicable, ImageError) as sentence:
            st.warning(plain(sentence), icon=":material/warning:")
    return models


def needs_of(sources: list[str]) -> Preprocessing:
    """How pictures come to the first of the chosen models; 224² without one."""
    models = models_of(sources[:1])
    return next(iter(models.values())).preprocessing if models else PLAIN


def seeds(key: str, count: int) -> tuple[int, ...]:
    """Another draw, another set of seeds; the address keeps it."""
    draw = int(st.number_input("Draw", 1, 999, 1, key=key, bind="query-params", width=110,
                               help="Another number is another random draw."))  # fmt: skip
    return tuple(range(1000 * (draw + 1), 1000 * (draw + 1) + count))


def seen(picture: Picture, needs: Preprocessing) -> np.ndarray:
    return unprepare(prepare(picture.rgb, needs)[0], needs)


def enlarged(rgb: np.ndarray) -> np.ndarray:
    """Small pictures keep their pixels as squares."""
    zoom = max(1, -(-2 * TILE_PX // max(rgb.shape[:2])))
    return rgb.repeat(zoom, 0).repeat(zoom, 1)
