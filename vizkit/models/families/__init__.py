"""One file per family, with all that is true of it alone: which call is which layer, and where its tokens lie.

A new family is a file here with the parts below, and its name in `ORDER`. Four parts more are for the families that
have them: `layer_at(model, size_hw, index, call)`, the call of layer `index` as an `Attention`, opens the walk-through;
`position_table(model)`, (name, table, prefix rows, grid), the learned positions; `IN_TOKENS = True`, that blocks give
tokens in a row and no maps; `kept(model, keep)`, what is recorded where that is not as it was asked.
"""

from importlib import import_module
from types import ModuleType

from torch import Tensor, nn

from vizkit.models.families.translate import finish
from vizkit.models.recording.call import Keep
from vizkit.models.recording.forward import forward
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable, Trace

ORDER = ("vit", "swin", "tnt", "dual_scale", "gradual_reduction", "cnn", "mlp", "generic")
"""The first that matches a model translates it; `generic` takes what is left."""

PARTS = {
    "TITLE": "what the family is called on pages",
    "SAME_ROWS": "whether row i is the same token in every layer, so that some rows can be kept",
    "names": "a function that lists timm's names of its models",
    "matches": "a function that says whether a model is one of the family",
    "tokens_of": "a function of model and size_hw: the sets of tokens that its layers see, the first patches first; () "
    "where the image is not cut into one grid of patches",
    "expected": "a function of a model: how many attention layers a pass calls, None where it cannot be known",
    "step_px": "a function of model and size_hw: both sides of an image are multiples of so many pixels, None where "
    "the model takes one size only",
    "translated": "a function of loaded, size_hw and what was recorded (a Pass) that gives the Translated",
}


def whole(name: str, module: ModuleType) -> ModuleType:
    """The module, unless a part is missing; ValueError says what to add where."""
    for part, meaning in PARTS.items():
        if not hasattr(module, part):
            raise ValueError(f"vizkit/models/families/{name}.py needs `{part}`: {meaning}.")
    return module


FAMILIES: dict[str, ModuleType] = {name: whole(name, import_module(f"{__name__}.{name}")) for name in ORDER}


def family_of(model: nn.Module) -> str:
    return next(name for name, family in FAMILIES.items() if family.matches(model))


def family(model: nn.Module) -> ModuleType:
    return FAMILIES[family_of(model)]


def trace(loaded: Loaded, pixels: Tensor, *, target: int | None = None, keep: Keep | None = None) -> Trace:
    """One image, (1, channel, height, width), recorded, and translated by the family of its model."""
    own, size_hw = family(loaded.model), (pixels.shape[-2], pixels.shape[-1])
    result = forward(loaded, pixels, keeping(loaded.model, keep), target, tokens=in_tokens(loaded.model))
    return finish(loaded, pixels, target, result, own.translated(loaded, size_hw, result))


def keeping(model: nn.Module, keep: Keep | None) -> Keep:
    """What is recorded of a model where this was asked."""
    own, keep = family(model), keep or Keep()
    return own.kept(model, keep) if hasattr(own, "kept") else keep


def in_tokens(model: nn.Module) -> bool:
    """Whether its blocks give tokens in a row."""
    return getattr(family(model), "IN_TOKENS", False)


def first_grid(loaded: Loaded, size_hw: tuple[int, int]) -> tuple[int, int]:
    """The grid of patches that the first layer sees; NotApplicable where there is not one such grid."""
    tokens = family(loaded.model).tokens_of(loaded.model, size_hw)
    if not tokens or tokens[0].grid is None:
        raise NotApplicable(f"{loaded.name} does not cut the image into one grid of patches.")
    return tokens[0].grid
