"""Everything that came of judging some models on some pictures: what a page, a table and a report are made of.

Kept as one file (`vizkit.writing.write_record`), so that a page reads it without torch and at once.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial, reduce
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from vizkit.analysis.remarks.remark import counted
from vizkit.datasets.image_set import ImageSet
from vizkit.evaluation.classes import EvaluationError, known
from vizkit.evaluation.measures import Judged, Measures
from vizkit.evaluation.paired import Pair, among, compare

if TYPE_CHECKING:
    from vizkit.evaluation.answers import Answers
    from vizkit.models import Loaded


Progress = Callable[[int, str, int, int, float], None]  # model from 0, its name, pictures, of how many, a second


@dataclass(frozen=True)
class Row:
    """One model in the table. `images_per_s`: reading, preparing and running together, when it was run."""

    name: str
    source: str
    licence: str
    parameters: int
    size_hw: tuple[int, int]
    device: str
    images_per_s: float
    seconds: float
    weights: str
    measures: Measures


@dataclass(frozen=True, eq=False)
class Outcome:
    """`opened`: how `open_pictures` was called. `labels`: those that all models know; `classes`: by model the names of
    its classes. `rows`, `places`: of each picture in the set. `judged`: by model. `broken`: place → why.
    `command`: what judged them, as one types it."""

    opened: Mapping[str, Any]
    name: str
    part: str
    digest: str
    labels: tuple[str, ...]
    models: tuple[Row, ...]
    pairs: tuple[Pair, ...]
    notes: tuple[str, ...]
    broken: Mapping[str, str]
    versions: Mapping[str, str]
    classes: tuple[tuple[str, ...], ...]
    rows: Int[np.ndarray, " image"]
    places: tuple[str, ...]
    judged: tuple[Judged, ...]
    command: str = ""

    @property
    def target(self) -> Int[np.ndarray, " image"]:
        return self.judged[0].target

    def answer_of(self, model: int, image: int) -> str:
        """What a model said of a picture, in its own words."""
        names, number = self.classes[model], int(self.judged[model].answer[image])
        return names[number] if number < len(names) else f"class {number}"

    def among(self, models: Sequence[int]) -> "Outcome":
        """Of some of its models alone, with the tests that these take part in."""

        def of(parts: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(parts[model] for model in models)

        pairs = among(self.pairs, [row.name for row in of(self.models)])
        return replace(self, models=of(self.models), classes=of(self.classes), judged=of(self.judged), pairs=pairs)

    def beside(self, other: "Outcome") -> "Outcome":
        """With the models of another outcome too, each tested against all; as it is where that is of other images."""
        here = {row.weights for row in self.models}
        new = other.among([place for place, row in enumerate(other.models) if row.weights not in here])
        alike = (self.digest, self.labels) == (other.digest, other.labels) and np.array_equal(self.rows, other.rows)
        if not new.models or not alike:
            return self
        names = titles([row.name for row in (*self.models, *new.models)])
        added = zip(names[len(self.models) :], new.models, strict=True)
        judged = *self.judged, *new.judged
        right = {name: each.right for name, each in zip(names, judged, strict=True)}
        return replace(
            self,
            models=(*self.models, *(replace(row, name=name) for name, row in added)),
            pairs=compare(right, known=self.pairs),
            classes=(*self.classes, *new.classes),
            judged=judged,
        )

    def renamed(self, called: Callable[[str], str]) -> "Outcome":
        """With other names of its models."""
        rows = tuple(replace(row, name=called(row.name)) for row in self.models)
        pairs = tuple(replace(pair, a=called(pair.a), b=called(pair.b)) for pair in self.pairs)
        return replace(self, models=rows, pairs=pairs)


def evaluate_all(
    models: Sequence["Loaded"],
    images: ImageSet,
    opened: Mapping[str, Any],
    *,
    workers: int = 0,
    tell: Progress = lambda *_: None,
    so_far: Callable[[Outcome], None] | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Run each model on the pictures whose label it knows, and judge all of them on those that all know.

    A model that cannot be judged is left out with a sentence. `so_far` is given what there is after each model but the
    last, as long as these know a label in common. Raises EvaluationError where none is left, StoppedError.
    """
    from vizkit.evaluation.answers import Answers, evaluate

    refused, able = list[str](), []
    evaluated: dict[str, tuple[Loaded, Answers]] = {}
    for number, (name, loaded) in enumerate(zip(titles([each.name for each in models]), models, strict=True)):
        try:
            known(name, loaded.labels, images, loaded.head)  # said before the work, not after it
            able.append((number, name, loaded))
        except EvaluationError as error:
            refused.append(str(error))
    for number, name, loaded in able:
        try:
            answers = evaluate(loaded, images, workers=workers, tell=partial(tell, number, name), stopping=stopping)
        except EvaluationError as error:
            refused.append(str(error))
            continue
        evaluated[name] = loaded, answers
        if so_far is not None and number != able[-1][0]:
            with suppress(EvaluationError):
                so_far(_joined(evaluated, images, opened, refused))
    if not evaluated:
        raise EvaluationError(refused[0])
    return _joined(evaluated, images, opened, refused)


