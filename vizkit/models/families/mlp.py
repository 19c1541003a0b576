"""The MLP on pixels: no attention, and after its first layer no places."""

from torch import nn

from vizkit.models.families.translate import Translated
from vizkit.models.recording.forward import Pass
from vizkit.models.recording.kinds import home
from vizkit.models.sources.loading import Loaded
from vizkit.traces import Tokens

TITLE, SAME_ROWS = "MLP", False


def names() -> list[str]:
    import timm

    return timm.list_models(module="pixel_mlp")


def matches(model: nn.Module) -> bool:
    return home(model) == "pixel_mlp"


def tokens_of(model: nn.Module, size_hw: tuple[int, int]) -> tuple[Tokens, ...]:
    return ()


def expected(model: nn.Module) -> int:
    return 0


def step_px(model: nn.Module, size_hw: tuple[int, int]) -> None:
    """It has a weight for every pixel."""
    return None


def translated(loaded: Loaded, size_hw: tuple[int, int], result: Pass) -> Translated:
    """Logits alone: what its layers give lies nowhere in the image."""
    return Translated([], [])
