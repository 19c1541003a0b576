"""Where pictures come from, cut into parts by the source alone: folder, tar shards, Parquet, `datasets`, vizkit's sets.

source = open_source("shards/")
for item in source.items(0): source.read(item.where)
"""

import glob
import hashlib
import json
import os
import tarfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vizkit.datasets.archive import unpacked
from vizkit.datasets.image_set import DatasetError, ImageSet, digest_of
from vizkit.datasets.layout import SUFFIXES, is_junk, is_picture, list_folder, natural, shown
from vizkit.datasets.opening import kind_of, open_set
from vizkit.decoding import MAX_BYTES, ImageError
from vizkit.image import RGB, open_image
from vizkit.writing import NO_FILE, is_regular

PART = 512  # pictures of a part, at most; what a sudden end loses
MOST_SAID = 2**16  # bytes of what is said about a picture beside it in a tar
IMAGES = ("image", "img", "picture", "jpg", "png", "webp")  # columns, the first that is there
LABELS = ("label", "labels", "cls", "class", "fine_label")
GONE = "{} has vanished while it was read; bring it back, and the same command goes on."


def sha256_of(content: bytes | RGB) -> bytes:
    """SHA-256 of a file's bytes, of a drawn picture's pixels."""
    return hashlib.sha256(content if isinstance(content, bytes) else content.tobytes()).digest()


def bytes_in(value: Any) -> bytes:
    """Of a row's column of images: of bytes, or of {bytes, path}. Raises ImageError."""
    content = value.get("bytes") if isinstance(value, dict) else value
    if content is None:
        raise ImageError("The row has no bytes of an image.")
    return content


def rgb_of(content: bytes | RGB) -> RGB:
    """Raises ImageError."""
    return open_image(content) if isinstance(content, bytes) else content


class Item(NamedTuple):
    """`key`: unique in its source. `label`: as the source has it. `where`: what the source reads it by."""

    key: str
    label: str | None
    where: Any


@dataclass(frozen=True, eq=False)
class Source(ABC):
    """Pictures in parts. It can be pickled: reading processes copy it. `digest` changes with the pictures, their order
    and their labels, not with the parts; `counts`: pictures of each part, 0 where it is known only when it is read."""

    name: str
    digest: str
    counts: tuple[int, ...]

    @abstractmethod
    def items(self, part: int) -> Iterable[Item]: ...

    @abstractmethod
    def read(self, where: Any) -> bytes | RGB:
        """Raises ImageError for a picture that cannot be read, DatasetError where the source itself has vanished."""

    @property
    def images(self) -> int | None:
        return sum(self.counts) if all(self.counts) else None


@dataclass(frozen=True, eq=False)
class Listed(Source):
    """All pictures are known from the start."""

    parts: tuple[tuple[Item, ...], ...] = ()
    root: str = ""

    @classmethod
    def of(
        cls, name: str, facts: object, groups: Iterable[Sequence[Item]], images: int | None, most: int = 0, **more: Any
    ) -> Any:
        """`groups`: pictures that lie together. `images`: so many of all, evenly. `most`: of a part, else PART."""
        most = most or PART
        listed = [*map(tuple, groups)]
        total = sum(map(len, listed))
        if not total:
            raise DatasetError(f"There are no images in {name}.")
        if images is not None and images < total:
            kept, numbers = {*np.linspace(0, total - 1, images).round().astype(int).tolist()}, iter(range(total))
            listed = [tuple(item for item in group if next(numbers) in kept) for group in listed]
        parts = tuple(group[at : at + most] for group in listed for at in range(0, len(group), most))
        digest = digest_of(cls.__name__, facts, images)
        return cls(name, digest, tuple(map(len, parts)), parts=parts, **more)

    def items(self, part: int) -> tuple[Item, ...]:
        return self.parts[part]

    def bytes_of(self, path: str, start: int = 0, size: int = MAX_BYTES + 1) -> bytes:
        try:
            with open(path, "rb") as file:
                left = max(0, os.fstat(file.fileno()).st_size - start)  # Python makes room for all that is asked for
                file.seek(start)
                return file.read(min(size, left, MAX_BYTES + 1))
        except OSError as error:
            if not os.path.exists(self.root):
                raise DatasetError(GONE.format(self.root)) from None
            raise ImageError(f"The file cannot be read ({error.strerror}); check that you may open it.") from None


