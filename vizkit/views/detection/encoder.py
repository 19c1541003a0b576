"""Encoder: where a place of the image looks, before any query asks."""

from functools import partial

import torch
from torch import Tensor

from vizkit.analysis.detection.instances import Own, instance_at, own_and_others
from vizkit.analysis.remarks.detection import of_place, of_places, of_strongest
from vizkit.figure.detection.on_picture import Panel
from vizkit.geometry import id_at, middle_of
from vizkit.traces import Tokens
from vizkit.views.blocks import Blocks, Numbers, Said
from vizkit.views.controls import layer, number
from vizkit.views.detection.boxes import chosen_head, named
from vizkit.views.detection.scene import Given, OfScene, size
from vizkit.views.subject import CENTRE, Subject
from vizkit.views.view import How, View

depth = partial(size, "encoder_depth")


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

    shows = "Self-attention of the encoder"
    how = How(
        "Point at a place: the map is the weights with which it gathers from all places. Where the bright cells keep "
        "to the insect that is pointed at, the encoder has told it from the others. A click keeps it.",
        r"A = \mathrm{softmax}\Big(\frac{(X + P)W_Q\,((X + P)W_K)^\top}{\sqrt{d_k}}\Big)",
        "what is gathered: a bright cell gives its value, which may say little.",
        "Carion et al. 2020, § 4.2 and fig. 3",
    )

    def show(self, of: Subject) -> Blocks:
        given = self.given(of)
        made = given.seen()
        at = self.at(made.encoder)
        weights, title = made.encoder[at], f"Self-attention, layer {at + 1}, {named(self.head)}"
        looked = (weights.mean(0) if self.head is None else weights[self.head - 1]).unflatten(1, made.grid)
        x, y = of.point if of.point != CENTRE else given.sure(0.0).boxes_cxcywh[0, :2].tolist()
        place = self.place if 0 <= self.place < len(looked) else id_at(Tokens("cells", grid=made.grid), (x, y)) or 0
        says, said = given.kept(("places", title), partial(sentences, given, looked))
        maps = dict(enumerate(looked.numpy()))
        panels = [Panel(given.title.capitalize()), Panel(title, given.true_frames(), (), maps, "attention")]
        more = {"chosen": place, "grid": made.grid, "says": says}
        yield from self.canvas(given, panels, "Arrow keys move the place.", "place", **more)
        yield Said(said or of_strongest(given.title, place, looked[place]))
        yield Numbers(partial(dict, picture=given.rgb, encoder=torch.stack(made.encoder), place=place))


def sentences(given: Given, looked: Tensor) -> tuple[dict[int, str], str]:
    """(of each cell, of all together): where attention goes from them, where it is known what lies there."""
    if given.truth is None:
        return {}, ""
    names, tokens = given.names(given.truth.labels), Tokens("cells", grid=(looked.shape[1], looked.shape[2]))
    own, says = list[Own](), dict[int, str]()
    for cell, weights in enumerate(looked):
        says[cell] = "No insect lies here: point at one to see whether attention keeps to it."
        if thing := instance_at(given.truth.instances, middle_of(tokens, cell)):
            own.append(own_and_others(weights, given.truth.instances, thing))
            says[cell] = of_place(names[thing - 1], own[-1])
    return says, of_places(given.title, own)
