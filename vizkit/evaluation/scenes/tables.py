"""What came of judging detectors as files: a CSV with a row a model and a class, or JSON."""

import json
import math
from typing import Any

from vizkit.evaluation.scenes.outcome import Judged, SceneOutcome
from vizkit.writing import csv_rows

SHARES = ("ap50", "ap", "ap75", "faultless")
ENDS = ("", "_low", "_high")


def as_csv(outcome: SceneOutcome) -> str:
    """Of each model a row for all classes, and one for each class; shares from 0 to 1, empty where there are no such
    things."""
    rows: list[dict[str, Any]] = []
    for row in outcome.models:
        about = {"scenes": outcome.scenes, "parameters": row.parameters, "licence": row.licence}
        rows.append({"model": row.name, "class": "all", "things": len(outcome.there), **_shares(row), **about})
        rows += ({"model": row.name, **each} for each in _classes(outcome, row))
    digits = [{name: f"{of:.6f}" if isinstance(of, float) else of for name, of in row.items()} for row in rows]
    return csv_rows(digits)


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
