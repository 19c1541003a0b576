"""The residual branches of a model that stochastic depth may skip (Huang et al. 2016)."""

from torch import nn

from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable


def branches(loaded: Loaded) -> list[int]:
    """For each block, in the order of the forward pass, how many branches it can skip: attention and MLP of a ViT's
    block are two. Read off timm's modules, which keep the place also at a rate of zero. NotApplicable where none is.
    """
    counts = [count for module in loaded.model.modules() if (count := _places(module))]
    if not counts:
        name = loaded.name.removeprefix("bundled:")
        raise NotApplicable(f"{name} has no residual blocks in which timm could skip anything.")
    return counts


def _places(module: nn.Module) -> int:
    return sum(name.startswith("drop_path") for name, _ in module.named_children())
