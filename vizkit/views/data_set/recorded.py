"""The images that the views of this page are of, recorded by one pass of the model; and some of them beside one
another, each with where the model looked."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from vizkit.analysis.remarks.remark import counted
from vizkit.datasets.contact_sheet import contact_sheet
from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.evaluation.classes import EvaluationError
from vizkit.evaluation.data_set.explained import explained
from vizkit.evaluation.data_set.opening import open_labelled
from vizkit.evaluation.data_set.record import MissingExtra, Recorded, record
from vizkit.explanations.table import Explanations, is_run
from vizkit.explanations.written import checked
from vizkit.figure.overlay import overlay
from vizkit.figure.scales import SHARES, Scale
from vizkit.image import RGB, data_url, seen, side_of
from vizkit.percent import in_percent
from vizkit.traces import NotApplicable, not_applicable
from vizkit.views import bundled
from vizkit.views.blocks import Blocks, Canvas, Hint, Job, Later, Line, Link, Picture, in_rows
from vizkit.views.controls import choice, folder
from vizkit.views.data_set import PLANTED, PLANTED_WORDS, TAUGHT
from vizkit.views.distillation.labelled import FOLDER, WORDS, awaited, sets
from vizkit.views.subject import OfModel, Subject
from vizkit.views.view import View

NAMES = WORDS | {PLANTED: PLANTED_WORDS}
UNREAD = (
    "What vizkit explain wrote holds answers and maps, not what the last layer reads: choose the folder of images, "
    "or look at Map or Shortcuts."
)
COUNTS = ("300", "1000", "2000", "10000")
AT_ONCE = 12  # pictures beside one another
SIDE_PX, GAP_PX = 112, 6  # of one, and between two
SHEET = 12, 2  # columns and rows, which are drawn in a second
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Step:
    """What follows from what was recorded: `name` with all settings that it depends on, `words` for its progress.
    `rough`: see `Job`."""

    name: tuple[str | int, ...]
    words: str
    work: Callable[[Recorded, Progress], Any]
    rough: bool = False


def offered(of: Sequence[Subject]) -> list[str]:
    return [PLANTED, *sets(of)]


class OfData(View):
    """What one model makes of a set of labelled images."""

    data: str = choice(
        "Images of",
        offered,
        "Digits whose faults are known, shown by the model that learned from them: of those to train on a tenth has a "
        "wrong label, 20 are copies, half of the eights have a mark in the corner; of those to test some threes have "
        "it. Test images that come with vizkit. Or all of a folder with a folder of images for each class, "
        "or what vizkit explain wrote of some.",
        default=PLANTED,
        words=NAMES,
        key="data_set",
        listed=True,
        runs=True,
    )
    folder: str = folder("Folder", key="data_folder", when=lambda view: view.data == FOLDER, runs=True, zips=True)
    images: Literal["300", "1000", "2000", "10000"] = choice(
        "Images",
        COUNTS,
        "At most so many.",
        key="data_images",
        runs=True,
        more=True,
        when=lambda view: view.data != PLANTED,
    )

    alone: ClassVar = True
    overlays: ClassVar = False
    reads_features: ClassVar = False  # whether it needs what the last layer reads, which `vizkit explain` does not keep

    @property
    def split(self) -> str:
        return "train+test" if self.data == PLANTED else ""

    def meant(self, of: Subject) -> Subject:
        """Of the set whose faults are known the model that learned from it."""
        return of.other(TAUGHT) if self.data == PLANTED and bundled.title(TAUGHT) != of.name else of

    def source(self, of: Subject) -> str:
        """As a set is opened."""
        return of.folders.get(self.folder, "") if self.data == FOLDER else self.data

    def run(self, of: Subject) -> Explanations | None:
        """What `vizkit explain` wrote, where the folder is that. NotApplicable for one that is damaged."""
        source = self.source(of)
        return run_at(source) if self.data == FOLDER and source and is_run(source) else None

    def called(self, of: Subject) -> str:
        """The model whose answers and maps are shown."""
        run = self.run(of)
        return run.manifest["model"] if run else of.name

    def key(self, of: Subject) -> tuple[str | int, ...]:
        source = self.source(of)
        return ("data set", source, written_ns(source), self.images, self.split)

    def notes(self, found: Recorded) -> Blocks:
        """What the images are, and what could not be read of them."""
        if self.data == PLANTED:
            train = sum(found.splits == "train")
            yield Line(f"{found.model} was trained on {train:,} of these images, faults included.")
            yield Hint("To ask a model of your own, choose other images under “Images of”.")
        broken = next(iter(found.broken.items()), None)
        for note in found.images.notes if self.data == FOLDER else ():
            yield Line(note)
        if broken:
            yield Line(f"Not read: {counted(len(found.broken), 'image')}, {broken[0]} the first: {broken[1]}")

    def made(self, of: Subject, *step: str | int) -> Any:
        """What has been recorded already, or made of it in a step."""
        return self.meant(of).find(OfModel((*self.key(of), *step)))

    def later(self, of: Subject, show: Callable[..., Blocks], *steps: Step) -> Blocks:
        """`show` is given what was recorded, then the result of each step, None where it is not there yet. Before that
        some of the images stand there, which need no model."""
        if sentence := awaited(of, self.data, self.folder):
            raise NotApplicable(sentence)
        pictures = self.data.partition(":")[0]
        if (model := bundled.known(of.source)) and model.pictures != pictures and (own := bundled.names(pictures)):
            yield Link(f"Ask {bundled.title(own[0])}, which knows these images", self, model=own[0])
        key, count, run = self.key(of), None if self.data == PLANTED else int(self.images), self.run(of)
        words = f"{of.name} looks at {f'up to {count:,}' if count else 'all'} images"
        opened = partial(images_of, of, self.source(of), self.split, count)
        first = Job(OfModel(key), words, partial(recorded, of, opened))
        if run is not None:
            if self.reads_features:
                raise NotApplicable(UNREAD)
            work = partial(of_run, run, int(self.images), partial(allowed, of))
            first = Job(OfModel(key), "Opening the images", work)
        rest = [
            Job(OfModel((*key, *step.name)), step.words, partial(after, of, first, step.work), step.rough)
            for step in steps
        ]
        sheet = Job(OfModel((*key, "sheet")), "Opening the images", partial(some, of, first, opened), rough=True)

        def shown(results: Mapping[Any, Any]) -> Blocks:
            if first.key in results:
                yield from show(*(results.get(job.key) for job in (first, *rest)))
            elif sheet.key in results:
                words = f"Some of the images that {of.name} looks at now"
                yield Picture(results[sheet.key], words, f"{words}; what it makes of them follows.")

        yield Later(of, (first, *rest) if run else (sheet, first, *rest), shown)


def images_of(of: Subject, source: str, split: str, count: int | None) -> ImageSet:
    with refused():
        return open_labelled(source, split, images=count, size_px=side_of(of.loaded.preprocessing))


def run_at(path: str) -> Explanations:
    """Raises NotApplicable with a sentence that names no path."""
    try:
        return checked(path)
    except ValueError:
        raise NotApplicable("This folder was not written by vizkit explain, or is damaged.") from None


def of_run(run: Explanations, count: int, may: Callable[[str], bool], progress: Progress) -> Recorded:
    with refused():
        return explained(run, count, may, progress)


def allowed(of: Subject, source: str) -> bool:
    """Whether a page may open what a manifest, which anybody may have written, calls its images: what is drawn here
    or comes with vizkit, and what lies in the folders at hand."""
    if source.partition(":")[0] in ("insects", "digits"):
        return True
    path = Path(source.partition("*")[0]).resolve()
    return any(path.is_relative_to(Path(each).resolve()) for each in of.folders.values())


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


def refused() -> AbstractContextManager[None]:
    """What cannot be done, as the one sentence of a view."""
    return not_applicable(DatasetError, EvaluationError, MissingExtra)


def written_ns(source: str) -> int:
    """When a folder, or one in it, last changed; 0 of what is none."""
    path = Path(source)
    if not path.exists() or source in ("insects", "digits"):
        return 0
    return max(each.stat().st_mtime_ns for each in (path, *(path.iterdir() if path.is_dir() else ())))


# ---- pictures --------------------------------------------------------------------------------------------------------
def pair(of: Subject, found: Recorded, row: int) -> RGB:
    """What the model saw of an image, and beside it where it looked. ValueError, as DatasetError, of one that has
    gone."""
    rgb = seen(found.picture(row), found.needs)
    zoom = max(1, -(-SIDE_PX // max(rgb.shape[:2])))
    rgb = rgb.repeat(zoom, 0).repeat(zoom, 1)
    heat = found.maps[row]
    return beside([rgb, looked(rgb, heat)]) if np.isfinite(heat).all() else rgb


def beside(pictures: Sequence[np.ndarray]) -> np.ndarray:
    """Next to one another, with a little room between."""
    first, *rest = pictures
    room = ((0, 0), (GAP_PX, 0), (0, 0))
    return np.concatenate([first, *(np.pad(each, room, constant_values=128) for each in rest)], 1)


def looked(rgb: RGB, heat: np.ndarray, scale: Scale = SHARES) -> RGB:
    return overlay(rgb, np.maximum(heat, 0), (0.0, 0.0, float(rgb.shape[1]), float(rgb.shape[0])), scale=scale)


def grid(of: Subject, found: Recorded, rows: Sequence[int], alt: str) -> Blocks:
    """At most AT_ONCE images, each with its label, the answer, and a way to other pages."""
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

    still = [Picture(pictures[row], captions[row], captions[row]) for row in shown]
    yield Canvas(
        "vizkit_evaluated",
        {"tiles": [tile(found, row, rgb) for row, rgb in pictures.items()]},
        alt,
        still=in_rows(still, 3),
        picture=picture,
        model=of.source,
    )


def read_so(found: Recorded, rows: Sequence[int]) -> Blocks:
    """How what stands on and below these images is read."""
    said = ["Bold: the label."]
    if found.classifies and found.known.any():
        said += ["✓ and ✗: whether the answer is what the image shows."]
    faults = found.faults
    if any(faults[row].marked for row in rows):
        said += ["The magenta square is the planted mark."]
    yield Line(" ".join(said))


def label_of(found: Recorded, row: int) -> str:
    label, true = found.labels[found.target[row]], found.faults[row].label
    return label if true is None else f"{label} (planted; it is {found.labels[true]})"


def tile(found: Recorded, row: int, rgb: RGB) -> dict[str, Any]:
    answers = []
    if found.classifies:
        right = bool(found.right[row]) if found.known[row] else None
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
    return class_of(found, int(found.answer[row])) if found.classifies else ""


def class_of(found: Recorded, number: int) -> str:
    return found.classes[number] if found.classes else f"class {number}"


def described(found: Recorded, row: int) -> str:
    label = label_of(found, row)
    answered = f"answered {answer_of(found, row)}, {in_percent(found.probability[row])}"
    return f"{label}, {answered}" if found.classifies else label
