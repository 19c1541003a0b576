"""Results: several models on the same labelled pictures, from a recorded evaluation or from one's own."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from vizkit.analysis.comparison.published import STUDY_TABLE
from vizkit.analysis.remarks.evaluation import leader, most_frequent_mistake
from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.evaluation import browsing, report
from vizkit.evaluation.job import JobFolder
from vizkit.evaluation.measures import BINS, confusion
from vizkit.evaluation.outcome import Outcome, read
from vizkit.evaluation.pictures import open_pictures
from vizkit.evaluation.report_pictures import thumbnail
from vizkit.figure.charts import bars
from vizkit.figure.evaluation.confusion import confusion as drawn
from vizkit.figure.evaluation.reliability import reliability
from vizkit.figure.palette import CLASSES
from vizkit.traces import NotApplicable
from vizkit.views import bundled
from vizkit.views.blocks import (
    Block,
    Canvas,
    Chart,
    Columns,
    Download,
    Folded,
    Heading,
    Line,
    Numbers,
    Picture,
    Process,
    Said,
    Table,
    first_said,
    side_by_side,
)
from vizkit.views.controls import choice, number
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

RECORDED = bundled.FOLDER / "experiments" / "evaluation"
SETS = {"insects": "drawn insects", "insects_hard": "hard insects", "digits": "handwritten digits"}
ANY, OTHERS = "any", "another class"
AT_ONCE, STILL = 12, 9  # pictures of a page, and on paper
MOST_LABELS = 30  # in the matrix; of more, those with most mistakes


class Titles(dict[str, str]):
    """What an evaluation is called: of one's own by its pictures."""

    def get(self, name: str, default: Any = None) -> Any:
        if name in self:
            return self[name]
        own = outcome_of(name)
        return f"yours: {own.name}, {len(own.rows):,} pictures" if own else default


def outcome_of(name: str) -> Outcome | None:
    """A recorded one, or one's own by the name of its folder, which nobody guesses."""
    path = RECORDED / f"{name}.npz" if name in SETS else None
    if re.fullmatch("[0-9a-f]{16,64}", name):
        path = JobFolder.of(name).outcome
    try:
        return _read(path, path.stat().st_mtime_ns) if path else None
    except (OSError, ValueError, KeyError):
        return None


@cache
def _read(path: Path, written_ns: int) -> Outcome:
    """With the names that people know, without the data that all models share: "ViT", not "ViT · insects"."""
    found = read(path)
    called = {row.name: title_of(row.name) for row in found.models}
    data = {title.partition(" · ")[2] for title in called.values()}
    rows = [row if called[row.name] == row.name else replace(row, source=f"bundled:{row.name}") for row in found.models]
    found = replace(found, models=tuple(rows))
    return found.renamed(lambda name: called[name].partition(" · ")[0] if len(data) == 1 else called[name])


def title_of(name: str) -> str:
    title = bundled.title(f"bundled:{name}")
    return name if title.startswith("bundled:") else title


# ---- what can be chosen ----------------------------------------------------------------------------------------------
def offered(of: Sequence[Subject], view: "Results") -> list[str]:
    """One's own first, then the recorded ones, those that know the chosen models before the others."""
    chosen = of[0].chosen if of else ()
    recorded = sorted(SETS, key=lambda name: not any(name.split("_")[0] in source for source in chosen))
    linked = [view.evaluated] if view.evaluated and outcome_of(view.evaluated) else []
    own = [name for name in (of[0].outcomes if of else ()) if outcome_of(name)]
    return list(dict.fromkeys([*own, *recorded, *linked]))


def outcome(of: Sequence[Subject], view: "Results") -> Outcome:
    """Of the chosen models, where at least two of them took part, else of all."""
    found = outcome_of(view.evaluated or offered(of, view)[0])
    if found is None:
        raise NotApplicable("This result cannot be read any more; evaluate again.")
    chosen = of[0].chosen if of else ()
    own = [number for number, row in enumerate(found.models) if row.source in chosen]
    return found.among(own) if len(own) > 1 else found


def models(of: Sequence[Subject], view: "Results") -> list[str]:
    """Those of the sidebar first."""
    rows = outcome(of, view).models
    return [row.name for row in sorted(rows, key=lambda row: bool(of) and row.source not in of[0].chosen)]


def labels(of: Sequence[Subject], view: "Results") -> list[str]:
    return [ANY, *outcome(of, view).labels]


def answers(of: Sequence[Subject], view: "Results") -> list[str]:
    return [*labels(of, view), OTHERS]


