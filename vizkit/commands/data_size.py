"""Accuracy against the number of training images, run after run, then the table.

What is done stays: killed at any moment, the same command goes on after the last finished epoch.
"""

from collections.abc import Iterable, Mapping, Sequence

from vizkit.analysis.remarks.data_size import signed
from vizkit.commands.of_runs import Runs, finished, trained
from vizkit.commands.options import Data
from vizkit.commands.output import markdown
from vizkit.training.experiments.data_size import DATA, IMAGES, METHODS, plan
from vizkit.training.experiments.size_findings import findings, teacher_finding, teacher_gains
from vizkit.training.experiments.size_results import Study, studies
from vizkit.training.runs.folder import runs

__all__ = ["data_size", "finished"]


def data_size(*, data: Data = DATA, asked: Runs) -> None:
    """Train an MLP, a CNN, a Swin, a ViT and DeiTs on 1 to 100 % of a set, and compare.

    vizkit data-size -o runs/data_size --seed 1 --table data_size.md

    Trains what is missing, one run after another, and prints the table. Stop it and start it again.
    """
    if asked.training:
        images = _images_of(data)
        mine = trained(lambda seed: plan(asked.output.as_posix(), seed, data, images), asked)
    else:
        mine = list(runs(asked.output))
    parts = [_markdown(study) for study in studies(mine) if study.outcomes]
    asked.tell("Accuracy against the number of training images", parts)


def _images_of(data: str) -> int:
    """How many images there are to learn from. Insects are drawn without end; the experiment has its own number."""
    if data.split(":")[0] == "insects":
        return IMAGES
    from vizkit.datasets.opening import open_set

    return len(open_set(data, "train"))


NOT_TRAINED = (
    " –: not trained. A teacher of the same images is tried from 300 of them on, where it knows enough; of all "
    "images both teachers are one."
)


# ---- the table -------------------------------------------------------------------------------------------------------
def _markdown(study: Study) -> str:
    """One row for each method, one column for each number of training images; below, what a teacher adds."""
    seeds = ", ".join(map(str, study.seeds))
    least, most = study.shown
    rows = {
        method: ["–" if (outcome := study.at(method, images)) is None else outcome.words for images in study.sizes]
        for method in METHODS
    }
    shown = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    side = f" at {study.side_px} × {study.side_px} pixels" if study.side_px else ""
    return "\n".join(
        [
            _table("images to learn from", study.sizes, rows),
            "",
            f"Test accuracy on {study.data}{side}, seeds {seeds}; ± are {study.intervals}. Every run was shown {shown} "
            f"images in {study.epochs} epochs." + (NOT_TRAINED if any("–" in row for row in rows.values()) else ""),
            *_teachers(study),
            *_sentences(study),
        ]
    )


def _teachers(study: Study) -> list[str]:
    """The paired differences with the ViT, where there are any."""
    gains = teacher_gains(study)
    if not gains:
        return []
    sizes = sorted({images for gained in gains.values() for images in gained})
    rows = {kind: [signed(gained.get(images)) for images in sizes] for kind, gained in gains.items()}
    what = f"What a teacher adds: the DeiT minus {study.control} of the same seeds, in points, with 95 % intervals."
    return ["", what, "", _table("points above no teacher", sizes, rows)]


def _sentences(study: Study) -> list[str]:
    said = [*findings(study), *(teacher_finding(*each) for each in teacher_gains(study).items())]
    return ["", *(f"- {each}" for each in dict.fromkeys(said))]


def _table(first: str, sizes: Iterable[int], rows: Mapping[str, Sequence[str]]) -> str:
    return markdown([first, *(f"{images:,}" for images in sizes)], [[name, *row] for name, row in rows.items()])
