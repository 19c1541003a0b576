"""Encoder: where a place of the image looks, before any query asks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from vizkit.analysis.detection.instances import instance_at, own_and_others
from vizkit.analysis.remarks.detection import of_near, of_place, of_places
from vizkit.figure.on_picture import Panel
from vizkit.geometry import id_at, middle_of
from vizkit.traces import Tokens
from vizkit.views.blocks import Block, Numbers, Said
from vizkit.views.controls import layer, number
from vizkit.views.detection.boxes import chosen_head, named
from vizkit.views.detection.scene import OfScene, opened, seen, things_frames
from vizkit.views.rules import below
from vizkit.views.subject import CENTRE, Subject
from vizkit.views.view import How, View

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.models.detection.seen import Seen


def depth(of: Any, view: Any) -> int:
    return len(opened(of[0], view.detector)[0].model.encoder)


@dataclass(frozen=True)
class Encoder(OfScene, View):
    """Before anything is asked, every place looks at all others, and mostly at its own thing."""

    layer: int | None = layer("Layer", high=depth, follows=True, plays=True, key="det_encoder_layer")
    head: int | None = chosen_head("det_encoder_head")
    place: int = number(
        "Place",
        -1,
        99_999,
        -1,
        "Row by row from 0; −1: that under the cursor, or the middle of the surest box.",
        inside=True,
        key="det_place",
    )

    how: ClassVar = How(
        "Point at a place: the map is the weights with which it gathers from all places. Where the bright cells keep "
        "to the insect that is pointed at, the encoder has told it from the others. A click keeps it.",
        r"A = \mathrm{softmax}\Big(\frac{(X + P)W_Q\,((X + P)W_K)^\top}{\sqrt{d_k}}\Big)",
        "what is gathered: a bright cell gives its value, which may say little.",
        "Carion et al. 2020, § 4.2 and fig. 3",
    )

    def title(self, of: Subject) -> str:
        return f"Self-attention of the encoder in {self.given(of).title}"

    def show(self, of: Subject) -> Iterator[Block]:
        given = self.given(of)
        made = seen(given)
        cells = made.grid[0] * made.grid[1]
        place = min(self.place, cells - 1) if self.place >= 0 else on_something(of, made)
        at, by = (self.layer or len(made.encoder)) - 1, self.head and self.head - 1
        looked = torch.stack([made.of_cell(at, cell, by) for cell in range(cells)])
        says = dict[int, str]()
        if given.truth is not None:
            instances, names = given.truth.instances, given.names(given.truth.labels)
            things = [instance_at(instances, middle_of(Tokens("cells", grid=made.grid), cell)) for cell in range(cells)]
            own = {cell: own_and_others(looked[cell], instances, thing) for cell, thing in enumerate(things) if thing}
            says = dict.fromkeys(
                range(cells), "No insect lies here: point at one to see whether attention keeps to it."
            )
            says |= {cell: of_place(names[things[cell] - 1], each).words for cell, each in own.items()}
            said = of_places(given.title, [*own.values()])
        else:
            said = of_near(given.title, near(looked, made.grid), near(torch.ones_like(looked) / cells, made.grid))
        frames = [] if given.things is None else things_frames(given, given.things)
        title = f"Self-attention, layer {at + 1}, {named(self.head)}"
        maps = dict(enumerate(looked.numpy()))
        panels = [Panel(given.title.capitalize()), Panel(title, frames, heats=maps, quantity="attention", unit="%")]
        tells = {"cell": (below(cells), "place")}
        more = {"chosen": place, "grid": made.grid, "says": says}
        yield from self.canvas(given, panels, "Arrow keys move the place.", tells, **more)
        yield Said("" if said is None else said.words)
        yield Numbers(lambda: {"picture": given.rgb, "encoder": torch.stack(made.encoder), "place": place})


def on_something(of: Subject, made: "Seen") -> int:
    """Where nobody has said it: the cell under the cursor, before anybody has set it the middle of the surest box."""
    from vizkit.models.detection.seen import sure

    x, y = of.point if of.point != CENTRE else sure(made.layers[-1], 0.0).boxes_cxcywh[0, :2].tolist()
    return id_at(Tokens("cells", grid=made.grid), (x, y)) or 0


def near(looked: "Tensor", grid: tuple[int, int]) -> float:
    """The mean share of attention that stays with a place and those around it; `looked` (cell, row, column)."""
    rows, columns = grid
    shares = [
        looked[cell, max(0, row - 1) : row + 2, max(0, column - 1) : column + 2].sum()
        for cell, (row, column) in enumerate((row, column) for row in range(rows) for column in range(columns))
    ]
    return float(torch.stack(shares).mean() / looked.sum((1, 2)).mean())