def pages(of: Sequence[Subject], view: "Results") -> int:
    found = outcome(of, view)
    return max(2, -(-len(found.rows) // AT_ONCE))


@dataclass(frozen=True)
class Results(View):
    """How good models are on a set of pictures, and where they are wrong."""

    evaluated: str | None = choice(
        "Pictures",
        offered,
        "On which the models were judged: recorded with the models that come with vizkit, or evaluated by you.",
        listed=True,
        follows=True,
        words=Titles(SETS),
        key="evaluated",
    )
    model: str | None = choice("Model in detail", models, follows=True, listed=True, key="eval_model")
    label: str | None = choice("Label", labels, "What the picture is.", follows=True, listed=True, key="eval_label")
    answer: str | None = choice(
        "Answer", answers, "What the model in detail answered.", follows=True, listed=True, key="eval_answer"
    )
    kind: Literal["all", "mistakes", "models disagree"] = choice(
        "Show", browsing.KINDS, listed=True, more=True, key="eval_kind"
    )
    order: str = choice("Order", tuple(browsing.ORDERS), key="eval_order", listed=True, more=True)
    low: int = number(
        "Confidence from, %", 0, 100, 0, "Of the model in detail: its answer's.", key="eval_low", more=True
    )
    high: int = number("to, %", 0, 100, 100, "Of the model in detail: its answer's.", key="eval_high", more=True)
    page: int = number("Page of pictures", 1, pages, 1, follows=True, key="eval_page", more=True)

    by_name: ClassVar = True
    overlays: ClassVar = False
    how: ClassVar = How(
        "Every model answers the same pictures, each prepared as that model requires it. Accuracy is the share of "
        "right first answers with the interval in which it would lie, 95 times in 100, for other such pictures; ECE "
        "is how far a model's probabilities are from its accuracy, on average. A test of two models counts only "
        "pictures that one has right and the other wrong. An interval and a test are different questions: at the "
        "border they may disagree, and the sentence follows the test.",
        r"\mathrm{ECE} = \sum_{b=1}^{15} \frac{n_b}{n}\,\bigl|\mathrm{acc}_b - \mathrm{conf}_b\bigr|, \qquad "
        r"p = P\bigl(|X - \tfrac{d}{2}| \ge |n_A - \tfrac{d}{2}|\bigr),\ X \sim \mathrm{Bin}(d, \tfrac12),\ "
        r"d = n_A + n_B",
        "how the models do on pictures of another kind, nor how much a model would differ if it were trained again "
        "with another seed. Images a second is reading, preparing and inference together, on the machine that did it.",
        "Guo et al. 2017 (ECE); Efron & Tibshirani 1993 (bootstrap); McNemar 1947, exact; Holm 1979",
    )

    def title(self, of: Subject) -> str:
        found = outcome([of], self)
        what = found.models[0].name if len(found.models) == 1 else f"{len(found.models)} models"
        return f"{what} on {len(found.rows):,} pictures of {found.name}"

    def show(self, of: Subject) -> Iterator[Block]:
        found = outcome([of], self)
        names = [row.name for row in found.models]
        model = names.index(self.model or models([of], self)[0])
        yield Process("processes.evaluation")
        yield Said(best(found))
        yield side_by_side(
            (*accuracies(found), *matrix(found, model)), self.pictures(of, found, model), widths=(1, 1.1)
        )
        yield Table(tuple(map(row_of, found.models)), "Models and their measures", helps=HELPS)
        for note in found.notes:
            yield Line(note)
        yield Folded("Which model is better than which", lambda: (Line(pair.sentence) for pair in found.pairs))
        yield Folded(f"Class by class: {names[model]}", partial(by_class, found, model))
        yield Folded("Calibration", partial(calibration, found))
        if study := report.reported(found):
            yield Folded("Reported, on other data", partial(reported, study))
        yield Download("Report (HTML)", lambda: report.html(found, pictures_of(found)).encode(errors="replace"))
        yield Download("Table (CSV)", lambda: report.models_csv(found).encode(errors="replace"))
        yield Download("Every answer (CSV)", lambda: report.pictures_csv(found).encode(errors="replace"))
        yield Numbers(
            lambda: {
                "models": names,
                "labels": found.labels,
                "accuracy": [ends(row.measures.accuracy) for row in found.models],
                "confusion": [confusion(judged, len(found.labels)) for judged in found.judged],
            }
        )

    # ---- the pictures ------------------------------------------------------------------------------------------------
    def pictures(self, of: Subject, found: Outcome, model: int) -> Iterator[Block]:
        """To leaf through: the label, and below it what each model answered."""
        judged = found.judged[model]
        place = {name: index for index, name in enumerate((*found.labels, OTHERS))}
        cell = None not in (self.label, self.answer) and ANY not in (self.label, self.answer)
        chosen = browsing.Filter(
            place.get(self.label or ANY),
            place.get(self.answer or ANY),
            self.low / 100,
            self.high / 100,
            browsing.ALL if cell else self.kind,
        )
        common = browsing.common_answers([each.answer for each in found.judged], found.classes)
        images = browsing.matching(judged, browsing.disagreement(common), chosen)
        images = browsing.ordered(judged, images, self.order)
        _, at_once = browsing.paged(len(images), self.page, AT_ONCE)
        yield Heading(
            f"{len(images):,} of {len(judged.target):,} pictures, {self.order} for {found.models[model].name}"
        )
        if not len(images):
            yield Line("No picture passes; choose other answers, or a wider range.")
            return
        try:
            pictures = pictures_of(found)
        except DatasetError as sentence:
            yield Line(str(sentence))
            return
        small = {
            image: url
            for image in images[at_once].tolist()
            if (url := of.made(url_of, found.digest, int(found.rows[image]), self.evaluated or offered([of], self)[0]))
        }
        if gone := len(images[at_once]) - len(small):
            yield Line(f"{gone} of the pictures are no longer there.")
        shown = [*small]

        def picture(index: int) -> tuple[str, Any]:
            image = shown[index]
            label = found.labels[int(found.target[image])]
            return f"{label}, {Path(found.places[image]).name}", pictures[int(found.rows[image])][0]

        yield Canvas(
            "vizkit_evaluated",
            {"tiles": [tile(found, image, url) for image, url in small.items()]},
            "Pictures with the answers of the models",
            still=tuple(still(found, model, shown[:STILL], pictures)),
            picture=picture,
        )


def url_of(digest: str, row: int, name: str) -> str:
    found = outcome_of(name)
    made = thumbnail(pictures_of(found), row) if found else None
    return f"data:image/jpeg;base64,{made.code}" if made else ""


def pictures_of(found: Outcome) -> ImageSet:
    """The very pictures that were judged. DatasetError where they have changed since."""
    opened = _reopened(tuple(found.opened.items()))
    if opened.digest != found.digest:
        raise DatasetError("The pictures have changed since they were judged; evaluate again to see them.")
    return opened


def _reopened(opened: tuple[tuple[str, Any], ...]) -> ImageSet:
    return open_pictures(**dict(opened))


def tile(found: Outcome, image: int, url: str) -> dict[str, Any]:
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
    return {"picture": url, "label": label, "place": found.places[image], "answers": answered}


def still(found: Outcome, model: int, images: Sequence[int], pictures: ImageSet) -> Iterator[Block]:
    columns = []
    for image in images:
        label, answer = found.labels[int(found.target[image])], found.answer_of(model, image)
        words = f"{label}: {answer}, {found.judged[model].probability[image]:.0%}"
        columns.append((Picture(pictures[int(found.rows[image])][0], words, words),))
    for start in range(0, len(columns), 3):
        yield Columns(tuple(columns[start : start + 3]))


# ---- measures --------------------------------------------------------------------------------------------------------
def ends(interval: Any) -> tuple[float, float, float]:
    return interval.value, interval.low, interval.high


def best(found: Outcome) -> str:
    right = {row.name: int(judged.right.sum()) for row, judged in zip(found.models, found.judged, strict=True)}
    right = dict(sorted(right.items(), key=lambda each: -each[1]))
    first = next(iter(right))
    apart = {
        pair.b if pair.a == first else pair.a for pair in found.pairs if pair.significant and first in (pair.a, pair.b)
    }
    return leader(right, len(found.rows), apart).words


def accuracies(found: Outcome) -> Iterator[Block]:
    """What is wrong, for bars begin at nothing."""
    rows = sorted(found.models, key=lambda row: -row.measures.accuracy.value)
    shares = np.array([ends(row.measures.accuracy) for row in rows]) * 100
    figure = bars([row.name for row in rows], (100 - shares[:, 0]).tolist(), "wrong answers, % of the pictures")
    more, less = (shares[:, 0] - shares[:, 1]).tolist(), (shares[:, 2] - shares[:, 0]).tolist()
    figure.update_traces(error_x={"type": "data", "array": more, "arrayminus": less, "symmetric": False})
    said = ", ".join(f"{row.name} {row.measures.accuracy.value:.1%} right" for row in rows)
    yield Chart(figure, f"Wrong answers with 95 % intervals: {said}", "Wrong answers, with 95 % intervals")


PERCENT = "Top-5, %"
HELPS = {
    "Accuracy, %": "Share of right first answers.",
    "95 % interval": "Where the accuracy would lie for other such pictures, 95 times in 100: bootstrap over the "
    "pictures; exact binomial where all answers are right, or all are wrong.",
    "Loss": "Mean cross-entropy, in nats. Less is better.",
    "ECE": "Expected calibration error. Less is better.",
    "Images/s": "Reading, preparing and inference together.",
}


def row_of(row: Any) -> dict[str, str | float | None]:
    measured = row.measures
    value, low, high = ends(measured.accuracy)
    return {
        "Model": row.name,
        "Accuracy, %": round(100 * value, 2),
        "95 % interval": f"{low:.1%} to {high:.1%}",
        "Top-5, %": None if measured.top5 is None else round(100 * measured.top5, 2),
        "Loss": round(measured.loss, 3),
        "ECE": round(measured.ece, 3),
        "Images/s": round(row.images_per_s),
        "Parameters": row.parameters,
        "Input": f"{row.size_hw[0]} × {row.size_hw[1]}",
        "Device": row.device,
    }


def matrix(found: Outcome, model: int) -> Iterator[Block]:
    """A click on a cell shows its pictures alone."""
    counts = confusion(found.judged[model], len(found.labels))
    shown = np.arange(len(found.labels))
    wrong = counts.sum(1) - np.diagonal(counts) + (counts[:, :-1].sum(0) - np.diagonal(counts))
    if len(shown) > MOST_LABELS:
        shown = np.sort(np.argsort(-wrong, kind="stable")[:MOST_LABELS])
        yield Line(f"The {MOST_LABELS} of {len(found.labels)} labels with most mistakes.")
    named = [found.labels[label] for label in shown]
    columns = [*shown.tolist(), *([len(found.labels)] if counts[:, -1].any() else [])]
    answered = [*named, *([OTHERS] if len(columns) > len(named) else [])]
    name = found.models[model].name
    yield Chart(
        drawn(named, answered, counts[np.ix_(shown, columns)]),
        f"Confusion matrix of {name}",
        f"{name}: what each label is taken for",
        ("label", "answer"),
    )
    yield Said(first_said(most_frequent_mistake(counts, found.labels, (*found.labels, OTHERS))))
    yield Line("Rows are labels, columns are answers. Click a cell to see its pictures alone.")


def by_class(found: Outcome, model: int) -> Iterator[Block]:
    helps = {
        "Precision, %": "Of the pictures answered so, how many are.",
        "Recall, %": "Of the pictures of this label, how many are answered so.",
    }
    rows = tuple(
        {
            "Label": row.label,
            "Pictures": row.images,
            **{
                f"{name}, %": None if np.isnan(share) else round(100 * share, 1)
                for name, share in (("Precision", row.precision), ("Recall", row.recall), ("F1", row.f1))
            },
        }
        for row in found.models[model].measures.classes
    )
    yield Table(rows, "Precision and recall by class", helps=helps)


def calibration(found: Outcome) -> Iterator[Block]:
    yield Line(
        "On the dashed line accuracy equals confidence. Bars below it: overconfident; above it: underconfident. "
        "Pale bars have few pictures."
    )
    charts = []
    for index, row in enumerate(found.models):
        parts = zip(*((b.low, b.confidence, b.accuracy, b.images) for b in row.measures.bins), strict=True)
        lows, confidence, accuracy, images = map(list, parts)
        figure = reliability(lows, 1 / BINS, confidence, accuracy, images, CLASSES[index % len(CLASSES)])
        said = f"{row.name} · ECE {row.measures.ece:.3f}"
        charts.append(Chart(figure, f"Reliability of {said}", said))
    for start in range(0, len(charts), 3):
        yield side_by_side(*charts[start : start + 3])


def reported(study: Sequence[Any]) -> Iterator[Block]:
    rows = tuple(
        {"Model": each.name, "Setting": each.setting, "Best validation, %": each.validation, "Test, %": each.test}
        for each in study
    )
    yield Line(f"{STUDY_TABLE.title}. {STUDY_TABLE.measured} Source: {STUDY_TABLE.citation}.")
    yield Table(
        rows,
        "What a study of insects reports",
        "Not to be compared with the table above: other pictures, other classes. It does not show "
        f"{STUDY_TABLE.does_not_show}",
    )
