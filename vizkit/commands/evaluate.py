"""Several models on the same labelled images, with intervals and paired tests.

Ctrl-C or `kill` stops it after the present batch; the same command goes on from there.
"""

import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from vizkit.commands.detection.evaluating import asked, deliver, find_things, finish_boxes, opened, refuse_boxes
from vizkit.commands.options import AS_IT_IS, HERE, Cluster, Opening, Request
from vizkit.commands.output import refuse_output, stoppable, told, write_output
from vizkit.commands.train import end_with
from vizkit.evaluation.job import JobFolder
from vizkit.training.interrupting import terminable
from vizkit.writing import write_record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vizkit.datasets.image_set import ImageSet
    from vizkit.evaluation.outcome import Outcome, Progress
    from vizkit.models import Loaded


SUFFIXES = (".html", ".csv", ".npz")
GOES_ON = "what was answered is kept, and the next start goes on from it"
SMALLER = "choose fewer models at once, smaller ones, or a smaller image size"
SAY_EVERY_S = 0.4


def evaluate(data: str, /, *, request: Request, cluster: Cluster = HERE, opening: Opening = AS_IT_IS) -> None:
    """Judge models on labelled images: accuracy, calibration, tests.

    vizkit evaluate photos/ --model runs/mine --model bundled:insects_vit -o report.html

    vizkit evaluate scenes --model bundled:scenes_detr -o precision.html

    vizkit evaluate photos/ --model runs/mine --on ray -o report.html

    Args:
        data: A folder or zip of class folders, insects, digits …; for models that find things scenes, or a folder with
            annotations.json (COCO).
    """
    finding = find_things(request.model)
    if finding:
        refuse_boxes(request)
    else:
        refuse_output(request.output, SUFFIXES)
        refuse_output(request.pictures, (".csv",))

    job = JobFolder(request.folder) if request.folder else None
    if request.end_with:
        end_with(request.end_with)
    with terminable(), _alone(job), cluster.used():
        try:
            (_run_boxes if finding else _run)(data, request, opening, job)
        except KeyboardInterrupt:
            if job:
                job.say(state="stopped", message=f"Stopped; {GOES_ON}.")
            raise


@contextmanager
def _alone(job: "JobFolder | None") -> "Iterator[None]":
    """In the folder of a page: no other evaluation beside this one, and every error in its status."""
    if job is None:
        yield
        return
    job.path.mkdir(parents=True, exist_ok=True)
    with job.locked(), job.reporting(GOES_ON, SMALLER):
        yield


def _run(data: str, request: Request, opening: Opening, job: Any) -> None:
    with _telling(request, job, "image") as tell:
        from vizkit.evaluation.outcome import evaluate_all
        from vizkit.explanations.reading import workers_for

        _use(request.threads)
        models = [opening.load(name, several=True) for name in dict.fromkeys(request.model)]
        images, how = _pictures(data, request, models)
        device = models[0].device.type
        workers = workers_for(device, len(images)) if request.workers is None else request.workers
        # For a page: the models that are done can be looked at while the others are at work.
        keep = None if job is None else lambda outcome: write_record(job.first(len(outcome.models)), outcome)
        with stoppable() as stopping:
            outcome = evaluate_all(models, images, how, workers=workers, tell=tell, so_far=keep, stopping=stopping)
    finish(request, replace(outcome, command=asked()), job)


def _run_boxes(data: str, request: Request, opening: Opening, job: Any) -> None:
    with _telling(request, job, "scene") as tell:
        from vizkit.evaluation.scenes.judging import judge

        _use(request.threads)
        detectors, scenes, how = opened(data, request, opening.device)
        with stoppable() as stopping:
            outcome = judge(detectors, scenes, how, tell, stopping)
    finish_boxes(request, replace(outcome, command=asked()), job)


def _use(threads: int) -> None:
    import torch

    if threads:
        torch.set_num_threads(threads)


def _pictures(data: str, request: Request, models: "list[Loaded]") -> "tuple[ImageSet, dict[str, Any]]":
    """Drawn images are as large as the largest input among the models, so that all see the very same ones."""
    from vizkit.evaluation.pictures import open_pictures

    size_px = max(side for each in models for side in each.preprocessing.size_hw)
    how = {
        "data": data,
        "split": request.split,
        "images": request.images,
        "size_px": min(512, max(32, size_px)),
        "seed": request.seed,
    }
    return open_pictures(**how), how


# ---- what is said on the way -----------------------------------------------------------------------------------------
@contextmanager
def _telling(request: Request, job: Any, what: str) -> "Iterator[Progress]":
    """A progress bar in the terminal, or the status of a page's folder."""
    from tqdm import tqdm

    models, reported_at = len({*request.model}), 0.0
    if job:
        job.say(state="preparing", message=f"Opening the {what}s and the models.")
    with tqdm(unit=what, disable=bool(request.quiet or job) or None, dynamic_ncols=True) as bar:

        def tell(model: int, name: str, done: int, total: int, per_s: float) -> None:
            nonlocal reported_at
            bar.set_description_str(name)
            bar.total, bar.n = total, done
            bar.refresh()
            now = time.monotonic()
            if job and (now > reported_at + SAY_EVERY_S or done == total):
                reported_at = now
                job.say(
                    state="running", model=model, models=models, name=name, done=done, total=total, images_per_s=per_s
                )

        yield tell


# ---- what comes of it ------------------------------------------------------------------------------------------------
def finish(request: Request, outcome: "Outcome", job: Any) -> None:
    from vizkit.evaluation import tables
    from vizkit.views.evaluate.measured import row_of
    from vizkit.views.evaluate.recorded import PICTURES, titled
    from vizkit.views.evaluate.results import Results

    said = [f"{len(outcome.rows):,} images of {outcome.name}.", *outcome.notes, "", told(map(row_of, outcome.models))]
    said += ["", *(pair.sentence for pair in outcome.pairs)]
    kinds = {".npz": partial(write_record, record=outcome), ".csv": tables.models_csv(outcome)}
    deliver(request, job, said, Results(PICTURES.lend(titled(outcome))), kinds)
    if request.pictures:
        write_output(request.pictures, tables.pictures_csv(outcome))
        print(request.pictures)
