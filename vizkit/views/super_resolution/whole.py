"""The image as it is, four times as large, in tiles that come in one after another; a part of it is shown in full
size."""

import io
from collections.abc import Callable, Collection, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from vizkit.analysis.remarks.super_resolution import of_whole
from vizkit.analysis.super_resolution.quality import agreement, steepness
from vizkit.datasets.pairs.drawn import RGB, TIMES
from vizkit.figure.saved.transfer import Part, around
from vizkit.image import digest_of
from vizkit.traces import not_applicable
from vizkit.views.blocks import Job
from vizkit.views.subject import Subject
from vizkit.views.super_resolution.networks import WITH, WITHOUT, enlarger

if TYPE_CHECKING:
    from vizkit.models.super_resolution import Seen

MOST_JOBS = 25  # an image is shown with each that is done
PART_HW = (104, 180)
"""Pixels of the image that are shown four times as large."""
REACH = 8
"""Pixels around a place: none beyond them has a say in what its texture is taken from."""
Tiles = list[tuple[slice, slice, RGB]]


def tiles_of(rgb: RGB) -> list[Part]:
    """Rows and columns of the image. NotApplicable for one that is large already."""
    from vizkit.models.super_resolution.enlarging import refuse_large, tiles

    with not_applicable(ValueError):
        refuse_large(rgb)
    return [each[:2] for each in tiles(rgb.shape[0], rgb.shape[1])]


def jobs_of(of: Subject, tiles: Sequence[Part], reference: RGB | None, part: Part) -> tuple[list[Job], list[Job]]:
    """(of the tiles that a part of the image shows, one by one; of all, several at once). The middle comes first."""
    order, key = from_the_middle(tiles), "" if reference is None else digest_of(reference)
    near = [
        Job(("tile", key, number), "", partial(enlarged_one, of, reference, number))
        for number in order
        if meet(tiles[number], part)
    ]
    size = -(-len(order) // MOST_JOBS)
    groups = [tuple(order[start : start + size]) for start in range(0, len(order), size)]
    every = [
        Job(
            ("tiles", key, group),
            f"{min(size * done, len(order))} of {len(order)} tiles",
            partial(enlarged, of, reference, key, group),
        )
        for done, group in enumerate(groups, 1)
    ]
    return near, every


def sharpest(rgb: RGB, part: Part) -> tuple[int, int]:
    """Row and column of the place in this part of the image that bicubic interpolation blurs most."""
    from vizkit.models.super_resolution import most_changed

    given = rgb[part]
    row, column = most_changed(given.repeat(TIMES, 0).repeat(TIMES, 1), bicubic(given))
    return part[0].start + row, part[1].start + column


def meet(one: Part, other: Part) -> bool:
    return all(a.start < b.stop and b.start < a.stop for a, b in zip(one, other, strict=True))


def larger(part: Part) -> Part:
    """The same in the result."""
    rows, columns = (slice(TIMES * each.start, TIMES * each.stop) for each in part)
    return rows, columns


def from_the_middle(tiles: Sequence[Part]) -> list[int]:
    """The numbers of tiles, the middle of the image first: there stands what it is of."""
    middle = tiles[-1][0].stop / 2, tiles[-1][1].stop / 2

    def apart(index: int) -> float:
        return sum(((part.start + part.stop) / 2 - at) ** 2 for part, at in zip(tiles[index], middle, strict=True))

    return sorted(range(len(tiles)), key=apart)


def enlarged_one(of: Subject, reference: RGB | None, number: int, progress: Callable[[int, int], Any]) -> Tiles:
    from vizkit.models.super_resolution.enlarging import enlarged_tiles

    progress(0, 1)
    model = enlarger(of, WITHOUT if reference is None else WITH)
    return [next(enlarged_tiles(model, of.rgb, reference, start=number))]


def enlarged(
    of: Subject, reference: RGB | None, key: str, numbers: Sequence[int], progress: Callable[[int, int], Any]
) -> Tiles:
    found = Tiles()
    for done, number in enumerate(numbers):
        progress(done, len(numbers))
        found += of.kept(("tile", key, number), partial(enlarged_one, of, reference, number, lambda *_: None))
    return found


def seen_around(of: Subject, reference: RGB, place: tuple[int, int]) -> "tuple[Seen, int]":
    """(what attention saw of the surroundings of a place, the place among theirs)."""
    from vizkit.models.super_resolution import see

    side = 2 * REACH + 1
    rows, columns = around(place, (of.rgb.shape[0], of.rgb.shape[1]), (side, side))
    key = "seen around", digest_of(reference), place
    seen: Seen = of.kept(key, lambda: see(enlarger(of, WITH), of.rgb[rows, columns], reference))
    return seen, (place[0] - rows.start) * seen.grid[1] + place[1] - columns.start


def filled(plain: RGB, found: Collection[Tiles]) -> RGB:
    """An enlarged image with the tiles that are there."""
    pixels = plain.copy()
    for rows, columns, tile in (each for tiles in found for each in tiles):
        pixels[rows, columns] = tile
    return pixels


def bicubic(rgb: RGB) -> RGB:
    rows, columns = rgb.shape[:2]
    return np.asarray(Image.fromarray(rgb).resize((TIMES * columns, TIMES * rows), Image.Resampling.BICUBIC))


def judged(given: RGB, plain: RGB, made: RGB, *, part: bool = False) -> str:
    """Of an image, or a part of it, what bicubic interpolation and the network make of it."""
    steep, plainly = steepness(made), steepness(plain)
    steeper = steep / plainly if plainly else inf  # of an image of one colour
    return of_whole((made.shape[1], made.shape[0]), steeper, agreement(given, made), part=part)


def png_of(rgb: RGB) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "PNG", compress_level=3)
    return buffer.getvalue()