def titles(names: Sequence[str]) -> list[str]:
    """Names for people, no two alike."""
    short = [name.removeprefix("bundled:") for name in names]
    return [name if name not in short[:i] else f"{name} ({short[:i].count(name) + 1})" for i, name in enumerate(short)]


def _joined(
    evaluated: "Mapping[str, tuple[Loaded, Answers]]",
    images: ImageSet,
    opened: Mapping[str, Any],
    refused: Sequence[str],
) -> Outcome:
    """All models on the pictures that all of them know."""
    from vizkit.evaluation.measures import judge, measure
    from vizkit.explanations.job import PLACE
    from vizkit.models.probes.cost import device_in_words

    answers = [answer for _, answer in evaluated.values()]
    rows = reduce(np.intersect1d, [answer.rows for answer in answers])
    shared = np.flatnonzero(np.all([answer.classes >= 0 for answer in answers], axis=0))
    if not len(rows):
        raise EvaluationError(f"No image of {images.name} has a label that all of {', '.join(evaluated)} know.")
    place = np.full(len(images.labels), -1)
    place[shared] = np.arange(len(shared))
    labels, target = tuple(images.labels[label] for label in shared), place[images.targets[rows]]
    judged, table = [], []
    for name, (loaded, answer) in evaluated.items():
        mine = np.searchsorted(answer.rows, rows)
        whole = len(mine) == len(answer.logits)
        judged.append(judge(answer.logits if whole else answer.logits[mine], target, answer.classes[shared]))
        table.append(
            Row(
                name,
                loaded.source,
                loaded.licence,
                loaded.parameters,
                loaded.preprocessing.size_hw,
                str(PLACE.get() or device_in_words(loaded)),
                answer.images_per_s,
                answer.seconds,
                answer.weights,
                measure(judged[-1], labels),
            )
        )
    notes = [*images.notes, *refused, *(answer.note for answer in answers if answer.note)]
    notes += [
        f"{name} is untrained: its answers mean nothing."
        for name, (loaded, _) in evaluated.items()
        if not loaded.trained
    ]
    notes += [note for loaded, _ in evaluated.values() for note in loaded.notes]
    if any(len(answer.rows) > len(rows) for answer in answers):
        notes.append(f"All models are judged on the {len(rows):,} images whose label every one of them knows.")
    broken = {where: why for answer in answers for where, why in answer.broken.items()}
    if broken:
        few = " ".join([*broken.values()][:3])
        notes.append(f"{counted(len(broken), 'broken file')} left out: {few}")
    return Outcome(
        dict(opened),
        images.name,
        images.split,
        images.digest,
        labels,
        tuple(table),
        compare({name: answer.right for name, answer in zip(evaluated, judged, strict=True)}),
        tuple(notes),
        broken,
        versions(),
        tuple(loaded.labels for loaded, _ in evaluated.values()),
        rows,
        tuple(images.place(int(row)) for row in rows),
        tuple(judged),
    )


def versions() -> dict[str, str]:
    return {name: version(name) for name in ("torch", "timm", "scikit-learn", "scipy", "numpy")}
