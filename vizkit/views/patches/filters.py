"""Filters: which patterns the patch embedding responds to."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import torch

from vizkit.analysis.attention.patches import filters
from vizkit.analysis.remarks import patches
from vizkit.figure.charts import bars
from vizkit.figure.patches import filter_tiles
from vizkit.models.probes.parts import PatchEmbedding, patch_embedding
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Block, Chart, Columns, Heading, Numbers, Picture, Said, first_said
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

FIRST = 28  # filters shown
EXPLAINED = 14  # components in the chart


@dataclass(frozen=True)
class Filters(View):
    """The patterns that the patch embedding responds to."""

    alone: ClassVar = True
    overlays: ClassVar = False
    how: ClassVar = How(
        "Each tile is one pattern that the patch embedding responds to. A trained model shows smooth colours, edges "
        "and waves, few of which explain most of the variance; an untrained one shows noise.",
        "",
        "what later layers make of these responses.",
        "Dosovitskiy et al. 2020, fig. 7 left",
    )

    def title(self, of: Subject) -> str:
        return "Filters of the patch embedding"

    def show(self, of: Subject) -> Iterator[Block]:
        embedded: PatchEmbedding = of.kept("patch embedding", lambda: patch_embedding(of.loaded, of.pixels))
        weight = embedded.weight
        if weight is None:
            raise NotApplicable("This model embeds the feature map of a CNN: its filters have no colours to show.")
        principal = filters(weight)
        yield Said(first_said(patches.components(principal.explained), patches.spectrum(principal.explained)))
        names = [str(number + 1) for number in range(min(EXPLAINED, len(principal.explained)))]
        shares = principal.explained[:EXPLAINED].tolist()
        figure = bars(names, shares, "share of the variance", "Explained by component")
        yield Columns(
            (
                (
                    Heading(f"First {len(principal.components)} principal components of {len(weight)} filters"),
                    Picture(filter_tiles(principal.components.numpy()), "Principal components of the patch filters"),
                    Heading(f"The filters themselves (the first {min(FIRST, len(weight))})"),
                    Picture(filter_tiles(weight[:FIRST].numpy()), "Patch-embedding filters"),
                ),
                (Chart(figure, "Share of the variance that each component explains"),),
            ),
            (3, 2),
        )
        yield Numbers(partial(numbers, weight, principal.components, principal.explained))


def numbers(weight: torch.Tensor, components: torch.Tensor, explained: torch.Tensor) -> dict[str, np.ndarray]:
    return {"filters": weight.numpy(), "components": components.numpy(), "explained": explained.numpy()}
