"""An outcome as files: CSV with a row a model or a row a picture, and one HTML page that needs nothing beside it."""

import csv
import io
import math
from collections.abc import Iterator
from html import escape
from pathlib import Path

from vizkit import writing
from vizkit.analysis.comparison.published import STUDY, STUDY_TABLE
from vizkit.datasets.image_set import ImageSet
from vizkit.evaluation.classes import EvaluationError
from vizkit.evaluation.measures import BINS, confusion, hardest
from vizkit.evaluation.outcome import Outcome, Row
from vizkit.evaluation.report_pictures import STYLE, confusion_table, frequent, reliability_svg, thumbnail

HARDEST = 12  # pictures a model
HEADS = ("Model", "Accuracy", "95 % interval", "Top-5", "Loss (nats)", "ECE", "Images/s", "Parameters")
EMPTY = "–"
COLUMNS = (
    *("model", "pictures", "accuracy", "accuracy_low", "accuracy_high", "top5", "loss_nats", "ece", "images_per_s"),
    *("parameters", "input_height_px", "input_width_px", "device", "source", "licence", "weights_digest"),
)


# ---- CSV -------------------------------------------------------------------------------------------------------------
def models_csv(outcome: Outcome) -> str:
    """One row a model; shares from 0 to 1."""
    return _lines([COLUMNS, *map(_model_line, outcome.models)])


def _model_line(row: Row) -> tuple[object, ...]:
    m = row.measures
    shares = [f"{value:.6f}" for value in (m.accuracy.value, m.accuracy.low, m.accuracy.high)]
    top5 = "" if m.top5 is None else f"{m.top5:.6f}"
    return (row.name, m.images, *shares, top5, f"{m.loss:.6f}", f"{m.ece:.6f}", f"{row.images_per_s:.1f}",
            row.parameters, *row.size_hw, row.device, row.source, row.licence, row.weights)  # fmt: skip


def pictures_csv(outcome: Outcome) -> str:
    """One row a picture: place and label; of each model the answer, its probability, loss, and if it is right."""
    kinds = ("answer", "probability", "right", "loss_nats")
    heads = ["picture", "label", *(f"{row.name}: {kind}" for row in outcome.models for kind in kinds)]

    def rows() -> Iterator[list[object]]:
        yield [*heads]
        for image, place in enumerate(outcome.places):
            cells: list[object] = [place, outcome.labels[int(outcome.target[image])]]
            for model, judged in enumerate(outcome.judged):
                cells += [outcome.answer_of(model, image), f"{judged.probability[image]:.6f}",
                          int(judged.right[image]), f"{judged.loss[image]:.6f}"]  # fmt: skip
            yield cells

    return _lines(rows())


