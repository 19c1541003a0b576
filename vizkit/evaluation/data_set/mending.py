"""A mended copy of a labelled set: a folder of class folders that differs by what was decided, and by nothing else."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from PIL import Image

from vizkit.datasets.cache import complete_folder
from vizkit.datasets.image_set import ImageSet
from vizkit.evaluation.data_set.opening import split_of


def write_mended(images: ImageSet, decided: Mapping[str, str | None], folder: Path) -> None:
    """Write the pictures as `folder`/split/label, without splits where there is one only. `decided`: by their places
    the labels that pictures have from now on, None of one that is left out. Files are copied byte by byte, what is
    drawn becomes a PNG. The folder is there as a whole or not at all. Raises OSError, and DatasetError of a picture
    that cannot be drawn."""
    splits = [split_of(images, row) for row in range(len(images))]
    several = len({*splits}) > 1

    def fill(part: Path) -> None:
        for row, split in enumerate(splits):
            label = decided.get(images.place(row), images.labels[images.targets[row]])
            if label is not None:  # never a path, nor a hidden folder
                home = re.sub(r"[/\\]", "_", label).lstrip(".") or "_"
                _put(images, row, (part / split if several else part) / home)

    complete_folder(folder, fill)


def _put(images: ImageSet, row: int, home: Path) -> None:
    file = images.source.file(row)
    name = Path(file).name if file else f"{row:05}.png"
    home.mkdir(parents=True, exist_ok=True)
    to = home / name if not (home / name).exists() else home / f"{row:05}_{name}"
    if file:
        shutil.copyfile(file, to)
    else:
        Image.fromarray(images[row][0]).save(to)
