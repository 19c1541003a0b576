"""Whole picture: the picture as it is, four times as large, in tiles that come in one after another."""

import io
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any

import numpy as np
from PIL import Image

from vizkit.analysis.remarks.super_resolution import of_tiles, of_whole
from vizkit.analysis.super_resolution.quality import agreement, steepness
from vizkit.datasets.pairs.drawn import RGB, TIMES
from vizkit.figure.saved.transfer import swiped
from vizkit.image import data_url, digest_of
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Canvas, Download, Job, Later, Numbers, Paper, Said
from vizkit.views.controls import choice, query
from vizkit.views.rules import below, tuple_of
from vizkit.views.subject import Subject
from vizkit.views.super_resolution.networks import WITH, WITHOUT, enlarger
from vizkit.views.view import How, View

NOTHING = "no reference"
AT_ONCE = 30  # tiles, a minute or so: more are begun by a press
MOST_JOBS = 25  # a picture is shown with each that is done
PART_HW, OVERVIEW_PX = (420, 720), 240
"""Pixels of the result that are shown in full size, and of the longer side of the whole beside them."""
Tiles = list[tuple[slice, slice, RGB]]


def references(of: Sequence[Subject]) -> list[str]:
    return [NOTHING, *(name for each in of[:1] for name in each.others)]


