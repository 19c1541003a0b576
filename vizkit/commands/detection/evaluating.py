"""Models that find things are evaluated by average precision, on scenes or on a folder of COCO's format."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vizkit.commands.options import Request
from vizkit.commands.output import aligned, progress, refuse_output, write_output

if TYPE_CHECKING:
    from vizkit.datasets.scenes.annotated import BoxSet
    from vizkit.evaluation.scenes.judging import Judged
    from vizkit.models.detection.opening import Detector

    Results = Sequence[tuple[Detector, Judged]]


COLUMNS = ("model", "class", "things", "ap50", "ap", "ap75", "faultless", "scenes", "parameters", "licence")


def find_things(models: Sequence[str]) -> bool:
    """Whether these models find things in pictures. ValueError where some do and others do not."""
    from vizkit.models.detection.opening import finds

    finding = [finds(name) for name in models]
    if any(finding) and not all(finding):
        classifier, detector = models[finding.index(False)], models[finding.index(True)]
        raise ValueError(f"{detector} finds things in pictures, {classifier} does not: evaluate them apart.")
    return any(finding)


def evaluate_boxes(data: str, request: Request, device: str | None) -> None:
    refuse_output(request.output, (".json", ".csv"))
    if request.pictures:
        raise ValueError("--pictures lists one answer a picture, and these models give boxes: leave it out.")
    import torch

    from vizkit.datasets.scenes.opening import open_boxes
    from vizkit.evaluation.scenes.judging import judge
    from vizkit.models.detection.opening import open_detector

    if request.threads:
        torch.set_num_threads(request.threads)
    detectors = [open_detector(name) for name in dict.fromkeys(request.model)]
    size_px = max(side for each in detectors for side in each.preprocessing.size_hw)
    scenes = open_boxes(
        data,
        request.split or "test",
        count=request.images,
        size_px=min(1024, max(64, size_px)),
        seed=request.seed,
    )
    results = []
    for detector in detectors:
        detector.model.to(device or "cpu")
        with progress("scene", detector.name, len(scenes), quiet=request.quiet) as tell:
            results.append((detector, judge(detector, scenes, tell)))
    print(_spoken(scenes, results))
    if request.output:
        csv = request.output.suffix.lower() == ".csv"
        write_output(request.output, as_csv(results) if csv else as_json(scenes, results))
        print(f"{request.output}: {', '.join(each.name for each in detectors)} on {len(scenes):,} pictures")


def _notes(results: "Results") -> list[str]:
    return list(dict.fromkeys(note for _, judged in results for note in judged.notes))


def _spoken(scenes: "BoxSet", results: "Results") -> str:
    """What was left out, the table of the models, and that of the classes."""
    rows: list[tuple[str, ...]] = [("model", "AP", "AP50", "AP75", "without mistake", "scenes/s", "parameters")]
    for detector, judged in results:
        p = judged.precision
        rows.append(
            (
                detector.name,
                *map(_said, (p.ap, p.ap50, p.ap75)),
                f"{judged.faultless:.1%}",
                f"{judged.scenes / judged.seconds:.1f}",
                f"{detector.parameters:,}",
            )
        )
    first = results[0][1]
    kinds: list[tuple[str, ...]] = [("class", "things", *(f"AP50 {detector.name}" for detector, _ in results))]
    for place, (label, count) in enumerate(zip(first.labels, first.things, strict=True)):
        values = (judged.precision.by_label[place] for _, judged in results)
        kinds.append((label, f"{count:,}", *map(_said, values)))
    said = [f"{first.scenes:,} pictures of {scenes.name} ({scenes.split}), {sum(first.things):,} things."]
    return "\n".join([*said, *_notes(results), "", aligned(rows), "", aligned(kinds)])


def _said(value: float) -> str:
    return "–" if value < 0 else f"{value:.3f}"


def as_csv(results: "Results") -> str:
    """Of each model a row for all classes, and one for each class; precisions from 0 to 1, empty where there are no
    such things."""
    from vizkit.evaluation.report import csv_lines

    rows: list[tuple[object, ...]] = [COLUMNS]
    for detector, judged in results:
        p = judged.precision
        rows.append(
            (
                detector.name,
                "all",
                sum(judged.things),
                _share(p.ap50),
                _share(p.ap),
                _share(p.ap75),
                _share(judged.faultless),
                judged.scenes,
                detector.parameters,
                detector.licence,
            )
        )
        rows += [
            (detector.name, label, count, _share(value), *[""] * 6)
            for label, count, value in zip(judged.labels, judged.things, p.by_label, strict=True)
        ]
    return csv_lines(rows)


def _share(value: float) -> str:
    return "" if value < 0 else f"{value:.6f}"


def _known(value: float) -> float | None:
    return None if value < 0 else value


def as_json(scenes: "BoxSet", results: "Results") -> str:
    """As `as_csv`; null where there are no such things."""
    models: list[dict[str, Any]] = []
    for detector, judged in results:
        p = judged.precision
        classes = [
            {"class": label, "things": count, "ap50": _known(value)}
            for label, count, value in zip(judged.labels, judged.things, p.by_label, strict=True)
        ]
        models.append(
            {
                "model": detector.name,
                "licence": detector.licence,
                "parameters": detector.parameters,
                "ap": _known(p.ap),
                "ap50": _known(p.ap50),
                "ap75": _known(p.ap75),
                "faultless": judged.faultless,
                "classes": classes,
            }
        )
    content = {
        "data": scenes.name,
        "split": scenes.split,
        "digest": scenes.digest,
        "scenes": len(scenes),
        "notes": _notes(results),
        "models": models,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
