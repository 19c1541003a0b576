"""Entropy: how evenly every patch of this picture spreads its attention, layer by layer."""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.attention.statistics import by_layer, entropy_by_place
from vizkit.analysis.remarks import attention
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.charts import dots_by_depth
from vizkit.figure.scales import Scale, robust
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Chart, Columns, Line, Map, Numbers, Proof, Said, Tile, Tiles, first_said
from vizkit.views.controls import head, layer
from vizkit.views.subject import Subject
from vizkit.views.view import How, View


class Entropy(View):
    """How evenly every patch of this picture spreads its attention, layer by layer."""

    layer: int | None = layer("Layer", "Whose map is large.", plays=True, key="layer")
    head: int | None = head("Head", "One head, or the mean of all heads of a layer.", key="head")

    how = How(
        "A bright patch attends to many places about evenly, a dark one to few. Step through the layers: where a model "
        "decides what belongs together, the rows become sharper. A dot of the chart is a head.",
        r"H_i = -\frac{1}{\log N} \sum_j A_{ij} \log A_{ij}",
        "to which places a patch attends, and whether the model uses what it finds there.",
        "Shannon 1948; of attention: Zhai et al. 2023, § 3",
    )

    def title(self, of: Subject) -> str:
        return f"Entropy of attention: layer {self.number(of)} of {of.depth}"

    def number(self, of: Subject) -> int:
        return min(self.layer or of.depth, of.depth)

    def show(self, of: Subject) -> Blocks:
        if not of.layers:
            raise NotApplicable(of.seen.no_attention + ".")
        recorded = layers(of.whole())
        maps = [entropy_by_place(each, None if self.head is None else self.head - 1) for each in recorded]
        number = self.number(of)
        chosen, heads = maps[number - 1], recorded[number - 1].heads
        together = any(each.weights.shape[1] < each.heads for each in recorded)
        which = f"head {min(self.head, heads)} of {heads}" if self.head else f"mean of {heads} heads"
        if together:
            which = f"entropy of the mean of {heads} heads: the weights of each would take more memory than is kept"
        yield Line(f"layer {number} of {of.depth} · {which}")
        scale = robust([values(each).numpy() for each in maps])
        if chosen is not None:
            yield Map(
                rows(chosen, scale),
                of.asked,
                "Entropy of",
                "entropy of a patch's attention, as a share of the largest possible",
                said=first_said(attention.evenness([values(each) for each in maps], number)),
            )
        placed = [(at, each) for at, each in enumerate(maps, 1) if each is not None]
        yield Tiles(
            "Layer by layer",
            tuple(Tile(f"{at}", np.nan_to_num(each.numpy()), scale=scale) for at, each in placed),
            "The entropy of every patch. Click to see it large.",
            "layer",
            tuple(at for at, _ in placed),
            number,
            66,
        )
        if not together:
            every = of.made(by_layer, of.whole())
            entropies = [each.entropy.numpy() for each in every]
            figure = dots_by_depth(entropies, "entropy ÷ log N", "Entropy of every head", top=1.05, height=280)
            chart = Chart(figure, "Entropy of every head by layer")
            yield Columns(((chart,), (Said(first_said(attention.evenest(every))),)), (3, 2))
        yield Proof(of.whole())
        yield Numbers(partial(dict, {f"layer{at}": each.numpy() for at, each in placed}))


def rows(entropy: Tensor, scale: Scale) -> Rows:
    """As a canvas draws it: the only row there is."""
    grid = (entropy.shape[0], entropy.shape[1])
    values = entropy.nan_to_num(0.0).numpy().astype(np.float32).reshape(1, -1)
    return Rows(values, grid, bounds=(0.0, 1.0), scale=scale, kind="features")


def values(entropy: Tensor | None) -> Tensor:
    """Of the patches that ask."""
    return torch.zeros(0) if entropy is None else entropy[entropy.isfinite()]
