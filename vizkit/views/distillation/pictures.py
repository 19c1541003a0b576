"""Pictures before and after a recipe has changed them, and the labels of two that it mixes."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import UInt8

from vizkit.datasets import samples
from vizkit.image import Preprocessing, prepare, unprepare
from vizkit.views.blocks import Block, Numbers, Picture, side_by_side

if TYPE_CHECKING:
    from vizkit.training.pictures.preview import Changed

__all__ = ["beside", "enlarged", "kind_of", "label_space", "seen"]

ACROSS = 3  # beside one another
Rgb = UInt8[np.ndarray, "_row _column 3"]


def beside(original: Rgb, changed: "Sequence[Changed]") -> Iterator[Block]:
    """The original and what became of it, in rows."""
    named = [("as the model sees it", original)]
    named += [(f"{index}: {each.words}", each.picture) for index, each in enumerate(changed, 1)]
    every = [Picture(enlarged(rgb), f"Picture: {said}", said) for said, rgb in named]
    for start in range(0, len(every), ACROSS):
        yield side_by_side(*every[start : start + ACROSS])
    yield Numbers(lambda: {"pictures": [each.picture for each in changed]})


def seen(rgb: Rgb, needs: Preprocessing) -> Rgb:
    return unprepare(prepare(rgb, needs)[0], needs)


def enlarged(rgb: Rgb) -> Rgb:
    """Small pictures keep their pixels as squares."""
    zoom = max(1, -(-300 // max(rgb.shape[:2])))
    return rgb.repeat(zoom, 0).repeat(zoom, 1)


def kind_of(name: str) -> str:
    return "insect" if name in samples.INSECTS else "digit" if name.startswith("digit ") else "other"


def label_space(name: str, partner: str) -> tuple[list[str], tuple[int, int]]:
    """The classes that the label is one of, and those of both pictures; of pictures without any, their own names."""
    kinds = kind_of(name), kind_of(partner)
    if kinds == ("insect", "insect"):
        return list(samples.INSECTS), (samples.INSECTS.index(name), samples.INSECTS.index(partner))
    if kinds == ("digit", "digit"):
        return list("0123456789"), (int(name.removeprefix("digit ")), int(partner.removeprefix("digit ")))
    return [name, partner], (0, 1)
