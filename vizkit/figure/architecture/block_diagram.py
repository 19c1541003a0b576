"""A block of a transformer as boxes and arrows: where each tensor stands, for the browser and for paper alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from vizkit.figure.numbers import numbers
from vizkit.figure.saved.plate import INK, PALE, Mark, Outline, Raster, Stroke, Words
from vizkit.figure.scales import Places
from vizkit.image import RGB

GAP, PLUS, LEAST = 26.0, 22.0, 54.0  # between boxes, of a sum's circle, of a box whose name is read
ABOVE, BELOW, BETWEEN = 30.0, 30.0, 16.0  # for the residual path and the name, for the shape, between two lines
CLOSE = 6.0  # between the boxes of a group
LEFT, PHONE = 16.0, 600.0  # a margin for what leads from line to line, where a line is no longer than that
MOST_PX = (100, 256)  # up to here pictures are sent exactly
Points = tuple[tuple[float, float], ...]
Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Node:
    """A tensor with its name, (row, column); without values a sum. `group`: those of one name stand closely side by
    side. `square`: rows and columns are tokens. `breaks`: begins a line of its own."""

    name: str
    title: str
    values: Places | None = None
    group: str = ""
    square: bool = False
    breaks: bool = False

    @property
    def shape(self) -> str:
        return "" if self.values is None else " × ".join(f"{side:,}" for side in self.values.shape)

    @property
    def picture(self) -> RGB:
        assert self.values is not None
        return numbers(self.values, most_px=MOST_PX)


@dataclass(frozen=True)
class Box:
    """Where a tensor is drawn; `left` to `left + room` is its own place on the line, of which it may need less."""

    left: float
    top: float
    width: float
    height: float
    line: int

    @property
    def middle(self) -> tuple[float, float]:
        return self.left + self.width / 2, self.top + self.height / 2


@dataclass(frozen=True)
class Diagram:
    """`boxes` as the nodes; `arrows` and `paths`, the residual ones, as points from their beginning."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    arrows: tuple[Points, ...]
    paths: tuple[Points, ...]


def diagram(nodes: Sequence[Node], width: float, tall: float, residual: Pairs, below: Pairs) -> Diagram:
    """Left to right in lines of this width. A token is as high everywhere, `tall` for all of them, and a channel as
    wide. `residual`: from which node a path leads to which sum, past what is between; `below`: the same beneath it."""
    scale = channel_px(nodes, width, tall)
    boxes: list[Box] = []
    x, y, line, margin = 0.0, ABOVE, 0, LEFT if width < PHONE else 0.0
    x = margin
    for at, node in enumerate(nodes):
        wide = PLUS if node.values is None else tall if node.square else node.values.shape[1] * scale
        room = wide if node.values is None or node.group else max(LEAST, wide)
        x += 0.0 if x == margin else CLOSE if together(nodes, at) else GAP
        if x > margin and (node.breaks or x + room > width + 1e-6):
            x, y, line = margin, y + tall + BELOW + BETWEEN + ABOVE, line + 1
        high = PLUS if node.values is None else tall
        boxes.append(Box(x + (room - wide) / 2, y + (tall - high) / 2, wide, high, line))
        x += room
    arrows = [arrow(boxes[at - 1], boxes[at]) for at in range(1, len(nodes)) if not together(nodes, at)]
    arrows += [beneath(boxes[start], boxes[end]) for start, end in below if boxes[start].line == boxes[end].line]
    paths = tuple(past(boxes[start], boxes[end]) for start, end in residual)
    return Diagram(width, y + tall + BELOW, tuple(boxes), tuple(arrows), paths)


