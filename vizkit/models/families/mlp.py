"""The MLP on pixels: no attention, and after its first layer no places."""

from torch import nn

from vizkit.models.families.translate import Translated
from vizkit.models.recording.forward import Pass
from vizkit.models.sources.loading import Loaded

TITLE, SAME_ROWS = "MLP", False
MODULES = ("pixel_mlp",)


def expected(model: nn.Module) -> int:
    return 0


def translated(loaded: Loaded, size_hw: tuple[int, int], result: Pass) -> Translated:
    """Logits alone: what its layers give lies nowhere in the image."""
    return Translated([], [])
