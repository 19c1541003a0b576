"""A transformer on texts computed again, step after step, from its weights: every number between a word and its logits.

Vaswani et al. 2017 (arXiv 1706.03762), § 3, with "Add & Norm" after each part. None of the network's own code runs
here, so that its logits are a proof of these steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vizkit.models.networks.sequence_transformer import LanguageModel, Seq2SeqTransformer
from vizkit.models.sequences.loaded import SequenceModel
from vizkit.traces import NotApplicable
from vizkit.vocabulary import PAD

Stream = Float[Tensor, "token dim"]
ByHead = Float[Tensor, "head token d_k"]
Matrix = Float[Tensor, "head query key"]


@dataclass(frozen=True)
class Embedded:
    """`given` = `scaled` + `positions`, `scaled` = √d · `words`."""

    words: Stream
    scaled: Stream
    positions: Stream
    given: Stream


@dataclass(frozen=True)
class AttentionSteps:
    """`scores` = Q Kᵀ; `scaled` = scores / √d_k; `masked`: −∞ where `allowed` is not; `weights` = softmax(masked);
    `mixed` = weights V; `joined`: the heads side by side; `projected` = joined Wᵀ + b; `added` = what arrived +
    projected; `left` = its LayerNorm. `arriving`: the stream before the layer; `context`: whose keys and values."""

    name: str
    arriving: Stream
    context: Float[Tensor, "key dim"]
    query: ByHead
    key: Float[Tensor, "head key d_k"]
    value: Float[Tensor, "head key d_k"]
    scores: Matrix
    scaled: Matrix
    allowed: Bool[Tensor, "query key"]
    masked: Matrix
    weights: Matrix
    mixed: ByHead
    joined: Stream
    projected: Stream
    added: Stream
    left: Stream


@dataclass(frozen=True)
class FeedForwardSteps:
    """`inner` = W₁ x + b₁; `active` = max(0, inner); `out` = W₂ active + b₂; `added` = x + out; `left` = LayerNorm."""

    name: str
    arriving: Stream
    inner: Float[Tensor, "token hidden"]
    active: Float[Tensor, "token hidden"]
    out: Stream
    added: Stream
    left: Stream


@dataclass(frozen=True)
class LayerSteps:
    """One layer of the encoder or the decoder; `cross` of the decoder only."""

    name: str
    attention: AttentionSteps
    cross: AttentionSteps | None
    feed_forward: FeedForwardSteps


@dataclass(frozen=True)
class Walk:
    """Everything that a model computed of one text or two. Of a language model `target` is None and there is no
    decoder. `error`: the largest difference of `logits` from the model's own, relative to the largest (but at least to
    1)."""

    source: Embedded
    target: Embedded | None
    encoder: tuple[LayerSteps, ...]
    decoder: tuple[LayerSteps, ...]
    logits: Float[Tensor, "token word"]
    error: float


def walk(model: SequenceModel, source: Sequence[str], target: Sequence[str] = ()) -> Walk:
    """Of a translation: the target begins with [BEGIN]. Raises TextError for words that the model does not know,
    NotApplicable for a network that is built differently."""
    refuse_others(model, Seq2SeqTransformer)
    return _walked(model, model.source_ids(source), model.target_ids(target))


def walk_text(model: SequenceModel, ids: Sequence[int]) -> Walk:
    """Of one line of a language model. Raises as `walk` does."""
    refuse_others(model, LanguageModel)
    return _walked(model, ids)


def refuse_others(model: SequenceModel, *kinds: type) -> None:
    """NotApplicable for what is none of these networks, by default of those that are computed here."""
    if not isinstance(model.model, kinds or (Seq2SeqTransformer, LanguageModel)):
        raise NotApplicable(f"These are the steps of vizkit's own transformers; {model.name} is built differently.")


@torch.no_grad()
def _walked(model: SequenceModel, read: Sequence[int], written: Sequence[int] | None = None) -> Walk:
    network: Any = model.model
    texts = [model.tensor(ids) for ids in (read, written) if ids is not None]
    readable = texts[0] != PAD
    causal = getattr(network, "causal", False)
    source = _embedded(network.source, texts[0][0])
    encoder, x = [], source.given
    for i, layer in enumerate(network.encoder):
        encoder.append(_layer(f"encoder {i + 1}", layer, x, _looks(len(x), readable, causal)))
        x = encoder[-1].feed_forward.left
    target, decoder, memory = None, [], x
    if len(texts) == 2:
        target = _embedded(network.target, texts[1][0])
        x = target.given
        for i, layer in enumerate(network.decoder):
            looks = _looks(len(x), torch.ones_like(texts[1], dtype=torch.bool), True)
            decoder.append(_layer(f"decoder {i + 1}", layer, x, looks, memory, _looks(len(x), readable, False)))
            x = decoder[-1].feed_forward.left
    logits, own = _linear(network.head, x), network(*texts)[0]
    error = float((logits - own).abs().max() / own.abs().max().clamp(min=1))
    return Walk(source, target, tuple(encoder), tuple(decoder), logits, error)


def _looks(queries: int, readable: Bool[Tensor, "1 key"], causal: bool) -> Bool[Tensor, "query key"]:
    """Which keys a query may look at."""
    looks = readable.expand(queries, -1)
    return looks.tril() if causal else looks.clone()


def _embedded(embedding: Any, ids: Tensor) -> Embedded:
    words, positions = embedding.words.weight[ids], embedding.positions[: len(ids)]
    scaled = words * words.shape[-1] ** 0.5
    return Embedded(words, scaled, positions, scaled + positions)


def _layer(
    name: str,
    layer: Any,
    x: Stream,
    looks: Bool[Tensor, "query key"],
    memory: Float[Tensor, "source_token dim"] | None = None,
    readable: Tensor | None = None,
) -> LayerSteps:
    attention = _attention(f"{name}, self-attention", layer.attn, layer.norm1, x, x, looks)
    x, cross, norm = attention.left, None, layer.norm2
    if memory is not None and readable is not None:
        cross = _attention(f"{name}, cross-attention", layer.cross, norm, x, memory, readable)
        x, norm = cross.left, layer.norm3
    return LayerSteps(name, attention, cross, _feed_forward(f"{name}, feed-forward", layer.ffn, norm, x))


def _attention(
    name: str, layer: Any, norm: Any, x: Stream, context: Float[Tensor, "key dim"], looks: Tensor
) -> AttentionSteps:
    heads = layer.num_heads
    query, key, value = (
        _linear(part, of).unflatten(-1, (heads, -1)).transpose(0, 1)
        for part, of in ((layer.query, x), (layer.key, context), (layer.value, context))
    )
    scores = query @ key.transpose(-2, -1)
    scaled = scores / query.shape[-1] ** 0.5
    masked = scaled.masked_fill(~looks, float("-inf"))
    weights = (masked - masked.amax(-1, keepdim=True)).exp()
    weights = weights / weights.sum(-1, keepdim=True)
    mixed = weights @ value
    joined = mixed.transpose(0, 1).flatten(1)
    projected = _linear(layer.out, joined)
    added = x + projected
    return AttentionSteps(
        name,
        x,
        context,
        query,
        key,
        value,
        scores,
        scaled,
        looks,
        masked,
        weights,
        mixed,
        joined,
        projected,
        added,
        _normed(norm, added),
    )


def _feed_forward(name: str, layer: Any, norm: Any, x: Stream) -> FeedForwardSteps:
    inner = _linear(layer.first, x)
    active = inner.clamp(min=0)
    out = _linear(layer.second, active)
    return FeedForwardSteps(name, x, inner, active, out, x + out, _normed(norm, x + out))


def _linear(layer: Any, x: Float[Tensor, "token before"]) -> Float[Tensor, "token after"]:
    return x @ layer.weight.T + layer.bias


def _normed(norm: Any, x: Stream) -> Stream:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + norm.eps).sqrt() * norm.weight + norm.bias
