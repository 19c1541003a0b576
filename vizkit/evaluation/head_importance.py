"""The importance of every head of a model over many pictures of a set."""

from collections.abc import Callable

import numpy as np
import torch

from vizkit.analysis.attention.head_importance import HeadImportance, summed_up
from vizkit.datasets.opening import open_set
from vizkit.image import prepare
from vizkit.models import Loaded, attention_places
from vizkit.models.probes.importance.heads import head_importance
from vizkit.traces import NotApplicable

__all__ = ["BATCH", "heads_of"]

BATCH = 8


def heads_of(
    loaded: Loaded, data: str, images: int, *, seed: int = 0, tell: Callable[[float], None] = lambda _: None
) -> HeadImportance:
    """Of the model's own answers to test pictures of a set. `tell` hears the share that is done and may raise to stop.

    Raises DatasetError, EditError for attention that cannot be edited, NotApplicable for a model without classes or
    without attention.
    """
    if not loaded.classifies:
        raise NotApplicable(f"{loaded.name} gives {loaded.head.gives}: there is no answer to lose.")
    height, width = loaded.preprocessing.size_hw
    opened = open_set(data, "test", images=images, size_px=max(height, width), seed=seed)
    count, parts = min(images, len(opened)), []
    for start in range(0, count, BATCH):
        rows = range(start, min(start + BATCH, count))
        pixels = torch.from_numpy(np.stack([prepare(opened[i][0], loaded.preprocessing)[0] for i in rows]))
        places = attention_places(loaded, pixels[:1].to(loaded.device))
        if not places:
            raise NotApplicable(f"{loaded.name} has no attention layers.")
        with torch.no_grad():
            answers = loaded.model(pixels.to(loaded.device)).argmax(-1)
        share = len(rows) / count

        def done(part: float, before: float = start / count, share: float = share) -> None:
            tell(before + share * part)

        parts.append(head_importance(loaded, pixels, answers, places, done))
    lost, flipped, estimate = (torch.cat([getattr(part, name) for part in parts]).double().numpy()
                               for name in ("lost", "flipped", "estimate"))  # fmt: skip
    return summed_up(parts[0].names, lost, flipped, estimate)
