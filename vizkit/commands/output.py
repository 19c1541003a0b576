"""The files that commands write: what cannot be written is said before the work, and in one sentence."""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from vizkit.writing import write

__all__ = ["refuse_output", "write_arrays", "write_output", "writing_to"]


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


def write_arrays(output: Path, **arrays: Any) -> None:
    """As NPZ, under exactly this name: numpy itself would add ".npz" to one that ends in ".NPZ"."""
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    write_output(output, content.getvalue())


@contextmanager
def writing_to(output: Path) -> Iterator[None]:
    """What the system refuses while a file or folder is written becomes a ValueError that names it."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{output} cannot be written: {error.strerror or type(error).__name__}.") from error
