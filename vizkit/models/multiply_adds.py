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
    from torch.utils.flop_counter import FlopCounterMode

    stages = hierarchy(loaded)
    model = without_content(loaded.model)
    height, width = loaded.preprocessing.size_hw
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(torch.empty(1, 3, height, width, device="meta"))
    found = counter.get_flop_counts()
    root = type(model).__name__

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
    return Counted(counter.get_total_flops() // 2, attention, batched // 2)


def without_content(model: nn.Module) -> nn.Module:
    """A copy whose tensors have shapes only; the model is untouched and no memory is taken."""
    memo: dict[int, object] = {}
    for tensor in model.parameters():
        memo[id(tensor)] = nn.Parameter(torch.empty_like(tensor, device="meta"), requires_grad=False)
    for tensor in model.buffers():
        memo[id(tensor)] = torch.empty_like(tensor, device="meta")
    return copy.deepcopy(model, memo)
