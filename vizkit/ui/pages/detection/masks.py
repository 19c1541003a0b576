"""The view Masks: which pixels belong to which thing."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.figure.detection.segments import segments_over
from vizkit.ui import reading
from vizkit.ui.pages.detection.choices import threshold
from vizkit.ui.pages.detection.given import Given, choose
from vizkit.ui.pages.detection.keeping import keep
from vizkit.ui.plain import plain
from vizkit.ui.session.remembered import remembered
from vizkit.ui.views import NothingShownError, Page

if TYPE_CHECKING:
    from vizkit.models.detection.segmenting import Segments
    from vizkit.models.networks.detr_masks import MaskHead
    from vizkit.report.kinds.framed import OnPicture

LETTERS = 200  # of the title of what is saved: of a picture with a hundred things the first


def view(page: Page) -> None:
    given = choose(page)
    head = opened(given)
    said = segments(*given.key, masks_written(given.source), threshold(), given, head)
    truth = truth_of(given)
    shown = {"Said": (said, places(said, truth))}
    shown |= {} if truth is None else {"Truth": (truth, list(range(len(truth.labels))))}
    for column, (title, (each, colours)) in zip(st.columns(len(shown)), shown.items(), strict=True):
        with column:
            panel(given, each, colours, title)
    keep("det_masks", given, "Masks of things", [kept(given, *each, title) for title, each in shown.items()])
    if truth is not None:
        measured(given, said, truth)
    reading.how(
        "A pixel belongs to the query whose mask is surest there, and to the ground, which is dark, where no mask is. "
        "IoU: pixels of both / pixels of either. Panoptic quality counts a segment as right from an IoU of .5 on, with "
        "the right class.",
        r"\mathrm{PQ} = \frac{\sum_{(p, g) \in TP} \mathrm{IoU}(p, g)}{|TP| + \frac12 |FP| + \frac12 |FN|}",
        "finer edges than the masks have: they are made at a quarter of the model's input.",
        "Carion et al. 2020, § 4.4; Kirillov et al. 2019",
    )


def opened(given: Given) -> "MaskHead":
    """The mask head of the chosen model; NothingShownError where it has none."""
    from vizkit.models.detection.opening_masks import has_masks
    from vizkit.models.sources.hub import ModelError

    try:
        if not has_masks(given.source):
            st.info(
                f"{plain(given.detector.name)} finds boxes and has no masks yet: train them with the recipe "
                "detr-masks into the folder masks of its run."
            )
            raise NothingShownError
        return head_of(given.key[0], masks_written(given.source), given.source)
    except ModelError as error:
        st.warning(plain(error), icon=":material/warning:")
        raise NothingShownError from None


def masks_written(source: str) -> int:
    """When its masks were written: trained anew they are others."""
    from vizkit.models.detection.opening import detector_folder

    return (detector_folder(source)[0] / "masks" / "config.json").stat().st_mtime_ns


@remembered
def head_of(key: str, written: int, _source: str) -> "MaskHead":
    from vizkit.models.detection.opening_masks import open_masks

    return open_masks(_source)


@remembered
def segments(source: str, digest: str, written: int, score: float, _given: Given, _head: "MaskHead") -> "Segments":
    from vizkit.models.detection.segmenting import segment
    from vizkit.ui.session.cached import device_lock

    with device_lock():
        return segment(_given.detector, _head, _given.rgb, score)


def truth_of(given: Given) -> "Segments | None":
    from vizkit.models.detection.segmenting import Segments

    return None if given.truth is None else Segments(given.truth.instances, given.truth.labels)


def places(said: "Segments", truth: "Segments | None") -> list[int]:
    """Of each segment the place of its colour: that of the thing which it overlaps most, where there is one."""
    from vizkit.models.detection.panoptic import partners

    if truth is None:
        return list(range(len(said.labels)))
    return [at if at is not None else len(truth.labels) + place for place, (at, _) in enumerate(partners(truth, said))]


def kept(given: Given, shown: "Segments", colours: list[int], title: str) -> "OnPicture":
    """As it is saved, on every second pixel: a quarter of the numbers, at the resolution of the masks or finer."""
    from vizkit.report.kinds.framed import OnPicture

    rows = tuple(map(tuple, shown.instances[::2, ::2].tolist()))
    return OnPicture(f"{title}: {names_of(given, shown)}"[:LETTERS], instances=rows, places=tuple(colours))


def names_of(given: Given, shown: "Segments") -> str:
    return ", ".join(given.detector.labels[label] for label in shown.labels.tolist()) or "nothing found"


def panel(given: Given, shown: "Segments", colours: list[int], title: str) -> None:
    names = names_of(given, shown)
    st.image(
        segments_over(given.shown, shown.instances, colours),
        width="stretch",
        caption=f"{title}: {plain(names)}",
        alt=f"{title}: {names}",
    )


def measured(given: Given, said: "Segments", truth: "Segments") -> None:
    from vizkit.models.detection.panoptic import partners, quality

    labels = given.detector.labels
    st.metric(
        "Panoptic quality", f"{quality([said], [truth], len(labels)).pq:.2f}", help="Of this picture; 1 is perfect."
    )
    found = partners(said, truth)
    if found:
        st.dataframe(
            {
                "thing": [labels[label] for label in truth.labels.tolist()],
                "said": ["–" if place is None else labels[said.labels[place]] for place, _ in found],
                "IoU": [round(iou, 3) for _, iou in found],
            },
            hide_index=True,
        )
