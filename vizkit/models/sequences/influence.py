"""How much each word that was read matters for each word that was written: gradients back to the words' vectors.

Where a recurrent network has to carry a word through many steps, its gradient vanishes (Hochreiter 1991; Bengio et al.
1994); attention gives every word a short way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.overrides import TorchFunctionMode

from vizkit.models.sequences.loaded import SequenceModel
from vizkit.traces import NotApplicable


@dataclass(frozen=True)
class Influence:
    """‖∂ log p / ∂ (vector of a word that was read)‖₂, in nats per unit of the vector. `answers`: p of each word of the
    target, then of its end; `whole`: p of all of it. `log_probabilities`: of each, in nats."""

    answers: Float[Tensor, "answer token"]
    whole: Float[Tensor, " token"]
    log_probabilities: Float[Tensor, " answer"]

    @property
    def relative(self) -> Float[Tensor, " token"]:
        """`whole`, of its largest."""
        return self.whole / self.whole.max().clamp(min=torch.finfo(self.whole.dtype).tiny)

    @property
    def shares(self) -> Float[Tensor, "answer token"]:
        """`answers`, the rows summing to 1."""
        return self.answers / self.answers.sum(-1, keepdim=True).clamp(min=torch.finfo(self.answers.dtype).tiny)


class _Vectors(TorchFunctionMode):
    """Makes the vectors of one text the leaves of the graph; the model itself stays as it is."""

    def __init__(self, ids: Tensor) -> None:
        super().__init__()
        self.ids = ids
        self.leaf: Tensor | None = None

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func is F.embedding and self.leaf is None and torch.equal(args[0], self.ids):
            out = self.leaf = out.detach().requires_grad_()
        return out


def influence(model: SequenceModel, source: Sequence[str], target: Sequence[str]) -> Influence:
    """Of a text that was translated or continued. The tokens are those of the source, of a causal model the whole line.

    Raises TextError for words that the model does not know, NotApplicable for a model that does not write.
    """
    if not model.writes:
        raise NotApplicable(f"{model.name} writes no answer whose probability could be followed back.")
    before = model.tensor(model.source_ids(source))
    texts = (
        (before, model.tensor(model.target_ids(target)))
        if model.translates
        else (model.tensor(model.line_ids(source, target)),)
    )
    first = 0 if model.translates else before.shape[1] - 1
    answers = [*model.vocabulary.ids(target), model.end]
    # cuDNN's recurrent kernels give gradients in training mode only.
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False), _Vectors(texts[0]) as vectors:
        logits = model.model(*texts)[0, first : first + len(answers)].float()
    places = torch.arange(len(answers), device=logits.device)
    chosen = logits.log_softmax(-1)[places, torch.tensor(answers, device=logits.device)]
    assert vectors.leaf is not None
    lengths = [_length(score, vectors.leaf) for score in (*chosen, chosen.sum())]
    return Influence(torch.stack(lengths[:-1]), lengths[-1], chosen.detach().cpu())


def _length(score: Tensor, leaf: Tensor) -> Float[Tensor, " token"]:
    (gradient,) = torch.autograd.grad(score, leaf, retain_graph=True)
    return gradient[0].norm(dim=-1).cpu()
