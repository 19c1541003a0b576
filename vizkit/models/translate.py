"""From what was recorded to a Trace: the steps that every family shares."""

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from vizkit.models.forward import Pass
from vizkit.models.loading import Loaded
from vizkit.models.recording import Call
from vizkit.trace import Attention, Check, Features, Tokens, Trace, TraceError

CHANGED = {
    "TalkingHeadAttn": "mixes its heads after the softmax",
    "Attention2d": "mixes its heads after the softmax",
    "GPSA": "blends two maps, content (· 1) and position (· 2), by a learned gate",
    "DiffAttention": "subtracts its second map (· 2) from its first (· 1)",
}
"""What a layer still does to the weights between the softmax and the values."""


def names_of(calls: Sequence[Call]) -> list[str]:
    """The path of each call, numbered where a module calls several times."""
    count, seen, names = Counter(call.path for call in calls), Counter(), []
    for call in calls:
        seen[call.path] += 1
        names.append(f"{call.path} · {seen[call.path]}" if count[call.path] > 1 else call.path)
    return names


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
    """A map (channel, row, column) as tokens, or tokens; the special ones go in front where the block gives them."""
    flat = values.flatten(1).T if values.dim() == 3 else values  # token channel
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
    errors = [call.row_sum_error for call in result.calls if call.row_sum_error is not None]
    row_sum_error = float(torch.stack(errors).max()) if errors else 0.0  # NaN stays NaN
    check = Check(row_sum_error, len(result.calls), expected, result.logit_error)
    return Trace(
        loaded.name,
        (pixels.shape[-2], pixels.shape[-1]),
        result.logits.cpu(),
        tuple(on_cpu(a) for a in attention),
        tuple(Features(f.name, f.values.cpu(), f.tokens) for f in features),
        check,
        target,
        (*notes, *changes(result.calls)),
    )


def changes(calls: Sequence[Call]) -> list[str]:
    """One sentence for each kind of layer that does something to its weights after the softmax."""
    kinds = sorted({type(call.module).__name__ for call in calls} & CHANGED.keys())
    return [f"{kind} {CHANGED[kind]}; shown are the weights as the softmax gives them." for kind in kinds]


def on_cpu(attention: Attention) -> Attention:
    if attention.weights.device.type == "cpu":
        return attention
    gradient = None if attention.gradient is None else attention.gradient.cpu()
    ids = attention.query_ids.cpu(), attention.key_ids.cpu()
    a = attention
    return Attention(a.name, a.weights.cpu(), a.query, a.key, *ids, a.learned, gradient, a.heads)
