"""Import timm without torch's compiler, which takes longer than all the rest of it and is used by no model here.

torchvision asks it one question for one operation (`roi_align`), timm exempts four methods of NaFlexViT from it. Both
get torch's own late forms while they are imported: the compiler then comes with the first call that needs it.
"""

import sys
from types import ModuleType
from typing import Any

import torch

_UTILS = "torch._dynamo.utils"


def _is_compile_supported(device_type: str) -> bool:
    from torch._dynamo.utils import is_compile_supported

    return is_compile_supported(device_type)


def _disable(fn: Any = None, recursive: bool = True, **_: Any) -> Any:
    return torch._disable_dynamo(fn, recursive)


def _import_timm() -> None:
    late, disable = ModuleType(_UTILS), torch.compiler.disable
    late.__dict__["is_compile_supported"] = _is_compile_supported
    sys.modules[_UTILS] = late
    torch.compiler.disable = _disable
    try:
        import timm  # noqa: F401
    finally:
        torch.compiler.disable = disable
        del sys.modules[_UTILS]


if not any(name in sys.modules for name in ("torch._dynamo", "timm")):
    _import_timm()
