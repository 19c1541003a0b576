"""How weights change: which of them learn, the optimiser, and the learning rate at every step."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from timm.models import group_parameters
from timm.optim import create_optimizer_v2, muon
from torch import Tensor, nn

from vizkit.training.recipe import Recipe, RecipeError

_ORTHOGONALISE = muon.zeropower_via_newtonschulz


def choose_trainable(model: nn.Module, blocks: int) -> None:
    """Freeze all but the head and the last `blocks` blocks; -1 freezes nothing. Frozen norms keep their statistics."""
    if blocks < 0:
        return
    learn = head_names(model)
    if blocks:
        matcher = getattr(model, "group_matcher", None)
        if matcher is None:
            raise RecipeError("This model does not name its blocks; train all of it, or the head alone.")
        groups: dict = group_parameters(model, matcher(coarse=False))
        body = [group for _, group in sorted(groups.items()) if not set(group) & learn]
        for group in body[len(body) - min(blocks, len(body)) :]:
            learn |= set(group)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in learn)


def head_names(model: nn.Module) -> set[str]:
    """The parameters of the classifier, or of both of a distilled model."""
    try:
        heads: Any = model.get_classifier()  # type: ignore[operator]
    except AttributeError:
        raise RecipeError("This model does not say which part is its head; train all of it.") from None
    ids = {id(p) for head in (heads if isinstance(heads, tuple) else (heads,)) for p in head.parameters()}
    return {name for name, parameter in model.named_parameters() if id(parameter) in ids}


def set_training(model: nn.Module) -> None:
    """Training mode, except for modules none of whose parameters learns: BatchNorm there must not drift."""
    model.train()
    for module in model.modules():
        own = list(module.parameters())
        if own and not any(p.requires_grad for p in own):
            module.eval()


def optimizer_of(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """timm's optimiser; weight decay spares biases, norms, and what the model itself names (position tables)."""
    betas: dict[str, Any] = {"betas": (recipe.momentum, 0.999)} if recipe.optimizer.startswith("adam") else {}
    if recipe.optimizer == "muon":
        muon.zeropower_via_newtonschulz = _orthogonalised
    return create_optimizer_v2(
        model, recipe.optimizer, lr=recipe.lr, weight_decay=recipe.weight_decay, momentum=recipe.momentum, **betas
    )


def _orthogonalised(gradient: Tensor, *how: Any, **named: Any) -> Tensor:
    """timm does it in bfloat16, which a CPU without it imitates: a fifth of the time of a whole step."""
    return _ORTHOGONALISE(gradient, *how, **named, dtype=torch.bfloat16 if gradient.is_cuda else torch.float32)


def rate(recipe: Recipe, step: int, steps_per_epoch: int, accuracies: Sequence[float]) -> float:
    """The learning rate of a step, counted from 0. `accuracies`: validation accuracy of every finished epoch.

    A pure function: a resumed run needs no memory of its schedule.
    """
    warmup = recipe.warmup_epochs * steps_per_epoch
    if step < warmup:
        return recipe.lr * (step + 1) / (warmup + 1)
    if recipe.schedule == "plateau":
        return max(recipe.min_lr, recipe.lr / 10 ** plateaus(accuracies, recipe.plateau_patience))
    if recipe.schedule == "constant":
        return recipe.lr
    share = (step - warmup) / max(1, recipe.epochs * steps_per_epoch - warmup)
    return recipe.min_lr + (recipe.lr - recipe.min_lr) * (1 + math.cos(math.pi * min(1.0, share))) / 2


def plateaus(accuracies: Sequence[float], patience: int) -> int:
    """How often `patience` epochs in a row brought no better accuracy than the best before them."""
    best, since, count = -math.inf, 0, 0
    for accuracy in accuracies:
        best, since = (accuracy, 0) if accuracy > best else (best, since + 1)
        if since == patience:
            count, since = count + 1, 0
    return count


def epochs_since_best(accuracies: Sequence[float]) -> int:
    """0 right after an epoch that was better than all before."""
    return len(accuracies) - 1 - max(range(len(accuracies)), key=lambda i: (accuracies[i], -i)) if accuracies else 0
