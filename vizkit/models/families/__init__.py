"""One file per family, with all that is true of it alone: which call is which layer, and where its tokens lie.

A new family is a file here with the parts below, and its name in `ORDER`. More parts are for families that differ in
them from what is usual: `matches(model)`, whether a model is one of the family, usually one of `MODULES`;
`tokens_of(model, size_hw)`, the sets of tokens that its layers see, the first patches first, usually () as where the
image is not cut into one grid of patches; `step_px(model, size_hw)`: both sides of an image are multiples of so many
pixels, usually None, as where the model takes one size only; `kept(model, keep)`, what is recorded where that is not as
it was asked; `IN_TOKENS = True`, that blocks give tokens in a row and no maps. And where there are any:
`layer_at(model, size_hw, index, call)`, the call of layer `index` as an `Attention`, opens the walk-through;
`position_table(model)`, (name, table, prefix rows, grid), the learned positions.
"""

from importlib import import_module
from types import ModuleType

from torch import Tensor, nn

from vizkit.geometry import size_of
from vizkit.models.families.translate import finish
from vizkit.models.recording.call import Keep
from vizkit.models.recording.forward import forward
from vizkit.models.recording.kinds import home
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable, Trace

ORDER = ("vit", "swin", "tnt", "dual_scale", "gradual_reduction", "cnn", "mlp", "generic")
"""The first that matches a model translates it; `generic` takes what is left."""

PARTS = {
    "TITLE": "what the family is called on pages",
    "SAME_ROWS": "whether row i is the same token in every layer, so that some rows can be kept",
    "MODULES": "the files of timm, or of ours, in which its models are",
    "expected": "a function of a model: how many attention layers a pass calls, None where it cannot be known",
    "translated": "a function of loaded, size_hw and what was recorded (a Pass) that gives the Translated",
}


def whole(name: str, module: ModuleType) -> ModuleType:
    """The module, with what is usual; ValueError says which part is missing where."""
    for part, meaning in PARTS.items():
        if not hasattr(module, part):
            raise ValueError(f"vizkit/models/families/{name}.py needs `{part}`: {meaning}.")
    usual = {
        "matches": lambda model: home(model) in module.MODULES,
        "tokens_of": lambda model, size_hw: (),
        "step_px": lambda model, size_hw: None,
        "kept": lambda model, keep: keep,
        "IN_TOKENS": False,
    }
    vars(module).update(usual | vars(module))
    return module


FAMILIES: dict[str, ModuleType] = {name: whole(name, import_module(f"{__name__}.{name}")) for name in ORDER}


def family_of(model: nn.Module) -> str:
    return next(name for name, family in FAMILIES.items() if family.matches(model))


def family(model: nn.Module) -> ModuleType:
    return FAMILIES[family_of(model)]


def trace(loaded: Loaded, pixels: Tensor, *, target: int | None = None, keep: Keep | None = None) -> Trace:
    """One image, (1, channel, height, width), recorded, and translated by the family of its model."""
    own, size_hw = family(loaded.model), size_of(pixels)
    result = forward(loaded, pixels, keeping(loaded.model, keep), target, tokens=in_tokens(loaded.model))
    return finish(loaded, pixels, target, result, own.translated(loaded, size_hw, result))


def keeping(model: nn.Module, keep: Keep | None) -> Keep:
    """What is recorded of a model where this was asked."""
    return family(model).kept(model, keep or Keep())


def in_tokens(model: nn.Module) -> bool:
    """Whether its blocks give tokens in a row."""
    return family(model).IN_TOKENS


def names_of(own: ModuleType) -> list[str]:
    """timm's names of a family's models."""
    import timm

    import vizkit.models.networks  # noqa: F401  registers ours with timm

    return [name for module in own.MODULES for name in timm.list_models(module=module)]


def first_grid(loaded: Loaded, size_hw: tuple[int, int]) -> tuple[int, int]:
    """The grid of patches that the first layer sees; NotApplicable where there is not one such grid."""
    tokens = family(loaded.model).tokens_of(loaded.model, size_hw)
    if not tokens or tokens[0].grid is None:
        raise NotApplicable(f"{loaded.name} does not cut the image into one grid of patches.")
    return tokens[0].grid
