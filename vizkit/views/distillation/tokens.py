"""Two tokens: what the class token and the distillation token of a DeiT predict, attend to and become."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import torch

from vizkit.analysis.attention.attention_map import attention_map, layers
from vizkit.analysis.attribution.rollout import rollout
from vizkit.analysis.distillation.agreement import PUBLISHED as AGREEMENT
from vizkit.analysis.distillation.agreement import Row, share, standard_error
from vizkit.analysis.distillation.agreement import table as counted
from vizkit.analysis.distillation.temperature import softened
from vizkit.analysis.distillation.two_tokens import DEPTH, PUBLISHED, cosines, overlaps
from vizkit.analysis.remarks import distillation as remarks
from vizkit.analysis.remarks.remark import percent
from vizkit.figure.attention.by_layer import by_layer
from vizkit.figure.canvas.rows import Rows
from vizkit.models.probes.two_heads import TwoHeads, learned_tokens, two_heads
from vizkit.percent import in_percent
from vizkit.traces import Attention, query_row
from vizkit.views.blocks import (
    Answered,
    Block,
    Blocks,
    Chart,
    Columns,
    Heading,
    Job,
    Later,
    Line,
    Map,
    Numbers,
    Part,
    Proof,
    Said,
    Table,
    Tile,
    Tiles,
    side_by_side,
)
from vizkit.views.controls import choice, folder, layer
from vizkit.views.distillation.classes import Classes
from vizkit.views.distillation.labelled import (
    COUNTS,
    FOLDER,
    WORDS,
    awaited,
    opened,
    sets,
    subject_called,
    teachers,
)
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

NAMES = {"cls": "class token", "dist": "distillation token"}
UPLOADS = "your uploads"
ROWS = 8  # of bars: the likeliest classes


def pictures(of: Sequence[Subject]) -> list[str]:
    return [*sets(of), *([UPLOADS] if any(each.uploads for each in of) else [])]


class TwoTokens(View):
    """What the class token and the distillation token of a DeiT predict."""

    layer: int | None = layer(
        "Layer", "Whose attention is shown large, the mean of its heads.", plays=True, key="token_layer"
    )
    teacher: str | None = choice(
        "Teacher",
        teachers,
        "Whose answers the two heads are compared with over many pictures.",
        key="token_teacher",
        runs=True,
        more=True,
    )
    data: str | None = choice(
        "Pictures of",
        pictures,
        "Test pictures of a built-in set or a folder; your uploads have no labels.",
        words=WORDS,
        key="agree_data",
        runs=True,
        more=True,
    )
    folder: str = folder("Folder", key="agree_folder", when=lambda view: view.data == FOLDER, runs=True, more=True)
    images: Literal["50", "100", "200", "500", "1000", "2000"] = choice(
        "Pictures", COUNTS, "At most so many.", default="200", key="agree_count", runs=True, more=True
    )

    alone = True
    how = How(
        "A distilled DeiT has a second token beside the class token, and a head for it that learned from a teacher "
        "alone; its prediction is the mean of both heads. The two tokens differ at first and become more similar with "
        "depth, as both targets have much in common: what remains is where the teacher differs from the labels.",
        r"z = \tfrac12\,(z_{\text{cls}} + z_{\text{dist}}), \qquad "
        r"\mathcal L = \tfrac12\,\mathrm{CE}(z_{\text{cls}}, y) + \tfrac12\,\mathrm{CE}(z_{\text{dist}}, "
        r"\arg\max z_{\text{teacher}})",
        "why the two differ on this image: attention and rollout show where a token attends, not how it uses it. "
        "DeiT · insects learned softly, at T = 3, the paper's model by hard labels.",
        "Touvron et al. 2021, § 4 and § 5.2, tables 3 and 4; rollout: Abnar & Zuidema 2020",
    )

    def title(self, of: Subject) -> str:
        return f"Two tokens, layer {self.layer or of.depth}"

    def leads(self, block: Block) -> bool:
        return isinstance(block, Chart)  # of both tokens; a map is of one

    def show(self, of: Subject) -> Blocks:
        heads = of.kept("two heads", partial(heads_of, of))
        shared = overlaps(of.whole()).tolist()
        both = [each for each in layers(of.whole()) if set(NAMES) <= set(each.query.special)]
        at = min(self.layer or len(both), len(both)) - 1
        maps = [{name: attention_map(each, name) for name in NAMES} for each in both]
        said = remarks.overlapping(at + 1, shared[at])
        labels = [of.loaded.label(index) for index in range(heads.cls.shape[-1])]
        yield Said(f"{said} {remarks.two_heads(heads.cls[0].softmax(0), heads.dist[0].softmax(0), labels)}")
        numbered, notes = range(1, len(maps) + 1), {"dist": [f"shared {percent(value)}" for value in shared]}
        columns = []
        for name, words in NAMES.items():
            own, special = [pair[name].places.numpy() for pair in maps], maps[at][name].special
            tiles = zip(numbered, own, notes.get(name, [""] * len(own)), strict=True)
            columns.append(
                (
                    Heading(f"Attention of the {words}"),
                    Map(
                        row_of(both[at], name),
                        name,
                        f"Attention of the {words}",
                        f"share of the {words}'s attention",
                        tuple((f"[{token}]", value) for token, value in special.items()),
                        room=False,
                    ),
                    Tiles(
                        f"The {words} by layer",
                        tuple(Tile(f"{number}", places, note) for number, places, note in tiles),
                        f"Attention of the {words} in a layer. Click to see it large.",
                        picks="layer",
                        values=tuple(numbered),
                        chosen=at + 1,
                        tile_px=76,
                    ),
                )
            )
        yield side_by_side(*columns)
        yield predictions(heads, labels)
        yield Answered(of.loaded)
        yield side_by_side(Part(partial(similarity, of)), Part(partial(rollouts, of)))
        yield from self.agreement(of)
        yield Proof(of.whole())
        yield Numbers(
            lambda: (
                {"cls": heads.cls[0], "dist": heads.dist[0], "overlap": shared}
                | {f"attention_{name}": torch.stack([pair[name].places for pair in maps]) for name in NAMES}
            )
        )

    # ---- over many pictures ------------------------------------------------------------------------------------------
    def agreement(self, of: Subject) -> Blocks:
        """How often each head gives the label, and the teacher's first choice."""
        from vizkit.training.experiments.answers import Answered as Counted
        from vizkit.training.experiments.answers import ask

        name = self.teacher or teachers([of])[0]
        beside = {each.name: each.loaded for each in of.beside if each.name != name}
        beside = {each: it for each, it in beside.items() if it.labels == of.loaded.labels and it.head.exclusive}
        yield Heading("Agreement over many pictures")
        yield Line(
            "On how many the first answer of each head is the label, and the teacher's first answer: choose teacher "
            "and pictures under More."
        )

        if sentence := awaited(of, self.data, self.folder):
            yield Line(sentence)
            return

        def work(progress: Any) -> Counted:
            given = (self.data, self.folder, int(self.images), max(of.loaded.preprocessing.size_hw))
            uploads = list(of.uploads.values())[: int(self.images)]
            found = uploads if self.data == UPLOADS else opened(of, *given)
            teacher = subject_called(name, [of, *of.beside]).loaded
            return ask(of.loaded, teacher, found, beside, tell=lambda done: progress(done, len(found)))

        def show(results: Mapping[Any, Counted]) -> Blocks:
            for answered in results.values():
                yield from tables(answered, name)

        key = ("agreement", name, self.data, self.folder, self.images, tuple(beside))
        yield Later(of, (Job(key, f"Counting over {self.images} pictures", work),), show, "Count")


