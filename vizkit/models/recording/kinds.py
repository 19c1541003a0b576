"""What a module is, by the file that defines its class: other people's classes have the same names."""

from torch import nn

KNOWN = ("timm.", "torchvision.models.", "vizkit.models.networks.")


def kind(module: nn.Module | None) -> str:
    """The class with its file, such as "timm.models.volo.OutlookAttention"."""
    return f"{type(module).__module__}.{type(module).__qualname__}"


def is_torchvision(module: nn.Module) -> bool:
    return type(module).__module__.startswith("torchvision")


def home(module: nn.Module) -> str:
    """The file of timm, of torchvision or of ours that defines a module, such as "volo"; "" for anybody else's."""
    file = type(module).__module__
    return file.rpartition(".")[2] if file.startswith(KNOWN) else ""
