"""What somebody answered in a lesson, as a file of their own, and such files of a class as one table."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from vizkit.from_json import ReportError, read
from vizkit.settings import __version__
from vizkit.writing import csv_lines

MOST_BYTES, MOST_STEPS, LONGEST = 200_000, 40, 2000
COLUMNS = ("learner", "lesson", "model", "picture", "step", "title", "kind", "guess", "answer", "score", "right", "why")


@dataclass(frozen=True)
class Answered:
    """`score`: from 0 to 1, of what was to be found; `why`: in the learner's own words."""

    step: int
    title: str
    kind: str
    guess: str
    answer: str
    score: float
    right: bool
    why: str


@dataclass(frozen=True)
class Answers:
    vizkit: str
    learner: str
    lesson: str
    model: str
    picture: str
    steps: tuple[Answered, ...]


def to_json(learner: str, lesson: str, model: str, picture: str, steps: Sequence[Answered]) -> str:
    answers = Answers(__version__, learner[:80], lesson, model, picture, tuple(steps))
    return json.dumps(asdict(answers), ensure_ascii=False, indent=1)


def from_json(content: bytes) -> Answers:
    """Raises ReportError for what is no file of answers."""
    if len(content) > MOST_BYTES:
        raise ReportError(f"A file of answers has at most {MOST_BYTES // 1000} kB.")
    try:
        answers: Answers = read(Answers, json.loads(content.decode()), "answers")
    except (ValueError, RecursionError) as error:
        said = f": {error}" if isinstance(error, ReportError) else "."
        raise ReportError(f"This is no file of answers{said}") from None
    if len(answers.steps) > MOST_STEPS:
        raise ReportError(f"A lesson has at most {MOST_STEPS} steps.")
    return answers


def as_csv(of: Sequence[Answers]) -> str:
    """A row for every learner and step; no cell is one that a spreadsheet would work out."""
    rows: list[Sequence[str]] = [COLUMNS]
    for each in of:
        for step in each.steps:
            of_step = (step.step, step.title, step.kind, step.guess, step.answer, f"{step.score:.4f}", step.right)
            cells = (each.learner, each.lesson, each.model, each.picture, *of_step, step.why)
            rows.append([" ".join(str(cell).split()) for cell in cells])
    return csv_lines(rows)
