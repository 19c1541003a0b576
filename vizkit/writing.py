"""Files are written whole or not at all: in a unique temporary folder beside the target, fsync, rename; and read only
where they are files."""

import csv
import errno
import io
import json
import os
import re
import shutil
import stat
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, get_args, get_type_hints

UNSEEN = r"[\s\x00-\x20\x7f\xad\u200b-\u200f\u2060-\u2064\ufeff]"
FORMULA = re.compile(rf"[\t\r\n]|{UNSEEN}*[=+\-@＝＋－＠]")  # spreadsheets pass over what cannot be seen
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?")
T = TypeVar("T")
ARRAY = "an array"  # in JSON, before its name
MORE = 2**16  # bytes that a disk with any room takes


def write(path: str | os.PathLike, content: bytes | str | Callable[[Path], object]) -> None:
    """Replace `path` by `content`: bytes, text (UTF-8), or a function that writes the file whose path it is given.

    A reader sees the old file or the new one, two writers never share a temporary file, and nothing is left behind when
    writing fails. The temporary file has the name of `path` in a folder of its own, for libraries such as safetensors
    put theirs beside it. Raises OSError, as when the disk is full.
    """
    path = Path(path)
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    unfinished = part / path.name
    try:
        part.mkdir()
        if callable(content):
            content(unfinished)
        else:
            unfinished.write_bytes(content if isinstance(content, bytes) else content.encode())
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except Exception as error:
        if getattr(error, "errno", None) is None and unfinished.exists():
            _refuse_full(unfinished, error)
        raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_record(path: Path, record: object) -> None:
    """A dataclass of texts, numbers, arrays and others of its kind, in tuples and mappings too, as one NPZ: its arrays
    by their places, "judged.0.rank", and all else as JSON."""
    import numpy as np

    arrays, names = dict[str, Any](), dict[int, str]()

    def taken(value: Any, place: str) -> Any:
        if isinstance(value, np.ndarray):  # one that several parts share once
            arrays[name := names.setdefault(id(value), place)] = value
            return {ARRAY: name}
        if is_dataclass(value):
            value = {each.name: getattr(value, each.name) for each in fields(value)}
        if isinstance(value, Mapping):
            return {name: taken(each, f"{place}.{name}".lstrip(".")) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [taken(each, f"{place}.{number}") for number, each in enumerate(value)]
        return value

    arrays["facts"] = np.array(json.dumps(taken(record, ""), ensure_ascii=False))
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, lambda file: np.savez_compressed(file, **arrays))


def read_record(path: Path, kind: Callable[..., T]) -> T:
    """What `write_record` wrote of this class, or of a mapping of such. Raises OSError, ValueError, KeyError or
    TypeError where there is none, or it cannot be read."""
    import numpy as np

    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}

    def made(kind: Any, value: Any) -> Any:
        if isinstance(value, dict) and ARRAY in value:
            return arrays[value[ARRAY]]
        if is_dataclass(kind):
            kinds = get_type_hints(kind)
            return kind(**{name: made(kinds[name], each) for name, each in value.items()})  # pyright: ignore[reportCallIssue]
        if isinstance(value, list):
            return tuple(made(each, part) for each, part in zip(_kinds(kind, len(value)), value, strict=True))
        if isinstance(value, dict) and get_args(kind):
            return {name: made(get_args(kind)[1], each) for name, each in value.items()}
        return value

    return made(kind, json.loads(str(arrays["facts"])))


def _kinds(kind: Any, count: int) -> Sequence[Any]:
    """Of each part of a tuple."""
    args = get_args(kind)
    return args[:1] * count if args[1:] == (...,) else args or (Any,) * count


def is_left(name: str) -> bool:
    """Whether something is called as what a writer that was killed leaves behind."""
    return re.fullmatch(r"\.[0-9a-f]{32}\.part(\.\w+)?", name) is not None


def clear(folder: Path, older_s: float = 0.0) -> None:
    """Remove what killed writers have left in a folder. `older_s`: where others may be writing, only what is older."""
    for left in folder.iterdir():
        with suppress(OSError):
            if is_left(left.name) and time.time() - left.stat().st_mtime >= older_s:
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def name_of_file(text: str, most: int = 40) -> str:
    """Letters, digits, “.”, “_” and “-” of a text, what lies between as one “_”, at most so many letters: never a path,
    nor hidden."""
    return re.sub(r"[^\w.-]+|_+", "_", text)[:most].strip("._")


def csv_of(columns: Mapping[str, Sequence[float]]) -> str:
    """Columns by name; six digits."""
    return csv_lines([[*columns], *([float(value) for value in row] for row in zip(*columns.values(), strict=True))])


def csv_rows(rows: Iterable[Mapping[str, object]], names: Iterable[str] = ()) -> str:
    """A line for each row, by the names of all columns, of which `names` are there without rows too."""
    rows = list(rows)
    columns = dict.fromkeys([*names, *(name for row in rows for name in row)])
    return csv_lines([[*columns], *([row.get(name) for name in columns] for row in rows)])


def csv_lines(rows: Iterable[Iterable[object]]) -> str:
    """A line for each row; numbers with six digits, nothing for None. What a spreadsheet would take for a formula is
    marked as text, and half of a character replaced: files, classes and models may be called like that."""
    return "".join(_line(row) for row in rows)


def _line(row: Iterable[object]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(map(_cell, row))  # with \r\n at the end: else it does not quote a \r in a cell
    return f"{text.getvalue()[:-2]}\n"


def _cell(value: object) -> str:
    if value is None or isinstance(value, int | float):
        return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
    text = str(value).encode(errors="replace").decode()
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def _refuse_full(unfinished: Path, error: Exception) -> None:
    """Raise the system's own error where the disk is full: torch and numpy hide it behind their own."""
    try:
        with unfinished.open("ab") as file:
            file.write(bytes(MORE))
    except OSError as reason:
        raise reason from error


# ---- reading what somebody names: a pipe or a device would keep us waiting for ever ----------------------------------
NO_FILE = "it is a pipe or a device, no file"


def is_regular(path: str | os.PathLike) -> bool:
    """Whether a path leads to a file, or to nothing yet; False of pipes, devices, sockets and folders."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # asked once: between two questions a folder can vanish
    except (OSError, ValueError):
        return True


def open_file(path: str | os.PathLike) -> BinaryIO:
    """To read its bytes. OSError where there is none, it is no file, or may not be read."""
    if not is_regular(path):
        folder = os.path.isdir(path)
        raise OSError(errno.EISDIR if folder else errno.EINVAL, os.strerror(errno.EISDIR) if folder else NO_FILE, path)
    return open(path, "rb")


def read_bytes(path: str | os.PathLike, most: int = -1) -> bytes:
    """Of a file, `most` of them where that is not negative. OSError as `open_file`."""
    with open_file(path) as file:
        return file.read(most)


def read_text(path: str | os.PathLike, errors: str = "strict") -> str:
    """In UTF-8, its lines ended by line feeds. OSError as `open_file`, UnicodeDecodeError."""
    return read_bytes(path).decode("utf-8", errors).replace("\r\n", "\n")