def _lines(rows: "Iterator[list[object]] | list[tuple[object, ...]]") -> str:
    """A spreadsheet takes a cell that begins with =, +, - or @ for a formula; names come from strangers."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        writer.writerow([f"'{c}" if isinstance(c, str) and c[:1] in ("=", "+", "-", "@") else c for c in row])
    return out.getvalue()


# ---- HTML ------------------------------------------------------------------------------------------------------------
def html(outcome: Outcome, images: ImageSet | None = None, command: str = "") -> str:
    """A page with tables, tests, diagrams and the hardest pictures, these only where the pictures are given."""
    title = f"{', '.join(row.name for row in outcome.models)} on {outcome.name}"
    parts = [
        f"<h1>{_name(title)}</h1>",
        f"<p>{outcome.models[0].measures.images:,} pictures · {len(outcome.labels)} labels</p>",
        "".join(f"<p class=note dir=auto>{escape(note)}</p>" for note in outcome.notes),
        _table(HEADS, [_cells(row) for row in outcome.models]),
        "<p class=note>The interval: bootstrap over the pictures, or exact binomial where all answers are "
        "right or all are wrong. It says how far another sample of such pictures might move the number.</p>",
        _tests(outcome),
        "<h2>Published, on other data</h2>",
        _table(("Model", "Setting", "Best validation", "Test"), [
            (escape(each.name), escape(each.setting), f"{each.validation:.2f}%", f"{each.test:.2f}%")
            for each in STUDY
        ]),
        f"<p class=note>{escape(STUDY_TABLE.citation)}. {escape(STUDY_TABLE.measured)} These numbers cannot be "
        "compared with the ones above.</p>",
        *(_of_model(outcome, model, images) for model in range(len(outcome.models))),
        _made(outcome, command),
    ]  # fmt: skip
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{STYLE}</style><body>{''.join(parts)}</body></html>"
    )


def _name(text: str) -> str:
    """A name from anywhere: written from left or right as its letters are, without turning its neighbours."""
    return f"<bdi>{escape(text)}</bdi>"


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Cells are HTML; the first of each row is a name."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join(f"<tr><th>{row[0]}</th>{''.join(f'<td>{cell}</td>' for cell in row[1:])}</tr>" for row in rows)
    return f"<div class=wide><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"


def _cells(row: Row) -> tuple[str, ...]:
    m = row.measures
    return (
        _name(row.name), f"{m.accuracy.value:.1%}", f"{m.accuracy.low:.1%} to {m.accuracy.high:.1%}",
        EMPTY if m.top5 is None else f"{m.top5:.1%}", f"{m.loss:.3f}", f"{m.ece:.3f}", f"{row.images_per_s:,.0f}",
        f"{row.parameters:,}",
    )  # fmt: skip


def _tests(outcome: Outcome) -> str:
    if not outcome.pairs:
        return ""
    said = "".join(f"<li dir=auto>{escape(pair.sentence)}</li>" for pair in outcome.pairs)
    return (
        f"<h2>Which is better?</h2><ul>{said}</ul><p class=note>Only pictures that one of the two has right and the "
        "other wrong can tell (McNemar's exact test). The test knows nothing of other kinds of pictures, nor of how "
        "much a model trained again with another seed would differ.</p>"
    )


def _of_model(outcome: Outcome, model: int, images: ImageSet | None) -> str:
    row, judged = outcome.models[model], outcome.judged[model]
    counts = confusion(judged, len(outcome.labels))
    heads = ("Label", "Pictures", "Precision", "Recall", "F1")
    classes = [
        (_name(each.label), f"{each.images:,}", *(_share(value) for value in (each.precision, each.recall, each.f1)))
        for each in row.measures.classes
    ]
    pictures = "" if images is None else _figures(outcome, model, images)
    return (
        f"<h2>{_name(row.name)}</h2><p class=note>{escape(row.source)} · licence {escape(row.licence)} · sees "
        f"{row.size_hw[0]} × {row.size_hw[1]} pixels · {escape(row.device)} · weights {row.weights:.16}</p>"
        f"<h3>Calibration</h3>{reliability_svg(row.measures.bins)}"
        f"<p class=note>Share of right answers against the probability that the model gave them, in {BINS} bins; on "
        f"the diagonal a model is as often right as it says. Expected calibration error {row.measures.ece:.3f}.</p>"
        f"<h3>Confusion</h3>{confusion_table(counts, outcome.labels)}{frequent(counts, outcome.labels)}"
        f"<h3>By class</h3>{_table(heads, classes)}{pictures}"
    )


def _share(value: float) -> str:
    return EMPTY if math.isnan(value) else f"{value:.1%}"


def _figures(outcome: Outcome, model: int, images: ImageSet) -> str:
    """The pictures with the highest loss."""
    judged, parts = outcome.judged[model], []
    for image in hardest(judged, HARDEST).tolist():
        if judged.right[image] and judged.loss[image] < 0.1:
            break
        shown = thumbnail(images, int(outcome.rows[image]))
        label, answer = outcome.labels[int(outcome.target[image])], outcome.answer_of(model, image)
        verdict = "right" if judged.right[image] else f"answered {_name(answer)}"
        parts.append(
            f"<figure>{shown}<figcaption>{_name(label)}<br>{verdict}, {judged.probability[image]:.0%}<br>"
            f"<small>{_name(outcome.places[image])}</small></figcaption></figure>"
        )
    return f"<h3>Hardest pictures</h3><div class=row>{''.join(parts)}</div>" if parts else ""


def _made(outcome: Outcome, command: str) -> str:
    how = f"<pre>{escape(command)}</pre>" if command else ""
    versions = ", ".join(f"{package} {number}" for package, number in outcome.versions.items())
    return (
        f"<h2>How this was made</h2>{how}<p class=note>{escape(versions)}. Pictures {outcome.digest:.16}, "
        f"{escape(outcome.part)}. Opened as {escape(repr(dict(outcome.opened)))}.</p>"
    )


def write(text: str, path: Path) -> None:
    """Whole or not at all."""
    try:
        writing.write(path, text.encode(errors="replace"))
    except OSError as error:
        raise EvaluationError(f"{path} cannot be written: {error.strerror or type(error).__name__}.") from error
