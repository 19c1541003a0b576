"""Boxes and masks in COCO's format (Lin et al. 2014): a folder with pictures and `annotations.json`, as they are read.

    annotations.json   {"images": [{"id", "file_name", "width", "height"}],
                        "annotations": [{"image_id", "category_id", "bbox": [left, top, width, height],
                                         "segmentation": {"counts": […], "size": [height, width]}}],
                        "categories": [{"id", "name"}]}

What is wrong in somebody's file is left out and listed, one sentence for each: a file of a thousand pictures is not
useless for a box that leaves its picture. Masks are run lengths down the columns, beginning with the background.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from jaxtyping import Bool, UInt8

from vizkit.datasets.image_set import SPLITS, DatasetError, digest_of
from vizkit.datasets.scenes.annotated import Annotated, BoxSet
from vizkit.image import ImageError, read_image

FILE = "annotations.json"
MOST_BYTES = 500_000_000
MOST_LISTED = 20
SLACK_PX = 1.0  # by which a box may leave its picture: tools round
SHARES = {"train": 0.8, "val": 0.1, "test": 0.1}


@dataclass(frozen=True)
class Thing:
    """One annotation that holds. `box_xyxy` in pixels of the picture; `mask`: its run lengths, or nothing."""

    label: int
    box_xyxy: tuple[float, float, float, float]
    runs: tuple[int, ...] = ()


@dataclass(frozen=True)
class Entry:
    """One picture of the file, its path relative to the folder."""

    path: str
    size_hw: tuple[int, int]
    things: tuple[Thing, ...]


class Problems:
    """Sentences about what was left out; of many only the first are kept, with the number of all."""

    def __init__(self) -> None:
        self.first: list[str] = []
        self.count = 0

    def add(self, sentence: str) -> None:
        self.count += 1
        if len(self.first) < MOST_LISTED:
            self.first.append(sentence[:200])

    @property
    def notes(self) -> tuple[str, ...]:
        more = self.count - len(self.first)
        return (*self.first, f"{more:,} more were left out.") if more else tuple(self.first)


def open_coco(folder: Path, split: str, *, count: int | None = None, seed: int = 0) -> BoxSet:
    """One split of a folder: `train/annotations.json` and the like where there are such folders, else the pictures of
    the folder's own file are divided by the seed, 80 % train, 10 % val, 10 % test. Raises DatasetError."""
    own = folder / split
    if (own / FILE).is_file():
        folder, divided = own, False
    elif (folder / FILE).is_file():
        divided = True
    else:
        raise DatasetError(f"{folder.name or 'This'} has no {FILE}; give a folder with images and their boxes.")
    labels, entries, problems = read_annotations(folder)
    if divided:
        entries = _part(entries, split, seed)
    entries = entries[:count]
    if not entries:
        raise DatasetError(f"{folder.name} has no images for {split}; add some or use another split.")

    def read(index: int) -> Annotated:
        return _read(folder, entries[index])

    digest = digest_of("coco", labels, entries, split)
    return BoxSet(folder.name, split, labels, len(entries), read, digest, problems.notes)


def read_annotations(folder: Path) -> tuple[tuple[str, ...], list[Entry], Problems]:
    """Classes, pictures, and what of the file does not hold. DatasetError where nothing can be read of it."""
    file = folder / FILE
    if file.stat().st_size > MOST_BYTES:
        raise DatasetError(f"{FILE} has more than {MOST_BYTES // 10**6} MB; divide it.")
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise DatasetError(f"{FILE} cannot be read: it is not JSON.") from None
    lists = [
        content.get(name) if isinstance(content, dict) else None for name in ("images", "annotations", "categories")
    ]
    if not all(isinstance(each, list) for each in lists):
        raise DatasetError(f"{FILE} is not in COCO's format: it needs lists of images, annotations and categories.")
    images, annotations, categories = (_records(each) for each in lists)
    problems = Problems()
    places: dict[Any, int] = {}
    for each in categories:
        if _whole(each.get("id")) and isinstance(each.get("name"), str) and each["id"] not in places:
            places[each["id"]] = len(places)
        else:
            problems.add(f"A category is left out: {_short(each)} has no number of its own and name.")
    names = {each["id"]: each["name"][:200] for each in reversed(categories) if each.get("id") in places}
    things: dict[Any, list[Thing]] = {}
    sizes: dict[Any, tuple[str, tuple[int, int]]] = {}
    for each in images:
        if reason := _wrong_image(each, sizes):
            problems.add(f"An image is left out: {reason}.")
        else:
            sizes[each["id"]] = (each["file_name"], (each["height"], each["width"]))
    for each in annotations:
        made = _thing(each, sizes, places)
        if isinstance(made, Thing):
            things.setdefault(each["image_id"], []).append(made)
        else:
            problems.add(f"A box of {_short(each.get('image_id'))} is left out: {made}.")
    entries = [Entry(path, size, tuple(things.get(key, ()))) for key, (path, size) in sizes.items()]
    return tuple(names[key] for key in places), entries, problems


