"""Joints of drawn insects: where legs are drawn, in the same order for all of a kind."""

import numpy as np
import pytest

from vizkit.datasets import insects
from vizkit.datasets.insects.joints import joints
from vizkit.datasets.insects.specimen import PARTS

LEGS = 1 + PARTS.index("legs")


@pytest.mark.parametrize("split", ["train", "test"])
def test_joints_lie_where_legs_are_drawn(split):
    on_legs, on_insect, of_all = [], [], []
    for index in range(12):
        drawn, found = insects.draw(index, split=split, size_px=224), joints(index, split=split)
        for x, y in np.rint(found[((found > 0.02) & (found < 0.98)).all(1)] * 224 - 0.5).astype(int):
            near = drawn.parts[y - 3 : y + 4, x - 3 : x + 4]
            on_legs.append((near == LEGS).any())
            on_insect.append(near.any())
            of_all.append((drawn.parts == LEGS).mean())
    assert np.mean(on_insect) > 0.9, "some lie below debris"
    assert np.mean(on_legs) > 0.75 > 5 * np.mean(of_all), "hips lie below the body"


def test_insects_of_a_kind_have_the_same_joints():
    counts = {}
    for index in range(36):
        counts.setdefault(insects.label_of(index, "test"), set()).add(len(joints(index, split="test")))
    assert all(len(each) == 1 for each in counts.values())
    assert {insects.LABELS[label] for label, each in counts.items() if each == {0}} == {"mosquito larva", "midge larva"}
