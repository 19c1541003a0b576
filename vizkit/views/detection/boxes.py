"""Boxes: what is found, where its query looked, and what speaks for its class."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from vizkit.analysis.detection.boxes import best_overlap
from vizkit.analysis.detection.instances import own_and_others
from vizkit.analysis.remarks.detection import of_found, of_own
from vizkit.figure.detection.on_picture import Panel
from vizkit.views.blocks import Blocks, Link, Numbers, Said
from vizkit.views.controls import head, layer, number, switch
from vizkit.views.detection import SCENE
from vizkit.views.detection.scene import OFFERED, Given, OfScene, depth, last_query, size
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

SURE = 0.5  # from here on relevance is there before anybody asks


def least_score() -> Any:
    help = "Boxes whose class is at least so probable are shown."
    return number("Score from", 0.05, 0.95, 0.5, help, step=0.05, key="det_score")


def chosen_head(key: str) -> Any:
    return head(high=partial(size, "heads"), follows=True, key=key)


def true_boxes(key: str, *, default: bool) -> Any:
    help = "What is really there, beside it."
    return switch("True boxes", help, default=default, key=key, when=lambda view: view.source == SCENE)


class Boxes(OfScene, View):
    """Every box is what one query says: where that query looked, and what speaks for its class."""

    layer: int | None = layer("Layer", "Of the decoder.", high=depth, follows=True, plays=True, key="det_layer")
    head: int | None = chosen_head("det_head")
    score: float = least_score()
    truth: bool = true_boxes("det_truth", default=True)
    query: int = number(
        "Query", -1, last_query, -1, "Whose box; −1: the surest.", follows=True, inside=True, key="det_query"
    )

    shows = "Boxes, and where one of them looks"
    how = How(
        "Point at a box: beside it, where its query took from the image in the chosen decoder layer, and the cells "
        "that speak for its class through all layers. A click keeps it. An insect is found by the surest box of its "
        "class that overlaps it by an IoU of 0.5 or more; every other box is too many.",
        r"\bar{A} = \mathbb{E}_h\big[(\nabla A \odot A)^+\big],\quad R_{qi} \leftarrow R_{qi} + \bar{R}_{qq}^\top "
        r"\bar{A}\, \bar{R}_{ii}",
        "what would change if a cell were hidden: relevance follows gradients at this very picture. A query or cell "
        "that gains nothing keeps its identity, where the authors' code divides 0 by 0 (NaN).",
        "Carion et al. 2020; Chefer et al. 2021, eqs. 5–10",
    )

    def show(self, of: Subject) -> Blocks:
        given = self.given(of)
        made, things, said = given.seen(), given.things, given.sure(self.score)
        (found, counts), queries = given.found(said), said.queries.tolist()
        query = self.query if self.query in queries else next(iter(queries), -1)
        panels = [Panel(f"Found in {given.title}", found)]
        panels += [Panel("What is there", given.true_frames())] if self.truth and things is not None else []
        at, words, speaks, looked = self.at(made.cross), dict[int, str](), {}, {}
        for each, label, score, box in zip(queries, said.labels.tolist(), said.scores, said.boxes_cxcywh, strict=True):
            weights = made.of_query(at, each, self.head and self.head - 1)
            looked[each] = weights.numpy()
            if score >= SURE or each == query:
                speaks[each] = given.kept(("relevance", each, label), partial(relevance, given, each, label))
            if given.truth and things and (on := best_overlap(box, things.boxes_cxcywh)) is not None:
                own = own_and_others(weights, given.truth.instances, on[0] + 1)
                words[each] = of_own(given.names(things.labels)[on[0]], on[1], own)
        if queries:
            crossed = f"Cross-attention, layer {at + 1}, {named(self.head)}"
            panels.append(Panel(crossed, found, (), looked, "attention", own=True))
            panels.append(Panel("Relevance for its class", found, (), speaks, "relevance", own=True))
        yield from self.canvas(given, panels, "Arrow keys choose a box.", "query", chosen=query, says=words)
        yield Said(of_found(counts, self.score, given.title))
        if given.number == OFFERED[0]:
            yield Link("A scene where it fails", replace(self, scene=OFFERED[1]))
        arrays = {name: getattr(said, name).numpy() for name in said._fields}
        spoken = speaks.get(query, np.zeros(made.grid))
        yield Numbers(partial(dict, arrays, picture=given.rgb, cross=torch.stack(made.cross), relevance=spoken))


def named(head: int | None) -> str:
    return "head mean" if head is None else f"head {head}"


def relevance(given: Given, query: int, label: int) -> np.ndarray:
    """Of every cell for what this query says of this class, (row, column)."""
    from vizkit.analysis.detection.relevance import encoder_decoder_relevance
    from vizkit.models.detection.tracing import Answer, trace_picture

    trace = trace_picture(given.model, given.rgb, Answer(query, label))
    return encoder_decoder_relevance(trace)[query].view(given.seen().grid).numpy()
