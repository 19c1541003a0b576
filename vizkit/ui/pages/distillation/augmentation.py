"""The view Augmentation: what a DeiT recipe does to a picture before the model learns from it."""

import numpy as np
import streamlit as st

from vizkit.figure.training.dots import dots
from vizkit.image import Picture, Preprocessing
from vizkit.training.pictures.preview import ABLATION, APPLIED, BASELINE, FAILED, Changed
from vizkit.ui import reading
from vizkit.ui.pages.distillation.augmentation_depth import drop_path
from vizkit.ui.pages.distillation.augmentation_fields import TILE_PX, enlarged, needs_of, seeds, seen
from vizkit.ui.pages.distillation.augmentation_mixing import mixing
from vizkit.ui.session.shown import choose_view
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.data_choice import row

PARTS = ("RandAugment", "Mixup and CutMix", "Erasing", "Drop path", "Does it matter?")
DRAWS = 5


def view(page: Page) -> None:
    chosen = choose_view("augmentation_part", PARTS)
    if chosen == "Drop path":
        drop_path(page.sources)
    elif chosen == "Does it matter?":
        ablation()
    else:
        part = {"RandAugment": rand_augment, "Mixup and CutMix": mixing, "Erasing": erasing}[chosen]
        part(page.picture, needs_of(page.sources))


# ---- single pictures -------------------------------------------------------------------------------------------------
def rand_augment(picture: Picture, needs: Preprocessing) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        magnitude = int(st.slider("Magnitude", 0, 10, 9, key="ra_magnitude", bind="query-params", width=240,
                                  help="How strong each operation is, 0 to 10; DeiT takes 9."))  # fmt: skip
        operations = int(st.slider("Operations drawn", 1, 4, 2, key="ra_operations", bind="query-params", width=200,
                                   help="For each picture; DeiT draws 2."))  # fmt: skip
        chosen = seeds("ra_draw", DRAWS)
    changed = rand_augmented(picture.digest, needs, magnitude, operations, chosen, picture.rgb)
    _with_original(picture, needs, changed)
    drawn = "The operation" if operations == 1 else f"Each of the {operations} operations"
    st.caption(f"{drawn} drawn for a picture is applied with probability {APPLIED}, so a picture may name fewer, or "
               f"none. timm calls this `rand-m{magnitude}-n{operations}-mstd0.5-inc1`; as a field of a recipe: "
               "`--randaugment`.")  # fmt: skip
    reading.how(
        "Each picture is one random draw of operations from fifteen, with a strength near the magnitude that you "
        "choose. The label stays, so the model learns what does not matter for it.",
        r"x' = (o_n \circ \dots \circ o_1)(x), \quad o_i \sim \mathcal U\{\text{15 operations}\}, "
        r"\quad m_i \sim \mathcal N(m, 0.5^2)",
        "whether an operation keeps the label true: turned digits and pale insects may become something else.",
        "Cubuk et al. 2020; operations and magnitudes as in timm",
    )


def erasing(picture: Picture, needs: Preprocessing) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chance = st.slider("Chance", 0.0, 1.0, 0.5, 0.05, key="erase_chance", bind="query-params", width=260,
                           help="Of a picture to lose a rectangle; DeiT takes 0.25.")  # fmt: skip
        chosen = seeds("erase_draw", DRAWS)
    _with_original(picture, needs, erased(picture.digest, needs, float(chance), chosen, picture.rgb))
    st.caption("As a field of a recipe: `--erasing`.")
    reading.how(
        "A rectangle of 2 to 33 % of the picture is filled with noise, in the normalised colours that the model gets. "
        "The model has to find other parts than the most informative one.",
        r"S_e = s\,S, \quad s \sim \mathcal U(0.02, 0.33), \quad \text{aspect} \sim \mathcal U_{\log}(0.3, 3.3)",
        "how much the model would have needed what is gone; for that, erase what a map calls important.",
        "Zhong et al. 2020; timm's version, one rectangle of noise",
    )


def _with_original(picture: Picture, needs: Preprocessing, changed: list[Changed]) -> None:
    pictures = [enlarged(seen(picture, needs)), *(enlarged(change.picture) for change in changed)]
    row(pictures, ["as the model sees it", *(change.words for change in changed)], TILE_PX)


@st.cache_data(max_entries=32, show_spinner=False)
def rand_augmented(
    digest: str, needs: Preprocessing, magnitude: int, operations: int, seeds: tuple[int, ...], _rgb: np.ndarray
) -> list[Changed]:
    from vizkit.training.pictures.preview import rand_augmented as draw

    return draw(_rgb, needs, magnitude, operations, seeds)


@st.cache_data(max_entries=32, show_spinner=False)
def erased(digest: str, needs: Preprocessing, chance: float, seeds: tuple[int, ...], _rgb: np.ndarray) -> list[Changed]:
    from vizkit.training.pictures.preview import erased as draw

    return draw(_rgb, needs, chance, seeds)


# ---- the paper -------------------------------------------------------------------------------------------------------
def ablation() -> None:
    figure = dots(
        [line.change for line in ABLATION],
        {
            "trained at 224²": [line.at_224 for line in ABLATION],
            "fine-tuned at 384²": [line.at_384 for line in ABLATION],
        },
        (BASELINE.at_224, BASELINE.at_384),
        "top-1 on ImageNet, percent",
    )
    chart(figure, "ablation", "DeiT's ablation: without Mixup and CutMix 75.8 percent instead of 81.8")
    failed = " and ".join(f"{line.change} ({line.at_224:.1f} %)" for line in FAILED)
    st.caption(f"Dotted: {BASELINE.change}, {BASELINE.at_224} and {BASELINE.at_384} %. Two runs did not train at all: "
               f"{failed}; the paper says that other hyper-parameters might have made them.")  # fmt: skip
    reading.how(
        "Each row changes one thing of DeiT-B's recipe and trains it anew; the further left of the dotted line, the "
        "more that thing was worth. Mixup and CutMix stand in for each other a little: without both it is worse.",
        None,
        "how much each would be worth with other pictures, or with a recipe tuned anew after the change.",
        "Touvron et al. 2021, table 8",
    )
