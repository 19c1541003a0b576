"""The pictures that the views of this page are of, recorded by one pass of the model; and some of them beside one
another, each with where the model looked."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Bool

from vizkit.analysis.remarks.remark import counted
from vizkit.datasets.contact_sheet import contact_sheet
from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.datasets.planted import Planted, planted
from vizkit.evaluation.classes import UNKNOWN, EvaluationError
from vizkit.evaluation.data_set.opening import open_labelled
from vizkit.evaluation.data_set.record import MissingExtra, Recorded, record
from vizkit.figure.overlay import overlay
from vizkit.figure.scales import SHARES, Scale
from vizkit.image import RGB, data_url, seen
from vizkit.percent import in_percent
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Canvas, Job, Later, Line, Picture, side_by_side
from vizkit.views.controls import choice, folder
from vizkit.views.distillation.labelled import FOLDER, WORDS, awaited, sets
from vizkit.views.subject import OfModel, Subject
from vizkit.views.view import View

PLANTED = "planted"
NAMES = WORDS | {PLANTED: "planted faults"}
HARD = "insects:hard"
MARKED = (0, 0.4)  # of the first label so many have a mark in the corner
COUNTS = ("300", "1000", "2000", "10000")
AT_ONCE, STILL = 12, 6  # pictures beside one another, and on paper
SIDE_PX = 112  # of one
SHEET = 12, 2  # columns and rows, which are drawn in a second
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Step:
    """What follows from what was recorded: `name` with all settings that it depends on, `words` for its progress."""

    name: tuple[str | int, ...]
    words: str
    work: Callable[[Recorded, Progress], Any]


def offered(of: Sequence[Subject], view: "OfData") -> list[str]:
    """First one whose faults are known, where the view looks for such; where it looks for errors, one that has some."""
    known = sets(of)
    if view.faults:
        return [PLANTED, *known]
    return sorted(known, key=lambda name: name != HARD) if known[0] == "insects" else known


class OfData(View):
    """What one model makes of a set of labelled pictures."""

    data: str | None = choice(
        "Pictures of",
        offered,
        "Test pictures that come with vizkit, also with faults that are known: a tenth of the labels is wrong, four "
        "pictures are copies, two fifths of the first label have a mark in the corner. Or all of a folder with a "
        "folder of pictures for each class.",
        words=NAMES,
        key="data_set",
        listed=True,
        follows=True,
        runs=True,
    )
    folder: str = folder("Folder", key="data_folder", when=lambda view: view.data == FOLDER, runs=True)
    images: Literal["300", "1000", "2000", "10000"] = choice(
        "Pictures", COUNTS, "At most so many.", key="data_images", runs=True, more=True
    )

    alone: ClassVar = True
    overlays: ClassVar = False
    faults: ClassVar[bool] = True

    def source(self, of: Subject) -> str:
        """As a set is opened."""
        name = self.data or offered([of], self)[0]
        return of.folders.get(self.folder, "") if name == FOLDER else name

    def truth(self, found: Recorded) -> Planted | None:
        """What is wrong with a set, where that is known."""
        return found.images.source if isinstance(found.images.source, Planted) else None

    def key(self, of: Subject, split: str = "") -> tuple[str | int, ...]:
        source = self.source(of)
        return ("data set", source, written_ns(source), self.images, split)

    def notes(self, found: Recorded) -> Blocks:
        """What a folder's pictures were, and what could not be read of them."""
        broken = next(iter(found.broken.items()), None)
        for note in found.images.notes if self.data == FOLDER else ():
            yield Line(note)
        if broken:
            yield Line(f"Not read: {counted(len(found.broken), 'picture')}, {broken[0]} the first: {broken[1]}")

    def known(self, of: Subject, split: str = "") -> Recorded | None:
        """What has been recorded already."""
        return of.find(OfModel(self.key(of, split)))

    def later(self, of: Subject, show: Callable[..., Blocks], *steps: Step, split: str = "") -> Blocks:
        """`show` is given what was recorded, then the result of each step, None where it is not there yet. Before that
        some of the pictures stand there, which need no model."""
        if sentence := awaited(of, self.data, self.folder):
            raise NotApplicable(sentence)
        key, count = self.key(of, split), int(self.images)
        words = f"{of.name} looks at up to {count:,} pictures"
        opened = partial(images_of, of, self.source(of), split, count)
        first = Job(OfModel(key), words, partial(recorded, of, opened))
        rest = [Job(OfModel((*key, *step.name)), step.words, partial(after, of, first, step.work)) for step in steps]
        sheet = Job(OfModel((*key, "sheet")), "Opening the pictures", partial(some, of, first, opened), rough=True)

        def shown(results: Mapping[Any, Any]) -> Blocks:
            if first.key in results:
                yield from show(*(results.get(job.key) for job in (first, *rest)))
            elif sheet.key in results:
                words = f"Some of the pictures that {of.name} looks at now"
                yield Picture(results[sheet.key], words, f"{words}; what it makes of them follows.")

        yield Later(of, (sheet, first, *rest), shown)


def images_of(of: Subject, source: str, split: str, count: int) -> ImageSet:
    with refused():
        name = sets([of])[0] if source == PLANTED else source
        images = open_labelled(name, split, images=count, size_px=min(512, max(32, *of.loaded.preprocessing.size_hw)))
        return planted(images, marked=MARKED) if source == PLANTED else images


