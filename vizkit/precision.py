"""How precise products of float32 numbers really are: what torch's flags allow on a device, and autocast.

TF32 keeps 10 of the 23 bits of a factor (NVIDIA's GPUs since Ampere), bfloat16 keeps 7; sums stay in float32.
"""

from functools import cache
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose2d)


class Precision(NamedTuple):
    """`spacing`: ε, between 1 and the next number that a factor may be."""

    name: str
    spacing: float


FULL = Precision("float32", torch.finfo(torch.float32).eps)
LOWER = {"tf32": Precision("TF32", 2.0**-10), "bf16": Precision("bfloat16", 2.0**-7)}


def of_type(dtype: torch.dtype) -> Precision:
    return Precision(str(dtype).removeprefix("torch."), torch.finfo(dtype).eps)


def of_products(device: torch.device, *, convolutions: bool = False) -> Precision:
    """Of matrix products of float32 on a device, or of `convolutions`, outside autocast."""
    backends: Any = torch.backends
    if device.type == "cuda":
        # Whichever of torch's two ways has set it; `allow_tf32` may not be read any more after the newer one.
        operation = backends.cudnn.conv if convolutions else backends.cuda.matmul
        able = torch.cuda.get_device_capability(device) >= (8, 0)
        return LOWER.get(operation.fp32_precision, FULL) if able else FULL
    if device.type == "cpu":
        operation = backends.mkldnn.conv if convolutions else backends.mkldnn.matmul
        return _of_processor(operation.fp32_precision, convolutions)
    return FULL


@cache
def _of_processor(flag: str, convolutions: bool) -> Precision:
    """What a flag allows few processors have: a product says whether this one does."""
    if flag not in LOWER:
        return FULL
    draw = torch.Generator().manual_seed(0)
    left, right = (torch.randn(128, 128, 1, 1, generator=draw) for _ in range(2))
    with torch._C.DisableTorchFunction(), torch.no_grad(), torch.autocast("cpu", enabled=False):
        made = F.conv2d(left, right) if convolutions else (left[..., 0, 0] @ right[..., 0, 0].T)[..., None, None]
        exact = torch.einsum("nc...,oc...->no...", left.double(), right.double())
    off = float((made - exact).abs().max() / exact.abs().max())
    return LOWER[flag] if off > 100 * FULL.spacing else FULL


def of_pass(model: nn.Module, device: torch.device) -> Precision:
    """The lowest of all products of a pass of the model that is made here and now."""
    kinds = [of_products(device)]
    if any(isinstance(module, CONVOLUTIONS) for module in model.modules()):
        of_convolutions = of_products(device, convolutions=True)
        kinds.append(of_convolutions._replace(name=f"{of_convolutions.name} (convolutions)"))
    if torch.is_autocast_enabled(device.type):
        cast = of_type(torch.get_autocast_dtype(device.type))
        kinds.append(cast._replace(name=f"{cast.name} (autocast)"))
    return max(kinds, key=lambda kind: kind.spacing)