class Folder(Listed):
    """Picture files at any depth; their labels are those of class folders, where there are any."""

    def read(self, where: str) -> bytes:
        path = os.path.join(self.root, where)
        if not is_regular(path):  # a pipe or device could keep us waiting
            raise ImageError("This is no file.")
        return self.bytes_of(path)


class Tars(Listed):
    """Shards as webdataset's: a picture, and what belongs to it in files of the same name up to the first dot."""

    def read(self, where: tuple[str, int, int]) -> bytes:
        return self.bytes_of(*where)


@dataclass(frozen=True, eq=False)
class Parquet(Listed):
    """Rows with a picture's bytes, or with a struct {bytes, path}. A part lies in one row group."""

    column: str = ""

    def read(self, where: tuple[str, int, int]) -> bytes:
        path, group, row = where
        try:
            value = _row_group(path, group, self.column)[row].as_py()
        except OSError as error:
            gone = GONE.format(path) if not os.path.exists(path) else f"{path} cannot be read: {error}"
            raise DatasetError(gone) from None
        return bytes_in(value)


@dataclass(frozen=True, eq=False)
class OfSet(Listed):
    """One of vizkit's own sets, or any ImageSet."""

    set: ImageSet | None = None

    def read(self, where: int) -> RGB:
        assert self.set is not None
        return self.set.source.picture(where)


@dataclass(frozen=True, eq=False)
class Streamed(Source):
    """A data set of the library `datasets`, a part for each of its shards; their bytes are read where the parts are."""

    stream: Any = None
    columns: tuple[str, str | None] = ("", None)
    most: int | None = None

    def items(self, part: int) -> Iterator[Item]:
        image, label = self.columns
        shard = self.stream.shard(len(self.counts), part)
        for number, row in enumerate(shard if self.most is None else shard.take(self.most)):
            named = self.stream.features[label] if label and self.stream.features else None
            text = row[label] if label else None
            text = None if text is None else getattr(named, "int2str", str)(text)
            yield Item(f"{part}/{number}", text, row[image])

    def read(self, where: Any) -> bytes:
        return bytes_in(where)


def open_source(
    data: str,
    split: str = "",
    *,
    images: int | None = None,
    size_px: int = 224,
    without: Path | None = None,
    most: int = 0,
) -> Source:
    """`data`: a folder of pictures, of .tar shards or of .parquet files, such files (“*” stands for any letters), a
    folder saved by `datasets`, "hf:NAME" of its hub, or a set that `datasets.opening` knows. `split`: of those that
    have one. `images`: at most so many. `without`: a folder that is left out. `most`: pictures of a part, else PART; a
    shard of a stream is a part. Raises DatasetError."""
    if data.startswith("hf:"):
        return _streamed(data, split, images, most or PART)
    found = sorted(glob.glob(data), key=natural) if "*" in data else [data]
    if len(found) == 1 and os.path.isdir(found[0]):
        if os.path.isfile(os.path.join(found[0], "dataset_info.json")):
            return _streamed(data, split, images, most or PART)
        inside = [os.path.join(found[0], name) for name in sorted(os.listdir(found[0]), key=natural)]
        shards = [
            path for path in inside if path.endswith((".tar", ".parquet")) and not is_junk(os.path.basename(path))
        ]
        if not shards and not split:
            return _folder(Path(found[0]), images, without, most)
        found = shards or found
    for ending, opening in ((".tar", _tars), (".parquet", _parquet)):
        if found and all(path.endswith(ending) for path in found):
            return opening(shown(data), found, images, most)
    if found and found[0].endswith((".tar.gz", ".tgz", ".tar.zst", ".tar.xz")):
        raise DatasetError("A packed tar cannot be read from its middle: unpack it to .tar first.")
    kind, detail = kind_of(data)
    if kind == "archive" and not split:
        return _folder(unpacked(Path(detail)), images, None, most)
    return of_set(open_set(data, split or "test", images=images, size_px=size_px), most)


