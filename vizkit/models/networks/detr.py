"""DETR: detection as a set of answers to learned questions (Carion et al. 2020, arXiv 2005.12872), from its parts.

    image ─→ backbone ─→ 1×1 convolution ─→ encoder ─→ memory ──────┐
    object queries (learned) ─→ [self-attention ─→ cross-attention ─→ FFN] × depth ─→ class, box of every query

Positions, sines and cosines of a cell's place, are added to queries and keys of every layer, never to values. With
`conditional` queries each has a place of its own to look at, which makes training several times shorter: Meng et al.
2021 (arXiv 2108.06152); the place moves from layer to layer as in Liu et al. 2022 (arXiv 2201.12329). While it learns,
several groups of queries may be matched each for itself, which know nothing of one another: Chen et al. 2022
(arXiv 2207.13085); of these the first alone is kept in use. With `dense` every cell of the memory says, too, while it
learns, what lies around it: the encoder learns from all cells, not from those alone that queries look at (Zong et al.
2023, arXiv 2211.12860).
"""

import math
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vizkit.models.networks import sequence_parts
from vizkit.models.networks.positions import FAR, NEAR, cell_middles, cell_positions, point_positions
from vizkit.models.networks.sequence_parts import KeysValues, MultiHeadAttention

Pixels = Float[Tensor, "image channel height width"]
Cells = Float[Tensor, "image cell dim"]
Queries = Float[Tensor, "image query dim"]
Boxes = Float[Tensor, "image query 4"]

NEAR_EDGE = 1e-4
USUAL_SHARE = 0.35  # of the picture's width and height, from which boxes begin to learn


class Answers(NamedTuple):
    """`logits`: of every class, and last of "no object". `boxes_cxcywh`: middle, width, height as shares of it."""

    logits: Float[Tensor, "image query label"]
    boxes_cxcywh: Boxes


class Learning(NamedTuple):
    """What is trained: the answers after each decoder layer, of all groups one after another, and those of the cells.
    `grid`: rows and columns of the cells."""

    layers: list[Answers]
    cells: Answers | None
    grid: tuple[int, int]


class Attention(MultiHeadAttention):
    """softmax((Q + P_q)(K + P_k)ᵀ / √d_k) V: positions choose where to look, not what is taken from there."""

    def forward(self, asking: Queries, keys: Cells, values: Cells) -> Queries:  # pyright: ignore[reportIncompatibleMethodOverride]
        all_seen = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=asking.device)
        by_head = KeysValues(self.by_head(self.key(keys)), self.by_head(self.value(values)))
        return super().forward(asking, by_head, all_seen)


class EncoderLayer(sequence_parts.EncoderLayer):
    """Cells look at cells, then each thinks for itself; Add & Norm after each part."""

    attention = Attention

    def forward(self, x: Cells, place: Float[Tensor, "cell dim"]) -> Cells:  # pyright: ignore[reportIncompatibleMethodOverride]
        x = self.norm1(x + self.attn(x + place, x + place, x))
        return self.norm2(x + self.ffn(x))


class DecoderLayer(sequence_parts.DecoderLayer):
    """Queries look at each other, then at the image, then each thinks for itself; Add & Norm after each part.
    `group`: how many queries look at each other; 0 are all."""

    attention = Attention

    def __init__(self, dim: int, heads: int, hidden: int, group: int = 0) -> None:
        super().__init__(dim, heads, hidden)
        self.group = group

    def among(self, x: Queries, own: Float[Tensor, "*image query dim"], self_attention: bool) -> Queries:
        """Queries look at the queries of their group; without self-attention each at itself alone: the numbers stay as
        large as those that the layers learned from, and no query knows of another."""
        if not self_attention:
            return self.norm1(x + self.attn.out(self.attn.value(x)))
        size = self.group or x.shape[1]
        grouped = x.unflatten(1, (-1, size)).flatten(0, 1)
        asking = (x + own).unflatten(1, (-1, size)).flatten(0, 1)
        return self.norm1(x + self.attn(asking, asking, grouped).view_as(x))

    def forward(
        self,
        x: Queries,
        memory: Cells,
        place: Float[Tensor, "cell dim"],
        own: Float[Tensor, "*image query dim"],
        *,
        self_attention: bool = True,
    ) -> Queries:  # pyright: ignore[reportIncompatibleMethodOverride]
        """`place`: of the cells; `own`: the queries' own vectors."""
        x = self.among(x, own, self_attention)
        x = self.norm2(x + self.cross(x + own, memory + place, memory))
        return self.norm3(x + self.ffn(x))


