"""The two tokens of a DeiT: what they attend to and become, and whom their heads agree with over many images."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from vizkit.analysis.attention.attention_map import AttentionMap, attention_map, layers
from vizkit.analysis.attribution.rollout import rollout
from vizkit.analysis.distillation.agreement import PUBLISHED as AGREEMENT
from vizkit.analysis.distillation.agreement import Row, share, standard_error
from vizkit.analysis.distillation.agreement import table as counted
from vizkit.analysis.distillation.two_tokens import DEPTH, PUBLISHED, cosines, overlaps
from vizkit.analysis.remarks import distillation as remarks
from vizkit.analysis.remarks.remark import percent
from vizkit.figure.attention.by_layer import by_layer
from vizkit.figure.canvas.rows import Rows
from vizkit.models.probes.two_heads import has_two_tokens, learned_tokens
from vizkit.percent import in_percent
from vizkit.traces import Attention, NotApplicable, query_row
from vizkit.views.blocks import (
    Blocks,
    Chart,
    Heading,
    Job,
    Later,
    Line,
    Map,
    Said,
    Table,
    Tile,
    Tiles,
    side_by_side,
)
from vizkit.views.distillation.labelled import awaited, opened, sets, subject_called, teachers
from vizkit.views.subject import Subject

NAMES = {"cls": "class token", "dist": "distillation token"}
COSINE = "Cosine of the two tokens"
ARRAYS = ("overlap", *(f"attention_{name}" for name in NAMES))
UPLOADS = "your uploads"


def two_of(of: Sequence[Subject]) -> bool:
    return bool(of) and of[0].has_model and has_two_tokens(of[0].loaded.model)


def pictures(of: Sequence[Subject]) -> list[str]:
    """None for a model that has no two tokens to count with, as its teachers."""
    return [*sets(of), *([UPLOADS] if any(each.uploads for each in of) else [])] if two_of(of) else []


def teachers_of_two(of: Sequence[Subject]) -> list[str]:
    return teachers(of) if two_of(of) else []


# ---- of this picture -------------------------------------------------------------------------------------------------
def attended(of: Subject, chosen: int | None) -> Blocks:
    """Where both tokens attend, by layer, and one layer of them large."""
    shared, maps = overlaps(of.whole()).tolist(), attention_of(of)
    both = [each for each in layers(of.whole()) if set(NAMES) <= set(each.query.special)]
    at = min(chosen or len(both), len(both)) - 1
    yield Said(remarks.overlapping(at + 1, shared[at]))
    numbered, notes = range(1, len(both) + 1), {"dist": [f"shared {percent(value)}" for value in shared]}
    columns = []
    for name, words in NAMES.items():
        tiles = zip(numbered, maps[name], notes.get(name, [""] * len(both)), strict=True)
        columns.append(
            (
                Heading(f"Attention of the {words}"),
                Map(
                    row_of(both[at], name),
                    name,
                    f"Attention of the {words}",
                    f"share of the {words}'s attention",
                    tuple((f"[{token}]", value) for token, value in maps[name][at].special.items()),
                    room=False,
                ),
                Tiles(
                    f"The {words} by layer",
                    tuple(Tile(f"{number}", each.places.numpy(), note) for number, each, note in tiles),
                    f"Attention of the {words} in a layer. Click to see it large.",
                    picks="layer",
                    values=tuple(numbered),
                    chosen=at + 1,
                    tile_px=76,
                ),
            )
        )
    yield side_by_side(*columns)


def attention_of(of: Subject) -> dict[str, list[AttentionMap]]:
    """Of both tokens, by layer."""
    both = [each for each in layers(of.whole()) if set(NAMES) <= set(each.query.special)]
    return {name: [attention_map(each, name) for each in both] for name in NAMES}


def arrays(of: Subject) -> dict[str, Any]:
    """The numbers of what is attended; none where no layer has both tokens."""
    try:
        shared = overlaps(of.whole())
    except NotApplicable:
        return dict.fromkeys(ARRAYS, ())
    maps = attention_of(of)
    return dict(
        zip(ARRAYS, (shared, *(torch.stack([each.places for each in maps[name]]) for name in NAMES)), strict=True)
    )


def row_of(attention: Attention, name: str) -> Rows:
    """The row of one token in the mean of the heads."""
    asked, key = attention.query.special.index(name), attention.key
    row = query_row(attention, asked).mean(0, keepdim=True).numpy()
    position, special = np.array([asked]), attention.query.special
    return Rows(row, key.grid, attention.query.grid, position, None, special, key.special)


def similarity(of: Subject) -> Blocks:
    start = torch.nn.functional.cosine_similarity(*learned_tokens(of.loaded), dim=0)
    cosine = torch.cat([start[None], cosines(of.whole())]).numpy()
    published = [(0, PUBLISHED[0], "learned tokens of DeiT-B"), (DEPTH, PUBLISHED[1], "last layer of DeiT-B")]
    low = min(0.0, float(cosine.min()))
    figure = by_layer({"cosine of the two tokens": cosine}, "cosine", published=published, first=0, reach=(low, 1.0))
    words = f"{COSINE}: {cosine[0]:.2f} at first, {cosine[-1]:.2f} at last"
    yield Chart(figure, words, "How similar they become")
    yield Line(
        f"Layer 0 are the tokens as they were learned, before any image: {cosine[0]:.2f} here, {PUBLISHED[0]:.2f} in "
        f"the paper; after the last layer {cosine[-1]:.2f}, in the paper's {DEPTH} layers {PUBLISHED[1]:.2f} (averages "
        "over images)."
    )


def rollouts(of: Subject) -> Blocks:
    maps = {name: rollout(of.whole(), name) for name in NAMES}
    yield Tiles(
        "Rollout of each",
        tuple(Tile(words, maps[name].numpy()) for name, words in NAMES.items()),
        "All layers multiplied, heads averaged",
        tile_px=180,
    )
    same = float(maps["cls"].minimum(maps["dist"]).sum())
    yield Line(f"{percent(same)} of the two maps lies in the same places: all layers multiplied, heads averaged.")


# ---- over many images ------------------------------------------------------------------------------------------------
def agreement(of: Subject, teacher: str | None, data: str | None, folder: str, images: int) -> Blocks:
    """How often each head gives the label, and the teacher's first choice."""
    from vizkit.training.experiments.answers import Answered as Counted
    from vizkit.training.experiments.answers import ask

    name = teacher or teachers([of])[0]
    beside = {each.name: each.loaded for each in of.beside if each.name != name}
    beside = {each: it for each, it in beside.items() if it.labels == of.loaded.labels and it.head.exclusive}
    yield Heading("Agreement over many images")
    yield Line(
        "On how many the first answer of each head is the label, and the teacher's first answer: choose teacher "
        "and images under More."
    )

    if sentence := awaited(of, data, folder):
        yield Line(sentence)
        return

    def work(progress: Any) -> Counted:
        given = (data, folder, images, max(of.loaded.preprocessing.size_hw))
        uploads = list(of.uploads.values())[:images]
        found = uploads if data == UPLOADS else opened(of, *given)
        taught_by = subject_called(name, [of, *of.beside]).loaded
        return ask(of.loaded, taught_by, found, beside, tell=lambda done: progress(done, len(found)))

    def show(results: Mapping[Any, Counted]) -> Blocks:
        for answered in results.values():
            yield from tables(answered, name)

    key = ("agreement", name, data, folder, images, tuple(beside))
    yield Later(of, (Job(key, f"Counting over {images} images", work),), show, "Count")


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