def heads_of(of: Subject) -> TwoHeads:
    return two_heads(of.loaded, of.pixels)


def row_of(attention: Attention, name: str) -> Rows:
    """The row of one token in the mean of the heads."""
    asked, key = attention.query.special.index(name), attention.key
    row = query_row(attention, asked).mean(0, keepdim=True).numpy()
    position, special = np.array([asked]), attention.query.special
    return Rows(row, key.grid, attention.query.grid, position, None, special, key.special)


def predictions(heads: TwoHeads, labels: Sequence[str]) -> Columns:
    """Both heads and their mean, in one order."""
    rows, columns = Classes.of(heads.averaged[0], labels, ROWS), list[tuple[Block, ...]]()
    for name, logits, words in (
        ("Class token", heads.cls, "its head learned from the labels"),
        ("Distillation token", heads.dist, "its head learned from the teacher alone, where there is one"),
        ("Both averaged", heads.averaged, "the mean of the logits: the model's prediction"),
    ):
        values = softened(logits[0], 1.0).of(rows.shown)
        columns.append((Heading(name), rows.bars(values, f"What the {name.lower()} predicts"), Line(words)))
    return side_by_side(*columns)


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


def tables(answered: Any, teacher: str) -> Blocks:
    """What was counted, and what is published."""
    from vizkit.training.experiments.answers import CLASS, DIST

    rows = counted(answered.answers, answered.labels, answered.teacher)
    if answered.teacher is not None:
        rows.append(Row(f"teacher, {teacher}", share(answered.teacher, answered.labels), None))
    both = share(answered.answers[CLASS], answered.answers[DIST]) or 0.0
    widest = standard_error(min((row.with_label or 0.5 for row in rows), key=lambda p: abs(p - 0.5)), answered.images)
    unknown = "" if answered.labels is not None else " These pictures have no labels of this model."
    said = f"{answered.images:,} pictures; one standard error is at most {in_percent(widest, 1)}. "
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