def of_set(images: ImageSet, most: int = 0) -> OfSet:
    """`most`: pictures of a part."""
    items = [Item(images.place(row), images.labels[images.targets[row]], row) for row in range(len(images))]
    return OfSet.of(images.name, images.digest, [items], None, most, set=images)


def _facts(paths: Sequence[str]) -> list[tuple[str, int, int]]:
    try:
        stats = [(os.path.basename(path), os.stat(path)) for path in paths]
        if odd := next((path for path in paths if not is_regular(path)), None):
            raise DatasetError(f"{shown(os.path.basename(odd))} cannot be read: {NO_FILE}.")
    except OSError as error:
        raise DatasetError(f"{shown(str(error.filename))} cannot be read: {error.strerror}.") from None
    return [(name, each.st_size, each.st_mtime_ns) for name, each in stats]


# ---- a folder --------------------------------------------------------------------------------------------------------
def _folder(folder: Path, images: int | None, without: Path | None, most: int) -> Folder:
    names = []
    for inside, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not is_junk(name) and (Path(inside) / name).resolve() != without]
        names += [
            (Path(inside) / name).relative_to(folder).as_posix()
            for name in files
            if is_picture(name) and not is_junk(name)
        ]
    try:
        listing = list_folder(folder)
        below = os.path.relpath(listing.root, os.path.realpath(folder))
        labels = {os.path.normpath(os.path.join(below, file.path)): file.label for file in listing.files}
    except DatasetError:  # pictures that lie side by side, or folders that are no classes
        labels = {}
    names = sorted({*names, *labels}, key=natural)  # folders of a class that are links are in the listing alone
    stats = (os.lstat(folder / name) for name in names)
    facts = [(name, labels.get(name), each.st_size, each.st_mtime_ns) for name, each in zip(names, stats, strict=True)]
    items = [Item(key_of(name), labels.get(name), name) for name in names]
    return Folder.of(shown(str(folder)), facts, [items], images, most, root=str(folder.absolute()))


