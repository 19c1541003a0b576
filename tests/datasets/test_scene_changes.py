"""Boxes survive every resize and crop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from vizkit.datasets.scenes.annotated import Annotated
from vizkit.datasets.scenes.changing import cropped, resized
from vizkit.datasets.scenes.drawing import boxes_of
from vizkit.training.detection.batches import part, shares

HEIGHTS, WIDTHS = st.sampled_from([7, 11, 23, 31]), st.sampled_from([5, 13, 17, 29])  # different primes


def rectangles(height, width, seed):
    """Three rectangles beside one another, each in a stripe of its own."""
    draw = np.random.default_rng(seed)
    instances = np.zeros((height, width), np.uint8)
    edges = [0, height // 3, 2 * height // 3, height]
    for number in range(3):
        top = int(draw.integers(edges[number], edges[number + 1]))
        bottom = int(draw.integers(top + 1, edges[number + 1] + 1))
        left = int(draw.integers(width))
        instances[top:bottom, left : int(draw.integers(left + 1, width + 1))] = number + 1
    picture = np.repeat(instances[..., None] * 80, 3, -1)
    return Annotated(picture, boxes_of(instances, 3), np.array([4, 5, 6]), instances)


@given(
    height=HEIGHTS,
    width=WIDTHS,
    seed=st.integers(0, 99),
    corner=st.tuples(*[st.floats(0, 1)] * 4),
    least=st.sampled_from([0.0, 0.25, 1.0]),
)
def test_boxes_survive_every_crop(height, width, seed, corner, least):
    scene = rectangles(height, width, seed)
    top, left = int(corner[0] * (height - 1)), int(corner[1] * (width - 1))
    bottom = top + 1 + int(corner[2] * (height - top - 1))
    right = left + 1 + int(corner[3] * (width - left - 1))
    crop = cropped(scene, (left, top, right, bottom), least)
    assert crop.picture.shape == (bottom - top, right - left, 3)
    assert_array_equal(crop.boxes_xyxy, boxes_of(crop.instances, len(crop.labels)))
    assert_array_equal(crop.picture[..., 0] > 0, scene.instances[top:bottom, left:right] > 0)
    for number, label in enumerate((4, 5, 6), 1):
        share = (scene.instances[top:bottom, left:right] == number).sum() / (scene.instances == number).sum()
        assert (label in crop.labels) == (share > 0 and share >= least)


@given(height=HEIGHTS, width=WIDTHS, seed=st.integers(0, 99), times=st.tuples(*[st.integers(1, 4)] * 2))
def test_boxes_survive_every_resize(height, width, seed, times):
    scene = rectangles(height, width, seed)
    larger = resized(scene, (height * times[0], width * times[1]))
    assert_allclose(larger.boxes_xyxy, boxes_of(larger.instances, 3))
    back = resized(larger, (height, width))
    assert_allclose(back.boxes_xyxy, scene.boxes_xyxy)
    assert_array_equal(back.instances, scene.instances)
    any_size = resized(scene, (19, 37))
    assert_allclose(shares(any_size.boxes_xyxy, (19, 37)), shares(scene.boxes_xyxy, (height, width)))


@given(seed=st.integers(0, 99), least_area=st.sampled_from([0.1, 0.5, 1.0]))
def test_a_random_part_keeps_things_in_their_boxes(seed, least_area):
    instances = np.zeros((64, 64), np.uint8)
    instances[16:48, 8:40] = 1
    rows = np.concatenate([[[2]], shares(boxes_of(instances, 1), (64, 64))], 1).astype(np.float32)
    seen, kept = part(np.repeat(instances[..., None] * 200, 3, -1), rows, np.random.default_rng(seed), least_area)
    assert seen.shape == (64, 64, 3)
    if len(kept):
        expected = shares(boxes_of((seen[..., 0] > 100).astype(np.uint8), 1), (64, 64))
        assert_allclose(kept[:, 1:], expected, atol=2 / 64)  # the edge lies within a pixel
        assert kept[0, 0] == 2
    if least_area == 1:
        assert_allclose(kept, rows, atol=1e-6)


@pytest.mark.parametrize("box", [(-1, 0, 5, 5), (0, 0, 6, 5), (2, 2, 2, 4), (3, 0, 1, 5)])
def test_a_crop_lies_in_its_picture(box):
    with pytest.raises(ValueError, match="does not lie"):
        cropped(Annotated(np.zeros((7, 5, 3), np.uint8), np.zeros((0, 4)), np.zeros(0, np.int64)), box)


def test_a_picture_without_things_can_be_cut():
    empty = Annotated(np.zeros((7, 5, 3), np.uint8), np.zeros((0, 4)), np.zeros(0, np.int64))
    assert len(resized(cropped(empty, (0, 1, 5, 6)), (20, 10)).labels) == 0
