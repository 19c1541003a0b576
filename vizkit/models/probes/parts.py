"""One attention layer taken apart as the model computed it, and the embedding of the patches before the first layer.

Vaswani et al. 2017 (arXiv 1706.03762), eq. 1 and § 3.2.2; Dosovitskiy et al. 2020 (arXiv 2010.11929), eq. 1.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from vizkit.geometry import size_of
from vizkit.models.families import family, first_grid
from vizkit.models.recording.recorder import Call
from vizkit.models.recording.watching import OTHERWISE, LayerDone, Seen, Watcher, side_by_side
from vizkit.models.recording.weights import precise
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import Attention, NotApplicable, Tokens


@dataclass(frozen=True)
class Stream:
    """The residual connection: `after` = `before` + `branch`, a vector for each query; NaN for padding. The branch is
    the layer's output, in some models scaled or normalised first."""

    before: Float[Tensor, "query out"]
    branch: Float[Tensor, "query out"]
    after: Float[Tensor, "query out"]


@dataclass(frozen=True)
class Parts:
    """One layer (for Swin: one of its `windows`) of one image.

    `query` and `key` are those that meet in the product, after the model's own normalisation and rotation. `scores` =
    Q Kᵀ; `scaled` = scores · scale; `bias`: relative positions and masks (−∞ or −100), None where nothing is added;
    `biased` = scaled + bias; `weights` = softmax(biased); `mixed` = weights · V; `concatenated`: heads side by side;
    `entering`: what the output projection gets, the same unless the layer normalises or gates it first (see `plain`);
    `projected` = entering · out_weightᵀ + out_bias, the layer's output. `arriving`: the vectors that the queries are
    computed from; `stream`: the residual connection around the layer; both None where they are not to be seen. Ids of
    −1 are padding.
    """

    name: str
    window: int
    windows: int
    tokens: Tokens
    key_tokens: Tokens
    query_ids: Int[Tensor, " query"]
    key_ids: Int[Tensor, " key"]
    query: Float[Tensor, "head query d_k"]
    key: Float[Tensor, "head key d_k"]
    value: Float[Tensor, "head key width"]
    scores: Float[Tensor, "head query key"]
    scale: Float[Tensor, " head"]
    scaled: Float[Tensor, "head query key"]
    bias: Float[Tensor, "head query key"] | None
    biased: Float[Tensor, "head query key"]
    weights: Float[Tensor, "head query key"]
    mixed: Float[Tensor, "head query width"]
    concatenated: Float[Tensor, "query channel"]
    entering: Float[Tensor, "query channel"]
    projected: Float[Tensor, "query out"]
    out_weight: Float[Tensor, "out channel"]
    out_bias: Float[Tensor, " out"] | None
    arriving: Float[Tensor, "query in"] | None = None
    stream: Stream | None = None

    @property
    def plain(self) -> bool:
        """Whether the heads go into the projection as they are; only then value-weighted attention has a meaning."""
        return torch.allclose(self.entering, self.concatenated, rtol=1e-4, atol=1e-5)


def attention_parts(
    loaded: Loaded, pixels: Tensor, layer_index: int, *, window: int = 0, token_id: int | None = None
) -> Parts:
    """Take layer `layer_index` (in the order of the forward pass) apart; `pixels` are (1, channel, height, width).

    `window`: which of Swin's windows, row by row; `token_id` picks the one that holds this query instead.
    """
    seen, attention = watched(loaded, pixels, layer_index)
    if token_id is not None:
        groups = (attention.query_ids == token_id).any(1).nonzero().flatten().tolist()
        window = groups[0] if token_id >= 0 and groups else window
    return _one_window(seen, attention, min(max(window, 0), len(attention.weights) - 1))


def watched(loaded: Loaded, pixels: Tensor, layer_index: int) -> tuple[Seen, Attention]:
    """All groups of one layer as they were computed, and its weights with the ids of their tokens."""
    layer_at = getattr(family(loaded.model), "layer_at", None)
    if layer_at is None:
        raise NotApplicable(f"Only layers of a ViT or a Swin are taken apart; {loaded.name} is built differently.")
    watcher = Watcher(loaded.model, layer_index)
    try:
        with torch.no_grad(), watcher:
            loaded.model(pixels.to(loaded.device))
    except LayerDone:
        pass
    seen = watcher.seen
    if seen.projected is not None:  # a layer without a residual connection is followed to the end of the pass
        call = Call(seen.path, None, "fused", seen.weights)
        return seen, layer_at(loaded.model, size_of(pixels), layer_index, call)
    if 0 <= layer_index < watcher.count:
        raise NotApplicable(OTHERWISE)
    raise NotApplicable(f"{loaded.name} has {watcher.count} attention layers; there is no layer {layer_index + 1}.")


