"""The logit lens (nostalgebraist 2020): the model's own last normalisation and head on what leaves every block.

The head reads what it always reads: the class token in most ViTs, the mean of the patches in a mean-pooled one. A patch
is read as a sequence that holds nothing but this patch, so that it is the class token, and the mean, at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vizkit.models.recording.forward import UNABLE, apart
from vizkit.models.recording.layer_scores import reader
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable, Trace


@dataclass(frozen=True)
class Lens:
    """`logits` of the head after each block. `error`: the largest difference of a logit after the last block from the
    model's own, relative to the largest of these, but at least to 1; at most 1e-4. `read`: what the head reads."""

    logits: Float[Tensor, "layer label"]
    error: float
    read: str


@torch.no_grad()
def logit_lens(loaded: Loaded, trace: Trace) -> Lens:
    """`trace`: of this model. NotApplicable where its head cannot read its earlier layers."""
    read, dtype = readable(loaded, trace), next(loaded.model.parameters()).dtype
    try:
        each = [read(features.values[None].to(loaded.device, dtype)) for features in trace.features]
        logits = torch.cat([loaded.logits_of(out) for out in each]).cpu()
        error = apart(logits[-1], trace.logits)
    except UNABLE:
        error = float("nan")
    if not error <= trace.check.logit_tolerance:
        raise NotApplicable(f"The head of {loaded.name} reads something else than what leaves its blocks.")
    return Lens(logits, error, what_the_head_reads(loaded.model))


@torch.no_grad()
def patch_outputs(loaded: Loaded, trace: Trace, layer: int) -> Float[Tensor, "row column output"]:
    """What the head returns of each patch after block `layer`, from 0, as the model returns it. NotApplicable as in
    `logit_lens`."""
    read, features = readable(loaded, trace), trace.features[layer]
    if features.tokens.grid is None:
        raise NotApplicable(f"Where the tokens of {loaded.name} lie in the image is not known, so no map is drawn.")
    first = len(features.tokens.special)
    patches = features.values[first : len(features.values) - features.tokens.free]
    alone = int(getattr(loaded.model, "num_prefix_tokens", 0)) + 1
    tokens = patches.to(loaded.device, next(loaded.model.parameters()).dtype)[:, None].expand(-1, alone, -1)
    return read(tokens).float().cpu().unflatten(0, features.tokens.grid)


def readable(loaded: Loaded, trace: Trace) -> Callable[[Tensor], Tensor]:
    """The head as a function of the tokens of any layer; NotApplicable, in a sentence, where there is none."""
    if not trace.features:
        raise NotApplicable(f"{loaded.name} does not give the vectors between its blocks.")
    read, widths = reader(loaded.model), list(dict.fromkeys(each.values.shape[1] for each in trace.features))
    if len(widths) > 1:
        numbers = ", ".join(map(str, widths))
        raise NotApplicable(
            f"The vectors of {loaded.name} change their length from stage to stage ({numbers}), so its head can read "
            "those of the last stage only."
        )
    if read is None:
        raise NotApplicable(f"{loaded.name} has no last normalisation and head that could read its earlier layers.")
    return read


def what_the_head_reads(model: nn.Module) -> str:
    known: Any = model
    if getattr(known, "head_dist", None) is not None:
        return "the class and the distillation token"
    if getattr(known, "attn_pool", None) is not None:
        return "the attention pool"
    pooled = getattr(known, "global_pool", "token" if getattr(known, "cls_token", None) is not None else "avg")
    return "the class token" if pooled in ("token", "") else "the mean of the patches"
