"""What an evaluation tells of its models: accuracy, confusion, classes, calibration."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from vizkit.analysis.remarks.evaluation import calibrated, leader, most_frequent_mistake, placed
from vizkit.analysis.remarks.remark import counted, joined
from vizkit.evaluation.measures import BINS, confusion
from vizkit.evaluation.outcome import Outcome
from vizkit.figure.charts import bars
from vizkit.figure.evaluation.confusion import MOST_NUMBERED, grounds, largest_mistake
from vizkit.figure.evaluation.confusion import confusion as drawn
from vizkit.figure.evaluation.reliability import reliability
from vizkit.figure.palette import CLASSES
from vizkit.figure.sequences.word_matrix import WordMatrix
from vizkit.percent import in_percent, rounded
from vizkit.views.blocks import Block, Chart, Code, Line, Matrix, Said, Table

CALIBRATED = (
    "On the dashed line accuracy equals confidence. Bars below it: overconfident; above it: underconfident; pale ones "
    "have few images."
)
OTHERS = "another class"
MOST_LABELS = 30  # in the matrix; of more, those with most mistakes
MOST_PAIRS = 10  # listed, where the matrix has no numbers


def ends(interval: Any) -> tuple[float, float, float]:
    return interval.value, interval.low, interval.high


def spoken_of(found: Outcome, chosen: Sequence[str]) -> str:
    """The model that the finding is about: one's own, if one was chosen, else the one that is right most often."""
    own = [row.name for row in found.models if row.source in chosen and row.source.startswith("run:")]
    return own[0] if own else max(found.models, key=lambda row: row.measures.accuracy.value).name


def finding(found: Outcome, chosen: Sequence[str]) -> str:
    """Of one's own model how it stands among the others; else which is right most often."""
    right = {row.name: int(judged.right.sum()) for row, judged in zip(found.models, found.judged, strict=True)}
    right = dict(sorted(right.items(), key=lambda each: -each[1]))
    apart = [(pair.a, pair.b) for pair in found.pairs if pair.significant]
    first, rows = spoken_of(found, chosen), {row.name: row for row in found.models}
    worse = [b for a, b in apart if a == first]
    if rows[first].source.startswith("run:") and rows[first].source in chosen and len(right) > 1:
        return placed(first, right[first], len(found.rows), [a for a, b in apart if b == first], worse)
    ece = {name: row.measures.ece for name, row in rows.items()}
    said = leader(right, len(found.rows), worse)
    return " ".join(filter(None, (said, calibrated(first, ece, rows[first].measures.surer))))


def nearest(found: Outcome) -> Iterator[Block]:
    """The numbers of the paired test of the two that are right most often."""
    first = sorted(found.models, key=lambda row: -row.measures.accuracy.value)[:2]
    for pair in found.pairs:
        if {pair.a, pair.b} == {row.name for row in first}:
            holm = f" after Holm for {pair.pairs} pairs" if pair.pairs > 1 else ""
            yield Line(
                f"{pair.a} alone is right on {counted(pair.only_a, 'image')}, {pair.b} alone on {pair.only_b:,}: "
                f"{pair.chance}{holm}, McNemar's exact test."
            )


def accuracies(found: Outcome) -> Iterator[Block]:
    """What is wrong, for bars begin at nothing."""
    rows = sorted(found.models, key=lambda row: -row.measures.accuracy.value)
    shares = np.array([ends(row.measures.accuracy) for row in rows]) * 100
    figure = bars([row.name for row in rows], (100 - shares[:, 0]).tolist(), "wrong answers, % of the images")
    more, less = (shares[:, 0] - shares[:, 1]).tolist(), (shares[:, 2] - shares[:, 0]).tolist()
    own = [CLASSES[int(row.source.startswith("run:"))] for row in rows]
    figure.update_traces(
        marker_color=own, error_x={"type": "data", "array": more, "arrayminus": less, "symmetric": False}
    )
    said = ", ".join(f"{row.name} {in_percent(row.measures.accuracy.value, 1)} right" for row in rows)
    yield Chart(figure, f"Wrong answers with 95 % intervals: {said}", "Wrong answers, with 95 % intervals")


HELPS = {
    "Accuracy, %": "Share of right first answers.",
    "95 % interval": "Where the accuracy would lie for other such images, 95 times in 100: bootstrap over the "
    "images; exact binomial where fewer than 5 answers are wrong, or right.",
    "Loss, nats": "Mean cross-entropy. Less is better.",
    "ECE": "Expected calibration error. Less is better.",
}


def row_of(row: Any) -> dict[str, str | float | None]:
    measured = row.measures
    value, low, high = ends(measured.accuracy)
    return {
        "Model": row.name,
        "Accuracy, %": rounded(value, 1),
        "95 % interval": f"{in_percent(low, 1)} to {in_percent(high, 1)}",
        "ECE": round(measured.ece, 3),
        "Loss, nats": round(measured.loss, 3),
        "Top-5, %": None if measured.top5 is None else rounded(measured.top5, 1),
        "Parameters, M": round(row.parameters / 1e6, 2),
        "Input": f"{row.size_hw[0]} × {row.size_hw[1]}",
    }


def smaller(found: Outcome) -> str:
    """Of drawn images: which models see them smaller than they were drawn, as their own tests did not."""
    drawn = found.opened.get("size_px") if found.name.startswith("insects") else None
    few = [row.name for row in found.models if drawn and max(row.size_hw) < drawn]
    if not few:
        return ""
    return (
        f"The images are drawn {drawn} × {drawn} pixels large and made smaller for {joined(few)}; in its own test, "
        "whose accuracy other pages name, they were drawn small."
    )


