"""Boxes, maps and masks on one picture, as a page drew them: the record holds them, and no model is needed again."""

import re
from dataclasses import dataclass
from math import isfinite

import numpy as np
from jaxtyping import UInt8

from vizkit.datasets.scenes.drawing import draw_scene
from vizkit.figure.detection.segments import segments_over
from vizkit.figure.overlay import overlay
from vizkit.figure.palette import OPACITIES
from vizkit.figure.saved.boxes import Frame, Track, framed
from vizkit.figure.saved.panel import Numbers
from vizkit.figure.saved.panels import PanelsOf, Tile
from vizkit.from_json import ReportError
from vizkit.models import Loaded
from vizkit.report.kinds.record import Drawn
from vizkit.views.subject import Subject

__all__ = ["Framed", "OnPicture"]

SCENE_PX, SCENES = 480, 1_000
MOST, LONGEST = 400, 200
"""Frames and tracks of a panel, points of a track; letters of a word: a stranger's record costs little to draw."""
RGB = UInt8[np.ndarray, "_row _column 3"]
COLOUR = re.compile(r"#[0-9a-f]{6}")


@dataclass(frozen=True)
class OnPicture:
    """What one panel shows on the picture. `cells`: rows of a map, ≥ 0, the largest the brightest. `instances`: rows of
    segments' numbers from 1, 0 the ground; `places`: of each its place among the colours."""

    title: str
    frames: tuple[Frame, ...] = ()
    tracks: tuple[Track, ...] = ()
    cells: tuple[Numbers, ...] = ()
    instances: tuple[tuple[int, ...], ...] = ()
    places: tuple[int, ...] = ()


@dataclass(frozen=True)
class Framed:
    """`lines`: what it is of, below the title. `scene`: number of a drawn scene, from 1; 0 is the picture itself."""

    title: str
    lines: tuple[str, ...]
    scene: int
    panels: tuple[OnPicture, ...]

    def stem(self, loaded: Loaded | None) -> str:
        return self.title + (f" scene {self.scene}" if self.scene else "")

    def drawn(self, inputs: Subject) -> Drawn:
        if not 0 <= self.scene <= SCENES or not 1 <= len(self.panels) <= 4 or not all(map(_whole, self.panels)):
            raise ReportError("The boxes of this picture are not as vizkit writes them.")
        rgb = draw_scene(self.scene - 1, split="test", size_px=SCENE_PX).picture if self.scene else inputs.rgb
        tiles, numbers = [], {}
        for number, panel in enumerate(self.panels, 1):
            tiles.append(Tile(panel.title, _painted(rgb, panel), 0.5))
            numbers[f"panel{number}_boxes_xyxy"] = np.array([each.box_xyxy for each in panel.frames]).reshape(-1, 4)
            numbers[f"panel{number}_words"] = np.array([each.word for each in panel.frames], dtype=str)
            numbers |= {f"panel{number}_cells": np.array(panel.cells, float)} if panel.cells else {}
            numbers |= {f"panel{number}_instances": np.array(panel.instances, np.uint8)} if panel.instances else {}
        return Drawn(self.title, self.lines, PanelsOf(tiles), numbers)


def _painted(rgb: RGB, panel: OnPicture) -> RGB:
    """The result is larger than a small picture."""
    height, width = rgb.shape[:2]
    if panel.cells:
        floor, ceiling = OPACITIES["over image"]
        cells = np.array(panel.cells, float)
        rgb = overlay(rgb, cells, (0.0, 0.0, float(width), float(height)), floor=floor, ceiling=ceiling)
    if panel.instances:
        rgb = segments_over(rgb, np.array(panel.instances, np.uint8), panel.places)
    return framed(rgb, panel.frames, panel.tracks)


def _whole(panel: OnPicture) -> bool:
    """Whether it can be drawn: colours, places near the picture, rows of one length, and no segment without a place."""
    colours = [each.colour for each in (*panel.frames, *panel.tracks)]
    shares = [side for frame in panel.frames for side in frame.box_xyxy]
    shares += [side for track in panel.tracks for point in track.points for side in point]
    rows = {len(row) for row in panel.cells} | {len(row) for row in panel.instances}
    values = [value for row in panel.cells for value in row]
    counts = [len(panel.frames), len(panel.tracks), *(len(track.points) for track in panel.tracks)]
    return (
        max(counts) <= MOST
        and all(len(frame.word) <= LONGEST for frame in panel.frames)
        and all(COLOUR.fullmatch(colour) for colour in colours)
        and all(isfinite(share) and -2 <= share <= 3 for share in shares)
        and all(
            frame.box_xyxy[0] <= frame.box_xyxy[2] and frame.box_xyxy[1] <= frame.box_xyxy[3] for frame in panel.frames
        )
        and len(rows) <= 1
        and 0 not in rows
        and all(value is not None and isfinite(value) and value >= 0 for value in values)
        and all(0 <= value <= len(panel.places) for row in panel.instances for value in row)
        and len(panel.places) < 256
        and all(place >= 0 for place in panel.places)
    )
