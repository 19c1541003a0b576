"""Models that find things are evaluated by average precision, on scenes or on a folder of COCO's format."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from vizkit.commands.options import Request
from vizkit.commands.output import refuse_output, told, typed, write_output, write_view
from vizkit.writing import write_record

if TYPE_CHECKING:
    from vizkit.datasets.scenes.annotated import BoxSet
    from vizkit.evaluation.scenes.outcome import SceneOutcome
    from vizkit.models.detection.opening import Detector
    from vizkit.views.view import View


def find_things(models: Sequence[str]) -> bool:
    """Whether these models find things in images. ValueError where some do and others do not."""
    from vizkit.models.detection.opening import finds

    finding = [finds(name) for name in models]
    if any(finding) and not all(finding):
        classifier, detector = models[finding.index(False)], models[finding.index(True)]
        raise ValueError(f"{detector} finds things in images, {classifier} does not: evaluate them apart.")
    return any(finding)


def refuse_boxes(request: Request) -> None:
    refuse_output(request.output, (".html", ".json", ".csv", ".npz"))
    if request.pictures:
        raise ValueError("--pictures lists one answer an image, and these models give boxes: leave it out.")


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


def asked() -> str:
    """The command, without what a page adds."""
    return typed({"--folder": 1, "--end-with": 1, "--quiet": 0})


def deliver(request: Request, job: Any, said: Sequence[str], view: "View", kinds: Mapping[str, Any]) -> None:
    """What came of it: into the folder of a page; else said, and written where a file was asked for. `kinds`: by the
    ending of a file what it holds; others show the view."""
    if job:
        job.say(state="running", message="Writing the report.")
        write_output(job.result, kinds[".npz"])
        write_view(job.path / "report.html", view)
        job.say(state="done", message="")
        return
    print("\n".join(said).rstrip())
    if request.output:
        content = kinds.get(request.output.suffix.lower())
        if content is None:
            write_view(request.output, view)
        else:
            write_output(request.output, content.encode(errors="replace") if isinstance(content, str) else content)
        print(request.output)


def finish_boxes(request: Request, outcome: "SceneOutcome", job: Any) -> None:
    from vizkit.evaluation.scenes import tables
    from vizkit.views.detection.detectors import Detectors, classes_of, row_of
    from vizkit.views.evaluate.recorded import SCENES, called

    said = [f"{outcome.scenes:,} images of {outcome.name} ({outcome.part}), {len(outcome.there):,} things."]
    said += [*outcome.notes, "", told(map(row_of, outcome.models))]
    for row in outcome.models:
        said += ["", row.name, told(classes_of(outcome, row))]
    record = partial(write_record, record=outcome)
    kinds = {".npz": record, ".csv": tables.as_csv(outcome), ".json": tables.as_json(outcome)}
    deliver(request, job, said, Detectors(SCENES.lend(called(outcome))), kinds)
