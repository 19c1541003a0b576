"""A zip file of pictures, from a stranger, as a folder: unpacked safely, once, and whole or not at all."""

import hashlib
import io
import lzma
import os
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePosixPath

from vizkit.datasets.cache import cache_folder, complete_folder
from vizkit.datasets.folder import open_folder
from vizkit.datasets.image_set import DatasetError, ImageSet, digest_of
from vizkit.datasets.layout import is_junk, is_picture, split_of

MAX_FILES = 100_000
MAX_BYTES = 8 * 2**30  # unpacked, all files together
MAX_RATIO = 200  # unpacked / packed; pictures hardly shrink, even flat bitmaps stay far below
RATIO_FROM = 64 * 2**20  # unpacked bytes below which the ratio does no harm
_ENTRY = b"PK\x01\x02"  # starts every entry of a zip file's table of contents
_ENCRYPTED, _UTF8 = 0x1, 0x800  # bits of an entry's flags, APPNOTE.TXT 4.4.4
_DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, struct.error, ValueError, KeyError)
Contents = dict[tuple[str, ...], zipfile.ZipInfo]  # parts of the path → entry


def open_archive(zipped: Path | bytes, split: str, *, seed: int = 0, name: str = "") -> ImageSet:
    """One split of a zip file, as `open_folder` gives it; unpacked into the cache when it is first opened.

    `zipped`: its path or its bytes; `name`: what to call the set, by default the file's name. Raises DatasetError.
    """
    folder = unpacked(zipped)
    name = name or (zipped.stem if isinstance(zipped, Path) else "archive")
    opened = open_folder(folder, split, seed=seed, name=name)
    # Not the folder's digest, which follows from the time of unpacking too.
    order = [opened.place(index) for index in range(len(opened))]
    return replace(opened, digest=digest_of(folder.name, opened.labels, order, opened.targets.tobytes()))


def unpacked(zipped: Path | bytes) -> Path:
    """The cached folder of a zip file's pictures, named after a digest of its bytes. Raises DatasetError."""
    folder = unpack(zipped, cache_folder() / "archives" / _digest(zipped))
    with suppress(OSError):
        os.utime(folder)  # what was opened lately stays longest
    return folder


def unpack(zipped: Path | bytes, folder: Path) -> Path:
    """The pictures of a zip file in `folder`, which must not exist yet, else it is taken as the result.

    Only picture files are taken, a single folder around them all is left out, and the folder appears complete or not at
    all. Raises DatasetError: a zip file that is encrypted, damaged, too large, a bomb, or names places outside itself.
    """
    try:
        return complete_folder(folder, lambda started: _unpack(zipped, started))
    except OSError as error:
        raise DatasetError(f"The zip file cannot be unpacked ({error.strerror}); make room for it.") from None