def _one_window(seen: Seen, attention: Attention, window: int) -> Parts:
    """One group of a layer as Parts, in float32 on the CPU."""

    def picked(tensor: Tensor) -> Tensor:
        return precise(tensor[window]).cpu()

    groups, heads, queries, _ = seen.weights.shape
    query, key = picked(seen.query), picked(seen.key)
    scale = torch.as_tensor(seen.scale, dtype=torch.float32).cpu().reshape(-1).expand(heads).clone()
    scores = query @ key.transpose(-1, -2)
    scaled = scores * scale[:, None, None] if seen.scaled is None else picked(seen.scaled)
    bias = None if seen.bias is None else picked(seen.bias)
    biased = picked(seen.biased) if seen.biased is not None else scaled if bias is None else scaled + bias
    return Parts(
        name=attention.name,
        window=window,
        windows=groups,
        tokens=attention.query,
        key_tokens=attention.key,
        query_ids=attention.query_ids[window].cpu(),
        key_ids=attention.key_ids[window].cpu(),
        query=query,
        key=key,
        value=picked(seen.value),
        scores=scores,
        scale=scale,
        scaled=scaled,
        bias=bias,
        biased=biased,
        weights=picked(seen.weights),
        mixed=picked(seen.mixed),
        concatenated=picked(side_by_side(seen.mixed)),
        entering=picked(seen.entering.reshape(groups, queries, -1)),
        projected=picked(seen.projected.reshape(groups, queries, -1)),
        out_weight=precise(seen.out_weight).cpu(),
        out_bias=None if seen.out_bias is None else precise(seen.out_bias).cpu(),
        arriving=None if seen.arriving is None else picked(seen.arriving.reshape(groups, queries, -1)),
        stream=_stream(seen, attention, window),
    )


def _stream(seen: Seen, attention: Attention, window: int) -> Stream | None:
    """The residual connection of one group's queries; None where the stream's order is not that of the token ids."""
    groups, _, queries, _ = seen.weights.shape
    ids = attention.query_ids[window].cpu()

    def rows(tensor: Tensor) -> Float[Tensor, "query out"]:
        if groups > 1 and tensor.shape[:2] == (groups, queries):  # in groups outside the layer too
            return precise(tensor[window]).cpu()
        picked = precise(tensor.flatten(0, -2)).cpu()[ids.clamp(min=0)]
        return picked.masked_fill((ids < 0)[:, None], float("nan"))

    if seen.before is None or seen.before.shape[-1] != seen.projected.shape[-1]:
        return None
    if seen.before[..., 0].numel() not in (len(attention.query), groups * queries):
        return None
    return Stream(rows(seen.before), rows(seen.branch), rows(seen.after))


@dataclass(frozen=True)
class PatchEmbedding:
    """`vectors`: the embedded patches, before positions are added. `weight` and `bias` of the convolution that makes
    them from patches; None for a hybrid, which embeds the cells of a CNN's `feature_map` instead."""

    vectors: Float[Tensor, "row column dim"]
    weight: Float[Tensor, "dim channel height width"] | None
    bias: Float[Tensor, " dim"] | None
    feature_map: Float[Tensor, "channel map_row map_column"] | None


def patch_embedding(loaded: Loaded, pixels: Tensor) -> PatchEmbedding:
    """The embedded patches of one image, (1, channel, height, width). NotApplicable for models without patches."""
    model: Any = loaded.model
    pixels = pixels.to(loaded.device)
    size_hw = size_of(pixels)
    with torch.no_grad():
        grid = first_grid(loaded, size_hw)
        theirs = next((name for name in ("conv_proj", "features") if hasattr(model, name)), None)  # torchvision
        embed = model.patch_embed if theirs is None else model.conv_proj if theirs == "conv_proj" else model.features[0]
        out = embed(pixels)
        out = out[0] if isinstance(out, tuple) else out
        if out.dim() == 4 and tuple(out.shape[1:3]) != grid:
            out = out.permute(0, 2, 3, 1)  # timm's models give (row, column, channel) or the channel first
        vectors = precise(out.reshape(*grid, -1)).cpu()
        backbone = getattr(embed, "backbone", None)
        maps = None if backbone is None else backbone(pixels)
        feature_map = maps[-1] if isinstance(maps, list | tuple) else maps
    first = getattr(embed, "proj", embed[0] if isinstance(embed, nn.Sequential) else embed)
    if backbone is not None or not isinstance(first, nn.Conv2d) or first.kernel_size != first.stride:
        return PatchEmbedding(vectors, None, None, None if feature_map is None else precise(feature_map[0]).cpu())
    bias = None if first.bias is None else precise(first.bias.detach()).cpu()
    return PatchEmbedding(vectors, precise(first.weight.detach()).cpu(), bias, None)
