"""Results: several models on the same labelled images, from a recorded evaluation or from one's own."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from vizkit.analysis.remarks.evaluation import absent
from vizkit.analysis.remarks.remark import counted, joined
from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.evaluation import browsing, tables
from vizkit.evaluation.measures import confusion
from vizkit.evaluation.outcome import Outcome
from vizkit.image import data_url
from vizkit.views import bundled
from vizkit.views.blocks import (
    Block,
    Canvas,
    Download,
    Folded,
    Heading,
    Hint,
    Later,
    Line,
    Link,
    Numbers,
    Picture,
    Process,
    Said,
    Table,
    in_rows,
    side_by_side,
)
from vizkit.views.controls import choice, number
from vizkit.views.evaluate.measured import (
    CALIBRATED,
    HELPS,
    OTHERS,
    accuracies,
    by_class,
    calibration_of,
    ends,
    finding,
    made,
    matrix,
    nearest,
    pairs,
    row_of,
    smaller,
    spoken_of,
)
from vizkit.views.evaluate.recorded import PICTURES, judging, pictures_of, runs_of, together
from vizkit.views.subject import Subject
from vizkit.views.trained import has_learned, run_of
from vizkit.views.view import How, View

ANY, HARDEST = "any", next(iter(browsing.ORDERS))
AT_ONCE, BESIDE = 12, 4  # pictures of a page, and beside one another on paper
SIDE_PX = 112  # of one


# ---- what can be chosen ----------------------------------------------------------------------------------------------
def offered(of: Sequence[Subject], view: "Results") -> list[str]:
    """Of the same images once; of the data that a chosen model has learned first."""
    found = {name: PICTURES.find(name) for name in PICTURES.offered(of, view.evaluated)}
    once = {each.digest: name for name, each in reversed(found.items()) if each}
    runs = [run for run in map(run_of, of[0].chosen if of else ()) if run]

    def learned(name: str) -> bool:
        each = found[name]
        return each is not None and any(has_learned(run, each.opened["data"], each.opened["seed"]) for run in runs)

    kept = [name for name in found if name in (view.evaluated, *once.values())]
    return sorted(kept, key=lambda name: not learned(name))


def outcome(of: Sequence[Subject], view: "Results") -> Outcome:
    """Of the chosen models, where at least two of them took part, else of all."""
    found = PICTURES.shown(view.evaluated or offered(of, view)[0])
    if not of:
        return found
    found = together(found, of[0])
    chosen = [number for number, row in enumerate(found.models) if row.source in of[0].chosen]
    return found.among(chosen) if len(chosen) > 1 else found


def models(of: Sequence[Subject], view: "Results") -> list[str]:
    """Those of the sidebar first, a run before it is judged too; then those that are right most often."""
    found = outcome(of, view)
    chosen = of[0].chosen if of else ()
    rows = sorted(found.models, key=lambda row: (row.source not in chosen, -row.measures.accuracy.value))
    runs = [run.name for run in runs_of(found, chosen)]
    return list(dict.fromkeys([*runs, *(row.name for row in rows)]))


def labels(of: Sequence[Subject], view: "Results") -> list[str]:
    return [ANY, *outcome(of, view).labels]


def answers(of: Sequence[Subject], view: "Results") -> list[str]:
    return [*labels(of, view), OTHERS]


def in_focus(of: Sequence[Subject], view: "Results", found: Outcome) -> int:
    """The model in detail, before its own answers are there another."""
    names = [row.name for row in found.models]
    return next(names.index(name) for name in (view.model, *models(of, view)) if name in names)


def pages(of: Sequence[Subject], view: "Results") -> int:
    found = outcome(of, view)
    return browsing.paged(len(view.chosen(found, in_focus(of, view, found))), 1, AT_ONCE)[0]


class Results(View):
    """How good models are on a set of images, and where they are wrong."""

    evaluated: str | None = choice(
        "Images",
        offered,
        "On which the models were judged: recorded with the models that come with vizkit, or evaluated by you.",
        listed=True,
        follows=True,
        words=PICTURES,
        key="evaluated",
    )
    model: str | None = choice("Model in detail", models, follows=True, listed=True, key="eval_model")
    label: str | None = choice(
        "Label", labels, "What the image is.", follows=True, listed=True, more=True, key="eval_label"
    )
    answer: str | None = choice(
        "Answer",
        answers,
        "What the model in detail answered.",
        follows=True,
        listed=True,
        more=True,
        key="eval_answer",
    )
    kind: Literal["all", "mistakes", "models disagree"] = choice(
        "Show", browsing.KINDS, listed=True, more=True, key="eval_kind"
    )
    order: str = choice("Order", tuple(browsing.ORDERS), key="eval_order", listed=True, more=True)
    page: int = number("Page of images", 1, pages, 1, follows=True, key="eval_page")

    by_name: ClassVar = True
    overlays: ClassVar = False
    how: ClassVar = How(
        "Every model answers the same images, each prepared as that model requires it. Accuracy is the share of "
        "right first answers with the interval in which it would lie, 95 times in 100, for other such images; ECE "
        "is how far a model's probabilities are from its accuracy, on average. A test of two models counts only "
        "images that one has right and the other wrong. An interval and a test are different questions: at the "
        "border they may disagree, and the sentence follows the test.",
        r"\mathrm{ECE} = \sum_{b=1}^{15} \frac{n_b}{n}\,\bigl|\mathrm{acc}_b - \mathrm{conf}_b\bigr|, \qquad "
        r"p = P\bigl(|X - \tfrac{d}{2}| \ge |n_A - \tfrac{d}{2}|\bigr),\ X \sim \mathrm{Bin}(d, \tfrac12),\ "
        r"d = n_A + n_B",
        "how the models do on images of another kind, nor how much a model would differ if it were trained again "
        "with another seed.",
        "Guo et al. 2017 (ECE); Efron & Tibshirani 1993 (bootstrap); McNemar 1947, exact; Holm 1979",
    )

    def title(self, of: Subject) -> str:
        found = outcome([of], self)
        what = found.models[0].name if len(found.models) == 1 else f"{len(found.models)} models"
        return f"{what} on {len(found.rows):,} images of {found.name}"

    def show(self, of: Subject) -> Iterator[Block]:
        yield Process("processes.evaluation", "images")
        found = PICTURES.shown(self.evaluated or offered([of], self)[0])
        jobs = tuple(judging(found, of.chosen))
        if jobs:
            yield Later(of, jobs, lambda done: self.found(of, outcome([of], self)))
        else:
            yield from self.found(of, outcome([of], self))

    def found(self, of: Subject, found: Outcome) -> Iterator[Block]:
        names = [row.name for row in found.models]
        model = in_focus([of], self, found)
        runs = [run.name for run in map(run_of, of.chosen) if run and run.name not in (*names, *bundled.MODELS)]
        if runs:
            yield Hint(f"{joined(runs)} learned other images than these: evaluate it above on test images of its own.")
            name = self.evaluated or offered([of], self)[0]
            yield Folded(f"Other models on {PICTURES.get(name)}", partial(self.results, of, found, model))
        else:
            yield from self.results(of, found, model)

    def results(self, of: Subject, found: Outcome, model: int) -> Iterator[Block]:
        names = [row.name for row in found.models]
        tested = {row.source for row in found.models}
        others = [name for name in of.chosen if name not in tested and not name.startswith("run:")]
        if others:
            features = [name for name in others if bundled.without_classes(name)]
            untested = [name for name in others if name not in features]
            alone = len(others) == len(of.chosen)
            yield Hint(absent([*map(bundled.title, untested)], [*map(bundled.title, features)], alone))
        yield Said(finding(found, of.chosen))
        yield from nearest(found)
        both = dict.fromkeys((model, names.index(spoken_of(found, of.chosen))))
        yield side_by_side(
            (*accuracies(found), *matrix(found, model, ("label", "answer"), (self.label, self.answer))),
            self.pictures(of, found, model),
            widths=(1, 1.1),
        )
        yield side_by_side(*(calibration_of(found, each) for each in both), map(Line, (CALIBRATED, *found.notes)))
        yield Table(tuple(map(row_of, found.models)), "Models and their measures", helps=HELPS)
        yield Folded("Which model is better than which", partial(pairs, found))
        yield Folded(f"Precision and recall of {names[model]}", partial(by_class, found, model))
        yield Folded("How this was made", lambda: made(found, about(found)))
        yield Download("Table (CSV)", lambda: tables.models_csv(found).encode())
        yield Download("Every answer (CSV)", lambda: tables.pictures_csv(found).encode())
        yield Numbers(
            lambda: {
                "models": names,
                "labels": found.labels,
                "accuracy": [ends(row.measures.accuracy) for row in found.models],
                "confusion": [confusion(judged, len(found.labels)) for judged in found.judged],
            }
        )

    # ---- the pictures ------------------------------------------------------------------------------------------------
    def chosen(self, found: Outcome, model: int) -> np.ndarray:
        """Which images pass, in their order."""
        judged = found.judged[model]
        place = {name: index for index, name in enumerate((*found.labels, OTHERS))}
        cell = None not in (self.label, self.answer) and ANY not in (self.label, self.answer)
        chosen = browsing.Filter(
            place.get(self.label or ANY),
            place.get(self.answer or ANY),
            browsing.ALL if cell else self.kind,
        )
        common = browsing.common_answers([each.answer for each in found.judged], found.classes)
        images = browsing.matching(judged, browsing.disagreement(common), chosen)
        return browsing.ordered(judged, images, self.order)

    def pictures(self, of: Subject, found: Outcome, model: int) -> Iterator[Block]:
        """To leaf through: the label, and below it what each model answered."""
        images = self.chosen(found, model)
        _, at_once = browsing.paged(len(images), self.page, AT_ONCE)
        asked = (("with the label", self.label), ("answered", self.answer))
        which = " ".join(f"{what} {name}" for what, name in asked if name not in (None, ANY))
        count = f"{len(images):,} of {counted(len(found.rows), 'image')} {which}".rstrip()
        yield Heading(f"{count}, {self.order} for {found.models[model].name}")
        if which:
            yield Link("Show all", replace(self, label=ANY, answer=ANY, page=1))
        if not len(images):
            yield Line("No image passes.")
            yield Hint("Choose other answers.")
            return
        part = f"{at_once.start + 1:,} to {at_once.stop:,}. " if len(images) > AT_ONCE else ""
        hardest = "The hardest have the least probability of their label." if self.order == HARDEST else ""
        if part or hardest:
            yield Line(f"{part}{hardest}")
        yield from self.shown(of, found, model, images[at_once].tolist())

    def shown(self, of: Subject, found: Outcome, model: int, images: Sequence[int]) -> Iterator[Block]:
        try:
            pictures = pictures_of(found)
        except DatasetError as sentence:
            yield Hint(str(sentence))
            return
        small = {
            image: url
            for image in images
            if (url := of.made(url_of, found.digest, int(found.rows[image]), self.evaluated or offered([of], self)[0]))
        }
        if gone := len(images) - len(small):
            yield Line(f"{gone} of the images are no longer there.")
        shown = [*small]

        def picture(index: int) -> tuple[str, Any]:
            image = shown[index]
            label = found.labels[int(found.target[image])]
            return f"{label}, {Path(found.places[image]).name}", pictures[int(found.rows[image])][0]

        source = found.models[model].source
        yield Line(legend([row.name for row in in_detail(found.models, model)]))
        yield Canvas(
            "vizkit_evaluated",
            {"tiles": [tile(found, image, url, model) for image, url in small.items()]},
            "Images with the answers of the models",
            still=in_rows([still(found, image, pictures, model) for image in shown], BESIDE),
            picture=picture,
            model=source if bundled.known(source) or source in of.chosen else "",
        )


def url_of(digest: str, row: int, name: str) -> str:
    """ "" where the file has gone since."""
    found = PICTURES.find(name)
    try:
        return data_url(pictures_of(found)[row][0], SIDE_PX, SIDE_PX // 2) if found else ""
    except (DatasetError, IndexError):
        return ""


def about(found: Outcome) -> Iterator[str]:
    if said := smaller(found):
        yield said
    for row in found.models:
        height, width = row.size_hw
        seen = f"sees {height} × {width} pixels, on {row.device}, weights {row.weights[:16]}"
        yield f"{row.name}: {row.source}, licence {row.licence}, {seen}."
    yield f"With {', '.join(f'{package} {number}' for package, number in found.versions.items())}."


def in_detail(each: Sequence[Any], model: int) -> list[Any]:
    """That of one model first."""
    return [each[model], *each[:model], *each[model + 1 :]]


def legend(names: Sequence[str]) -> str:
    """How the answers below an image are read."""
    first, *others = names
    more = f"; the marks below are of {joined(others)}, in this order" if others else ""
    return f"Bold: the label. ✓ right, ✗ wrong: the answer of {first} and its probability{more}."


def tile(found: Outcome, image: int, url: str, detail: int) -> dict[str, Any]:
    """The answer of the model in detail first."""
    answered = [
        {
            "model": row.name,
            "answer": found.answer_of(model, image),
            "sure": round(100 * float(judged.probability[image])),
            "right": bool(judged.right[image]),
        }
        for model, (row, judged) in enumerate(zip(found.models, found.judged, strict=True))
    ]
    label = found.labels[int(found.target[image])]
    return {"picture": url, "label": label, "place": found.places[image], "answers": in_detail(answered, detail)}


def still(found: Outcome, image: int, pictures: ImageSet, model: int) -> Picture:
    """The same on paper."""
    each = tile(found, image, "", model)
    (mark, *others), first = ["✗✓"[by["right"]] for by in each["answers"]], each["answers"][0]
    caption = f"{each['label']}: {mark} {first['answer']} {first['sure']} % {' '.join(others)}".rstrip()
    return Picture(pictures[int(found.rows[image])][0], each["label"], caption)
