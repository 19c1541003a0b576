"""What a teacher and its students say: about the image in the sidebar, or about many pictures, remembered."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import streamlit as st
import torch
from torch import Tensor

from vizkit.analysis.distillation.loss import same_labels
from vizkit.datasets.image_set import ImageSet
from vizkit.image import RGB, Picture, Preprocessing, prepare
from vizkit.models import Loaded
from vizkit.traces import NotApplicable
from vizkit.ui.pages.distillation.fields import class_names
from vizkit.ui.plain import plain
from vizkit.ui.session import cached
from vizkit.ui.session.chosen import whole_image
from vizkit.ui.session.remembered import remembered
from vizkit.ui.session.shown import CENTRE, accepted, attempt, title

BATCH = 32  # pictures between two signs of life


@dataclass(frozen=True)
class Answers:
    """Logits (image, label) of a teacher, called `name`, and of its students by name, all in the order of `names`.
    `key` tells them from all others."""

    key: tuple
    name: str
    names: tuple[str, ...]
    teacher: Tensor
    students: dict[str, Tensor]


def on_image(picture: Picture, teacher: str, students: list[str]) -> Answers | None:
    """None where the teacher, or every student, said why it cannot answer."""
    results: dict[str, tuple[Loaded, Tensor]] = {}
    for source in dict.fromkeys([teacher, *students]):
        with st.spinner(f"Running {plain(title(source))} …"):
            result = attempt(source, picture, "patch", CENTRE)
        if shown := accepted(source, result):
            results[source] = shown.loaded, shown.trace.logits[None]
    key = (teacher, cached.weights_of(teacher), picture.digest, whole_image())
    return together(key, results, teacher, students)


def on_pictures(pictures: ImageSet, models: dict[str, Loaded], teacher: str, students: list[str]) -> Answers | None:
    """As `on_image`, for every picture of a set. A batch that a model has seen is not run again; leaving the page, or
    another choice, stops it between two batches."""
    total = len(pictures)
    logits: dict[str, list[Tensor]] = {source: [] for source in models}
    bar = st.progress(0.0, f"{total:,} pictures")
    for start in range(0, total, BATCH):
        rows = range(start, min(start + BATCH, total))
        seen = _opened_once(pictures, rows)
        for source, loaded in models.items():
            key = (source, cached.weights_of(source), pictures.digest, rows)
            logits[source].append(_answers(key, loaded.preprocessing, loaded, seen))
        bar.progress(rows.stop / total, f"{rows.stop:,} of {total:,} pictures")
    bar.empty()
    key = (teacher, cached.weights_of(teacher), pictures.digest)
    return together(
        key, {source: (models[source], torch.cat(batches)) for source, batches in logits.items()}, teacher, students
    )


def _opened_once(pictures: ImageSet, rows: range) -> Callable[[], list[RGB]]:
    """The pictures of a batch, read when a model first asks for them."""
    kept: list[RGB] = []

    def read() -> list[RGB]:
        if not kept:
            kept.extend(pictures[row][0] for row in rows)
        return kept

    return read


@remembered
def _answers(key: tuple, preprocessing: Preprocessing, _loaded: Loaded, _read: Callable[[], list[RGB]]) -> Tensor:
    from vizkit.models.probes.model_functions import logits_of_batch

    pixels = torch.from_numpy(np.stack([prepare(rgb, preprocessing)[0] for rgb in _read()]))
    with cached.device_lock(), torch.no_grad():
        return logits_of_batch(_loaded)(pixels).cpu()


def together(
    key: tuple, results: dict[str, tuple[Loaded, Tensor]], teacher: str, students: list[str]
) -> Answers | None:
    """The students whose classes are the teacher's; the others say so in a sentence."""
    if teacher not in results:
        return None
    loaded, answer = results[teacher]
    names = class_names(loaded, answer.shape[-1])
    comparable = {}
    for source in (source for source in students if source in results):
        loaded, logits = results[source]
        try:
            order = same_labels(names, class_names(loaded, logits.shape[-1]), (title(teacher), title(source)))
        except NotApplicable as sentence:
            st.info(plain(sentence), icon=":material/block:")
        else:
            comparable[source] = logits[:, order]
    return (
        Answers((*key, *(cached.weights_of(source) for source in comparable)), teacher, names, answer, comparable)
        if comparable
        else None
    )
