"""What a teacher and its students say: about the image in the sidebar, or about many pictures, remembered."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from vizkit.image import Picture, Preprocessing
from vizkit.ui.pages.distillation.fields import class_names
from vizkit.ui.plain import plain
from vizkit.ui.session import cached
from vizkit.ui.session.chosen import whole_image
from vizkit.ui.session.remembered import remembered
from vizkit.ui.session.shown import CENTRE, accepted, attempt, title

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.datasets.image_set import ImageSet
    from vizkit.image import RGB
    from vizkit.models import Loaded

BATCH = 32  # pictures between two signs of life


@dataclass(frozen=True)
class Answers:
    """Logits (image, label) of a teacher, called `name`, and of its students by name, all in the order of `names`.
    `key` tells them from all others."""

    key: tuple
    name: str
    names: tuple[str, ...]
    teacher: "Tensor"
    students: "dict[str, Tensor]"


def on_image(picture: Picture, teacher: str, students: list[str]) -> Answers | None:
    """None where the teacher, or every student, said why it cannot answer."""
    found: dict[str, tuple[Loaded, Tensor]] = {}
    for source in dict.fromkeys([teacher, *students]):
        with st.spinner(f"Running {plain(title(source))} …"):
            result = attempt(source, picture, "patch", CENTRE)
        if one := accepted(source, result):
            found[source] = one.loaded, one.trace.logits[None]
    key = (teacher, cached.weights_of(teacher), picture.digest, whole_image())
    return together(key, found, teacher, students)


def on_pictures(pictures: "ImageSet", models: "dict[str, Loaded]", teacher: str, students: list[str]) -> Answers | None:
    """As `on_image`, for every picture of a set. A batch that a model has seen is not run again; leaving the page, or
    another choice, stops it between two batches."""
    import torch

    total = len(pictures)
    logits: dict[str, list[Tensor]] = {source: [] for source in models}
    bar = st.progress(0.0, f"{total:,} pictures")
    for start in range(0, total, BATCH):
        rows = range(start, min(start + BATCH, total))
        seen = opened_once(pictures, rows)
        for source, loaded in models.items():
            key = (source, cached.weights_of(source), pictures.digest, rows)
            logits[source].append(_answers(key, loaded.preprocessing, loaded, seen))
        bar.progress(rows.stop / total, f"{rows.stop:,} of {total:,} pictures")
    bar.empty()
    key = (teacher, cached.weights_of(teacher), pictures.digest)
    return together(
        key, {source: (models[source], torch.cat(each)) for source, each in logits.items()}, teacher, students
    )


def opened_once(pictures: "ImageSet", rows: range) -> "Callable[[], list[RGB]]":
    """The pictures of a batch, read when a model first asks for them."""
    kept: list[RGB] = []

    def read() -> "list[RGB]":
        if not kept:
            kept.extend(pictures[row][0] for row in rows)
        return kept

    return read


@remembered
def _answers(key: tuple, preprocessing: Preprocessing, _loaded: "Loaded", _read: "Callable[[], list[RGB]]") -> "Tensor":
    import numpy as np
    import torch

    from vizkit.image import prepare
    from vizkit.models.probes.model_functions import logits_of_batch

    pixels = torch.from_numpy(np.stack([prepare(rgb, preprocessing)[0] for rgb in _read()]))
    with cached.device_lock(), torch.no_grad():
        return logits_of_batch(_loaded)(pixels).cpu()


def together(
    key: tuple, found: "dict[str, tuple[Loaded, Tensor]]", teacher: str, students: list[str]
) -> Answers | None:
    """The students whose classes are the teacher's; the others say so in a sentence."""
    from vizkit.analysis.distillation.loss import same_labels
    from vizkit.traces import NotApplicable

    if teacher not in found:
        return None
    loaded, answer = found[teacher]
    names = class_names(loaded, answer.shape[-1])
    asked = {}
    for source in (source for source in students if source in found):
        loaded, logits = found[source]
        try:
            order = same_labels(names, class_names(loaded, logits.shape[-1]), (title(teacher), title(source)))
        except NotApplicable as sentence:
            st.info(plain(sentence), icon=":material/block:")
        else:
            asked[source] = logits[:, order]
    return (
        Answers((*key, *(cached.weights_of(source) for source in asked)), teacher, names, answer, asked)
        if asked
        else None
    )
