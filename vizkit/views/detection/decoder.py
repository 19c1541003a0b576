"""Decoder: the boxes after each layer, and what becomes of them when queries do not look at each other."""

from functools import partial

from vizkit.analysis.remarks.detection import of_doubles, of_many_doubles
from vizkit.figure.detection.on_picture import Panel, Track
from vizkit.views.blocks import Blocks, Numbers, Said
from vizkit.views.controls import layer
from vizkit.views.detection.boxes import least_score, true_boxes
from vizkit.views.detection.scene import BUNDLED, OfScene, depth, shipped
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

WAYS = {"together": "Queries look at each other", "alone": "Each looks at itself alone"}


class Decoder(OfScene, View):
    """Boxes move and get surer from layer to layer; without self-attention queries report one object twice."""

    layer: int | None = layer("Layer", high=depth, follows=True, plays=True, key="det_step")
    score: float = least_score()
    truth: bool = true_boxes("det_decoder_truth", default=False)

    how = How(
        "Step through the layers: each line leads from where a query's box was after the first layer to where it is. "
        "At the right self-attention between the queries is off; “again” marks a box of the same class as a surer one "
        "that overlaps it by an IoU of 0.5 or more, unless it stands for another insect.",
        r"x \leftarrow \mathrm{LN}(x + \mathrm{MHA}(x + q,\ x + q,\ x))\quad\text{against}\quad"
        r"x \leftarrow \mathrm{LN}(x + x W_V W_O)",
        "a network trained without self-attention: it would learn other questions.",
        "Carion et al. 2020, § 4.2 and fig. 4",
    )

    def title(self, of: Subject) -> str:
        given = self.given(of)
        return f"Boxes in {given.title}: after decoder layer {self.layer or len(given.model.model.decoder)}"

    def show(self, of: Subject) -> Blocks:
        given, panels, counts, arrays = self.given(of), [], [], {}
        for name, title in WAYS.items():
            made = given.seen(self_attention=name == "together")
            layers = made.layers[: self.at(made.layers) + 1]
            said = given.sure(self.score, len(layers) - 1, self_attention=name == "together")
            boxes, count = given.found(said)
            steps = [answers.boxes_cxcywh[0, said.queries, :2].tolist() for answers in layers]
            tracks = [Track([points[place] for points in steps], box.colour) for place, box in enumerate(boxes)]
            panels.append(Panel(title, boxes, tracks))
            counts.append(count)
            for what in ("logits", "boxes_cxcywh"):
                arrays[f"{name}_{what}"] = [getattr(answers, what)[0].numpy() for answers in made.layers]
        panels += [Panel("What is there", given.true_frames())] if self.truth and given.number else []
        yield from self.canvas(given, panels, "Boxes and the way that their middles took.")
        yield Said(of_doubles(self.at(given.seen().layers) + 1, counts[0], counts[1], given.title))
        if self.detector == BUNDLED:
            measured = shipped("measured")
            over = (measured[name]["duplicates"] for name in ("whole", "alone"))
            yield Said(of_many_doubles(measured["scenes"], *over))
        yield Numbers(partial(dict, arrays, picture=given.rgb))
