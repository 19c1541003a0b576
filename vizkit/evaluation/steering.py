"""The directions of the classes of a set of pictures, in a model's residual stream."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from vizkit.datasets import photographs
from vizkit.datasets.opening import open_set
from vizkit.image import RGB, prepare_all
from vizkit.models import Loaded
from vizkit.models.probes.interventions.steering import class_directions
from vizkit.models.probes.interventions.stream_edits import Directions

BATCH = 8
PHOTOGRAPHS = "photographs"  # those that come with vizkit, each a class of its own


def directions_of(
    loaded: Loaded, data: str, images: int, *, tell: Callable[[int, int], None] = lambda *_: None
) -> tuple[Directions, tuple[str, ...]]:
    """From the first training pictures of a set, or from PHOTOGRAPHS, and the names of its classes. `tell` hears how
    many pictures of how many are through, and may raise to stop. Raises DatasetError, and NotApplicable as
    `class_directions`."""
    if data == PHOTOGRAPHS:
        labels, targets = photographs.NAMES, range(len(photographs.NAMES))
        picture: Callable[[int], RGB] = lambda at: photographs.picture(labels[at])  # noqa: E731
    else:
        opened = open_set(data, "train", images=images, size_px=max(loaded.preprocessing.size_hw))
        labels, targets = tuple(opened.labels), opened.targets
        picture = lambda at: opened[at][0]  # noqa: E731
    count = min(images, len(targets))

    def batches() -> Iterator[tuple[Tensor, Tensor]]:
        for start in range(0, count, BATCH):
            rows = range(start, min(start + BATCH, count))
            pixels = torch.from_numpy(prepare_all([picture(at) for at in rows], loaded.preprocessing))
            yield pixels, torch.tensor([int(targets[at]) for at in rows])

    directions = class_directions(loaded, batches(), lambda done: tell(done, count))
    return directions, labels
