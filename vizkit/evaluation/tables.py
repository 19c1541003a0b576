"""An outcome as CSV: a row a model, or a row a picture."""

from collections.abc import Iterator

from vizkit.evaluation.outcome import Outcome, Row
from vizkit.writing import csv_lines

COLUMNS = (
    *("model", "pictures", "accuracy", "accuracy_low", "accuracy_high", "top5", "loss_nats", "ece", "images_per_s"),
    *("parameters", "input_height_px", "input_width_px", "device", "source", "licence", "weights_digest"),
)


def models_csv(outcome: Outcome) -> str:
    """One row a model; shares from 0 to 1."""
    return csv_lines([COLUMNS, *map(_model_line, outcome.models)])


def _model_line(row: Row) -> tuple[object, ...]:
    m = row.measures
    numbers = (m.accuracy.value, m.accuracy.low, m.accuracy.high, m.top5, m.loss, m.ece)
    return (
        row.name,
        m.images,
        *("" if number is None else f"{number:.6f}" for number in numbers),
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
