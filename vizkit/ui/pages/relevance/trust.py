"""The Trust view of the Relevance page: every map of one model scored on this image, or over many."""

import streamlit as st

from vizkit.image import Picture
from vizkit.ui import reading
from vizkit.ui.pages.relevance import trust_many, trust_one
from vizkit.ui.pages.relevance.trust_choice import THIS, choices
from vizkit.ui.session.shown import Shown
from vizkit.ui.views import Page


def view(page: Page) -> None:
    reading.guarded(scored, page.focus, page.picture)
    reading.how(
        "Each row is a map, the best first: the model was run again with the places removed that the map marks as "
        "important. In brackets: the difference to chance. A map is credible if it is clearly better than chance and "
        "changes when the weights are shuffled, over many images; one good score on one image proves little. Where "
        "the class is not the prediction, or is also that of a blurred picture, nothing is ranked.",
        r"\mathrm{AUC} = \tfrac1n \Big( \sum_k s_k - \tfrac{s_0 + s_n}{2} \Big), \quad \mathrm{ROAD} = "
        r"\overline{s}_{\text{least first}} - \overline{s}_{\text{most first}}, \quad \rho = "
        r"\text{rank correlation with shuffled weights}",
        "that the best map is right. Pictures with places removed are unlike those of training; pointing and mass "
        "measure whether a map lies on the insect, which a model may rightly not use; noise passes the check with "
        "random weights.",
        "Petsiuk et al. 2018; Rong et al. 2022; Adebayo et al. 2018; Zhang et al. 2016; Yeh et al. 2019",
    )


def scored(shown: Shown, picture: Picture) -> None:
    top = st.container(horizontal=True, vertical_alignment="bottom")
    choice = choices(top)
    if choice.over == THIS:
        trust_one.show(shown, picture, choice, top)
    else:
        trust_many.show(shown, choice)
