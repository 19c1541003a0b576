"""From what was recorded to a Trace: the steps that every family shares."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from vizkit.check import precision_of_pass
from vizkit.geometry import size_of
from vizkit.models.families.outlook import OUTLOOK
from vizkit.models.families.proven_places import Places, proven
from vizkit.models.recording.counting import Counting
from vizkit.models.recording.forward import Pass, apart
from vizkit.models.recording.kinds import kind
from vizkit.models.recording.layer_output import LOST, Difference, exceeds, worst
from vizkit.models.recording.plan import NOW
from vizkit.models.recording.recorder import Call, Recorder
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import (
    OUTPUT_TOLERANCE,
    Attention,
    Check,
    Features,
    Tokens,
    Trace,
    TraceError,
    fetched,
    kept_on,
)


@runtime_checkable
class Named(Protocol):
    """What a trace says of its model: `sources.loaded.Loaded` of images, `sequences.loaded.SequenceModel` of texts."""

    @property
    def name(self) -> str: ...

    @property
    def notes(self) -> tuple[str, ...]: ...


CHANGED = {
    "timm.models.cait.TalkingHeadAttn": "mixes its heads after the softmax",
    "timm.models.efficientformer_v2.Attention2d": "mixes its heads after the softmax",
    "timm.models.convit.GPSA": "blends two maps, content (· 1) and position (· 2), by a learned gate",
    "timm.models.efficientvim.HSMSSD": "multiplies each weight by a number of its token after the softmax",
    "timm.layers.diff_attention.DiffAttention": "subtracts its second map (· 2) from its first (· 1)",
}
"""What a layer still does to the weights between the softmax and the values."""
AS_SOFTMAX = "; shown are the weights as the softmax gives them."

OVERLAPPING = "Windows of OutlookAttention overlap: the mean of a place's rows is shown, the layer adds them up."


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
    attention = Attention(name or call.path, call.weights, query, key, query_ids, key_ids, heads=call.heads)
    return replace(attention, gradient=call.gradient, score_gradient=call.score_gradient)


def step_of_stages(size_hw: tuple[int, int]) -> int:
    """Both sides of an image are multiples of it for models whose stages halve their grid."""
    return 32 if min(size_hw) >= 128 else 4


def features_of(name: str, values: Tensor, special: Tensor | None, tokens: Tokens) -> Features:
    """A map (channel, row, column) as tokens, or tokens; the special ones go in front where the block gives them."""
    flat = values.flatten(1).T if values.dim() == 3 else values  # token channel
    if special is None or not len(special):
        tokens = replace(tokens, special=(), free=0)
    else:
        flat = joined(special.to(flat.dtype), flat)
    return Features(name, flat.float(), tokens)


def joined(first: Tensor, then: Tensor) -> Tensor:
    """Tokens one after the other; two neighbouring pieces of one tensor, as timm cuts them, are not copied."""
    together = first.untyped_storage().data_ptr() == then.untyped_storage().data_ptr()
    end = first.storage_offset() + first.numel()
    if together and first.is_contiguous() and then.is_contiguous() and end == then.storage_offset():
        return first.as_strided((len(first) + len(then), *first.shape[1:]), first.stride())
    return torch.cat([first, then])


def cam_features(result: Pass, *known: Tokens, channels_last: bool = False) -> list[Features]:
    """The deciding features whose places are known: tokens of one of the `known` sets, or a map on its grid."""
    features = []
    for name, values, gradient in result.deciding:
        if values.dim() == 3 and not channels_last:
            values, gradient = values.movedim(0, -1), gradient.movedim(0, -1)
        # A map has to have the very grid; of tokens in a row only the number is seen.
        fits = [t for t in known if t.grid and (values.dim() == 2 or (not t.special and values.shape[:2] == t.grid))]
        values, gradient = (t.reshape(-1, t.shape[-1]).float() for t in (values, gradient))
        tokens = next((t for t in fits if len(t) == len(values)), None)
        if tokens is not None:
            features.append(Features(name, values, tokens, gradient))
    return features


def layer_features(result: Pass, attention: Sequence[Attention]) -> list[Features]:
    """What entered every attention layer, laid where its keys are: they come from the same vectors as the queries.
    `attention`: one for each call that is kept, and whatever is not learned."""
    kept = [given for call, given in zip(result.calls, result.entering, strict=False) if call.weights is not None]
    features = []
    for layer, given in zip((a for a in attention if a.learned), kept, strict=False):
        if given is None or layer.key.grid is None:
            continue
        ids = layer.key_ids.flatten().to(given[0].device)
        if given[0].numel() != len(ids) * given[0].shape[-1]:
            continue
        values, gradient = (spread(each.reshape(len(ids), -1).float(), ids, len(layer.key)) for each in given)
        features.append(Features(layer.name, values, layer.key, gradient))
    return features


def spread(rows: Tensor, ids: Tensor, count: int) -> Tensor:
    """Rows in windows in the order of the tokens; what is padding is left out."""
    out = rows.new_zeros(count + 1, rows.shape[-1])
    out[ids % (count + 1)] = rows
    return out[:-1]


def stage_features(result: Pass, features: Sequence[Features]) -> list[Features]:
    """What leaves each stage of a CNN, with its gradient."""
    if not result.gradients:
        return []
    flat = [gradient.flatten(1).T.float() for gradient in result.gradients]
    return [replace(seen, gradient=own) for seen, own in zip(features, flat, strict=True)]


@dataclass(frozen=True)
class Translated:
    """What a family makes of a pass. `planned`: how many layers it knows the model to have, besides those that were
    counted; `cam` and `by_layer` as in `Trace.cam_features` and `layer_features`."""

    attention: Sequence[Attention]
    features: Sequence[Features]
    planned: int | None = None
    notes: tuple[str, ...] = ()
    cam: Sequence[Features] = ()
    by_layer: Sequence[Features] = ()


def passed(model: nn.Module, logits: Tensor, plain: Tensor, recorder: Recorder, counting: Counting) -> Pass:
    """Of a model that gives no features: what was recorded and counted, and the logits of the plain pass."""
    return Pass(
        logits,
        tuple(recorder.calls),
        (),
        (),
        apart(logits, plain.float()),
        layers=counting.layers,
        linear=counting.linear,
        changed=counting.changed,
        precision=precision_of_pass(model, logits.device),
    )


def finish(
    loaded: Named,
    pixels: Tensor,
    target: int | None,
    result: Pass,
    made: Translated,
    places: Places | None = None,
) -> Trace:
    """The Trace with its proof; a check that failed says so first among the notes.

    `places`: what is proven of them, of what is no `Loaded`.

    What was recorded stays on the device, see `traces.Kept`, while there is room.
    """
    attention, planned = made.attention, made.planned
    expected = max((count for count in (planned, result.layers) if count is not None), default=None)
    if expected and not result.calls:
        raise TraceError(f"{loaded.name}: no attention was recorded, {expected} layers were expected.")
    errors = [error for call in result.calls if (error := call.row_sum_error) is not None]
    row_sum_error = float(torch.stack(errors).max()) if errors else 0.0  # NaN stays NaN
    plan = NOW.get()
    changed = result.changed + (plan.weighing(len(result.calls)) if plan else 0)
    if isinstance(loaded, Loaded):
        places = proven(loaded.model, pixels, result.calls, attention, loaded.proven, decides=result.decides)
    edited = worst(result.edited) if result.edited else (None, OUTPUT_TOLERANCE)
    error, found, claimed, elsewhere = places or Places(None, 0, 0)
    check = Check(
        row_sum_error,
        len(result.calls),
        expected,
        result.logit_error,
        *output_of(result.calls, changed),
        *rows_of(result.calls),
        error,
        found,
        claimed,
        *edited,
        result.precision,
        elsewhere,
    )
    device = result.logits.device
    kept = partial(kept_on, device) if _roomy(device) else fetched
    return Trace(
        loaded.name,
        size_of(pixels),
        result.logits.cpu(),
        tuple(map(kept, attention)),
        tuple(map(kept, made.features)),
        check,
        target,
        (*([check.failure] if check.failure else []), *made.notes, *changes(result.calls), *loaded.notes),
        tuple(map(kept, made.cam)),
        result.linear,
        tuple(map(kept, made.by_layer)),
    )


def output_of(calls: Sequence[Call], changed: int = 0) -> tuple[float | None, float]:
    """`Check.output_error` and its tolerance, over all recorded layers; none where one could not be compared."""
    compared = compared_in(calls, changed)
    return worst(compared) if compared else (None, OUTPUT_TOLERANCE)


def compared_in(calls: Sequence[Call], changed: int) -> list[Difference]:
    """What was compared in all recorded layers; nothing where one could not be.

    `changed`: how many layers are known to change their weights on the way to the values, which a note says: so many
    may differ there.
    """
    kept = [call for call in calls if call.weights is not None]
    if not kept or not all(call.differences for call in kept):
        return []
    compared = [difference for call in kept for difference in call.differences]
    astray = {id(call): call for call in kept if call.astray}
    right = [call.met for call in kept if call.met is not None and id(call) not in astray]
    if len({call.path for call in astray.values()}) <= changed:  # two maps that a layer blends are one change
        return [*compared, *right]
    wrong = [call for call in astray.values() if call.met is not None or call.kernel != "softmax"]
    if not wrong:  # nobody saw what became of them
        return []
    return [*compared, *right, *(call.met if call.met and exceeds(call.met) else LOST for call in wrong)]


def rows_of(calls: Sequence[Call]) -> tuple[int, int]:
    """How many rows of how many the layers were compared in."""
    shapes = [(call.weights.shape, call.places) for call in calls if call.weights is not None and call.differences]
    few, many = (
        sum(groups * len(range(queries)[part]) for (groups, _, queries, _), part in pairs)
        for pairs in (shapes, [(shape, slice(None)) for shape, _ in shapes])
    )
    return few, many


def changes(calls: Sequence[Call]) -> list[str]:
    """One sentence for each kind of layer that does something to its weights after the softmax."""
    kinds = {kind(call.module) for call in calls}
    notes = [f"{name.rpartition('.')[2]} {CHANGED[name]}{AS_SOFTMAX}" for name in sorted(kinds & CHANGED.keys())]
    return [*notes, OVERLAPPING] if OUTLOOK in kinds else notes


def _roomy(device: torch.device) -> bool:
    """Whether half of a GPU is free: what is kept there may not be missing in the passes to come."""
    if device.type != "cuda":
        return True
    free, total = torch.cuda.mem_get_info(device)
    return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device) >= total / 2
