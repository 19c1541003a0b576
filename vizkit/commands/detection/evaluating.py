"""Models that find things are evaluated by average precision, on scenes or on a folder of COCO's format."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vizkit.commands.options import Request
from vizkit.commands.output import aligned, refuse_output, write_output

if TYPE_CHECKING:
    from vizkit.datasets.scenes.annotated import BoxSet
    from vizkit.evaluation.measures import Interval
    from vizkit.evaluation.scenes.outcome import SceneOutcome
    from vizkit.models.detection.opening import Detector


def find_things(models: Sequence[str]) -> bool:
    """Whether these models find things in pictures. ValueError where some do and others do not."""
    from vizkit.models.detection.opening import finds

    finding = [finds(name) for name in models]
    if any(finding) and not all(finding):
        classifier, detector = models[finding.index(False)], models[finding.index(True)]
        raise ValueError(f"{detector} finds things in pictures, {classifier} does not: evaluate them apart.")
    return any(finding)


def refuse_boxes(request: Request) -> None:
    refuse_output(request.output, (".json", ".csv", ".npz"))
    if request.pictures:
        raise ValueError("--pictures lists one answer a picture, and these models give boxes: leave it out.")


def opened(data: str, request: Request, device: str | None) -> "tuple[list[Detector], BoxSet, dict[str, Any]]":
    """The models, the scenes, and how these were opened."""
    from vizkit.datasets.scenes.opening import open_boxes
    from vizkit.models.detection.opening import open_detector

    detectors = [open_detector(name) for name in dict.fromkeys(request.model)]
    for each in detectors:
        each.model.to(device or "cpu")
    size_px = max(side for each in detectors for side in each.preprocessing.size_hw)
    how = {
        "name": data,
        "split": request.split or "test",
        "count": request.images,
        "size_px": min(1024, max(64, size_px)),
        "seed": request.seed,
    }
    return detectors, open_boxes(**how), how


def deliver(request: Request, outcome: "SceneOutcome", job: Any) -> None:
    """Into the folder of a page; else said, and written where a file was asked for."""
    from vizkit.evaluation.scenes import report
    from vizkit.evaluation.scenes.outcome import save

    if job:
        save(outcome, job.result)
        job.say(state="done", message="")
        return
    print(_spoken(outcome))
    if request.output:
        kind = request.output.suffix.lower()
        if kind == ".npz":
            write_output(request.output, lambda whole: save(outcome, whole))
        else:
            write_output(request.output, report.as_csv(outcome) if kind == ".csv" else report.as_json(outcome))
        print(f"{request.output}: {', '.join(row.name for row in outcome.models)} on {outcome.scenes:,} pictures")


def _spoken(outcome: "SceneOutcome") -> str:
    """What was left out, the table of the models, and that of the classes."""
    rows: list[tuple[str, ...]] = [("model", "AP", "AP50", "AP75", "without mistake", "scenes/s", "parameters")]
    for row in outcome.models:
        m = row.measures
        precisions = map(_between, (m.ap, m.ap50, m.ap75))
        faultless = f"{m.faultless.value:.1%} ({m.faultless.low:.1%} to {m.faultless.high:.1%})"
        rows.append((row.name, *precisions, faultless, f"{outcome.scenes / row.seconds:.1f}", f"{row.parameters:,}"))
    kinds: list[tuple[str, ...]] = [("class", "things", *(f"AP50 {row.name}" for row in outcome.models))]
    for place, (label, count) in enumerate(zip(outcome.labels, outcome.things, strict=True)):
        kinds.append((label, f"{count:,}", *(_said(row.measures.by_label[place]) for row in outcome.models)))
    said = [f"{outcome.scenes:,} pictures of {outcome.name} ({outcome.part}), {len(outcome.there):,} things."]
    return "\n".join([*said, *outcome.notes, "", aligned(rows), "", aligned(kinds)])


def _between(interval: "Interval") -> str:
    return (
        "–" if interval.value != interval.value else f"{interval.value:.3f} ({interval.low:.3f} to {interval.high:.3f})"
    )


def _said(value: float) -> str:
    return "–" if value != value else f"{value:.3f}"