def channel_px(nodes: Sequence[Node], width: float, tall: float) -> float:
    """So that each line that begins by itself fits, if it can, and no channel is wider than a token is high."""
    first = next(node for node in nodes if node.values is not None and not node.square)
    assert first.values is not None
    most = tall / len(first.values)
    if width < PHONE:  # lines are broken anywhere, and the widest tensor fits
        return min(most, (width - LEFT) / max(node.values.shape[1] for node in nodes if node.values is not None))
    begin = [0, *(at for at, node in enumerate(nodes) if node.breaks), len(nodes)]
    for start, end in pairwise(begin):
        of = nodes[start:end]
        fixed = GAP * (len(of) - 1) + sum(tall if node.square else PLUS if node.values is None else 0 for node in of)
        channels = sum(node.values.shape[1] for node in of if node.values is not None and not node.square)
        most = min(most, max(0.0, width - fixed) / channels)
    return most


def together(nodes: Sequence[Node], at: int) -> bool:
    """Whether a node stands in the group of the one before it."""
    return at > 0 and nodes[at].group != "" and nodes[at - 1].group == nodes[at].group


def arrow(start: Box, end: Box) -> Points:
    """To the right; on another line down and back first."""
    x0, y0 = start.left + start.width + 3, start.middle[1]
    x1, y1 = end.left - 3, end.middle[1]
    if start.line == end.line:
        return (x0, y0), (x1, y1)
    turn, lower, x1 = x0 + 6, end.top - ABOVE - BETWEEN / 2, end.left - 9
    return (x0, y0), (turn, y0), (turn, lower), (x1, lower), (x1, y1), (end.left - 3, y1)


def beneath(start: Box, end: Box) -> Points:
    (x0, x1), y = (start.middle[0], end.middle[0]), start.top + start.height
    return (x0, y + 16), (x0, y + 24), (x1, y + 24), (x1, y + 16)


def past(start: Box, end: Box) -> Points:
    """Above what is between; on another line along the left edge."""
    (x0, y0), (x1, y1) = (start.middle[0], start.top - 18), (end.middle[0], end.top - 2)
    above = start.top - ABOVE + 4
    if start.line == end.line:
        return (x0, y0), (x0, above), (x1, above), (x1, y1)
    lower = end.middle[1] - start.height / 2 - ABOVE + 4  # above the names there too: a sum is not as high as its line
    return (x0, y0), (x0, above), (1.5, above), (1.5, lower), (x1, lower), (x1, y1)


def marks(nodes: Sequence[Node], drawn: Diagram, chosen: str) -> list[Mark]:
    """On paper."""
    found: list[Mark] = []
    for points in drawn.paths:
        found += [Stroke(points, "#0e7490", 2.0), *head(points, "#0e7490")]
    for points in drawn.arrows:
        found += [Stroke(points, PALE, 1.2), *head(points, PALE)]
    for node, box in zip(nodes, drawn.boxes, strict=True):
        x, y = box.middle
        if node.values is None:
            found += [Words("+", x, y + 4, 14.0, anchor="middle"), Outline(box.left, box.top, PLUS, PLUS, PALE, 1.0)]
            continue
        found.append(Raster(node.picture, box.left, box.top, box.width, box.height))
        own = node.name == chosen
        found.append(Outline(box.left, box.top, box.width, box.height, "#d97706" if own else PALE, 2.0 if own else 0.5))
        found.append(Words(node.title, x, box.top - 6, 8.5, INK, "middle"))
        if not node.group or node.title == "K":
            found.append(Words(node.shape, x, box.top + box.height + 12, 7.5, PALE, "middle"))
    return found


def head(points: Points, colour: str) -> list[Mark]:
    """Of an arrow, at its end."""
    (x0, y0), (x1, y1) = points[-2:]
    length = max(1e-6, float(np.hypot(x1 - x0, y1 - y0)))
    along, across = ((x1 - x0) / length * 4, (y1 - y0) / length * 4), (-(y1 - y0) / length * 3, (x1 - x0) / length * 3)
    sides = [(x1 - along[0] + side * across[0], y1 - along[1] + side * across[1]) for side in (-1, 1)]
    return [Stroke((sides[0], (x1, y1), sides[1]), colour, 1.2)]
