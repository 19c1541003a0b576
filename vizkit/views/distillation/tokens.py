"""The two tokens of a DeiT: what they attend to and become, and whom their heads agree with over many images."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from vizkit.analysis.attention.attention_map import attention_map, layers
from vizkit.analysis.attribution.rollout import rollout
from vizkit.analysis.distillation.agreement import PUBLISHED as AGREEMENT
from vizkit.analysis.distillation.agreement import Row, share, standard_error
from vizkit.analysis.distillation.agreement import table as counted
from vizkit.analysis.distillation.two_tokens import DEPTH, PUBLISHED, cosines, overlaps
from vizkit.analysis.remarks import distillation as remarks
from vizkit.analysis.remarks.remark import percent
from vizkit.figure.attention.by_layer import by_layer
from vizkit.models.probes.two_heads import has_two_tokens, learned_tokens
from vizkit.percent import in_percent
from vizkit.views import bundled
from vizkit.views.blocks import (
    Blocks,
    Chart,
    Hint,
    Job,
    Later,
    Line,
    Said,
    Table,
    Tile,
    Tiles,
    side_by_side,
)
from vizkit.views.distillation.labelled import awaited, opened, own_teacher, sets
from vizkit.views.subject import Subject

NAMES = {"cls": "class token", "dist": "distillation token"}
ARRAYS = ("overlap", *(f"attention_{name}" for name in NAMES))
UPLOADS = "your uploads"
IMAGES = 200  # of a set; the command `agreement` takes any number, and any teacher


def pictures(of: Sequence[Subject]) -> list[str]:
    """None for a model that has no two tokens to count with."""
    if not (of and of[0].has_model and has_two_tokens(of[0].loaded.model)):
        return []
    return [*sets(of), *([UPLOADS] if any(each.uploads for each in of) else [])]


# ---- of this picture -------------------------------------------------------------------------------------------------
def attended(of: Subject) -> Blocks:
    """Where both tokens attend in each layer, and over all of them."""
    found = arrays(of)
    shared = found["overlap"].tolist()
    yield Said(remarks.overlapping(shared))
    notes = {"dist": [f"shared {percent(value)}" for value in shared]}
    columns = []
    for name, words in NAMES.items():
        tiles = zip(found[f"attention_{name}"].numpy(), notes.get(name, [""] * len(shared)), strict=True)
        every = [Tile(f"layer {number}", places, note) for number, (places, note) in enumerate(tiles, 1)]
        every.append(Tile("rollout", rollout(of.whole(), name).numpy()))
        alt = f"Attention of the {words}, the mean of all heads; rollout: all layers multiplied"
        columns.append(Tiles(f"Where the {words} attends", tuple(every), alt, of=of))
    yield side_by_side(*columns)


def arrays(of: Subject) -> dict[str, Tensor]:
    """As they are saved. NotApplicable where no layer has both tokens."""
    both = [each for each in layers(of.whole()) if set(NAMES) <= set(each.query.special)]
    overlap = overlaps(of.whole())
    maps = [torch.stack([attention_map(each, name).places for each in both]) for name in NAMES]
    return dict(zip(ARRAYS, (overlap, *maps), strict=True))


def similarity(of: Subject) -> Blocks:
    start = torch.nn.functional.cosine_similarity(*learned_tokens(of.loaded), dim=0)
    cosine = torch.cat([start[None], cosines(of.whole())]).numpy()
    published = [(0, PUBLISHED[0], "learned tokens of DeiT-B"), (DEPTH, PUBLISHED[1], "last layer of DeiT-B")]
    low = min(0.0, float(cosine.min()))
    figure = by_layer({"cosine of the two tokens": cosine}, "cosine", published=published, first=0, reach=(low, 1.0))
    words = f"Cosine of the two tokens: {cosine[0]:.2f} at first, {cosine[-1]:.2f} at last"
    yield Chart(figure, words, "How similar they become")
    yield Line(
        f"Layer 0 are the tokens as they were learned, before any image: {cosine[0]:.2f} here, {PUBLISHED[0]:.2f} in "
        f"the paper; after the last layer {cosine[-1]:.2f}, in the paper's {DEPTH} layers {PUBLISHED[1]:.2f} (averages "
        "over images)."
    )


# ---- over many images ------------------------------------------------------------------------------------------------
def agreement(of: Subject, data: str | None, folder: str) -> Blocks:
    """How often each head gives the label, and the first choice of the model's own teacher."""
    from vizkit.training.experiments.answers import Answered as Counted
    from vizkit.training.experiments.answers import ask

    yield Line(
        "On how many the first answer of each head is the label, and the teacher's first answer; the images are chosen "
        "under More."
    )
    if sentence := awaited(of, data, folder):
        yield Hint(sentence)
        return
    teacher = own_teacher(of)
    beside = {
        each.name: each.loaded
        for each in of.beside
        if each.loaded.labels == of.loaded.labels and each.loaded.head.exclusive
    }

    def work(progress: Any) -> Counted:
        side = max(of.loaded.preprocessing.size_hw)
        uploads = [*of.uploads.values()][:IMAGES]
        found = uploads if data == UPLOADS else opened(of, data, folder, IMAGES, side)
        own = teacher and teacher.loaded
        return ask(of.loaded, own, found, beside, tell=lambda done: progress(done, len(found)))

    def show(results: Mapping[Any, Counted]) -> Blocks:
        for answered in results.values():
            yield from tables(answered, bundled.title(teacher.name) if teacher else "")

    key = ("agreement", data, folder, tuple(beside))
    yield Later(of, (Job(key, f"Counting over {IMAGES} images", work),), show, "Count")


def tables(answered: Any, teacher: str) -> Blocks:
    """What was counted, and what is published."""
    from vizkit.training.experiments.answers import CLASS, DIST

    rows = counted(answered.answers, answered.labels, answered.teacher)
    if answered.teacher is not None:
        rows.append(Row(f"teacher, {teacher}", share(answered.teacher, answered.labels), None))
    both = share(answered.answers[CLASS], answered.answers[DIST]) or 0.0
    widest = standard_error(min((row.with_label or 0.5 for row in rows), key=lambda p: abs(p - 0.5)), answered.images)
    unknown = "" if answered.labels is not None else " These images have no labels of this model."
    said = f"{answered.images:,} images; one standard error is at most {in_percent(widest, 1)}. "
    said += "The two tokens agree with each "
    paper = [Row(name, label, taught) for name, (label, taught) in AGREEMENT.items()]
    yield side_by_side(
        Table(lined(rows), "Agreement with label and teacher", f"{said}other on {in_percent(both, 1)}.{unknown}"),
        Table(lined(paper), "Published", "Published, DeiT-B on ImageNet (Touvron et al. 2021, table 4)."),
    )


def lined(rows: Sequence[Row]) -> tuple[Mapping[str, str | float | None], ...]:
    def words(value: float | None) -> str | None:
        return None if value is None else in_percent(value, 1)

    return tuple(
        {"": row.name, "with the label": words(row.with_label), "with the teacher": words(row.with_teacher)}
        for row in rows
    )
