"""An outcome as files: CSV with a row a model or a row a picture, and one HTML page that needs nothing beside it."""

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vizkit import writing
from vizkit.analysis.comparison.published import STUDY, STUDY_TABLE, FineTuned
from vizkit.datasets.image_set import ImageSet
from vizkit.datasets.samples import INSECTS
from vizkit.evaluation.classes import EvaluationError
from vizkit.evaluation.measures import BINS, confusion, hardest
from vizkit.evaluation.outcome import Outcome, Row
from vizkit.evaluation.report_pictures import confusion_table, environment, mistakes, thumbnail

HARDEST = 12  # pictures a model
EMPTY = "–"
COLUMNS = (
    *("model", "pictures", "accuracy", "accuracy_low", "accuracy_high", "top5", "loss_nats", "ece", "images_per_s"),
    *("parameters", "input_height_px", "input_width_px", "device", "source", "licence", "weights_digest"),
)


# ---- CSV -------------------------------------------------------------------------------------------------------------
def models_csv(outcome: Outcome) -> str:
    """One row a model; shares from 0 to 1."""
    return csv_lines([COLUMNS, *map(_model_line, outcome.models)])


def _model_line(row: Row) -> tuple[object, ...]:
    m = row.measures
    shares = [f"{value:.6f}" for value in (m.accuracy.value, m.accuracy.low, m.accuracy.high)]
    top5 = "" if m.top5 is None else f"{m.top5:.6f}"
    return (
        row.name,
        m.images,
        *shares,
        top5,
        f"{m.loss:.6f}",
        f"{m.ece:.6f}",
        f"{row.images_per_s:.1f}",
        row.parameters,
        *row.size_hw,
        row.device,
        row.source,
        row.licence,
        row.weights,
    )


def pictures_csv(outcome: Outcome) -> str:
    """One row a picture: place and label; of each model the answer, its probability, loss, and if it is right."""
    kinds = ("answer", "probability", "right", "loss_nats")
    heads = ["picture", "label", *(f"{row.name}: {kind}" for row in outcome.models for kind in kinds)]

    def rows() -> Iterator[list[object]]:
        yield [*heads]
        for image, place in enumerate(outcome.places):
            cells: list[object] = [place, outcome.labels[int(outcome.target[image])]]
            for model, judged in enumerate(outcome.judged):
                cells += [
                    outcome.answer_of(model, image),
                    f"{judged.probability[image]:.6f}",
                    int(judged.right[image]),
                    f"{judged.loss[image]:.6f}",
                ]
            yield cells

    return csv_lines(rows())


def csv_lines(rows: "Iterator[list[object]] | list[tuple[object, ...]]") -> str:
    """A spreadsheet takes a cell that begins with =, +, - or @ for a formula; names come from strangers."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        writer.writerow([f"'{c}" if isinstance(c, str) and c[:1] in ("=", "+", "-", "@") else c for c in row])
    return out.getvalue()


# ---- HTML ------------------------------------------------------------------------------------------------------------
def html(outcome: Outcome, images: ImageSet | None = None, command: str = "") -> str:
    """A page with tables, tests, diagrams and the hardest pictures, these only where the pictures are given."""
    return (
        environment()
        .get_template("report.html")
        .render(
            title=f"{', '.join(row.name for row in outcome.models)} on {outcome.name}",
            outcome=outcome,
            images=outcome.models[0].measures.images,
            rows=[_cells(row) for row in outcome.models],
            published=[
                (each.name, each.setting, f"{each.validation:.2f}%", f"{each.test:.2f}%") for each in reported(outcome)
            ],
            source=STUDY_TABLE,
            bins=BINS,
            models=[_of_model(outcome, model, images) for model in range(len(outcome.models))],
            command=command,
            opened=repr(dict(outcome.opened)),
        )
    )


def reported(outcome: Outcome) -> tuple[FineTuned, ...]:
    """What a study of insects reports, to be read beside insects alone."""
    return STUDY if set(INSECTS) & set(outcome.labels) else ()


def _cells(row: Row) -> tuple[str, ...]:
    m = row.measures
    return (
        row.name,
        f"{m.accuracy.value:.1%}",
        f"{m.accuracy.low:.1%} to {m.accuracy.high:.1%}",
        EMPTY if m.top5 is None else f"{m.top5:.1%}",
        f"{m.loss:.3f}",
        f"{m.ece:.3f}",
        f"{row.images_per_s:,.0f}",
        f"{row.parameters:,}",
    )


def _of_model(outcome: Outcome, model: int, images: ImageSet | None) -> dict[str, Any]:
    row = outcome.models[model]
    counts = confusion(outcome.judged[model], len(outcome.labels))
    return {
        "row": row,
        "confusion": confusion_table(counts, outcome.labels),
        "mistakes": mistakes(counts, outcome.labels),
        "classes": [
            (each.label, f"{each.images:,}", _share(each.precision), _share(each.recall), _share(each.f1))
            for each in row.measures.classes
        ],
        "hardest": [] if images is None else list(_figures(outcome, model, images)),
    }


def _share(value: float) -> str:
    return EMPTY if math.isnan(value) else f"{value:.1%}"


def _figures(outcome: Outcome, model: int, images: ImageSet) -> Iterator[dict[str, Any]]:
    """The pictures with the highest loss."""
    judged = outcome.judged[model]
    for image in hardest(judged, HARDEST).tolist():
        if judged.right[image] and judged.loss[image] < 0.1:
            break
        yield {
            "image": thumbnail(images, int(outcome.rows[image])),
            "label": outcome.labels[int(outcome.target[image])],
            "answer": outcome.answer_of(model, image),
            "right": bool(judged.right[image]),
            "probability": float(judged.probability[image]),
            "place": outcome.places[image],
        }


def write(text: str, path: Path) -> None:
    """Whole or not at all."""
    try:
        writing.write(path, text.encode(errors="replace"))
    except OSError as error:
        raise EvaluationError(f"{path} cannot be written: {error.strerror or type(error).__name__}.") from error
