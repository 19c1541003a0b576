"""A record of a set made of what `vizkit explain` wrote of it: its answers and maps, without a pass of a model."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.data_set import picture
from vizkit.datasets import image_set
from vizkit.datasets.image_set import DatasetError, ImageSet, digest_of
from vizkit.evaluation.classes import EvaluationError
from vizkit.evaluation.data_set.record import Recorded, explained_of
from vizkit.explanations.data_set import SIDE
from vizkit.explanations.source import Item, Source
from vizkit.explanations.table import Explanations
from vizkit.explanations.written import CLASSES, items_of, needs_of, rgb_as_explained, source_of
from vizkit.image import RGB, seen

GREY = 128
UNNAMED = "without a label"


@dataclass(frozen=True)
class Explained(image_set.Source):
    """The pictures of `keys`, as long as they are those that were explained; grey ones where they cannot be reached."""

    source: Source | None
    keys: list[str]
    items: dict[str, Item]
    sha256: list[bytes | None]
    size_hw: tuple[int, int]

    def picture(self, index: int) -> RGB:
        if self.source is None:
            return np.full((*self.size_hw, 3), GREY, np.uint8)
        return rgb_as_explained(self.source, self.items.get(self.keys[index]), self.sha256[index])

    def place(self, index: int) -> str:
        return self.keys[index]


def explained(
    results: Explanations,
    most: int,
    may: Callable[[str], bool] = lambda _: True,
    tell: Callable[[int, int], None] = lambda *_: None,
) -> Recorded:
    """Of at most so many of its pictures, evenly, by the first of its methods. `may`: see `written.source_of`. Raises
    EvaluationError where none could be read."""
    told, needs = results.manifest, needs_of(results)
    method, *others = told["maps"]
    every, reasons = (results.dataset.to_table([name])[name].to_pylist() for name in ("key", "error"))
    rows = np.flatnonzero([reason is None for reason in reasons])
    if not len(rows):
        raise EvaluationError("None of its images could be read.")
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).round().astype(int))]
    names = [*CLASSES, "label", "sha256", "probability", "height_px", "width_px"]
    names += [f"{part}_{method}" for part in ("map", "low", "high")]
    table = results.dataset.take(rows, columns=names)
    keys, labels = [every[row] for row in rows], [label or UNNAMED for label in table["label"].to_pylist()]
    known, target = np.unique(labels, return_inverse=True)
    notes = [
        f"{told['model']} is asked nothing: vizkit explain wrote its answers and maps, by {METHODS[method].title}."
    ]
    notes += [f"The folder holds maps by {METHODS[each].title} too." for each in others]
    source, items = None, dict[str, Item]()
    try:
        source = source_of(results, may)
        items = items_of(source, {*keys})
    except (DatasetError, OSError):  # whose sentences may name paths
        notes.append("Its images are no longer where they were explained, or not open here: maps lie on grey.")
    pictures = Explained(source, keys, items, table["sha256"].to_pylist(), needs.size_hw)
    digest = digest_of("explained", str(results.path), told, rows.tobytes())
    images = ImageSet(Path(told["source"]).name, "", tuple(known.tolist()), target, pictures, digest, tuple(notes))
    small = np.full((len(rows), SIDE, SIDE, 3), GREY, np.uint8)
    for row in range(len(rows)):
        tell(row, len(rows))
        with suppress(DatasetError):
            shown = torch.from_numpy(seen(images[row][0], needs)).permute(2, 0, 1)[None]
            small[row] = picture.thumbnails(shown, SIDE)[0]
    nothing = np.zeros((len(rows), 0), np.float32)
    return Recorded(
        model=told["model"],
        digest=digest,
        classes=tuple(told["labels"]),
        classifies=not table["answer"].null_count,
        exclusive=True,
        linear=False,
        broken={key: reason for key, reason in zip(every, reasons, strict=True) if reason},
        logits=nothing,
        features=nothing,
        entropy=np.full(len(rows), np.nan, np.float32),
        thumbnails=small,
        scores=np.ones((len(rows), 3), np.float32),
        hashes=np.zeros(len(rows), np.uint64),
        needs=needs,
        **explained_of(table, method, images, np.arange(len(rows))),
    )