def _mask(runs: Sequence[int], size_hw: tuple[int, int]) -> Bool[np.ndarray, "height width"]:
    on = np.arange(len(runs)) % 2 == 1
    return np.repeat(on, runs).reshape(size_hw[1], size_hw[0]).T


def _read(folder: Path, entry: Entry) -> Annotated:
    try:
        picture = read_image(folder / entry.path)
    except ImageError as error:
        raise DatasetError(f"{entry.path}: {error}") from None
    height, width = picture.shape[:2]
    # A picture may be stored smaller than it was annotated: its boxes shrink with it.
    scale = np.array([width / entry.size_hw[1], height / entry.size_hw[0]] * 2)
    boxes = np.array([each.box_xyxy for each in entry.things], float).reshape(-1, 4) * scale
    labels = np.array([each.label for each in entry.things], np.int64)
    masked = bool(entry.things) and all(each.runs for each in entry.things) and len(entry.things) < 256
    instances: UInt8[np.ndarray, "height width"] | None = None
    if masked and (height, width) == entry.size_hw:
        instances = np.zeros((height, width), np.uint8)
        for place, each in enumerate(entry.things, 1):
            instances[_mask(each.runs, entry.size_hw)] = place
    return Annotated(picture, boxes, labels, instances)


def _part(entries: list[Entry], split: str, seed: int) -> list[Entry]:
    order = np.random.default_rng(seed).permutation(len(entries))
    edges = np.round(np.cumsum([0, *(SHARES[name] for name in SPLITS)]) * len(entries)).astype(int)
    start, end = list(pairwise(edges.tolist()))[SPLITS.index(split)]
    return [entries[row] for row in sorted(order[start:end].tolist())]


def _records(values: Any) -> list[dict[str, Any]]:
    return [each if isinstance(each, dict) else {} for each in values]


def _wrong_image(each: dict[str, Any], known: dict[Any, Any]) -> str:
    name, key = each.get("file_name"), each.get("id")
    if not (_whole(key) or isinstance(key, str)) or key in known:
        return f"{_short(name)} has no id of its own"
    if not all(_whole(each.get(side)) and 0 < each[side] <= 100_000 for side in ("width", "height")):
        return f"{_short(name)} has no width and height"
    path = PurePosixPath(name) if isinstance(name, str) and name and "\0" not in name else None
    if path is None or path.is_absolute() or ".." in path.parts or "\\" in str(name):
        return f"{_short(name)} is no file below this folder"
    return ""


def _thing(each: dict[str, Any], sizes: dict[Any, Any], places: dict[Any, int]) -> Thing | str:
    """The annotation, or in words why it does not hold."""
    key, category, box = each.get("image_id"), each.get("category_id"), each.get("bbox")
    if not isinstance(key, int | str) or key not in sizes:
        return "its image is not in the file"
    if not isinstance(category, int | str) or category not in places:
        return f"its class {_short(category)} is not among the categories"
    if each.get("iscrowd") == 1:
        return "it stands for a crowd"
    if not (isinstance(box, list) and len(box) == 4 and all(_number(side) for side in box)):
        return "it is not four numbers"
    height, width = sizes[key][1]
    left, top, wide, high = map(float, box)
    if wide <= 0 or high <= 0:
        return f"its width and height are {wide:g} and {high:g}"
    right, bottom = left + wide, top + high
    if left < -SLACK_PX or top < -SLACK_PX or right > width + SLACK_PX or bottom > height + SLACK_PX:
        return f"it lies outside its image of {width} × {height} pixels"
    kept = (max(0.0, left), max(0.0, top), min(float(width), right), min(float(height), bottom))
    if kept[0] >= kept[2] or kept[1] >= kept[3]:
        return "nothing of it lies in its image"
    return Thing(places[category], kept, _runs(each.get("segmentation"), (height, width)))


def _runs(segmentation: Any, size_hw: tuple[int, int]) -> tuple[int, ...]:
    """The run lengths of a mask where it is given so and fits the picture, else nothing: boxes do without."""
    counts = segmentation.get("counts") if isinstance(segmentation, dict) else None
    if not isinstance(counts, list) or not all(_whole(count) and count >= 0 for count in counts):
        return ()
    return tuple(counts) if sum(counts) == size_hw[0] * size_hw[1] else ()


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


def _short(value: object) -> str:
    return repr(value)[:60]