def key_of(name: str) -> str:
    """A file's name as text that is another one for every other file: bytes that are no UTF-8 are written as \\xff."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


# ---- tar shards ------------------------------------------------------------------------------------------------------
def _tars(name: str, paths: list[str], images: int | None, most: int) -> Tars:
    """Only the headers are read, and what is said about the pictures."""
    facts = _facts(paths)
    root = os.path.dirname(os.path.abspath(paths[0]))
    return Tars.of(name, facts, map(_members, paths), images, most, root=root)


def _members(path: str) -> list[Item]:
    pictures: dict[str, tuple[str, tuple[str, int, int]]] = {}  # of two with one name the later one
    labels: dict[str, str | None] = {}
    try:
        with tarfile.open(path, "r:") as tar:
            for member in tar:
                folder, _, file = member.name.rpartition("/")
                stem, _, ending = file.partition(".")
                key = f"{folder}/{stem}" if folder else stem
                if not member.isreg() or is_junk(file):
                    continue
                if f".{ending.lower()}" in SUFFIXES:
                    pictures[key] = member.name, (os.path.abspath(path), member.offset_data, member.size)
                elif ending in ("cls", "json") and member.size <= MOST_SAID and (said := tar.extractfile(member)):
                    labels[key] = _label(said.read(), ending) or labels.get(key)
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise DatasetError(f"{shown(os.path.basename(path))} is damaged or no tar: {error}") from None
    shard = key_of(os.path.basename(path))
    return [Item(f"{shard}/{key_of(name)}", labels.get(key), where) for key, (name, where) in pictures.items()]


def _label(content: bytes, ending: str) -> str | None:
    text: Any = content.decode("utf-8", "replace").strip()
    if ending == "json":
        try:
            facts = json.loads(text)
        except (ValueError, RecursionError):
            return None
        text = next((facts[name] for name in LABELS if name in facts), None) if isinstance(facts, dict) else None
    return str(text) if isinstance(text, str | int) else None


# ---- Parquet and datasets --------------------------------------------------------------------------------------------
def _parquet(name: str, paths: list[str], images: int | None, most: int) -> Parquet:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    from vizkit.explanations.table import refuse_large

    facts, groups, column, label = _facts(paths), [], "", None
    try:
        for path in paths:
            with ParquetFile(path) as file:
                schema = file.schema_arrow
                column, label = _columns(schema.names, name)
                said = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
                names = said.get("info", {}).get("features", {}).get(label, {}).get("names") if label else None
                shard, row = key_of(os.path.basename(path)), 0
                for group in range(file.num_row_groups):
                    about = file.metadata.row_group(group)
                    refuse_large(f"A row group of {shown(os.path.basename(path))}", [about], (column, label))
                    rows = about.num_rows
                    labels = file.read_row_group(group, [label])[label].to_pylist() if label else [None] * rows
                    texts = [None if each is None else str(names[each] if names else each) for each in labels]
                    groups.append([Item(f"{shard}/{row + i}", texts[i], (path, group, i)) for i in range(rows)])
                    row += rows
    except DatasetError:
        raise
    except (ArrowException, OSError, ValueError) as error:
        raise DatasetError(f"{name} cannot be read as Parquet: {error}") from None
    return Parquet.of(name, facts, groups, images, most, column=column)


def _columns(names: Sequence[str], source: str) -> tuple[str, str | None]:
    """Of the pictures, and of their labels."""
    image = next((name for name in IMAGES if name in names), None)
    if image is None:
        raise DatasetError(f"{source} has no column of images called {', '.join(IMAGES)}; it has {', '.join(names)}.")
    return image, next((name for name in LABELS if name in names), None)


@lru_cache(maxsize=2)
def _row_group(path: str, group: int, column: str) -> Any:
    """Pictures are read in the order of their rows, so the last row group is the one that is asked for again."""
    from pyarrow.parquet import ParquetFile, read_metadata

    about = read_metadata(path)
    leaves = {about.schema.column(at).path for at in range(about.num_columns)} & {column, f"{column}.bytes"}
    # What stands there a thousand times is in memory once.
    with ParquetFile(path, metadata=about, read_dictionary=[*leaves]) as file:
        return file.read_row_group(group, [column])[column].combine_chunks()


def _streamed(data: str, split: str, images: int | None, most: int) -> Streamed:
    try:
        datasets: Any = import_module("datasets")
    except ModuleNotFoundError:
        raise DatasetError("This source needs another library: pip install 'vizkit[transformers]' brings it.") from None
    try:
        if data.startswith("hf:"):
            stream: Any = datasets.load_dataset(data[3:], split=split or "test", streaming=True)
        else:
            saved = datasets.load_from_disk(data)
            saved = saved[split or "test"] if isinstance(saved, dict) else saved
            stream = saved.to_iterable_dataset(num_shards=-(-len(saved) // most))
    except (OSError, ValueError, KeyError) as error:
        raise DatasetError(f"{data} cannot be opened by datasets: {error}") from None
    features = stream.features or next(iter(stream.take(1)))
    image, label = _columns([*features], data)
    stream = stream.cast_column(image, datasets.Image(decode=False))
    shards = 1 if images is not None else stream.num_shards
    digest = digest_of("datasets", data, split, shards, images, repr(stream.features), str(stream.info.splits))
    return Streamed(data, digest, (0,) * shards, stream=stream, columns=(image, label), most=images)
