"""From what was recorded to a Trace: the steps that every family shares."""

from collections.abc import Sequence

import torch
from torch import Tensor

from vizkit.models.forward import Pass
from vizkit.models.loading import Loaded
from vizkit.models.recording import Call
from vizkit.trace import Attention, Check, Features, Tokens, Trace, TraceError, row_sum_error


def attention_of(
    call: Call, query: Tokens, key: Tokens, query_ids: Tensor, key_ids: Tensor, name: str | None = None
) -> Attention:
    """One call with its tokens named; chosen rows pick their ids."""
    assert call.weights is not None
    if call.rows is not None:
        query_ids = query_ids[:, list(call.rows)]
    return Attention(
        name or call.path, call.weights, query, key, query_ids, key_ids, gradient=call.gradient, heads=call.heads
    )


def features_of(name: str, values: Tensor, special: Tensor | None, tokens: Tokens) -> Features:
    """A map (channel, row, column) as tokens; the special ones go in front where the block gives them."""
    flat = values.flatten(1).T  # token channel
    if special is None or not len(special):
        tokens = Tokens(tokens.name, (), tokens.grid, stride=tokens.stride)
    else:
        flat = torch.cat([special.to(flat.dtype), flat])
    return Features(name, flat.float(), tokens)


def finish(
    loaded: Loaded,
    pixels: Tensor,
    target: int | None,
    result: Pass,
    attention: Sequence[Attention],
    features: Sequence[Features],
    expected: int,
    notes: tuple[str, ...] = (),
) -> Trace:
    """The Trace with its proof. Attention moves to the CPU: there the analyses and pages read it."""
    if expected and not result.calls:
        raise TraceError(f"{loaded.name}: no attention was recorded, {expected} layers were expected.")
    check = Check(row_sum_error(list(attention)), len(result.calls), expected, result.logit_error)
    return Trace(
        loaded.name,
        (pixels.shape[-2], pixels.shape[-1]),
        result.logits.cpu(),
        tuple(on_cpu(a) for a in attention),
        tuple(Features(f.name, f.values.cpu(), f.tokens) for f in features),
        check,
        target,
        notes,
    )


def on_cpu(attention: Attention) -> Attention:
    if attention.weights.device.type == "cpu":
        return attention
    gradient = None if attention.gradient is None else attention.gradient.cpu()
    ids = attention.query_ids.cpu(), attention.key_ids.cpu()
    a = attention
    return Attention(a.name, a.weights.cpu(), a.query, a.key, *ids, a.learned, gradient, a.heads)
