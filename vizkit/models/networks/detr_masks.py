"""The mask head of DETR (Carion et al. 2020, arXiv 2005.12872, § 4.4): from a query's last state to its pixels.

    state of a query ─→ attention over the memory, one map a head ─┐
    its box, drawn as one map more ────────────────────────────────┤
    memory ────────────────────────────────────────────────────────┴→ convolutions, upsampled twice with the
    backbone's finer maps added (Lin et al. 2017, arXiv 1612.03144) ─→ logits at the finest map's stride

The box is not in the paper: conditional queries hold their place beside their state, not in it. The network that finds
stays as it is: this head is trained behind it.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

GROUPS = 8  # of channels that are normalised together, as in the authors' code
Maps = Float[Tensor, "image _channel _row _column"]


class QueryMaps(nn.Module):
    """softmax(q · k / √d_k) over all cells, one map for each head: the weights alone, nothing is mixed by them."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        if dim % heads:
            raise ValueError(f"{dim} channels do not divide among {heads} heads.")
        self.heads = heads
        self.query, self.key = nn.Linear(dim, dim), nn.Conv2d(dim, dim, kernel_size=1)

    def forward(
        self,
        states: Float[Tensor, "instance dim"],
        memory: Float[Tensor, "image dim row column"],
        image: Int[Tensor, " instance"],
    ) -> Float[Tensor, "instance head row column"]:
        query = self.query(states).unflatten(-1, (self.heads, -1))
        key = self.key(memory).unflatten(1, (self.heads, -1))[image]
        scores = torch.einsum("ihc,ihcyx->ihyx", query, key) * query.shape[-1] ** -0.5
        return scores.flatten(2).softmax(-1).view_as(scores)


class Finer(nn.Module):
    """A map upsampled to a finer one of the backbone, which is added, and a convolution over both."""

    def __init__(self, before: int, finer: int, after: int) -> None:
        super().__init__()
        self.lateral = nn.Conv2d(finer, before, kernel_size=1)
        self.mix = _convolution(before, after)

    def forward(self, x: Tensor, finer: Maps, image: Int[Tensor, " instance"]) -> Tensor:
        lateral = self.lateral(finer)
        return self.mix(F.interpolate(x, lateral.shape[-2:], mode="nearest") + lateral[image])


class MaskHead(nn.Module):
    """`dim`: of the memory and of states; `finer`: channels of the backbone's maps before its last, the coarser first;
    `width`: channels of the first convolution, halved at each finer map. ValueError for sizes that do not go together.
    """

    def __init__(self, dim: int, finer: Sequence[int], *, heads: int = 8, width: int = 32) -> None:
        super().__init__()
        if not finer or width % (GROUPS << len(finer)):
            raise ValueError(f"A width of {width} cannot be halved {len(finer)} times in groups of {GROUPS}.")
        self.sizes = {"dim": dim, "finer": list(finer), "heads": heads, "width": width}
        self.maps = QueryMaps(dim, heads)
        self.mix = _convolution(dim + heads + 1, width)
        self.steps = nn.ModuleList(Finer(width >> at, channels, width >> (at + 1)) for at, channels in enumerate(finer))
        self.out = nn.Conv2d(width >> len(finer), 1, kernel_size=3, padding=1)

    def forward(
        self,
        states: Float[Tensor, "instance dim"],
        boxes_cxcywh: Float[Tensor, "instance 4"],
        image: Int[Tensor, " instance"],
        memory: Float[Tensor, "image dim row column"],
        *finer: Maps,
    ) -> Float[Tensor, "instance _height _width"]:
        """Logits of every pixel of the finest map. `states`: the last of a query; `image`: the picture of each."""
        inside = box_maps(boxes_cxcywh, (memory.shape[-2], memory.shape[-1]))
        x = self.mix(torch.cat([memory[image], self.maps(states, memory, image), inside], 1))
        for step, each in zip(self.steps, finer, strict=True):
            x = step(x, each, image)
        return self.out(x)[:, 0]


def box_maps(
    boxes_cxcywh: Float[Tensor, "instance 4"], grid: tuple[int, int]
) -> Float[Tensor, "instance 1 _row _column"]:
    """The share of each cell that a box covers."""
    y, x = (_covered(boxes_cxcywh[:, axis], boxes_cxcywh[:, axis + 2], grid[1 - axis]) for axis in (1, 0))
    return (y[:, :, None] * x[:, None])[:, None]


def _covered(
    middle: Float[Tensor, " instance"], size: Float[Tensor, " instance"], cells: int
) -> Float[Tensor, "instance {cells}"]:
    """The share of each cell along one axis that lies between middle − size / 2 and middle + size / 2."""
    first = torch.arange(cells, device=middle.device) / cells
    low, high = ((middle + side * size / 2)[:, None] for side in (-1, 1))
    return (torch.minimum(high, first + 1 / cells) - torch.maximum(low, first)).clamp(min=0) * cells


def _convolution(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(before, after, kernel_size=3, padding=1), nn.GroupNorm(GROUPS, after), nn.ReLU())
