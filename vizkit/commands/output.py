"""What commands print and write: what cannot be written is said before the work, and in one sentence."""

import io
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vizkit.training.interrupting import interruptible
from vizkit.writing import write

if TYPE_CHECKING:
    from vizkit.views.view import View

TYPED: ContextVar[Sequence[str]] = ContextVar("typed", default=())
"""The words of the command, for files that say how they were made."""


def typed(without: Mapping[str, int] | None = None) -> str:
    """The command as one types it; `without`: options that are left out, and how many words follow each."""
    words = iter(TYPED.get())
    kept = []
    for word in words:
        if word in (without or {}):
            for _ in range((without or {})[word]):
                next(words, None)
        else:
            kept.append(word)
    return shlex.join(["python", "-m", "vizkit", *kept])


def refuse_output(output: Path | None, suffixes: Sequence[str] = ()) -> None:
    """ValueError where a file with this name cannot be written; without suffixes any will do."""
    if output is None:
        return
    if output.is_dir() or not output.parent.is_dir():
        raise ValueError(f"{output} cannot be written: give the name of a file in a folder that exists.")
    if suffixes and output.suffix.lower() not in suffixes:
        raise ValueError(f"{output} cannot be written: give a name that ends in {' or '.join(suffixes)}.")


def write_output(output: Path, content: bytes | str | Callable[[Path], object]) -> None:
    """`vizkit.writing.write` with ValueError and a sentence where the system refuses, as when the disk is full."""
    with writing_to(output):
        write(output, content)


def write_view(output: Path, view: "View") -> None:
    """What a view shows that opens no model and no image, as a page or a figure of its own."""
    from vizkit.hosts.showing import Showing
    from vizkit.views.subject import Subject, no_model, no_picture

    with writing_to(output):
        Showing(view, [Subject(no_model, no_picture())]).save(output)


def write_arrays(output: Path, **arrays: Any) -> None:
    """As NPZ, under exactly this name: numpy itself would add ".npz" to one that ends in ".NPZ"."""
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    write_output(output, content.getvalue())


@contextmanager
def writing_to(output: object) -> Iterator[None]:
    """What the system refuses while a file or folder is written becomes a ValueError that names it."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{output} cannot be written: {error.strerror or type(error).__name__}.") from error


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Whether somebody wants it to stop, for work that raises StoppedError then."""
    from vizkit.explanations.job import StoppedError

    with interruptible() as stop:
        try:
            yield stop.is_set
        except StoppedError:
            print("Stopped; the same command goes on from here.", file=sys.stderr)
            raise KeyboardInterrupt from None


@contextmanager
def progress(unit: str, label: str | None = None, total: int | None = None, *, quiet: bool = False) -> Iterator[Any]:
    """A bar where somebody is watching; yields `tell(done, total)`, of which the second may be left out."""
    from tqdm import tqdm

    with tqdm(desc=label, total=total, unit=unit, disable=quiet or None, dynamic_ncols=True, leave=False) as bar:

        def tell(done: int | float, total: int | None = None, *_: object) -> None:
            bar.total = total or bar.total
            bar.update(max(0, done - bar.n))

        yield tell


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table for the terminal: the first `left` columns to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def told(rows: Iterable[Mapping[str, object]]) -> str:
    """A table of a view for the terminal."""
    table = [*rows]
    cells = [["–" if value is None else str(value) for value in row.values()] for row in table]
    return aligned([[*table[0]], *cells])


def markdown(heads: Sequence[object], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, numbers to the right."""
    lines = [f"| {' | '.join(map(str, heads))} |", f"|---|{'---:|' * (len(heads) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def markdown_page(title: str, *parts: str) -> str:
    """A page that ends with the command that made it, and the versions it was made with."""
    made = f"torch {version('torch').partition('+')[0]}, timm {version('timm')}."
    return "\n\n".join([f"# {title}", *parts, f"`{typed()}`", made]) + "\n"