def _unpack(zipped: Path | bytes, folder: Path) -> None:
    _digest(zipped)  # counts the entries before zipfile makes an object of each
    with _damage_in_a_sentence(), zipfile.ZipFile(zipped if isinstance(zipped, Path) else io.BytesIO(zipped)) as file:
        for parts, entry in _without_wrapping(_pictures(file)).items():
            target = folder.joinpath(*parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            with file.open(entry) as packed, open(target, "xb") as written:
                shutil.copyfileobj(packed, written)  # zipfile ends at the declared size and compares the checksum


def _digest(zipped: Path | bytes) -> str:
    """SHA-256 of the bytes. Refuses a zip file that claims more entries than may be, without parsing it."""
    try:
        if isinstance(zipped, Path):
            facts = zipped.stat()
            return _digest_of_file(zipped.absolute(), facts.st_size, facts.st_mtime_ns)
        return _read_through(io.BytesIO(zipped))
    except OSError as error:
        raise DatasetError(f"The zip file cannot be read ({error.strerror}); check that you may open it.") from None


@lru_cache(maxsize=64)
def _digest_of_file(path: Path, size: int, changed_ns: int) -> str:  # they tell a changed file
    with open(path, "rb") as file:
        return _read_through(file)


def _read_through(file: io.BufferedIOBase) -> str:
    sha, entries = hashlib.sha256(), 0
    while chunk := file.read(1 << 20):
        sha.update(chunk)
        entries += chunk.count(_ENTRY)
    if entries > MAX_FILES:
        raise DatasetError(f"The zip file holds more than {MAX_FILES:,} files; leave some out.")
    return sha.hexdigest()


@contextmanager
def _damage_in_a_sentence() -> Iterator[None]:
    try:
        yield
    except DatasetError:
        raise
    except NotImplementedError:  # before RuntimeError, which it is one of
        raise DatasetError("The zip file is packed in an unusual way; pack it again with plain compression.") from None
    except RuntimeError:
        raise DatasetError("The zip file is encrypted; pack it again without a password.") from None
    except FileExistsError:
        raise DatasetError("The zip file holds a file and a folder of one name; pack it again.") from None
    except (OSError, *_DAMAGED) as error:
        if isinstance(error, OSError) and error.errno is not None:  # bz2 raises one without a number of damaged data
            raise
        raise DatasetError("The zip file is damaged or cut off; pack it or copy it again.") from None


def _pictures(file: zipfile.ZipFile) -> Contents:
    """What is to be unpacked; of two entries with one name the later one, as other programs do."""
    contents: Contents = {}
    for entry in file.infolist():
        name = _name(entry)
        if not name.split("\0")[0]:  # zipfile cannot say what it is
            raise DatasetError("The zip file holds a file without a name; pack it again.")
        parts = _parts(name)
        if entry.is_dir() or not parts or any(map(is_junk, parts)) or not is_picture(parts[-1]):
            continue
        if stat.S_ISLNK(entry.external_attr >> 16):  # Unix puts a file's mode there
            continue
        if entry.flag_bits & _ENCRYPTED:
            raise DatasetError("The zip file is encrypted; pack it again without a password.")
        contents[parts] = entry
    if not contents:
        raise DatasetError("The zip file holds no images; pack a folder that has a folder for each class.")
    _refuse_size(contents)
    return contents


def _refuse_size(contents: Contents) -> None:
    size = sum(entry.file_size for entry in contents.values())
    packed = sum(entry.compress_size for entry in contents.values())
    if size > MAX_BYTES:
        raise DatasetError(f"The zip file unpacks to more than {MAX_BYTES >> 30} GiB; leave some images out.")
    if size > RATIO_FROM and size > MAX_RATIO * packed:
        raise DatasetError("The zip file unpacks to far more than images do; pack JPEG or PNG files.")


def _name(entry: zipfile.ZipInfo) -> str:
    """The name as it was meant: many programs write UTF-8 without saying so, and zipfile then reads code page 437."""
    if not entry.flag_bits & _UTF8:
        try:
            return entry.orig_filename.encode("cp437").decode("utf-8")
        except UnicodeError:
            pass
    return entry.orig_filename


def _parts(name: str) -> tuple[str, ...]:
    """The parts of a path inside the zip file. Raises DatasetError on a path that leads out of it."""
    name = name.split("\0")[0].replace("\\", "/")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    drive = bool(parts) and len(parts[0]) == 2 and parts[0][1] == ":"
    if PurePosixPath(name).is_absolute() or ".." in parts or drive:
        raise DatasetError("The zip file names places outside itself, as no honest one does; do not use it.")
    return parts


def _without_wrapping(contents: Contents) -> Contents:
    """The same without the one folder that lies around everything, unless that is a split or a class."""
    tops = {parts[0] for parts in contents}
    if len(tops) > 1 or min(map(len, contents)) < 3 or split_of(next(iter(tops))):
        return contents
    return {parts[1:]: entry for parts, entry in contents.items()}