def recorded(of: Subject, opened: Callable[[], ImageSet], progress: Progress) -> Recorded:
    with refused():
        return record(of.opened, opened(), tell=lambda done, total, _: progress(done, total))


def some(of: Subject, first: Job, opened: Callable[[], ImageSet], _: Progress) -> RGB | None:
    """A sheet of them; None where what takes longer is there already."""
    with refused():
        return contact_sheet(opened(), *SHEET) if of.find(first.key) is None else None


def after(of: Subject, first: Job, work: Callable[[Recorded, Progress], Any], progress: Progress) -> Any:
    with refused():
        return work(of.kept(first.key, partial(first.work, progress)), progress)


@contextmanager
def refused() -> Iterator[None]:
    """What cannot be done, as the one sentence of a view."""
    try:
        yield
    except (DatasetError, EvaluationError, MissingExtra) as sentence:
        raise NotApplicable(str(sentence)) from None


def written_ns(source: str) -> int:
    """When a folder, or one in it, last changed; 0 of what is none."""
    path = Path(source)
    if not path.exists() or source in ("insects", "digits"):
        return 0
    return max(each.stat().st_mtime_ns for each in (path, *(path.iterdir() if path.is_dir() else ())))


# ---- pictures --------------------------------------------------------------------------------------------------------
def pair(of: Subject, found: Recorded, row: int) -> RGB:
    """What the model saw of a picture, and beside it where it looked. ValueError, as DatasetError, of one that has
    gone."""
    rgb = seen(found.picture(row), of.loaded.preprocessing)
    zoom = max(1, -(-SIDE_PX // max(rgb.shape[:2])))
    rgb = rgb.repeat(zoom, 0).repeat(zoom, 1)
    heat = found.maps[row]
    return np.concatenate([rgb, looked(rgb, heat)], 1) if np.isfinite(heat).all() else rgb


def looked(rgb: RGB, heat: np.ndarray, scale: Scale = SHARES) -> RGB:
    return overlay(rgb, np.maximum(heat, 0), (0.0, 0.0, float(rgb.shape[1]), float(rgb.shape[0])), scale=scale)


def grid(of: Subject, found: Recorded, rows: Sequence[int], alt: str) -> Blocks:
    """At most AT_ONCE pictures, each with its label, the answer, and a way to other pages."""
    pictures: dict[int, RGB] = {}
    for row in rows[:AT_ONCE]:
        try:
            pictures[row] = of.kept(OfModel(("seen", found.digest, row)), partial(pair, of, found, row))
        except DatasetError as sentence:
            yield Line(str(sentence))
    shown, captions = [*pictures], {row: described(found, row) for row in pictures}

    def picture(index: int) -> tuple[str, RGB]:
        row = shown[index]
        return f"{found.labels[found.target[row]]}, {Path(found.keys[row]).name}", found.picture(row)

    still = [Picture(pictures[row], captions[row], captions[row]) for row in shown[:STILL]]
    yield Canvas(
        "vizkit_evaluated",
        {"tiles": [tile(found, row, rgb) for row, rgb in pictures.items()]},
        alt,
        still=tuple(side_by_side(*still[at : at + 3]) for at in range(0, len(still), 3)),
        picture=picture,
    )


def true_label(found: Recorded, row: int) -> int | None:
    """Of a picture whose label was planted wrong."""
    source = found.images.source
    return source.wrong.get(int(found.rows[row])) if isinstance(source, Planted) else None


def errors_of(found: Recorded) -> Bool[np.ndarray, " picture"]:
    """Where the model is wrong: a label that was planted wrong is no error of its own."""
    classes = dict(zip(found.target.tolist(), found.truth.tolist(), strict=True))
    true = [true_label(found, row) for row in range(len(found))]
    pairs = zip(true, found.truth.tolist(), strict=True)
    truth = np.array([own if label is None else classes.get(label, UNKNOWN) for label, own in pairs])
    return found.known & (truth != UNKNOWN) & (found.answer != truth)


def label_of(found: Recorded, row: int) -> str:
    label, true = found.labels[found.target[row]], true_label(found, row)
    return label if true is None else f"{label} (planted; it is {found.labels[true]})"


def tile(found: Recorded, row: int, rgb: RGB) -> dict[str, Any]:
    answers = []
    if found.classifies:
        right = None if not found.known[row] else not errors_of(found)[row]
        sure = {"sure": round(100 * found.probability[row]), "right": right}
        answers = [{"model": found.model, "answer": answer_of(found, row)} | sure]
    return {
        "picture": data_url(rgb, 2 * SIDE_PX, 2 * SIDE_PX),
        "wide": rgb.shape[1] / rgb.shape[0],
        "label": label_of(found, row),
        "place": found.keys[row],
        "answers": answers,
    }


def answer_of(found: Recorded, row: int) -> str:
    """ "" of a model without classes."""
    if not found.classifies:
        return ""
    return found.classes[found.answer[row]] if found.classes else f"class {found.answer[row]}"


def described(found: Recorded, row: int) -> str:
    label = label_of(found, row)
    answered = f"answered {answer_of(found, row)}, {in_percent(found.probability[row])}"
    return f"{label}, {answered}" if found.classifies else label
