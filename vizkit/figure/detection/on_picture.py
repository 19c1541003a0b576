"""Frames and maps on one picture, in panels beside one another: for the browser (canvas/panels) and on paper."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from vizkit.figure.canvas.rows import text64
from vizkit.figure.detection.segments import Regions
from vizkit.figure.overlay import overlay
from vizkit.figure.palette import LIGHT, OPACITIES, colours
from vizkit.figure.saved.lying_bars import flat
from vizkit.figure.saved.panels import meet
from vizkit.figure.saved.plate import INK, PALE, Drawn, Mark, Outline, Raster, Stroke, Words, fitting, font, wrapped
from vizkit.figure.scales import SHARES, Places
from vizkit.image import Box, Pixels, data_url, whole_box

CHOSEN, UNDER, WHITE = "#f59e0b", "#000000", "#ffffff"
NOTE = " · "  # between a name and what is wrong with its box
SIZE, GAP = 9.0, 12.0


@dataclass(frozen=True)
class Frame:
    """`box_xyxy`: shares of the picture. `colour`: #rrggbb. `word`: none where it is empty. `faint`: dotted, shown
    while its `id` is, and never pointed at. `id`: −1 for one that cannot be chosen."""

    box_xyxy: Sequence[float]
    colour: str
    word: str = ""
    dashed: bool = False
    faint: bool = False
    id: int = -1


@dataclass(frozen=True, eq=False)
class Panel:
    """`heats`: what lies over the picture while that id is shown, shares ≥ 0, in times an equal share; `quantity`: of
    what they are shares. `own`: of the frames that of this id alone."""

    title: str
    frames: Sequence[Frame] = ()
    regions: Sequence[Regions] = ()
    heats: Mapping[int, Places] = field(default_factory=dict)
    quantity: str = ""
    own: bool = False

    def pack(self) -> dict[str, Any]:
        heats = None
        if self.heats:
            maps = np.stack([SHARES.levels(heat) for heat in self.heats.values()])
            heats = {
                "ids": [*self.heats],
                "values": text64(maps),
                "grid": maps.shape[1:],
                "quantity": self.quantity,
                "scale": SHARES.packed(),
            }
        return {
            "title": self.title,
            "frames": [asdict(frame) for frame in self.frames],
            "heats": heats,
            "own": self.own,
            "regions": [each.pack() for each in self.regions],
        }


@dataclass(frozen=True, eq=False)
class Panels:
    """Over one picture. `chosen`: the id that is shown, of a frame or, of `grid`, of a cell row by row; −1 for none.
    `says`: a sentence for ids. `large`: the first panel is twice as wide as the others, which stand beside it."""

    rgb: Pixels
    panels: Sequence[Panel]
    chosen: int = -1
    grid: tuple[int, int] | None = None
    says: Mapping[int, str] = field(default_factory=dict)
    large: bool = False

    def pack(self) -> dict[str, Any]:
        floor, ceiling = OPACITIES["over image"]
        return {
            "image": data_url(self.rgb),
            "size": self.rgb.shape[:2],
            "panels": [panel.pack() for panel in self.panels],
            "pick": "" if self.chosen < 0 else "cell" if self.grid else "box",
            "grid": self.grid or (1, 1),
            "chosen": self.chosen,
            "large": self.large,
            "says": [*self.says.items()],
            "colours": text64(colours()),
            "floor": floor,
            "ceiling": ceiling,
        }

    def marks(self, width: float) -> Drawn:
        """Two panels in a row, or the large one and the others beside it; from the top left, and how high they are."""
        beside = min(2, len(self.panels))
        share = 2 / 3 if self.large and beside == 2 else 1 / beside
        wide, marks, bottoms = (width + GAP) * share, list[Mark](), [0.0, 0.0]
        for number, panel in enumerate(self.panels):
            column = min(number, 1) if self.large else number % beside
            if not self.large and column == 0:
                bottoms = [max(bottoms)] * 2
            side = wide - GAP if column == 0 else width - wide
            made, high = self._panel(panel, column * wide, bottoms[column], side)
            bottoms[column] += high
            marks += made
        top = max(bottoms)
        for line in wrapped(self.says.get(self.chosen, ""), SIZE, width, 3):
            top += SIZE + 4
            marks.append(Words(line, 0.0, top, SIZE, PALE))
        return marks, top + 4

    def _rank(self, frame: Frame) -> int:
        """Whose name takes the room first: what is shown, every insect, missed or found, and then what is too many."""
        return 0 if frame.id == self.chosen else 1 if frame.dashed else 2 + (NOTE in frame.word)

    def _panel(self, panel: Panel, x: float, y: float, side: float) -> Drawn:
        rgb = self.rgb
        rows, columns = rgb.shape[:2]
        top, high, heat = y + SIZE + 5, side * rows / columns, panel.heats.get(self.chosen)
        if heat is not None:
            floor, ceiling = OPACITIES["over image"]
            rgb = overlay(rgb, heat, whole_box(rgb), scale=SHARES, floor=floor, ceiling=ceiling)
        for regions in panel.regions:
            rgb = regions.over(rgb, self.chosen)
        marks: list[Mark] = [Words(fitting(panel.title, SIZE, side), x, y + SIZE, SIZE, INK)]
        marks.append(Raster(rgb, x, top, side, high))

        def at(points: Sequence[Sequence[float]]) -> tuple[tuple[float, float], ...]:
            return tuple((x + min(max(a, 0.0), 1.0) * side, top + min(max(b, 0.0), 1.0) * high) for a, b in points)

        frames = [frame for frame in panel.frames if not (panel.own or frame.faint) or frame.id == self.chosen]
        for frame in frames:
            x0, y0, x1, y1 = frame.box_xyxy
            corners = at([(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)])
            if frame.faint:
                marks.append(Stroke(corners, CHOSEN, 1.6 if frame.word else 0.8, "dot"))
                continue
            chosen = not panel.own and frame.id == self.chosen >= 0
            marks.append(Stroke(corners, UNDER, 3.0))
            marks.append(Stroke(corners, CHOSEN if chosen else frame.colour, 1.6, "dash" if frame.dashed else "solid"))
        taken = list[Box]()
        for frame in sorted((frame for frame in frames if frame.word), key=self._rank):
            word = fitting(frame.word, SIZE - 1, side - 6)
            wide, deep, box = font(SIZE - 1).getlength(word) + 6, SIZE + 3, frame.box_xyxy
            (x0, y0), (x1, y1) = at([box[:2], box[2:]])
            spots = list[Box]()  # at the corners of its box, as in the browser
            for left, upper in ((x0, y0 - deep), (x0, y1), (x1 - wide, y0 - deep), (x1 - wide, y1), (x0, y0)):
                left, upper = min(max(left, x), x + side - wide), min(max(upper, top), top + high - deep)
                spots.append((left, upper, left + wide, upper + deep))
            spot = next((spot for spot in spots if not any(meet(spot, other) for other in taken)), None)
            if spot is None:  # its name could not be read there
                continue
            taken.append(spot)
            ink = INK if frame.colour == WHITE else LIGHT
            marks += [
                Raster(flat(frame.colour), *spot[:2], wide, deep),
                Words(word, spot[0] + 3, spot[1] + SIZE, SIZE - 1, ink),
            ]
        if self.grid and self.chosen >= 0:
            (row, column), wide, deep = divmod(self.chosen, self.grid[1]), side / self.grid[1], high / self.grid[0]
            marks += [Outline(x + column * wide, top + row * deep, wide, deep, *ink) for ink in inks(CHOSEN)]
        if not panel.heats:
            return marks, SIZE + 5 + high + 10
        top += high + 3
        ticks = SHARES.ticks
        low, high_end = f"{panel.quantity} {ticks[0][1]}", ticks[-1][1]
        marks.append(Words(low, x, top + SIZE, SIZE - 1.5, PALE))
        left = x + font(SIZE).getlength(low) + 6
        marks.append(Raster(colours()[None], left, top + 3, x + side - 34 - left, 6.0))
        marks.append(Words(high_end, x + side, top + SIZE, SIZE - 1.5, PALE, "end"))
        return marks, SIZE + 5 + high + 3 + SIZE + 12


def inks(colour: str) -> tuple[tuple[str, float], tuple[str, float]]:
    """Dark below light, so that a line is seen on any picture."""
    return (UNDER, 3.0), (colour, 1.6)
