"""The grid of patches that a model cuts its image into."""

from torch import nn

from vizkit.models.families import dual_scale, gradual_reduction, swin, vit
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable, Tokens


def first_grid(loaded: Loaded, size_hw: tuple[int, int]) -> tuple[int, int]:
    """The grid of patches that the first layer sees; NotApplicable where there is not one such grid."""
    tokens = first_tokens(loaded.model, size_hw)
    if tokens is None or tokens.grid is None:
        raise NotApplicable(f"{loaded.name} does not cut the image into one grid of patches.")
    return tokens.grid


def first_tokens(model: nn.Module, size_hw: tuple[int, int]) -> Tokens | None:
    if vit.matches(model):
        return vit.tokens_of(model, size_hw)
    if swin.matches(model):
        return swin.stages(model, size_hw)[0]
    if gradual_reduction.matches(model):
        return gradual_reduction.token_sets(model, size_hw)[0]
    return dual_scale.tokens_of(model) if dual_scale.matches(model) else None