class ConditionalAttention(Attention):
    """Cross-attention whose scores are a sum: what the query looks for · what a cell holds, and where · where.

    Side by side in each head, [content, place], so that one product gives the sum (Meng et al. 2021, § 3.2).
    """

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__(dim, heads)
        self.key_place = nn.Linear(dim, dim)

    def looking(self, x: Queries, at: Queries, memory: Cells, place: Float[Tensor, "cell dim"]) -> Queries:
        query = torch.cat([self.by_head(self.query(x)), self.by_head(at)], -1)
        where = self.by_head(self.key_place(place)[None]).expand(len(memory), -1, -1, -1)
        key = torch.cat([self.by_head(self.key(memory)), where], -1)
        scores = (query @ key.transpose(-2, -1)) * (2 * self.d_k) ** -0.5
        mixed = scores.softmax(-1) @ self.by_head(self.value(memory))
        return self.out(mixed.transpose(1, 2).flatten(2))


class ConditionalLayer(DecoderLayer):
    """A decoder layer whose queries look at a place of their own; `scale` says how sharply, seen what they hold."""

    cross: ConditionalAttention

    def __init__(self, dim: int, heads: int, hidden: int, group: int = 0) -> None:
        super().__init__(dim, heads, hidden, group)
        self.cross = ConditionalAttention(dim, heads)
        self.scale = MLPHead(dim, dim, 2)

    def forward(
        self,
        x: Queries,
        memory: Cells,
        place: Float[Tensor, "cell dim"],
        own: Float[Tensor, "*image query dim"],
        at: Queries,
        *,
        self_attention: bool = True,
    ) -> Queries:  # pyright: ignore[reportIncompatibleMethodOverride]
        """`at`: sines and cosines of each query's place."""
        x = self.among(x, own, self_attention)
        x = self.norm2(x + self.cross.looking(x + own, at * self.scale(x), memory, place))
        return self.norm3(x + self.ffn(x))


