"""What came of judging detectors as files: a CSV with a row a model and a class, or JSON."""

import json
import math
from typing import Any

from vizkit.evaluation.scenes.outcome import Judged, SceneOutcome
from vizkit.writing import csv_lines

SHARES = ("ap50", "ap", "ap75", "faultless")
ENDS = ("", "_low", "_high")


def as_csv(outcome: SceneOutcome) -> str:
    """Of each model a row for all classes, and one for each class; shares from 0 to 1, empty where there are no such
    things."""
    shares = [f"{name}{end}" for name in SHARES for end in ENDS]
    rows: list[tuple[object, ...]] = [("model", "class", "things", *shares, "scenes", "parameters", "licence")]
    for row in outcome.models:
        known = _shares(row)
        cells = ("" if known[name] is None else f"{known[name]:.6f}" for name in shares)
        rows.append((row.name, "all", len(outcome.there), *cells, outcome.scenes, row.parameters, row.licence))
        for each in _classes(outcome, row):
            share = "" if each["ap50"] is None else f"{each['ap50']:.6f}"
            rows.append((row.name, each["class"], each["things"], share, *[""] * (len(shares) + 2)))
    return csv_lines(rows)


def as_json(outcome: SceneOutcome) -> str:
    """As `as_csv`; null where there are no such things."""
    models = [
        {"model": row.name, "licence": row.licence, "parameters": row.parameters}
        | _shares(row)
        | {"classes": _classes(outcome, row)}
        for row in outcome.models
    ]
    about = {"data": outcome.name, "split": outcome.part, "digest": outcome.digest, "scenes": outcome.scenes}
    content = about | {"notes": outcome.notes, "models": models}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _shares(row: Judged) -> dict[str, float | None]:
    return {
        f"{name}{end}": _known(getattr(getattr(row.measures, name), part))
        for name in SHARES
        for end, part in zip(ENDS, ("value", "low", "high"), strict=True)
    }


def _classes(outcome: SceneOutcome, row: Judged) -> list[dict[str, Any]]:
    named = zip(outcome.labels, outcome.things, row.measures.by_label, strict=True)
    return [{"class": label, "things": count, "ap50": _known(value)} for label, count, value in named]


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
