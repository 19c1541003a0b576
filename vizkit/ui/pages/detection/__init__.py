"""Detection: a DETR's queries, the boxes that they find, and where they look for them."""

import streamlit as st

from vizkit.ui.views import Reads, View

DRAWN, OWN = "drawn scene", "picture of the sidebar"
VIEWS = (
    View(
        "Boxes",
        "Every box is what one query says: click it to see where that query looked, and what speaks for its class.",
        "boxes",
        "",
        reads="picture",
    ),
    View(
        "Encoder",
        "Before anything is asked, every place looks at all others, and mostly at its own thing.",
        "encoder",
        "",
        reads="picture",
    ),
    View(
        "Decoder",
        "Boxes move and get sure from layer to layer; queries that know nothing of each other say things twice.",
        "decoder",
        "",
        reads="picture",
    ),
    View(
        "Queries",
        "Every query has its habits: where its boxes lie, how large they are, and of what.",
        "queries",
        "",
        reads="nothing",
    ),
    View(
        "Matching",
        "While it learns, each thing is given to one query: the assignment that costs least in all.",
        "matching",
        "",
        reads="picture",
    ),
    View("Masks", "Every pixel goes to the query whose mask is surest there.", "masks", "", reads="picture"),
    View(
        "Beside a classifier",
        "A ViT and a Swin, asked for each class of the scene, beside the boxes of that class.",
        "classifier",
        "",
        reads="picture",
    ),
    View(
        "Published",
        "DETR against Faster R-CNN: better on large objects, worse on small ones.",
        "published",
        "",
        reads="nothing",
    ),
)


def reads(view: View) -> Reads:
    """A drawn scene needs no picture of the sidebar."""
    of = st.session_state.get("det_of") or st.query_params.get("det_of")
    return view.reads if of == OWN else "nothing"


def waiting() -> None:
    """Until the models can be used: a part of a package that is still being imported is only half there."""
    import vizkit.models  # noqa: F401
