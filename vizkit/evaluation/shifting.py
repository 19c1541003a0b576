"""Many labelled pictures moved by some pixels, in one model."""

from collections.abc import Callable

import numpy as np

from vizkit.analysis.convolution.shifting import Line, line
from vizkit.evaluation.inside.few_pictures import few_pictures
from vizkit.models.probes.convolution.shifting import answers_when_moved
from vizkit.models.sources.loaded import Loaded

BATCH = 64


def when_moved(
    loaded: Loaded,
    name: str,
    data: str,
    split: str,
    images: int | None,
    most_px: int,
    seed: int = 0,
    *,
    tell: Callable[[int], None] = lambda _: None,
) -> Line:
    """The answers at every distance from 0 to `most_px` pixels of the model's input, to both sides.

    Raises DatasetError for a damaged picture and ValueError for pictures whose classes the model does not have.
    """
    few = few_pictures(loaded, data, images, split, seed)
    unknown = [label for label in few.images.labels if label not in loaded.labels]
    if unknown:
        raise ValueError(f"{name} does not know {unknown[0]!r}, a class of {data}; choose a model trained on it.")
    if most_px >= loaded.preprocessing.size_hw[1]:
        raise ValueError(f"{name} sees {loaded.preprocessing.size_hw[1]} pixels; move by fewer than that.")
    distances_px = range(-most_px, most_px + 1)
    classes = np.array([loaded.labels.index(label) for label in few.images.labels])[few.images.targets]
    right, same, cosine = [], [], []
    for rows in few.batches(BATCH):
        answers = answers_when_moved(loaded, few.pixels(rows).to(loaded.device), distances_px)
        first = answers.logits.argmax(-1).cpu().numpy()
        right.append(first == classes[rows])
        same.append(first == first[most_px])
        cosine.append(answers.cosine.cpu().double().numpy())
        tell(rows.stop)
    return line(name, distances_px, *(np.concatenate(each, 1) for each in (right, same, cosine)))
