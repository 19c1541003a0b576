"""Two pictures as one, and their labels with them: Mixup and CutMix in the view Augmentation."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vizkit.figure.class_bars import class_bars
from vizkit.figure.palette import class_colours
from vizkit.image import Picture, Preprocessing
from vizkit.training.recipe import Recipe
from vizkit.ui import reading
from vizkit.ui.pages.distillation.augmentation_fields import enlarged, seeds, seen
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.sidebar import inputs
from vizkit.ui.widgets.chart import bars

if TYPE_CHECKING:
    from vizkit.training.pictures.preview import Mixed

DIGIT = "digit "


def mixing(picture: Picture, needs: Preprocessing) -> None:
    name = str(st.session_state.get("image", ""))
    uploads, _ = inputs.read_uploads()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        others = [other for other in [*uploads, *inputs.samples()] if other != name]
        others.sort(key=lambda other: kind_of(other) != kind_of(name))
        keep_valid("mix_partner", others)
        partner = str(st.selectbox("Partner", others, key="mix_partner", bind="query-params", width=220,
                                   help="In training another picture of the same batch."))  # fmt: skip
        alphas = {
            kind: float(st.slider(f"α of {kind}", 0.1, 2.0, usual, 0.1, key=f"{kind.lower()}_alpha",
                                  bind="query-params", width=190,
                                  help=f"Large: both have about the same share. DeiT takes {usual}."))
            for kind, usual in (("Mixup", 0.8), ("CutMix", 1.0))
        }  # fmt: skip
        smoothing = float(st.slider("Label smoothing", 0.0, 0.3, 0.1, 0.05, key="mix_smoothing", bind="query-params",
                                    width=190, help="Spread evenly over all classes; DeiT takes 0.1."))  # fmt: skip
        seed = seeds("mix_draw", 1)[0]
    second = uploads.get(partner) or inputs.sample(partner)
    labels, places = _label_space(name, partner)
    for column, (kind, alpha) in zip(st.columns(2, gap="large", border=True), alphas.items(), strict=True):
        with column:
            mixture = mixed((picture.digest, second.digest), needs, kind, alpha, smoothing, places, len(labels), seed,
                          (picture.rgb, second.rgb))  # fmt: skip
            _mixed_card(kind, mixture, labels, (name, partner), picture, second, needs)
    reading.how(
        "Two pictures become one, and so do their labels: Mixup lays one over the other, CutMix pastes a rectangle. "
        "The bars are the target of the cross-entropy; a teacher is run on the mixed picture itself, and its "
        "prediction need not match λ.",
        r"x' = \lambda x_a + (1-\lambda) x_b \;\text{ or }\; x' = M \odot x_a + (1-M) \odot x_b, \quad "
        r"y' = \lambda y_a + (1-\lambda) y_b, \quad \lambda \sim \mathrm{Beta}(\alpha, \alpha)",
        "that the share is visible: a pasted rectangle may hold nothing but background, and counts all the same.",
        "Zhang et al. 2018; Yun et al. 2019; smoothing: Szegedy et al. 2016",
    )


def _mixed_card(
    kind: str, mixture: "Mixed", labels: list[str], names: tuple[str, str], first: Picture, second: Picture,
    needs: Preprocessing,
) -> None:  # fmt: skip

    st.markdown(f"**{kind}** · λ = {mixture.share:.2f}")
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        for rgb, words, width_px in (
            (mixture.picture, "what the model gets", 190),
            (seen(first, needs), names[0], 96),
            (seen(second, needs), names[1], 96),
        ):
            st.image(enlarged(rgb), caption=words, width=width_px, alt=f"{kind}: {words}", output_format="PNG")
    order = np.argsort(-mixture.label, kind="stable").tolist()
    shown = order[:4]
    figure = class_bars([labels[i] for i in shown], mixture.label[shown].tolist(), class_colours(shown, len(labels)))
    bars(figure, f"mixed_{kind}", f"Mixed label: {labels[shown[0]]} {mixture.label[shown[0]]:.2f}")
    rest = len(labels) - len(shown)
    others = f", {rest} other classes have {mixture.label[order[-1]]:.3f} each" if rest > 0 else ""
    st.caption(f"The mixed label{others}. As a field of a recipe: `--{kind.lower()}`.")


def kind_of(name: str) -> str:
    return "insect" if name in inputs.INSECTS else "digit" if name.startswith(DIGIT) else "other"


def _label_space(name: str, partner: str) -> tuple[list[str], tuple[int, int]]:
    """The classes that the label is one of, and those of both pictures; of pictures without any, their own names."""
    if kind_of(name) == kind_of(partner) == "insect":
        return list(inputs.INSECTS), (inputs.INSECTS.index(name), inputs.INSECTS.index(partner))
    if kind_of(name) == kind_of(partner) == "digit":
        return list("0123456789"), (int(name.removeprefix(DIGIT)), int(partner.removeprefix(DIGIT)))
    return [name, partner], (0, 1)


@st.cache_data(max_entries=64, show_spinner=False)
def mixed(
    digests: tuple[str, str], needs: Preprocessing, kind: str, alpha: float, smoothing: float,
    labels: tuple[int, int], classes: int, seed: int, _pictures: tuple[np.ndarray, np.ndarray],
) -> "Mixed":  # fmt: skip
    from vizkit.training.pictures.preview import mixed as draw

    recipe = Recipe(smoothing=smoothing).but({kind.lower(): alpha})
    return draw(_pictures, labels, classes, needs, recipe, seed)
