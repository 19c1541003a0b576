"""Decoder: the boxes after each layer, and what becomes of them when queries do not look at each other."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from vizkit.analysis.remarks.detection import of_doubles, of_many_doubles
from vizkit.figure.on_picture import Panel, Track
from vizkit.views.blocks import Block, Numbers, Said
from vizkit.views.controls import layer
from vizkit.views.detection.boxes import least_score, true_boxes
from vizkit.views.detection.scene import BUNDLED, Given, OfScene, boxes_of, depth, judged, seen, things_frames
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

if TYPE_CHECKING:
    from vizkit.analysis.remarks.detection import Boxes
    from vizkit.models.detection.seen import Seen


@dataclass(frozen=True)
class Decoder(OfScene, View):
    """Boxes move and get sure from layer to layer; queries that know nothing of each other say things twice."""

    layer: int | None = layer("Layer", high=depth, follows=True, plays=True, key="det_step")
    score: float = least_score()
    truth: bool = true_boxes("det_decoder_truth", default=False)

    how: ClassVar = How(
        "Step through the layers: each line leads from where a query's box was after the first layer to where it is. "
        "At the right the queries know nothing of each other; “again” marks a box of the same class as a surer one "
        "that overlaps it by an IoU of 0.5 or more, unless it stands for another insect.",
        r"x \leftarrow \mathrm{LN}(x + \mathrm{MHA}(x + q,\ x + q,\ x))\quad\text{against}\quad"
        r"x \leftarrow \mathrm{LN}(x + x W_V W_O)",
        "a network trained without self-attention: it would learn other questions.",
        "Carion et al. 2020, § 4.2 and fig. 4",
    )

    def title(self, of: Subject) -> str:
        given = self.given(of)
        return f"Boxes in {given.title} after decoder layer {self.layer or len(given.model.model.decoder)}"

    def show(self, of: Subject) -> Iterator[Block]:
        from vizkit.models.detection.opening import detector_folder

        given = self.given(of)
        ways = {
            "Queries look at each other": seen(given),
            "Each looks at itself alone": seen(given, self_attention=False),
        }
        made = {title: self.panel(given, title, each) for title, each in ways.items()}
        panels, counts = [panel for panel, _ in made.values()], [count for _, count in made.values()]
        if self.truth and given.things is not None:
            panels.append(Panel("What is there", things_frames(given, given.things)))
        yield from self.canvas(given, panels, "Boxes and the way that their middles took.")
        at = self.layer or len(ways[panels[0].title].layers)
        yield Said(of_doubles(at, counts[0], counts[1], given.title).words)
        if self.detector == BUNDLED:
            measured = json.loads((detector_folder(f"bundled:{BUNDLED}")[0] / "measured.json").read_text("utf-8"))
            yield Said(
                of_many_doubles(
                    measured["scenes"], measured["whole"]["duplicates"], measured["alone"]["duplicates"]
                ).words
            )
        yield Numbers(
            lambda: (
                {"picture": given.rgb}
                | {
                    f"{name}_{what}": [getattr(answers, what)[0].numpy() for answers in each.layers]
                    for name, each in zip(("together", "alone"), ways.values(), strict=True)
                    for what in ("logits", "boxes_cxcywh")
                }
            )
        )

    def panel(self, given: Given, title: str, made: "Seen") -> "tuple[Panel, Boxes]":
        """The boxes after a layer, and how many of them are right and too many."""
        from vizkit.models.detection.seen import sure

        layers = made.layers[: self.layer]
        said = sure(layers[-1], self.score)
        counts, wrong = judged(given, said)
        boxes = boxes_of(given, said, wrong)
        steps = [answers.boxes_cxcywh[0, said.queries, :2].tolist() for answers in layers]
        tracks = [Track([points[place] for points in steps], box.colour) for place, box in enumerate(boxes)]
        return Panel(title, boxes, tracks), counts
