"""The target's logit read off after every block, and its gradient at that block's attention.

What LeGrad needs (Bousselham et al. 2024, arXiv 2404.03214, § 3): s_l is the model's own last normalisation and head on
the tokens that leave block l, and only for the attention of block l is ∂s_l/∂A_l computed.
"""

import re
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from vizkit.check import logit_tolerance, precision_of_pass
from vizkit.models.recording.recorder import Call
from vizkit.models.sources.loaded import Loaded

BLOCK = re.compile(r"blocks\.(\d+)\.")


def reader(model: nn.Module) -> Callable[[Tensor], Tensor] | None:
    """The model's own last normalisation and head, of what leaves a block: (image, token, channel) → (image, label).
    None where it has no such parts."""
    norm, head = getattr(model, "norm", None), getattr(model, "forward_head", None)
    return None if norm is None or head is None else lambda tokens: head(norm(tokens))


def take_score_gradients(
    loaded: Loaded,
    calls: Sequence[Call],
    tokens: Sequence[Tensor],
    score_of: Callable[[Tensor], Tensor],
    logit: Tensor,
) -> None:
    """Fill in `Call.score_gradient`, before the graph is freed. `tokens`: what leaves each block, (image, token,
    channel). `score_of`: the number of each image's target, of (image, label) (`heads.scorer`); `logit`: what it is.

    Only mean(relu) over heads and queries is kept, one number for each key: whole gradients would double a trace.
    Nothing is filled in where the last score is not the model's logit, or where the head attends itself.
    """
    read = reader(loaded.model)
    blocks = [(BLOCK.match(call.path), call) for call in calls]
    if not tokens or read is None or not all(match for match, _ in blocks):
        return
    with torch.enable_grad():
        scores = [score_of(loaded.logits_of(read(x), len(x))) for x in tokens]
    off, size = (scores[-1] - logit).detach().abs(), logit.detach().abs().clamp(min=1)
    if not bool((off <= logit_tolerance(precision_of_pass(loaded.model, logit.device)) * size).all()):
        return
    for match, call in blocks:
        if match and call.raw is not None:
            score = scores[int(match[1])]
            (gradient,) = torch.autograd.grad(score.sum(), [call.raw], retain_graph=True, allow_unused=True)
            gradient = torch.zeros_like(call.raw) if gradient is None else gradient
            call.score_gradient = call.grouped(gradient.float().clamp(min=0)).mean((-3, -2))
