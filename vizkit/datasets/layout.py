"""What a folder of pictures means: which files are pictures, of which class, and of which split if it says so.

    <class>/*.jpg                    or                    train*/<class>/*.jpg, val*/…, test*/…

File systems give names in any order and any Unicode form, and users' folders hold all sorts of other things: here is
where all of that is sorted out or refused.
"""

import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from vizkit.datasets.image_set import SPLITS, DatasetError
from vizkit.settings import settings

SUFFIXES = frozenset((".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif"))
_JUNK = frozenset(("thumbs.db", "desktop.ini", "__macosx"))
_EXACT = frozenset(("train", "training", "val", "valid", "validation", "test", "testing"))
_DEEPEST = 8  # folders below a class that are still looked into


@dataclass(frozen=True)
class File:
    """One picture: its path relative to the folder, what it is labelled as, and what shows that a file has changed."""

    path: str
    size: int  # bytes
    changed_ns: int
    split: str | None = None
    label: str = ""


# Notes on files and folders that are not simply pictures of a class.
LINKED = "Left out: links that lead out of the folder, or in circles"
OTHER = "Left out: files that are no images by their names"
LOOSE = "Left out: images that lie beside the class folders"
EMPTY = "Left out: folders without images"
BESIDE = "Left out: folders that are no split, or that have no class folders"
NESTED = "Counted for their class: images in a folder inside the class folder"


@dataclass
class Folder:
    """A folder on disk as it is looked through, and what was noticed on the way."""

    root: str  # absolute, links resolved
    noticed: dict[str, set[str]] = field(default_factory=dict)  # one of the sentences above → relative paths
    seen: dict[str, tuple[list[str], list[File]]] = field(default_factory=dict)

    def notice(self, what: str, *paths: str) -> None:
        if paths:
            self.noticed.setdefault(what, set()).update(paths)

    def look(self, inside: str = "") -> tuple[list[str], list[File]]:
        """Names of the folders, and the pictures, directly in one folder (a relative path, "" is the root), by name."""
        if inside not in self.seen:
            try:
                with os.scandir(os.path.join(self.root, inside)) as entries:
                    self.seen[inside] = self._sorted_out(inside, sorted(entries, key=lambda each: natural(each.name)))
            except OSError as error:
                where = f"The folder {shown(inside or os.path.basename(self.root))!r} cannot be read"
                raise DatasetError(f"{where} ({error.strerror}); check that you may open it.") from None
        return self.seen[inside]

    def _sorted_out(self, inside: str, entries: list["os.DirEntry[str]"]) -> tuple[list[str], list[File]]:
        folders, files = [], []
        for entry in entries:
            path = _under(inside, entry.name)
            if is_junk(entry.name):
                continue
            if entry.is_symlink() and not self._stays(entry.path):
                self.notice(LINKED, path)
            elif entry.is_dir():
                folders.append(entry.name)
            elif is_picture(entry.name) and entry.is_file():  # not a pipe that would keep us waiting
                facts = entry.stat()
                files.append(File(path, facts.st_size, facts.st_mtime_ns))
            else:
                self.notice(OTHER, path)
        return folders, files

    def _stays(self, link: str) -> bool:
        """A link that leads to something else in the folder, or in one that the owner of the machine allows: not out of
        these, nor to a folder that it lies in."""
        target, home = os.path.realpath(link), os.path.realpath(os.path.dirname(link))
        circle = f"{home}{os.sep}".startswith(f"{target}{os.sep}")
        roots = (self.root, *map(str, settings().data_roots))
        return any(target.startswith(f"{root}{os.sep}") for root in roots) and os.path.exists(target) and not circle

    def below(self, inside: str, depth: int = 0) -> Iterator[File]:
        """All pictures in a folder and in the folders in it; links to folders are not followed, for they may circle."""
        folders, files = self.look(inside)
        yield from files
        for path in (_under(inside, name) for name in folders):
            if os.path.islink(os.path.join(self.root, path)):
                self.notice(LINKED, path)
            elif depth < _DEEPEST:
                yield from self.below(path, depth + 1)

    def with_pictures(self, inside: str = "") -> list[str]:
        """Names of the folders in a folder that hold a picture at any depth."""
        return [name for name in self.look(inside)[0] if next(self.below(_under(inside, name)), None)]

    def notes(self) -> list[str]:
        return [f"{what} ({len(paths):,}, such as {shown(min(paths))})." for what, paths in self.noticed.items()]


@dataclass(frozen=True)
class Listing:
    """All pictures of a folder with their labels; `splits` are those that the folder itself has, if any."""

    name: str
    root: str
    files: tuple[File, ...]
    labels: tuple[str, ...]
    splits: tuple[str, ...]
    notes: tuple[str, ...]