def matrix(
    found: Outcome, model: int, picks: tuple[str, ...] = (), chosen: tuple[str | None, str | None] = (None, None)
) -> Iterator[Block]:
    """`picks`: the fields that a click on a cell sets; `chosen`: what they are."""
    counts = confusion(found.judged[model], len(found.labels))
    shown = np.arange(len(found.labels))
    wrong = counts.sum(1) - np.diagonal(counts) + (counts[:, :-1].sum(0) - np.diagonal(counts))
    if len(shown) > MOST_LABELS:
        shown = np.sort(np.argsort(-wrong, kind="stable")[:MOST_LABELS])
        yield Line(f"The {MOST_LABELS} of {len(found.labels)} labels with most mistakes.")
    named = [found.labels[label] for label in shown]
    columns = [*shown.tolist(), *([len(found.labels)] if counts[:, -1].any() else [])]
    answered = [*named, *([OTHERS] if len(columns) > len(named) else [])]
    name, cells = found.models[model].name, counts[np.ix_(shown, columns)]
    title, top = f"{name}: what each label is taken for", most_mistaken(found)
    yield Chart(
        drawn(named, answered, cells, top, chosen),
        f"Confusion matrix of {name}",
        title,
        picks,
        (Matrix(WordMatrix(cells.astype(float), named, answered, title=title, grounds=grounds(cells, top)), title),),
        hint="Click a cell to see only its images." if picks else "",
    )
    if said := most_frequent_mistake(counts, found.labels, (*found.labels, OTHERS)):
        yield Said(said)
    yield Line(
        "Rows are labels, columns are answers. Mistakes are red, the stronger the larger their share of the label, up "
        f"to {in_percent(top, 1)}{', the largest of all models' if len(found.models) > 1 else ''}."
    )
    if len(shown) > MOST_NUMBERED:
        yield Table(frequent(counts, found.labels), "The most frequent mistakes")


def most_mistaken(found: Outcome) -> float:
    """Where the red of all their matrices ends: the largest share of a label that one wrong answer has, 0 to 1."""
    return max(largest_mistake(confusion(judged, len(found.labels))) for judged in found.judged)


def pairs(found: Outcome) -> Iterator[Block]:
    """Every two of the models, in the order of their right answers."""
    rank = {row.name: -row.measures.accuracy.value for row in found.models}
    rows = tuple(
        {
            "Model": pair.a,
            "Against": pair.b,
            "Points more": f"{100 * value:.1f}",
            "95 % interval": f"{100 * low:z.1f} to {100 * high:z.1f}".replace("-", "−"),
            "Alone right": f"{pair.only_a:,} against {pair.only_b:,}",
            "Chance": pair.chance,
            "Better": "yes" if pair.significant else "not shown",
        }
        for pair in sorted(found.pairs, key=lambda pair: (rank[pair.a], rank[pair.b]))
        for value, low, high in (ends(pair.difference),)
    )
    many = (
        f", after Holm for {len(rows)} pairs; the interval is of a pair alone, not corrected" if len(rows) > 1 else ""
    )
    said = "Better: McNemar's exact test of the images that one alone has right gives a chance below 0.05"
    yield Table(rows, "Which model is better than which", f"{said}{many}.")


def frequent(counts: np.ndarray, labels: Sequence[str]) -> tuple[dict[str, str | int], ...]:
    """The cells beside the diagonal with most images, the largest first."""
    wrong, names = counts.copy(), (*labels, OTHERS)
    np.fill_diagonal(wrong, 0)
    places = [divmod(int(at), wrong.shape[1]) for at in np.argsort(-wrong, axis=None, kind="stable")[:MOST_PAIRS]]
    return tuple(
        {"Label": labels[row], "Taken for": names[column], "Images": int(wrong[row, column])}
        for row, column in places
        if wrong[row, column]
    )


def by_class(found: Outcome, model: int) -> Iterator[Block]:
    helps = {
        "Precision, %": "Of the images predicted to have this label, how many have it.",
        "Recall, %": "Of the images of this label, how many are predicted to have it.",
    }
    rows = tuple(
        {
            "Label": row.label,
            "Images": row.images,
            **{
                f"{name}, %": None if np.isnan(share) else round(100 * share, 1)
                for name, share in (("Precision", row.precision), ("Recall", row.recall), ("F1", row.f1))
            },
        }
        for row in found.models[model].measures.classes
    )
    yield Table(rows, "Precision and recall by class", helps=helps)


def calibration_of(found: Outcome, model: int) -> Chart:
    row = found.models[model]
    parts = zip(*((b.low, b.confidence, b.accuracy, b.images) for b in row.measures.bins), strict=True)
    lows, confidence, accuracy, images = map(list, parts)
    figure = reliability(lows, 1 / BINS, confidence, accuracy, images, CLASSES[0], row.name)
    said = f"{row.name} · ECE {row.measures.ece:.3f}"
    return Chart(figure, f"Reliability of {said}", said)


def made(found: Any, rows: Iterable[str]) -> Iterator[Block]:
    """How an outcome came about. `rows`: what there is to say of each of its models."""
    if found.command:
        yield Code(found.command, "bash")
    yield from map(Line, rows)
    opened = ", ".join(f"{name} {value}" for name, value in found.opened.items() if value not in ("", None))
    yield Line(f"Images: {found.name} ({found.part}), digest {found.digest:.16}; opened as {opened}.")
