"""Filters: which patterns the patch embedding responds to."""

from functools import partial

import numpy as np
import torch

from vizkit.analysis.attention.patches import filters, noise
from vizkit.analysis.remarks import patches
from vizkit.figure.charts import curves
from vizkit.figure.patches import filter_tiles
from vizkit.models.probes.parts import PatchEmbedding, patch_embedding
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Chart, Columns, Heading, Numbers, Picture, Said
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

FIRST = 28  # filters and components shown
OWN = "around grey, each in its own scale"


class Filters(View):
    """The patterns that the patch embedding responds to."""

    alone = True
    overlays = False
    how = How(
        "Each tile is one pattern that the patch embedding responds to. Of a model trained on many pictures the first "
        "components are smooth colours, edges and waves, and few of them explain most of the variance: a steep line. "
        "Where little has been learned both look like noise, whose line is nearly flat.",
        "",
        "what later layers make of these responses.",
        "Dosovitskiy et al. 2020, fig. 7 left",
    )

    def title(self, of: Subject) -> str:
        return "Filters of the patch embedding"

    def show(self, of: Subject) -> Blocks:
        embedded: PatchEmbedding = of.kept("patch embedding", lambda: patch_embedding(of.loaded, of.pixels))
        weight = embedded.weight
        if weight is None:
            raise NotApplicable("This model embeds the feature map of a CNN: its filters have no colours to show.")
        own = of.kept("filters", partial(filters, weight, len(weight)))
        random = of.kept("noise", partial(filters, noise(weight), len(weight)))
        yield Said(patches.learned(own.explained, random.explained))
        lines = {
            name: (np.arange(1, 1 + len(each.explained[:FIRST])), each.explained[:FIRST].numpy())
            for name, each in (("these filters", own), ("noise", random))
        }
        figure = curves(lines, "component", "share of the variance", "Explained by each", mode="lines+markers")
        figure.update_yaxes(rangemode="tozero", tickformat=".0%")
        pictures = {
            f"First {min(FIRST, len(own.components))} of {len(own.components)} components": own.components,
            f"First {min(FIRST, len(weight))} of {len(weight)} filters": weight,
        }
        drawn = [
            (Heading(name), Picture(filter_tiles(each[:FIRST].numpy()), name, OWN)) for name, each in pictures.items()
        ]
        yield Columns((*drawn, (Chart(figure, "Share of the variance that each component explains"),)))
        yield Numbers(partial(numbers, weight, own.components, own.explained))


def numbers(weight: torch.Tensor, components: torch.Tensor, explained: torch.Tensor) -> dict[str, np.ndarray]:
    return {"filters": weight.numpy(), "components": components.numpy(), "explained": explained.numpy()}
