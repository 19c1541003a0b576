"""The canvas of the page: one picture in several panels, with boxes or a map, and what is chosen in them."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vizkit.figure.canvas.rows import SHORT, text64
from vizkit.figure.palette import OPACITIES, class_colours, colours
from vizkit.ui.canvas import Canvas
from vizkit.ui.session import cached
from vizkit.views.rules import POINT, whole

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.models.detection.seen import Sure
    from vizkit.ui.pages.detection.given import Given

HERE = Path(__file__).parent
TRUTH = "#ffffff"
CANVAS = Canvas(
    "vizkit_detection",
    "<div class='panels'><div class='row'></div><p class='says' aria-live='polite'></p></div>",
    HERE / "canvas.css",
    SHORT,
    HERE / "canvas.js",
)


@dataclass(frozen=True)
class Box:
    """`box`: left, top, right, bottom as shares of the picture. `id`: None for one that cannot be chosen."""

    box: tuple[float, ...]
    colour: str
    text: str = ""
    dashed: bool = False
    id: int | None = None


@dataclass(frozen=True, eq=False)
class Panel:
    """`heat`: (row, column), ≥ 0, its largest value the brightest. `paths`: lines of points (x, y) in shares of the
    picture and their colours. `at`: the chosen place."""

    title: str
    label: str
    boxes: Sequence[Box] = ()
    heat: "Tensor | None" = None
    paths: Sequence[tuple[list[list[float]], str]] = ()
    at: tuple[float, float] | None = None

    def pack(self) -> dict[str, Any]:
        heat = None
        if self.heat is not None:
            shares = self.heat.float() / self.heat.max().clamp(min=1e-12)
            values = (shares.clamp(0, 1).numpy() * 255).round().astype(np.uint8)
            heat = {"values": text64(values), "grid": tuple(self.heat.shape)}
        return {
            "title": self.title,
            "label": self.label,
            "boxes": tuple(map(asdict, self.boxes)),
            "heat": heat,
            "paths": tuple({"points": points, "colour": colour} for points, colour in self.paths),
            "at": self.at,
        }


def canvas(
    key: str,
    given: "Given",
    panels: Sequence[Panel],
    *,
    says: str = "",
    chosen: int | None = None,
    grid: tuple[int, int] = (1, 1),
    on_box: Callable[[int], None] | None = None,
    on_point: Callable[[tuple[float, float]], None] | None = None,
) -> None:
    """Mount it. `on_box` is given the id of a box that was clicked, `on_point` the place, in shares of the picture."""
    floor, ceiling = OPACITIES["over image"]
    data = {
        "image": cached.browser_image(f"{given.digest} {given.shown.shape}", given.shown),
        "size": given.shown.shape[:2],
        "panels": tuple(panel.pack() for panel in panels),
        "pick": "point" if on_point else "box",
        "chosen": chosen,
        "grid": grid,
        "says": says,
        "colours": text64(colours()),
        "floor": floor,
        "ceiling": ceiling,
    }
    CANVAS(key, data, box=(whole(0, 100_000), on_box), point=(POINT, on_point))


def boxes_of(given: "Given", said: "Sure", notes: Sequence[str] = ()) -> list[Box]:
    """What was found, with class and score, in the colour of its class; `notes`: more about each, where not empty."""
    from vizkit.analysis.detection.boxes import corners

    names, labels = given.detector.labels, said.labels.tolist()
    tints = class_colours(labels, len(names))
    texts = [f"{names[label]} {score:.2f}" for label, score in zip(labels, said.scores.tolist(), strict=True)]
    for place, note in enumerate(notes):
        texts[place] += f" · {note}" if note else ""
    rows = zip(corners(said.boxes_cxcywh).tolist(), tints, texts, said.queries.tolist(), strict=True)
    return [Box(tuple(box), tint, text, id=query) for box, tint, text, query in rows]


def truth_of(given: "Given") -> list[Box]:
    """The boxes of a drawn scene, dashed. None of other pictures."""
    if given.things is None:
        return []
    from vizkit.analysis.detection.boxes import corners

    return [Box(tuple(box), TRUTH, dashed=True) for box in corners(given.things.boxes_cxcywh).tolist()]
