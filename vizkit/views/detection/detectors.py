"""Detectors: how good they are at finding things in scenes, and where they are wrong."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar

import numpy as np
from jaxtyping import Bool

from vizkit.analysis.remarks.evaluation import detector
from vizkit.datasets.image_set import DatasetError
from vizkit.evaluation.scenes import tables
from vizkit.evaluation.scenes.boxes import KINDS, RECALLS, SURE, Boxes, Mistakes, curves, mistakes
from vizkit.evaluation.scenes.outcome import Judged, SceneOutcome
from vizkit.figure.charts import bars
from vizkit.figure.detection.on_picture import Frame, Panel, Panels
from vizkit.figure.evaluation.precision_recall import precision_recall
from vizkit.figure.palette import class_colours
from vizkit.image import RGB, data_url
from vizkit.percent import in_percent
from vizkit.views.blocks import (
    Block,
    Canvas,
    Chart,
    Download,
    Folded,
    Heading,
    Hint,
    Line,
    Metrics,
    Numbers,
    Paper,
    Process,
    Said,
    Table,
    side_by_side,
)
from vizkit.views.controls import choice, number
from vizkit.views.detection.scene import RIGHT, WRONG
from vizkit.views.evaluate.measured import ends, made
from vizkit.views.evaluate.recorded import SCENES, scene_set
from vizkit.views.rules import whole
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

ANY, ALL = "any", "all"
SHARP_PX, SMALL_PX, WORST, MOST = 480, 64, 8, 999_999
MEASURES = {
    "AP": ("ap", "Mean over IoU .5, .55 … .95 and over the classes."),
    "AP50": ("ap50", "A box counts from an IoU of .5 on."),
    "AP75": ("ap75", "A box counts from an IoU of .75 on."),
    "Without mistake": ("faultless", "Scenes in which everything is found, and nothing else said."),
}


def offered(of: Sequence[Subject], view: "Detectors") -> list[str]:
    return SCENES.offered(of, view.evaluated)


def outcome(of: Sequence[Subject], view: "Detectors") -> SceneOutcome:
    return SCENES.shown(view.evaluated or offered(of, view)[0])


def models(of: Sequence[Subject], view: "Detectors") -> list[str]:
    return [row.name for row in outcome(of, view).models]


def labels(of: Sequence[Subject], view: "Detectors") -> list[str]:
    return [ALL, *outcome(of, view).labels]


class Detectors(View):
    """How good detectors are at finding things in scenes, and where they are wrong."""

    evaluated: str | None = choice(
        "Scenes",
        offered,
        "On which the detectors were judged: recorded with the one that comes with vizkit, or evaluated by you.",
        listed=True,
        follows=True,
        words=SCENES,
        key="evaluated_scenes",
    )
    model: str | None = choice("Model in detail", models, follows=True, listed=True, key="eval_detector")
    label: str | None = choice(
        "Class", labels, "Whose curve and mistakes are shown.", follows=True, listed=True, key="eval_class"
    )
    kind: str = choice("Mistake", (ANY, *KINDS[1:], "missed"), "In the scenes.", listed=True, key="eval_mistake")
    score: float = number(
        "Score from", 0.05, 0.95, SURE, "Boxes below it are no mistakes.", step=0.05, more=True, key="eval_score"
    )
    scene: int = number(
        "Scene",
        0,
        MOST,
        0,
        "0: the one with most mistakes.",
        inside=True,
        belongs=("evaluated", "label", "kind"),
        key="eval_scene",
    )
    box: int = number(
        "Box",
        -1,
        MOST,
        -1,
        "Of the scene; −1: the first that is a mistake.",
        inside=True,
        belongs=("evaluated", "model", "score", "scene"),
        key="eval_box",
    )

    by_name: ClassVar = True
    overlays: ClassVar = False
    how: ClassVar = How(
        "A box is right where it overlaps a thing of its class by an IoU of .5 or more and no surer box has taken that "
        "thing. A wrong one is badly placed (IoU from .1 to .5), of the wrong class, said twice, out of nothing "
        "(IoU below .1) or wrong in class and place. A thing is missed that no box has found. A curve "
        "goes through all boxes from the surest down: the share of right ones among them against the share of the "
        "things that they find. Intervals: bootstrap over the scenes, 95 times in 100.",
        r"\text{AP} = \tfrac{1}{101} \sum_{r \in \{0, .01, \dots, 1\}} \max_{r' \ge r} \text{precision}(r'), \quad "
        r"\text{mean over classes and IoU} \in \{.5, .55, \dots, .95\}",
        "how a model does on scenes of another kind, nor how much it would differ if it were trained again.",
        "Lin et al. 2014 (COCO); Bolya et al. 2020 (TIDE); Efron & Tibshirani 1993 (bootstrap)",
    )

    def title(self, of: Subject) -> str:
        found = outcome([of], self)
        what = SCENES.get(found.name, f"scenes of {found.name}")
        return f"{found.models[self.place(of, found)].name} on {found.scenes:,} {what}"

    def place(self, of: Subject, found: SceneOutcome) -> int:
        names = [row.name for row in found.models]
        return names.index(self.model) if self.model in names else 0

    def class_of(self, found: SceneOutcome) -> int | None:
        return found.labels.index(self.label) if self.label in found.labels else None

    def show(self, of: Subject) -> Iterator[Block]:
        found = outcome([of], self)
        name = self.evaluated or offered([of], self)[0]
        place = self.place(of, found)
        row, wrong = found.models[place], of.made(mistakes_of, name, place, self.score)
        counts, right = wrong.counts, wrong.by_scene(found.scenes) == 0
        kinds = {kind: count for kind, count in counts.items() if kind != "right"}
        yield Process("processes.evaluation", "scenes")
        yield Said(detector(row.name, row.measures.ap.value, int(right.sum()), found.scenes, kinds))
        measured = Metrics(tuple((title, *between(row, each)) for title, (each, _) in MEASURES.items()))
        left = (*self.scenes(of, found, wrong), measured)
        yield side_by_side(left, self.charts(of, place, kinds), widths=(1.2, 1))
        if len(found.models) > 1:
            helps = {title: help for title, (_, help) in MEASURES.items()}
            yield Table(tuple(map(row_of, found.models)), "Detectors and their measures", helps=helps)
        for note in found.notes:
            yield Line(note)
        yield Folded("Every detector by itself", partial(each, found))
        yield Folded("How this was made", lambda: made(found, map(about, found.models)))
        yield Download("Table (CSV)", lambda: tables.as_csv(found).encode())
        yield Numbers(
            lambda: {
                "labels": found.labels,
                "recall": RECALLS,
                "precision": np.nan_to_num(of.made(curves_of, name, place)),
                "measures": [np.nan_to_num(ends(getattr(row.measures, each))) for each, _ in MEASURES.values()],
                "kinds": list(counts),
                "counts": list(counts.values()),
                "faultless": right,
            }
        )

    def charts(self, of: Subject, place: int, kinds: dict[str, int]) -> Iterator[Block]:
        titles, lengths = [f"{kind}: {count:,}" for kind, count in kinds.items()], [*map(float, kinds.values())]
        figure = bars(titles, lengths, f"mistakes, of boxes with a score from {self.score:g}")
        pale = [1.0 if self.kind in (ANY, kind) else 0.35 for kind in kinds]
        figure.update_traces(customdata=list(kinds), marker={"opacity": pale}, hoverinfo="y")
        hint = "Click a kind to see its scenes."
        yield Chart(figure, f"Mistakes by kind: {', '.join(titles)}", "Mistakes", "kind", hint=hint)
        found, name = outcome([of], self), self.name(of)
        own, curve = self.class_of(found), of.made(curves_of, name, place)
        yield of.kept(of.key_of(precision, name, place, own), lambda: precision(found, curve, own))

    # ---- scenes ------------------------------------------------------------------------------------------------------
    def scenes(self, of: Subject, found: SceneOutcome, wrong: Mistakes) -> Iterator[Block]:
        """One as it is and as it is said, and a strip of those with most mistakes."""
        own = self.class_of(found)
        counts = wrong.by_scene(found.scenes, "" if self.kind == ANY else self.kind, own)
        worst = np.argsort(-counts, kind="stable")[: (counts > 0).sum()]
        what = "a mistake" if self.kind == ANY else f"the mistake “{self.kind}”"
        which = "" if own is None else f" about the class {found.labels[own]}"
        yield Heading(f"{len(worst):,} of {found.scenes:,} scenes have {what}{which}, the worst first")
        if not len(worst) and not self.scene:
            yield Hint("No such scene: choose another mistake, or a lower score.")
            return
        place = min(self.scene - 1 if self.scene else int(worst[0]), found.scenes - 1)
        try:
            rgb = of.made(sharp, self.name(of), place)
            strip = [
                {"scene": each + 1, "picture": of.made(small, self.name(of), each), "mistakes": int(counts[each])}
                for each in worst[:WORST].tolist()
            ]
        except DatasetError as sentence:
            yield Hint(str(sentence))
            return
        said, there = wrong.said.scene == place, wrong.there.scene == place
        kinds, missed = wrong.kind[said], wrong.missed[there]
        notes = [
            f"{in_percent(score)}{NOTES[kind]}" for score, kind in zip(wrong.said.scores[said], kinds, strict=True)
        ]
        boxes = frames(found, wrong.said.where(said), notes, kinds > 0)
        true = frames(
            found, wrong.there.where(there), ["· missed" if each else "" for each in missed], missed, len(boxes)
        )
        panels = [
            Panel(f"Said of scene {place + 1}: right blue, wrong red", boxes),
            Panel("What is there: found blue, missed red", true),
        ]
        every = {each.id: each for each in (*boxes, *true)}
        first = next((each.id for each in every.values() if each.colour == WRONG), 0)
        drawn = Panels(rgb, panels, self.box if self.box in every else first)
        data = drawn.pack() | {"strip": strip, "scene": place + 1}
        told = {"scene": (whole(1, found.scenes), "scene"), "pick": (whole(0, MOST), "box")}
        yield Canvas("vizkit_panels", data, "Arrow keys choose a box.", told, (Paper(drawn.marks),))

    def name(self, of: Subject) -> str:
        return self.evaluated or offered([of], self)[0]


NOTES = ("", *(f" · {kind}" for kind in KINDS[1:]))


def each(found: SceneOutcome) -> Iterator[Block]:
    for row in found.models:
        yield Heading(row.name)
        yield Table(classes_of(found, row), "Average precision by class", helps={"AP50": MEASURES["AP50"][1]})


def known(name: str) -> SceneOutcome:
    found = SCENES.find(name)
    assert found is not None
    return found


def mistakes_of(name: str, place: int, score: float) -> Mistakes:
    return mistakes(known(name).models[place].said, known(name).there, score)


def curves_of(name: str, place: int) -> np.ndarray:
    """At an IoU of .5, (class, recall)."""
    found = known(name)
    return curves(found.models[place].said, found.there, len(found.labels), np.ones((1, found.scenes)))[0, 0]


def sharp(name: str, place: int) -> RGB:
    return scene_set(known(name), SHARP_PX)[place].picture


def precision(found: SceneOutcome, curve: np.ndarray, own: int | None) -> Chart:
    """Of one class, or of that with the largest area and that with the least, for most of the others coincide; and
    the mean of all."""
    known = sorted((place for place, count in enumerate(found.things) if count), key=lambda place: -curve[place].mean())
    shown = [*dict.fromkeys((known[:1] + known[-1:]) if own is None else [own])]
    lines = {found.labels[place]: curve[place] for place in shown if place in known}
    mean = "mean of all", np.nan_to_num(np.ma.masked_invalid(curve).mean(0).filled(0))
    drawn = precision_recall(RECALLS, lines, class_colours(shown, len(found.labels)), mean)
    areas = ", ".join(f"{label} {line.mean():.2f}" for label, line in {**lines, mean[0]: mean[1]}.items())
    which = "" if own is not None else "The class with the largest area, that with the least, and the mean of all."
    title = "Precision and recall, IoU .5"
    return Chart(drawn, f"Precision against recall at an IoU of .5, areas: {areas}", title, hint=which)


def small(name: str, place: int) -> str:
    return data_url(scene_set(known(name), 2 * SMALL_PX)[place].picture, SMALL_PX)


def frames(
    found: SceneOutcome, boxes: Boxes, notes: Sequence[str], wrong: Bool[np.ndarray, " box"], first: int = 0
) -> list[Frame]:
    """Numbered from `first` on, in the colours of right and wrong."""
    rows = zip(boxes.corners.tolist(), boxes.labels.tolist(), notes, wrong.tolist(), strict=True)
    return [
        Frame(box, WRONG if fails else RIGHT, f"{found.labels[label]} {note}".strip(), id=id)
        for id, (box, label, note, fails) in enumerate(rows, first)
    ]


def about(row: Judged) -> str:
    return f"{row.name}: licence {row.licence}, {row.parameters:,} parameters, weights {row.weights[:16]}."


# ---- tables ----------------------------------------------------------------------------------------------------------
def between(row: Judged, measure: str) -> tuple[str, str]:
    """A measure, and its interval."""
    value, low, high = ends(getattr(row.measures, measure))
    if value != value:
        return "–", ""
    if measure == "faultless":
        return in_percent(value, 1), f"{in_percent(low, 1)} to {in_percent(high, 1)}"
    return f"{value:.3f}", f"{low:.3f} to {high:.3f}"


def row_of(row: Judged) -> dict[str, str | float | None]:
    measured = {title: " (".join(between(row, each)) + ")" for title, (each, _) in MEASURES.items()}
    return {"Model": row.name, **measured, "Parameters, M": round(row.parameters / 1e6, 2)}


def classes_of(found: SceneOutcome, row: Judged) -> tuple[dict[str, str | float | None], ...]:
    named = zip(found.labels, found.things, row.measures.by_label, strict=True)
    return tuple(
        {"Class": label, "Things": count, "AP50": None if np.isnan(share) else round(share, 3)}
        for label, count, share in named
    )