def list_folder(path: Path) -> Listing:
    """Look through a folder without opening a picture.

    Raises DatasetError, in one sentence, on a folder that cannot be understood or could be in two ways.
    """
    root = os.path.realpath(os.path.expanduser(path))
    name = shown(os.path.basename(root))
    if not os.path.isdir(root):
        raise DatasetError(f"There is no folder {name!r}; give one that has a folder for each class.")
    folder = _without_wrapping(Folder(root))
    splits = _split_folders(folder)
    files = tuple(file for split, inside in splits.items() for file in _labelled(folder, split, inside))
    labels = tuple(sorted({file.label for file in files}, key=natural))
    if len(labels) < 2 and LINKED in folder.noticed:
        which = shown(min(folder.noticed[LINKED]))
        raise DatasetError(
            f"In {name!r} are links that lead out of it, such as {which!r}: put what they lead to in their place, or "
            "name a folder that holds it in VIZKIT_DATA_ROOTS."
        )
    if not files and LOOSE in folder.noticed:
        raise DatasetError(f"The images in {name!r} lie side by side; put them into a folder for each class.")
    if not files:
        raise DatasetError(f"There are no images in {name!r}; give a folder that has a folder for each class.")
    if len(labels) == 1:
        raise DatasetError(f"All images in {name!r} are of one class, {labels[0]!r}; add a folder of another class.")
    return Listing(name, folder.root, files, labels, tuple(filter(None, splits)), tuple(folder.notes()))


def _without_wrapping(folder: Folder) -> Folder:
    """Inside the one folder that many archives wrap around everything."""
    for _ in range(_DEEPEST):
        inner = folder.with_pictures()
        if len(inner) != 1 or folder.look()[1] or split_of(inner[0]) or folder.look(inner[0])[1]:
            break
        folder = Folder(os.path.realpath(os.path.join(folder.root, inner[0])))
    return folder


def _split_folders(folder: Folder) -> dict[str | None, str]:
    """Split → its folder; where the folders are classes, {None: ""}.

    A class may well be called "train". A folder is a split by its name and by holding class folders.
    """
    holding = folder.with_pictures()
    named = {name: folder.with_pictures(name) for name in holding if split_of(name)}
    if not any(len(classes) > 1 for classes in named.values()):
        if named and len(named) == len(holding) and not any(named.values()):
            raise DatasetError(f"The folder {holding[0]!r} has no class folders; make one for each class in it.")
        return {None: ""}
    chosen = {
        split: _only(split, [name for name in named if named[name] and split_of(name) == split]) for split in SPLITS
    }
    if not chosen["train"] and len(holding) > sum(map(bool, chosen.values())):  # perhaps no splits at all
        raise DatasetError(f"There is a folder {next(iter(named))!r} but none for training; add a folder 'train'.")
    folder.notice(BESIDE, *set(holding) - set(chosen.values()))
    return {split: inside for split, inside in chosen.items() if inside}


def _only(split: str, folders: list[str]) -> str:
    """The folder of a split: the one that is called exactly so, or the only one whose name starts so; "" if none."""
    exact = [name for name in folders if name.casefold() in _EXACT]
    if len(exact or folders) > 1:
        raise DatasetError(f"{' and '.join(map(repr, folders))} could each be {split}; rename all but one of them.")
    return next(iter(exact or folders), "")


def _labelled(folder: Folder, split: str | None, inside: str) -> Iterator[File]:
    names, loose = folder.look(inside)
    if loose:
        folder.notice(LOOSE, *(file.path for file in loose))
    for name in names:
        files = list(folder.below(_under(inside, name)))
        if not files:
            folder.notice(EMPTY, _under(inside, name))
        _refuse_deep(folder, _under(inside, name), files)
        yield from (replace(file, split=split, label=shown(name)) for file in files)


def _refuse_deep(folder: Folder, inside: str, files: list[File]) -> None:
    """<class>/images/1.jpg can only mean the class; <group>/<class>/1.jpg or <fold>/train/… would be mislabelled."""
    nested = [file.path for file in files if "/" in file.path[len(inside) + 1 :]]
    if not nested:
        return
    inner = {path[len(inside) + 1 :].split("/")[0] for path in nested}
    deep = [path for path in nested if path[len(inside) + 1 :].count("/") > 1]
    if deep or any(map(split_of, inner)) or (len(nested) == len(files) and len(inner) > 1):
        path = shown((deep or nested)[0])
        raise DatasetError(f"{path!r} lies deeper than folders of classes do; move the class folders to the top.")
    folder.notice(NESTED, *nested)


def _under(inside: str, name: str) -> str:
    return f"{inside}/{name}" if inside else name


def natural(name: str) -> tuple:
    """Sorts as people do: "class 2" before "class 10", whatever the script, the Unicode form and the case."""
    parts = re.split(r"(\d+)", _composed(name).casefold())
    return tuple((part, 0) if i % 2 == 0 else ("", int(part)) for i, part in enumerate(parts)), _composed(name)


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def shown(path: str) -> str:
    """A path for people: one Unicode form, and � for bytes that are no UTF-8."""
    return _composed(os.fsencode(path).decode("utf-8", "replace"))


def is_picture(name: str) -> bool:
    return os.path.splitext(name)[1].lower() in SUFFIXES


def is_junk(name: str) -> bool:
    """Hidden files, and what operating systems leave behind."""
    return name.startswith(".") or name.casefold() in _JUNK


def split_of(folder: str) -> str | None:
    """The split that a folder's name announces: "Training" is train, "valid" is val, "test_set" is test."""
    return next((split for split in SPLITS if folder.casefold().startswith(split)), None)