class MLPHead(nn.Module):
    """Linear layers with ReLU between them."""

    def __init__(self, dim: int, out: int, depth: int) -> None:
        super().__init__()
        widths = [dim] * depth + [out]
        self.layers = nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(widths))

    def forward(self, x: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch out"]:
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        return self.layers[-1](x)


class DETR(nn.Module):
    """`backbone`: a module whose `forward_features` gives (image, channels, row, column), such as timm's CNNs.
    `labels`: how many classes there are, "no object" not among them. `groups`: of `queries` queries each."""

    def __init__(
        self,
        backbone: nn.Module,
        channels: int,
        labels: int,
        *,
        dim: int = 256,
        heads: int = 8,
        hidden: int = 2048,
        encoder_depth: int = 6,
        decoder_depth: int = 6,
        queries: int = 100,
        conditional: bool = False,
        groups: int = 1,
        dense: bool = False,
    ) -> None:
        super().__init__()
        self.backbone: Any = backbone
        self.sizes = {
            "dim": dim,
            "heads": heads,
            "hidden": hidden,
            "encoder_depth": encoder_depth,
            "decoder_depth": decoder_depth,
            "queries": queries,
            "conditional": conditional,
            "groups": groups,
            "dense": dense,
        }
        self.project = nn.Conv2d(channels, dim, kernel_size=1)
        self.encoder = nn.ModuleList(EncoderLayer(dim, heads, hidden) for _ in range(encoder_depth))
        layer = ConditionalLayer if conditional else DecoderLayer
        self.decoder = nn.ModuleList(layer(dim, heads, hidden, queries) for _ in range(decoder_depth))
        self.queries = nn.Embedding(queries * groups, dim)
        self.norm = nn.LayerNorm(dim)
        self.classes, self.box = nn.Linear(dim, labels + 1), MLPHead(dim, 4, 3)
        self.temperature = NEAR if conditional else FAR
        self.places = nn.Parameter(_spread(queries).repeat(groups, 1)) if conditional else None
        self.cell_classes = nn.Linear(dim, labels + 1) if dense else None
        self.cell_box = MLPHead(dim, 4, 3) if dense else None
        for head in (self.box, self.cell_box):
            if conditional and head:
                _begin_with_usual_boxes(head)

    def forward(self, pixels: Pixels) -> Answers | Learning:
        """The last layer's answers; while it learns, all that is trained."""
        memory, place, grid = self.encoded(pixels)
        every = self.decoded(memory, place)
        if not self.training:
            return every[-1]
        return Learning(every, self.of_cells(memory, grid) if self.cell_box else None, grid)

    def by_layer(self, pixels: Pixels) -> list[Answers]:
        """What the heads say after each decoder layer: all are trained ("auxiliary losses"), the last counts. While it
        learns, the queries of all groups one after another."""
        memory, place, _ = self.encoded(pixels)
        return self.decoded(memory, place)

    def train(self, mode: bool = True) -> "DETR":
        """The backbone's BatchNorm keeps the statistics of its own training, as in the authors' code."""
        super().train(mode)
        for module in self.backbone.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.eval()
        return self

    def encoded(self, pixels: Pixels) -> tuple[Cells, Float[Tensor, "cell dim"], tuple[int, int]]:
        """The memory, the positions of its cells, and how many rows and columns they are."""
        return self.remembered(self.backbone.forward_features(pixels))

    def remembered(self, maps: Pixels) -> tuple[Cells, Float[Tensor, "cell dim"], tuple[int, int]]:
        """`encoded`, from the last map of the backbone on."""
        features = self.project(maps)
        grid = (features.shape[-2], features.shape[-1])
        place = cell_positions(grid, features.shape[1], self.temperature).to(features)
        x = features.flatten(2).transpose(1, 2)
        for layer in self.encoder:
            x = layer(x, place)
        return x, place, grid

    def of_cells(self, memory: Cells, grid: tuple[int, int]) -> Answers:
        """What every cell says of the thing around it, its box from its own middle. Only of a `dense` model."""
        assert self.cell_classes
        assert self.cell_box
        return Answers(self.cell_classes(memory), _around(cell_middles(grid).to(memory), self.cell_box(memory)))

    def decoded(self, memory: Cells, place: Float[Tensor, "cell dim"], *, self_attention: bool = True) -> list[Answers]:
        """What the heads say after each layer. Without `self_attention` every query looks at itself alone."""
        return [answers for _, answers in self.states(memory, place, self_attention=self_attention)]

    def states(
        self, memory: Cells, place: Float[Tensor, "cell dim"], *, self_attention: bool = True
    ) -> list[tuple[Queries, Answers]]:
        """After each decoder layer the queries as the heads see them, and what the heads say. Each conditional query's
        place, and its box around it, move on from layer to layer."""
        own = self.queries.weight if self.training else self.queries.weight[: self.sizes["queries"]]
        x = torch.zeros(len(memory), *own.shape).to(own)
        middle = None if self.places is None else self.places[: len(own)].sigmoid().expand(len(memory), -1, -1)
        spoken = []
        for layer in self.decoder:
            at = () if middle is None else (point_positions(middle, own.shape[1], self.temperature),)
            x = layer(x, memory, place, own, *at, self_attention=self_attention)
            normed = self.norm(x)
            boxes = self.box(normed).sigmoid() if middle is None else _around(middle, self.box(normed))
            spoken.append((normed, Answers(self.classes(normed), boxes)))
            middle = None if middle is None else boxes[..., :2].detach()
        return spoken


def _around(middle: Float[Tensor, "*_batch 2"], shift: Float[Tensor, "*batch 4"]) -> Float[Tensor, "*batch 4"]:
    """Boxes whose middle moves away from a place, before the sigmoid, and whose size is free."""
    at = middle.clamp(NEAR_EDGE, 1 - NEAR_EDGE).logit()
    return torch.cat([shift[..., :2] + at, shift[..., 2:]], -1).sigmoid()


def _begin_with_usual_boxes(head: MLPHead) -> None:
    """A box at its place, of a usual size, before anything is learned (as in Deformable DETR's code)."""
    last: Any = head.layers[-1]
    nn.init.zeros_(last.weight)
    with torch.no_grad():
        last.bias.copy_(torch.tensor([0.5, 0.5, USUAL_SHARE, USUAL_SHARE]).logit())


def _spread(count: int) -> Float[Tensor, "{count} 2"]:
    """Places all over the image, before the sigmoid: a grid that holds so many, its first cells."""
    side = math.ceil(math.sqrt(count))
    return cell_middles((side, side))[:count].logit()