class WholePicture(View):
    """The picture as it is, four times as large."""

    reference: str = choice(
        "Reference",
        references,
        "A picture that shows the like from nearer, best one of your uploads in the sidebar. One of more than "
        "512 × 512 pixels is shrunk.",
        default=NOTHING,
        words={NOTHING: NOTHING},
        key="sr_whole_reference",
        listed=True,
        pictures=True,
        runs=True,
    )

    place: str | tuple[int, int] = query(
        "Place", "Of the image: what is shown in full size around it.", options=("patch",), key="sr_at", inside=True
    )

    overlays = False
    how = How(
        "Drag the bar to compare. One part is shown in full size; a click on the whole chooses another. The image "
        "is cut into tiles of 48 × 48 pixels; the network sees 32 more on each "
        "side of a tile, so that no seam is left, and searches each of their places in the whole reference.",
        r"h_i = \arg\max_j \frac{\langle q_i, k_j\rangle}{\lVert q_i\rVert\,\lVert k_j\rVert}",
        "how good the result is: what the picture would look like from nearer is not known.",
        "Yang et al. 2020",
    )

    def title(self, of: Subject) -> str:
        by = "" if self.reference == NOTHING else f", by a reference: {self.reference}"
        return f"The whole picture four times as large{by}"

    def show(self, of: Subject) -> Blocks:
        from vizkit.models.super_resolution.enlarging import refuse_large, tiles

        try:
            refuse_large(of.rgb)
        except ValueError as sentence:
            raise NotApplicable(str(sentence)) from None
        second = None if self.reference == NOTHING else of.other_picture(self.reference)
        key = "" if second is None else digest_of(second)
        places = [each[:2] for each in tiles(*of.rgb.shape[:2])]
        order = from_the_middle(places)
        size = -(-len(order) // MOST_JOBS)
        parts = [tuple(order[start : start + size]) for start in range(0, len(order), size)]
        jobs = tuple(
            Job(
                ("tiles", key, part), f"{size * (index + 1)} of {len(order)} tiles", partial(enlarged, of, second, part)
            )
            for index, part in enumerate(parts)
        )
        many = len(order) > AT_ONCE
        button = f"Enlarge ×{TIMES}" if many else ""
        whole = Later(of, jobs, partial(self.swipe, of, len(order)), button, only_asked=many)
        if not many:
            yield whole
            return
        rows, columns = around(self.middle(of), (TIMES * of.rgb.shape[0], TIMES * of.rgb.shape[1]))
        seen = {at for at, (down, right) in enumerate(places) if meet(down, rows) and meet(right, columns)}
        near = tuple(job for job, part in zip(jobs, parts, strict=True) if seen & {*part})
        yield Later(of, near, lambda _: [whole], only_asked=True)  # what is looked at, without being asked

    def swipe(self, of: Subject, total: int, found: Mapping[Hashable, Tiles]) -> Blocks:
        plain = bicubic(of.rgb)
        pixels, done = plain.copy(), 0
        for rows, columns, tile in (each for part in found.values() for each in part):
            pixels[rows, columns] = tile
            done += 1
        network = "without reference" if self.reference == NOTHING else "with the reference"
        titles = "bicubic", network + ("" if done == total else f", {done} of {total} tiles")
        rows, columns = pixels.shape[:2]
        part = around(self.middle(of), (rows, columns))
        left, right = plain[part], pixels[part]
        high, wide = left.shape[:2]
        frame = [part[1].start / columns, part[0].start / rows, wide / columns, high / rows]
        urls = (data_url(rgb, max(PART_HW), max(PART_HW)) for rgb in (left, right))
        data = dict(zip(("left", "right"), urls, strict=True)) | {"titles": titles, "columns": wide, "rows": high}
        data |= {"whole": data_url(pixels, OVERVIEW_PX), "frame": frame, "size": of.rgb.shape[:2]}
        tells = {"at": (tuple_of(*map(below, of.rgb.shape[:2])), "place")}
        alt = "A part of the enlarged image in full size, by bicubic interpolation and by the network"
        canvas = Canvas("vizkit_swipe", data, alt, tells, (Paper(partial(swiped, left, right, titles)),))
        if done == total:
            steep, plainly = steepness(pixels), steepness(plain)
            steeper = steep / plainly if plainly else inf  # of a picture of one colour
            yield Said(of_whole((columns, rows), steeper, agreement(of.rgb, pixels)))
            yield canvas
            yield Download("All pixels (PNG)", partial(png_of, pixels))
        else:
            yield Said(of_tiles(done, total, (columns, rows)))
            yield canvas
        yield Numbers(lambda: {"result": pixels, "bicubic": plain})

    def middle(self, of: Subject) -> tuple[int, int]:
        """Row and column of the image around which it is shown in full size."""
        if isinstance(self.place, tuple):
            return self.place
        rows, columns = of.rgb.shape[:2]
        return int(of.point[1] * rows), int(of.point[0] * columns)


def around(middle: tuple[int, int], size_hw: tuple[int, int]) -> tuple[slice, slice]:
    """Rows and columns of the result that are shown around a pixel of the image; they do not reach over its border."""
    rows, columns = (
        slice(start := min(max(TIMES * at - part // 2, 0), max(length - part, 0)), min(start + part, length))
        for at, part, length in zip(middle, PART_HW, size_hw, strict=True)
    )
    return rows, columns


def meet(small: slice, shown: slice) -> bool:
    """Whether rows or columns of the image are among those of the result."""
    return TIMES * small.start < shown.stop and shown.start < TIMES * small.stop


def from_the_middle(tiles: Sequence[tuple[slice, slice]]) -> list[int]:
    """The numbers of tiles, the middle of the picture first: there stands what it is of."""
    middle = tiles[-1][0].stop / 2, tiles[-1][1].stop / 2

    def apart(index: int) -> float:
        return sum(((part.start + part.stop) / 2 - at) ** 2 for part, at in zip(tiles[index], middle, strict=True))

    return sorted(range(len(tiles)), key=apart)


def enlarged(of: Subject, reference: RGB | None, numbers: Sequence[int], progress: Callable[[int, int], Any]) -> Tiles:
    from vizkit.models.super_resolution.enlarging import enlarged_tiles

    model, found = enlarger(of, WITHOUT if reference is None else WITH), Tiles()
    for done, number in enumerate(numbers):
        progress(done, len(numbers))
        found.append(next(enlarged_tiles(model, of.rgb, reference, start=number)))
    return found


def bicubic(rgb: RGB) -> RGB:
    rows, columns = rgb.shape[:2]
    return np.asarray(Image.fromarray(rgb).resize((TIMES * columns, TIMES * rows), Image.Resampling.BICUBIC))


def png_of(rgb: RGB) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "PNG", compress_level=3)
    return buffer.getvalue()
