"""Recorded sets whose faults are known."""

import numpy as np

from vizkit.datasets.image_set import ImageSet, Source
from vizkit.evaluation.data_set.record import Recorded
from vizkit.image import Preprocessing


class Nothing(Source):
    def picture(self, index):
        return np.full((8, 8, 3), index % 256, np.uint8)


def recorded(features, target, **given):
    """The features are what the last layer reads; its answer is the label that lies nearest."""
    features, target = np.asarray(features, np.float32), np.asarray(target, np.int64)
    count, labels = len(target), int(target.max()) + 1
    centres = np.stack([features[target == label].mean(0) for label in range(labels)])
    logits = (features @ centres.T / 8).astype(np.float32)
    names = tuple(f"label {number}" for number in range(labels))
    chance = np.random.default_rng(0)
    own = {
        "name": "toys",
        "model": "toy",
        "method": "rollout",
        "digest": "0",
        "labels": names,
        "classes": names,
        "classifies": True,
        "exclusive": True,
        "linear": True,
        "images": ImageSet("toys", "train", names, target.copy(), Nothing(), "0"),
        "rows": np.arange(count),
        "keys": [f"picture {row}" for row in range(count)],
        "splits": np.array(["train"] * count),
        "broken": {},
        "target": target,
        "truth": target,
        "answer": logits.argmax(1),
        "probability": np.full(count, 0.9, np.float32),
        "logits": logits,
        "features": features,
        "entropy": np.full(count, 0.5, np.float32),
        "maps": chance.random((count, 4, 4)).astype(np.float32),
        "thumbnails": chance.integers(0, 256, (count, 12, 12, 3)).astype(np.uint8),
        "scores": np.full((count, 3), 0.9, np.float32),
        "hashes": chance.integers(0, 2**63, count).astype(np.uint64),
        "sizes_hw": np.full((count, 2), 100),
        "needs": Preprocessing((100, 100), (0.5,) * 3, (0.5,) * 3),
    }
    return Recorded(**(own | given))


def blobs(count=120, labels=3, apart=4.0, seed=0):
    """(features, target): a cloud for each label, in turn."""
    chance, target = np.random.default_rng(seed), np.arange(count) % labels
    return chance.normal(size=(count, 8)) + apart * np.eye(8)[target], target
