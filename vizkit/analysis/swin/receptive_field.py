"""Which places of the input can reach a token at all: windows, shifts and mergings followed back as sets.

Exact, from the ids of the windows and the regions of their masks alone (Liu et al. 2021, arXiv 2103.14030, § 3.2): what
lies outside cannot change the token, whatever the weights are. How much of what lies inside does reach it is another
question; rollout (`vizkit.analysis.attribution.rollout`) is one answer, Luo et al. 2016 (arXiv 1701.04128) call it
effective.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from vizkit.analysis.attribution.layer_product import stream
from vizkit.geometry import id_at
from vizkit.traces import PADDING, Attention, Map, NotApplicable, Trace


@dataclass(frozen=True)
class Field:
    """What can reach a token of the last layer by the end of the layer `name`: the field of all `own` tokens there that
    mergings make into it, on their grid; of the last layer it is the token itself.

    `places`: on the grid of the input's patches. `share`: of the image, 0 to 1.
    """

    name: str
    own: Bool[Tensor, "row_here column_here"]
    places: Bool[Tensor, "row column"]

    @property
    def grid(self) -> tuple[int, int]:
        rows, columns = self.own.shape
        return rows, columns

    @property
    def cell(self) -> tuple[int, int]:
        """(row, column) of the token, or of the first of several."""
        row, column = self.own.nonzero()[0].tolist()
        return row, column

    @property
    def share(self) -> float:
        return float(self.places.float().mean())


def receptive_fields(trace: Trace, regions: Sequence[Int[Tensor, "_ _"]], point_xy: tuple[float, float]) -> list[Field]:
    """The field of the last layer's token under a point (fractions of the input) after every attention layer, the first
    first.

    `regions`: for every attention layer the region of each place of its windows; only equal ones may meet. Fields only
    grow, since a token always reaches itself and the merged token that it becomes a part of. NotApplicable where tokens
    cannot be followed back, or have no places.
    """
    layers = stream(trace)
    learned = [index for index, layer in enumerate(layers) if layer.learned]
    if len(regions) != len(learned):
        raise ValueError(f"There are {len(learned)} attention layers, but regions of {len(regions)}.")
    apart = dict(zip(learned, regions, strict=True))
    for index, region in apart.items():
        if region.shape != layers[index].key_ids.shape or layers[index].query_ids.shape != region.shape:
            raise ValueError(f"{layers[index].name}: regions {tuple(region.shape)} do not fit its windows.")
    first = layers[0].key
    if first.grid is None or any(layer.query.special or layer.query.grid is None for layer in layers):
        raise NotApplicable("A receptive field is followed through tokens that all have a place in the image.")
    token_id = id_at(layers[-1].query, point_xy)
    assert token_id is not None
    own = torch.zeros(len(layers[-1].query), dtype=torch.bool)
    own[token_id] = True
    fields: list[Field] = []
    for end in range(len(layers) - 1, -1, -1):
        if end not in apart:
            own = _back(own, layers[end], None)
            continue
        grid, reached = layers[end].query.grid, own
        assert grid is not None
        for index in range(end, -1, -1):
            reached = _back(reached, layers[index], apart.get(index))
        fields.append(Field(layers[end].name, own.view(grid), reached.view(first.grid)))
    return fields[::-1]


def _back(
    reached: Bool[Tensor, " token_after"], layer: Attention, region: Int[Tensor, "group token"] | None
) -> Bool[Tensor, " token_before"]:
    """From the tokens after a layer to those before it that can reach one of them. No regions: all meet (merging)."""
    is_query = reached[layer.query_ids] & (layer.query_ids != PADDING)  # group query
    meets = is_query.any(1, keepdim=True).expand_as(layer.key_ids)
    if region is not None:
        regions_reached = torch.zeros(
            len(region), int(region.max()) + 1, dtype=torch.int8
        )  # regions of a window with such a query
        meets = regions_reached.scatter_reduce(1, region, is_query.to(regions_reached), "amax").gather(1, region).bool()
    out = torch.zeros(len(layer.key) + 1, dtype=torch.bool)  # the last collects padding
    out[layer.key_ids[meets] % len(out)] = True
    if layer.learned:
        out[:-1] |= reached  # the residual connection
    return out[:-1]


def holding(places: Map, share: float) -> float:
    """How much of the image is needed to hold `share` (0 to 1) of a map's sum, the largest places first; 0 to 1."""
    largest = places.flatten().sort(descending=True).values.cumsum(0)
    count = int((largest < share * largest[-1]).sum()) + 1
    return min(count, len(largest)) / len(largest)
