"""Boxes and masks: what is found and what goes wrong, where each query looked, and what speaks for its class."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from vizkit.analysis.detection.boxes import best_overlap, corners
from vizkit.analysis.detection.instances import Own, instance_at, own_and_others
from vizkit.analysis.remarks.detection import (
    of_doubles,
    of_found,
    of_inside,
    of_missed,
    of_own,
    of_place,
    of_places,
    of_strongest,
    of_too_many,
    of_trail,
)
from vizkit.analysis.remarks.remark import begun
from vizkit.figure.detection.on_picture import Frame, Panel
from vizkit.figure.palette import OTHERS
from vizkit.geometry import id_at, middle_of
from vizkit.percent import in_percent
from vizkit.traces import NotApplicable, Tokens
from vizkit.views.blocks import Blocks, Line, Numbers, Said
from vizkit.views.controls import choice, head, layer, number, switch
from vizkit.views.detection import ASKS, PLACE
from vizkit.views.detection.scene import (
    BUNDLED,
    DRAWN_ONLY,
    MOST,
    SURE,
    Given,
    OfScene,
    last_query,
    least_score,
    size,
)
from vizkit.views.detection.segments import coloured, rated, segments
from vizkit.views.subject import CENTRE, Subject
from vizkit.views.view import How, View

if TYPE_CHECKING:
    from vizkit.evaluation.scenes.mistakes import Missed
    from vizkit.models.detection.seen import Seen, Sure
    from vizkit.models.detection.segmenting import Segments

NO_MASKS = "Masks are made after the last layer, where queries look at each other: here there are none."
MAPS = {ASKS: "of the query of a box", PLACE: "of a place, in the encoder"}


def depth(of: Sequence[Subject], view: Any) -> int:
    return size("encoder_depth" if view.map == PLACE else "decoder_depth", of, view)


def of_query(view: Any) -> bool:
    return view.map == ASKS


class Boxes(OfScene, View):
    """Every box is what one query says: where that query looked, and what speaks for its class."""

    map: Literal["query", "place"] = choice("Attention", tuple(MAPS), words=MAPS, key="det_map")
    layer: int | None = layer(
        "Layer", "The boxes after it, and its attention.", high=depth, follows=True, plays=True, key="det_layer"
    )
    head: int | None = head(high=partial(size, "heads"), follows=True, key="det_head")
    self_attention: bool = switch(
        "Queries look at each other",
        "Self-attention in the decoder.",
        default=True,
        more=True,
        key="det_self_attention",
        when=of_query,
    )
    masks: bool = switch(
        "Masks",
        "Which pixels each query says are its thing's, where the model has masks: after the last layer, where queries "
        "look at each other.",
        default=True,
        more=True,
        key="det_masks",
        when=of_query,
    )
    score: float = least_score()
    query: int = number(
        "Query",
        -1,
        last_query,
        -1,
        "Whose box; −1: the first of a mistake, or the surest.",
        follows=True,
        inside=True,
        belongs=("image", "source", "scene", "detector"),
        key="det_query",
    )
    place: int = number(
        "Place",
        -1,
        MOST,
        -1,
        "Row by row from 0; −1: that under the cursor, or the middle of the surest box.",
        inside=True,
        belongs=("image", "source", "scene"),
        key="det_place",
    )

    how = How(
        "Point at a box, a mask, or a dashed insect that was missed: beside it, where its query took from the image "
        "in the chosen decoder layer, and the cells that speak for its class through all layers; dotted, its box "
        "after the layers before, and after this one where its score is too low. A click keeps it, over all layers. An "
        "insect is found by the surest box of its class that overlaps it by an IoU of 0.5 or more; every other box is "
        "too many, and called what Many scenes calls it: badly placed, of the wrong class, said twice, out of nothing. "
        "The query that should find a missed insect is that with which training would match it (Queries). A pixel "
        "belongs to the query whose mask is surest there; panoptic quality counts a mask as right above an IoU of 0.5, "
        "with the right class. Of a place: the weights with which it gathers from all places, before any query asks.",
        r"\bar{A} = \mathbb{E}_h\big[(\nabla A \odot A)^+\big],\quad R_{qi} \leftarrow R_{qi} + \bar{R}_{qq}^\top "
        r"\bar{A}\, \bar{R}_{ii},\quad \mathrm{PQ} = \frac{\sum_{(p, g) \in TP} \mathrm{IoU}(p, g)}"
        r"{|TP| + \frac12 |FP| + \frac12 |FN|}",
        "what would change if a cell were hidden: relevance follows gradients at this very image; nor what a network "
        "trained without self-attention would say: it would learn other questions. Masks are made at a quarter of the "
        "model's input, so their edges are no finer.",
        "Carion et al. 2020, § 4; Chefer et al. 2021, eqs. 5–10; Kirillov et al. 2019",
    )

    def title(self, of: Subject) -> str:
        given = self.given(of)
        if self.map == PLACE:
            return f"Self-attention of the encoder in {given.title}"
        return f"Boxes in {given.title}: after decoder layer {self.layer or len(given.model.model.decoder)}"

    def show(self, of: Subject) -> Blocks:
        given = self.given(of)
        strange = f"{DRAWN_ONLY} " if given.truth is None and self.detector == BUNDLED else ""
        yield from self.of_place(of, given, strange) if self.map == PLACE else self.of_queries(given, strange)
        yield Numbers(partial(self.numbers, of, given))

    def numbers(self, of: Subject, given: Given) -> dict[str, Any]:
        """Both kinds of attention, what is found, and the relevance for the chosen query, 0 where there is none."""
        made, at, said, _, _, labels, query = self.asked(given)
        speaks = self.relevance(given, query, labels[query]) if labels else np.zeros(made.grid)
        arrays = {name: getattr(said, name).numpy() for name in said._fields}
        for name in ("logits", "boxes_cxcywh"):
            arrays[f"{name}_by_layer"] = np.stack([getattr(answers, name)[0].numpy() for answers in made.layers])
        attention = {"cross": torch.stack(made.cross), "encoder": torch.stack(made.encoder)}
        masks, _ = self.segmented(given, at)
        nothing = np.zeros(given.rgb.shape[:2], np.uint8)
        arrays["instances"] = nothing if masks is None else masks.instances
        arrays["instance_queries"] = np.zeros(0, int) if masks is None else masks.queries
        arrays["true_instances"] = nothing if given.truth is None else given.truth.instances
        return arrays | attention | {"picture": given.rgb, "relevance": speaks, "place": self.cell(of, given)}

    def segmented(self, given: Given, at: int) -> "tuple[Segments | None, str]":
        """(the masks after this layer, why there are none where one would expect them)."""
        if not self.masks:
            return None, ""
        if not self.self_attention or at + 1 < len(given.seen().layers):
            return None, NO_MASKS
        try:
            return segments(given, self.score), ""
        except NotApplicable as sentence:
            return None, str(sentence)

    def asked(self, given: Given) -> "tuple[Seen, int, Sure, list[Missed], dict[int, str], dict[int, int], int]":
        """(all that is made; the place of the layer; what `judged` gives; the class for which every query shown is
        asked; the chosen query, −1 for none: it stays over all layers, and is asked for what it says in the end)."""
        made = given.seen(self_attention=self.self_attention)
        at, query = self.at(made.layers), self.query
        said, missed, reasons = self.judged(given, at)
        labels = dict(zip(said.queries.tolist(), said.labels.tolist(), strict=True))
        labels |= {each.query: each.wanted for each in missed}
        if query < 0:
            sure, _, first = self.judged(given, -1)
            query = next(iter([*first, *sure.queries.tolist(), *reasons, *labels]), -1)
        if query >= 0:
            labels.setdefault(query, int(made.layers[-1].logits[0, query, :-1].argmax()))
        return made, at, said, missed, reasons, labels, query

    def relevance(self, given: Given, query: int, label: int) -> np.ndarray:
        make = partial(relevance, given, query, label, self_attention=self.self_attention)
        return given.kept(("relevance", query, label, self.self_attention), make)

    def cell(self, of: Subject, given: Given) -> int:
        """The chosen place, row by row from 0."""
        rows, columns = given.seen().grid
        if 0 <= self.place < rows * columns:
            return self.place
        x, y = of.point if of.point != CENTRE else given.sure(0.0).boxes_cxcywh[0, :2].tolist()
        return id_at(Tokens("cells", grid=(rows, columns)), (x, y)) or 0

    def of_queries(self, given: Given, strange: str) -> Blocks:
        """`strange`: what is to be known first, of an image that the model cannot know."""
        made, at, said, missed, reasons, labels, query = self.asked(given)
        found, counts = given.found(said)
        where = given.title if at + 1 == len(made.layers) else f"{given.title} after layer {at + 1}"
        if self.self_attention:
            yield Said(strange + of_found(counts, self.score, where))
        else:
            before = given.found(given.sure(self.score, at))[1]
            yield Said(strange + of_doubles(at + 1, before, counts, given.title))
        masks, why_none = self.segmented(given, at)
        regions = [] if masks is None else [coloured(masks, found)]
        measured = "" if masks is None else rated(given, masks)
        looked, speaks, says = {}, {}, dict[int, str]()
        for each, label in labels.items():
            weights = made.of_query(at, each, self.head and self.head - 1)
            looked[each] = weights.numpy()
            probabilities = [answers.logits[0, each].softmax(-1)[label].item() for answers in made.layers[: at + 1]]
            if probabilities[-1] >= SURE or each == query:
                speaks[each] = self.relevance(given, each, label)
            boxes = torch.stack([answers.boxes_cxcywh[0, each] for answers in made.layers[: at + 1]])
            name = given.model.labels[label]
            trail = of_trail(each, name, probabilities)
            looks = self.looks(given, weights, boxes[-1])
            says[each] = " ".join(filter(None, (reasons.get(each), looks, trail)))
            *before, own = corners(boxes).tolist()
            found += [Frame(box, OTHERS, faint=True, id=each) for box in before]
            if each not in said.queries:
                word = f"{name} {in_percent(probabilities[-1])}, below {self.score:.2f}"
                found.append(Frame(own, OTHERS, word, faint=True, id=each))
        boxes = [*found, *given.true_frames({each.thing: each.query for each in missed})]
        colours = ["blue: right, red: wrong, dashed: truth"] if given.things else []
        colours += ["orange: that of the maps"] if labels else []
        title = begun(", ".join(colours) or where)
        panels = [Panel(title, boxes, regions=regions)]
        if labels:
            crossed = f"Cross-attention, layer {at + 1}, {named(self.head)}"
            panels.append(Panel(crossed, found, heats=looked, quantity="attention", own=True))
            panels.append(Panel("Relevance for its class", found, heats=speaks, quantity="relevance", own=True))
        yield from self.canvas(given, panels, "Arrow keys choose a box.", "query", chosen=query, says=says, large=True)
        others = dict.fromkeys(reason for each, reason in reasons.items() if each != query)
        yield from map(Line, filter(None, (" ".join(others), measured, why_none)))

    def judged(self, given: Given, at: int) -> "tuple[Sure, list[Missed], dict[int, str]]":
        """(what is said after a layer; the things that are missed; a sentence for every query that is involved in a
        mistake: neither where the truth is not known)."""
        from vizkit.evaluation.scenes.mistakes import mistakes

        said = given.sure(self.score, at, self_attention=self.self_attention)
        if (things := given.things) is None:
            return said, [], {}
        answers = given.seen(self_attention=self.self_attention).layers[at]
        missed, too_many = mistakes(answers, said, things)
        names, true, called = given.model.labels, given.names(things.labels), given.called
        which = [each.removeprefix(name) for each, name in zip(called, true, strict=True)]
        reasons = dict[int, str]()
        for each in too_many:
            on = "" if each.thing is None else true[each.thing]
            rank = "" if each.thing is None else which[each.thing]
            reasons[each.query] = of_too_many(names[each.label], each.query, on, each.surer, each.iou, rank)
        for each in missed:
            numbers = names[each.label], each.score, each.own, each.iou, self.score, which[each.thing]
            reason = of_missed(true[each.thing], each.query, *numbers)
            reasons[each.query] = " ".join(filter(None, (reasons.get(each.query), reason)))
        return said, missed, reasons

    def looks(self, given: Given, weights: Tensor, box: Tensor) -> str:
        """How far attention keeps to the thing that a box overlaps most, or to the box where nobody knows."""
        things = given.things
        if not given.truth or things is None:
            height, width = given.rgb.shape[:2]
            inside = np.zeros((height, width), np.uint8)
            sides = corners(box[None])[0].clamp(0, 1) * torch.tensor([width - 1, height - 1, width, height])
            x0, y0, x1, y1 = sides.int().tolist()
            inside[y0 : y1 + 1, x0 : x1 + 1] = 1
            return of_inside(own_and_others(weights, inside, 1))
        if (on := best_overlap(box, things.boxes_cxcywh)) is None:
            return ""
        return of_own(given.called[on[0]], on[1], own_and_others(weights, given.truth.instances, on[0] + 1))

    def of_place(self, of: Subject, given: Given, strange: str) -> Blocks:
        made = given.seen()
        at = self.at(made.encoder)
        weights, title = made.encoder[at], f"Self-attention of the encoder, layer {at + 1}, {named(self.head)}"
        looked = (weights.mean(0) if self.head is None else weights[self.head - 1]).unflatten(1, made.grid)
        place = self.cell(of, given)
        kept, average = given.kept(("places", title), partial(sentences, given, looked))
        says = {**kept}
        own = says.pop(place)
        yield Said(f"{strange}{begun(given.title)}: {own[:1].lower()}{own[1:]}")
        panels = [Panel(title, given.true_frames(), heats=dict(enumerate(looked.numpy())), quantity="attention")]
        more = {"chosen": place, "grid": made.grid, "says": says, "large": True}
        yield from self.canvas(given, panels, "Arrow keys move the place.", "place", **more)
        yield from [Line(average)] if average else []


def named(head: int | None) -> str:
    return "head mean" if head is None else f"head {head}"


def relevance(given: Given, query: int, label: int, *, self_attention: bool) -> np.ndarray:
    """Of every cell for what this query says of this class, (row, column)."""
    from vizkit.analysis.detection.relevance import encoder_decoder_relevance
    from vizkit.models.detection.tracing import Answer, trace_layers

    trace, _ = trace_layers(given.model, given.rgb, Answer(query, label), self_attention=self_attention)
    return encoder_decoder_relevance(trace)[query].view(given.seen().grid).numpy()


def sentences(given: Given, looked: Tensor) -> tuple[dict[int, str], str]:
    """(where attention goes from each cell, from all that are known to lie on things, "" where none is)."""
    tokens = Tokens("cells", grid=(looked.shape[1], looked.shape[2]))
    own, says = list[Own](), {cell: of_strongest(cell, weights) for cell, weights in enumerate(looked)}
    if given.truth is None or given.things is None:
        return says, ""
    names = given.called
    for cell, weights in enumerate(looked):
        if thing := instance_at(given.truth.instances, middle_of(tokens, cell)):
            own.append(own_and_others(weights, given.truth.instances, thing))
            says[cell] = of_place(names[thing - 1], own[-1])
    return says, of_places(own)
