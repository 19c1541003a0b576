"""The pictures of an evaluation to leaf through: filtered, ordered, and each to be opened in Explore or Relevance."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.evaluation import browsing
from vizkit.evaluation.outcome import Outcome
from vizkit.evaluation.pictures import open_pictures
from vizkit.evaluation.report_pictures import thumbnail
from vizkit.ui.canvas import Canvas
from vizkit.ui.plain import plain
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.sidebar import inputs
from vizkit.ui.widgets.controls import more
from vizkit.views.rules import below, one_of, tuple_of

HERE = Path(__file__).parent
AT_ONCE = 24  # pictures of a page
ANY, OTHERS = "any", "another class"
PAGES = {"Explore": "pages/explore.py", "Relevance": "pages/relevance.py"}
BROWSER = Canvas("vizkit_evaluated", "<section role='group'></section>", HERE / "browser.css", HERE / "browser.js")


def show(outcome: Outcome, model: int) -> None:
    """`model`: the one whose answers and confidences the filter means."""
    judged = outcome.judged[model]
    answers = browsing.common_answers([each.answer for each in outcome.judged], outcome.classes)
    chosen, order = choose(outcome)
    images = browsing.matching(judged, browsing.disagreement(answers), chosen)
    images = browsing.ordered(judged, images, order)
    pages, _ = browsing.paged(len(images), 1, AT_ONCE)
    keep_valid("eval_page", range(1, pages + 1))
    st.caption(
        f"**{len(images):,} of {len(judged.target):,} pictures**, {order}: the label, and below it what each "
        "model answered. ✓ right, ✗ wrong."
    )
    if not len(images):
        st.info("No picture passes; choose other answers, or a wider range.", icon=":material/filter_alt_off:")
        return
    place = st.container()
    page = int(st.pagination(pages, key="eval_page", bind="query-params")) if pages > 1 else 1
    with place:
        tiles(outcome, images[browsing.paged(len(images), page, AT_ONCE)[1]].tolist())


def choose(outcome: Outcome) -> tuple[browsing.Filter, str]:
    labels, kinds = list(outcome.labels), list(browsing.KINDS)
    if len(outcome.models) < 2:
        kinds.remove(browsing.DISAGREE)
    options = {"eval_label": [ANY, *labels], "eval_answer": [ANY, *labels, OTHERS], "eval_kind": kinds}
    for key, values in options.items():
        keep_valid(key, values)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = st.selectbox("Show", kinds, key="eval_kind", bind="query-params", width=136)
        label = st.selectbox(
            "Label",
            options["eval_label"],
            key="eval_label",
            bind="query-params",
            width=136,
            help="What the picture is.",
        )
        answer = st.selectbox(
            "Answer",
            options["eval_answer"],
            key="eval_answer",
            bind="query-params",
            width=136,
            help="What the model in detail answered.",
        )
        with more():
            low, high = st.slider(
                "Confidence, %",
                0,
                100,
                (0, 100),
                key="eval_confidence",
                bind="query-params",
                width=260,
                help="Of the model in detail: the probability of its answer.",
            )
            order = st.selectbox("Order", list(browsing.ORDERS), key="eval_order", bind="query-params", width=260)
    number = {name: place for place, name in enumerate([*labels, OTHERS])}
    return browsing.Filter(number.get(label), number.get(answer), low / 100, high / 100, kind), str(order)


# ---- the pictures ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Thumbnail:
    """A picture of the evaluation as a page loads it."""

    image: int
    url: str


def tiles(outcome: Outcome, images: Sequence[int]) -> None:
    try:
        pictures = picture_set(outcome)
    except DatasetError as error:
        st.caption(plain(error))
        return
    small = [
        Thumbnail(image, url) for image in images if (url := _small(outcome.digest, int(outcome.rows[image]), pictures))
    ]
    if len(small) < len(images):
        st.caption(f"{len(images) - len(small)} of the pictures are no longer there.")

    def picked(told: tuple[int, str]) -> None:
        image = small[told[0]].image
        rgb, _ = pictures[int(outcome.rows[image])]
        inputs.take(f"{outcome.labels[int(outcome.target[image])]}, {Path(outcome.places[image]).name}", rgb)
        st.session_state["_eval_open"] = PAGES[told[1]]

    BROWSER(
        "eval_pictures",
        {"tiles": [_described(outcome, each) for each in small], "pages": list(PAGES), "label": "Pictures"},
        open=(tuple_of(below(len(small)), one_of(PAGES)), picked),
    )


def follow() -> None:
    """Go where a picture was opened: a callback cannot, and the rest of the page need not be drawn before."""
    if page := st.session_state.pop("_eval_open", ""):
        st.switch_page(page, query_params={})  # without them it refuses to clear those of widgets


def _described(outcome: Outcome, small: Thumbnail) -> dict[str, Any]:
    image = small.image
    answers = [
        {
            "model": row.name,
            "answer": outcome.answer_of(model, image),
            "sure": f"{judged.probability[image]:.0%}",
            "right": bool(judged.right[image]),
        }
        for model, (row, judged) in enumerate(zip(outcome.models, outcome.judged, strict=True))
    ]
    return {
        "picture": small.url,
        "label": outcome.labels[int(outcome.target[image])],
        "place": outcome.places[image],
        "answers": answers,
    }


@st.cache_data(max_entries=2000, show_spinner=False)
def _small(digest: str, row: int, _pictures: ImageSet) -> str:
    made = thumbnail(_pictures, row)
    return f"data:image/jpeg;base64,{made.code}" if made else ""


def picture_set(outcome: Outcome) -> ImageSet:
    return _reopened(outcome.digest, dict(outcome.opened))


@st.cache_resource(max_entries=8, show_spinner=False)
def _reopened(digest: str, _opened: dict[str, Any]) -> ImageSet:
    """The very pictures that were judged. DatasetError where they have changed since."""
    image_set = open_pictures(**_opened)
    if image_set.digest != digest:
        raise DatasetError("The pictures have changed since they were judged; evaluate again to see them.")
    return image_set
