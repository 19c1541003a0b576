"""Lessons of one's own: begun, checked, and the answers of a class in one table."""

from inspect import signature
from pathlib import Path
from typing import Annotated, Literal

from vizkit.commands.options import OUTPUT
from vizkit.commands.output import writing_to
from vizkit.writing import read_bytes, write

NEW = """---
title: {title}
level: beginner            # beginner, intermediate or advanced
minutes: 4
model: bundled:insects_vit
picture: sample:mayfly nymph
able:                      # what readers can say afterwards
  - Say how many patches the model makes of an image.
  - Find the patch that its class token attends to most.
---
## Patches
The model cuts the image into {{patches()}} patches, $N = {{=patches()}}$. A step begins with its title; below its
text stand its settings, as YAML.

view: cut

---
## Where does it look?
Predict first: nobody is only wrong, for the answer says how much your patch holds.

point: Which patch does the class token attend to most in the last layer?
answer: attention(layer=last, head=mean, query=cls)
hint: It need not be the head.
reveal: >
  It is {{answer}}. Yours was {{guess}}.
why: What would you have expected of a person?
view: explore(query=cls)
"""


def lesson(
    action: Literal["check", "new", "words", "answers"],
    files: list[Path] | None = None,
    /,
    *,
    model: str = "",
    picture: str = "",
    output: Annotated[Path, OUTPUT] = Path("answers.csv"),
) -> None:
    """Check lessons, begin a new one, list the words of answers, or put the answers of a class into one table.

    vizkit lesson new mine.md · vizkit lesson check mine.md · vizkit lesson answers anna.json ben.json -o class.csv

    Args:
        action: check, new, words or answers.
        files: Lessons to check, the lesson to begin, or the files of answers.
        model: Check on this model, not on the lesson's own.
        picture: Check on this image that comes with vizkit, by its name.
        output: The table of answers (CSV).
    """
    match action:
        case "check":
            _check(files or [], model, picture)
        case "new":
            _new(files or [])
        case "words":
            _words()
        case "answers":
            _answers(files or [], output)


def _check(files: list[Path], model: str, picture: str) -> None:
    from vizkit.lessons.checking import minutes, problems
    from vizkit.lessons.shelf import read_file

    found = 0
    for path in files:
        lesson = read_file(path)
        for sentence in problems(lesson, model, picture.removeprefix("sample:")):
            found += 1
            print(f"{path}: {sentence}", flush=True)
        asks = len(lesson.questions)
        print(f"{path}: {len(lesson.steps)} steps, {asks} questions, about {minutes(lesson):.0f} minutes")
    if found or not files:
        raise ValueError(f"{found} things to mend." if found > 1 else "One thing to mend." if found else "Give a file.")


def _new(files: list[Path]) -> None:
    if len(files) != 1 or files[0].exists():
        raise ValueError("Give the name of one file that is not there yet.")
    path = files[0].with_suffix(".md")
    with writing_to(path):
        write(path, NEW.format(title=path.stem.replace("_", " ").replace("-", " ").capitalize()))
    print(f"{path}: now change it, then: vizkit lesson check {path}")


def _words() -> None:
    from vizkit.lessons.vocabulary import VOCABULARY

    for name, word in VOCABULARY.items():
        given = [str(part) for part in list(signature(word).parameters.values())[1:]]
        print(f"{name}({', '.join(given)})\n    {(word.__doc__ or '').partition(chr(10))[0]}")


def _answers(files: list[Path], output: Path) -> None:
    from vizkit.from_json import ReportError
    from vizkit.lessons.answers import MOST_BYTES, as_csv, from_json

    found = []
    for path in files:
        try:
            found.append(from_json(read_bytes(path, MOST_BYTES + 1)))
        except ReportError as sentence:
            raise ReportError(f"{path}: {sentence}") from None
    with writing_to(output):
        write(output, as_csv(found))
    print(f"{output}: {len(found)} learners")
