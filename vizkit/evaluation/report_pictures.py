"""What the HTML report shows, as values for its templates: a confusion table, mistakes, small pictures."""

import base64
import io
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int
from PIL import Image

from vizkit.datasets.image_set import DatasetError, ImageSet

if TYPE_CHECKING:
    from jinja2 import Environment


SIDE_PX = 112  # of a small picture
MOST_LABELS = 40  # a larger table is not read by anybody; its largest cells are listed
MOST_PAIRS = 10
OTHERS = "another class"
TEMPLATES = Path(__file__).with_name("templates")

Table = tuple[tuple[str, ...], list[str], list[tuple[str, list[tuple[int, float]]]]]


@cache
def environment() -> "Environment":
    """Every value is escaped; a template that asks for what is not there is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["as"] = format
    return made


def confusion_table(counts: Int[np.ndarray, "label answer"], labels: tuple[str, ...]) -> Table:
    """Labels, answers, and the rows of the table: (label, (count, share of the row) for each answer); no rows where
    they would not be readable."""
    if len(labels) > MOST_LABELS:
        return labels, [], []
    answers = [*labels, *([OTHERS] if counts[:, -1].any() else [])]
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    cells = [
        list(zip(row, part, strict=True))[: len(answers)]
        for row, part in zip(counts.tolist(), shares.tolist(), strict=True)
    ]
    return labels, answers, list(zip(labels, cells, strict=True))


def mistakes(
    counts: Int[np.ndarray, "label answer"], labels: tuple[str, ...], most: int = MOST_PAIRS
) -> list[tuple[str, str, int]]:
    """(label, answer, how often), the most frequent first."""
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    names = [*labels, OTHERS]
    places = [divmod(int(at), wrong.shape[1]) for at in order]
    return [(labels[row], names[column], int(wrong[row, column])) for row, column in places if wrong[row, column]]


@dataclass(frozen=True)
class Thumbnail:
    """A JPEG in base64."""

    code: str
    width: int
    height: int


def thumbnail(images: ImageSet, row: int) -> Thumbnail | None:
    """A small picture for the page itself; None where the file has gone since."""
    try:
        rgb, _ = images[row]
    except (DatasetError, IndexError):
        return None
    image = Image.fromarray(rgb)
    if max(image.size) <= SIDE_PX // 2:  # in whole pixels, for handwritten digits
        factor = SIDE_PX // max(image.size)
        image = image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST)
    image.thumbnail((SIDE_PX, SIDE_PX))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=85)
    code = base64.b64encode(buffer.getvalue()).decode()
    return Thumbnail(code, image.width, image.height)
