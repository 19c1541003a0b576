"""What a whole model costs, counted operation by operation without computing anything.

PyTorch's FlopCounterMode counts a multiplication and an addition as two; papers count the pair as one, and so do we.
"""

import copy
from dataclasses import dataclass

import torch
from torch import nn

from vizkit.models.loaded import Loaded
from vizkit.models.swin_stages import hierarchy

PUBLISHED_G = {  # Liu et al. 2021, table 1: 10⁹ multiply–adds
    "swin_tiny_patch4_window7_224": 4.5,
    "swin_small_patch4_window7_224": 8.7,
    "swin_base_patch4_window7_224": 15.4,
    "swin_base_patch4_window12_384": 47.0,
}


@dataclass(frozen=True)
class Counted:
    """Multiply–adds of one image: of everything, of the attention layers of each stage, of the products with weights
    and values alone (QKᵀ and AV), which are what windows save."""

    total: int
    attention: tuple[int, ...]
    products: int


def multiply_adds(loaded: Loaded) -> Counted:
    """Counted at the model's own input size on tensors without content. NotApplicable for models that are no Swin."""
    stages = hierarchy(loaded)
    found, root = operations(loaded), type(loaded.model).__name__

    def of(path: str) -> dict:
        return found.get(f"{root}.{path}", {})

    attention = tuple(sum(sum(of(block.path).values()) for block in stage.blocks) // 2 for stage in stages)
    batched = sum(
        count
        for stage in stages
        for block in stage.blocks
        for operation, count in of(block.path).items()
        if "bmm" in str(operation) or "scaled_dot_product" in str(operation)
    )
    return Counted(sum(found["Global"].values()) // 2, attention, batched // 2)


def counted(loaded: Loaded) -> int:
    """Multiply–adds of one image at the model's own input size, for a model of any family."""
    return sum(operations(loaded).get("Global", {}).values()) // 2


def operations(loaded: Loaded) -> dict[str, dict]:
    """Twice the multiply–adds of one image by the path of the module, "Global" for all, and by operation, as PyTorch
    counts: matrix products, convolutions and attention; not sums, norms or softmax.

    On tensors without content; a model that looks into its tensors on the way is run for real.
    """
    needs = loaded.preprocessing
    shape = (1, needs.channels, *needs.size_hw)
    try:
        return counts_of(without_content(loaded.model), torch.empty(shape, device="meta"))
    except (NotImplementedError, RuntimeError):
        return counts_of(loaded.model, torch.zeros(shape, device=loaded.device))


def multiply_adds_of(model: nn.Module, pixels: torch.Tensor) -> int:
    """Of these images, (image, channel, height, width), run for real."""
    return sum(counts_of(model, pixels).get("Global", {}).values()) // 2


def counts_of(model: nn.Module, pixels: torch.Tensor) -> dict[str, dict]:
    from torch.utils.flop_counter import FlopCounterMode

    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(pixels)
    return counter.get_flop_counts()


def without_content(model: nn.Module) -> nn.Module:
    """A copy whose tensors have shapes only; the model is untouched and no memory is taken."""
    memo: dict[int, object] = {}
    for tensor in model.parameters():
        memo[id(tensor)] = nn.Parameter(torch.empty_like(tensor, device="meta"), requires_grad=False)
    for tensor in model.buffers():
        memo[id(tensor)] = torch.empty_like(tensor, device="meta")
    return copy.deepcopy(model, memo)
