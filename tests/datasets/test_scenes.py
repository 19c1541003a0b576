"""Drawn scenes: the truth they come with; COCO's format there and back, and what strangers may write in it."""

import json

import numpy as np
import pytest
from PIL import Image

from tests.datasets.coco_folder import run_lengths, write_coco
from vizkit.datasets.image_set import DatasetError
from vizkit.datasets.scenes.coco import FILE, open_coco, read_annotations
from vizkit.datasets.scenes.drawing import LABELS, MOST, boxes_of, draw_scene
from vizkit.datasets.scenes.opening import open_boxes


def test_a_scene_depends_on_its_number_alone():
    one, again, other = draw_scene(3, size_px=96), draw_scene(3, size_px=96), draw_scene(3, split="test", size_px=96)
    assert np.array_equal(one.picture, again.picture)
    assert np.array_equal(one.boxes_xyxy, again.boxes_xyxy)
    assert not np.array_equal(one.picture, other.picture)


@pytest.mark.rest
def test_boxes_are_those_of_what_is_seen_and_counts_are_even():
    scenes = [draw_scene(index, size_px=64) for index in range(120)]
    counts = np.bincount([len(scene.labels) for scene in scenes], minlength=MOST + 1)
    assert counts.min() > 5
    assert set(np.concatenate([scene.labels for scene in scenes]).tolist()) == set(range(len(LABELS)))
    for scene in scenes:
        assert set(np.unique(scene.instances)) <= set(range(len(scene.labels) + 1))
        assert np.array_equal(boxes_of(scene.instances, len(scene.labels)), scene.boxes_xyxy)
    cut = [
        (scene.boxes_xyxy[:, :2] == 0).any() or (scene.boxes_xyxy[:, 2:] == 64).any()
        for scene in scenes
        if len(scene.labels)
    ]
    assert sum(cut) > 10


def test_the_same_scene_at_another_size():
    small, large = draw_scene(0, size_px=80), draw_scene(0, size_px=240)
    assert np.array_equal(small.labels, large.labels)
    assert np.abs(large.boxes_xyxy / 3 - small.boxes_xyxy).max() <= 1.5


def test_boxes_of_a_map_by_hand():
    instances = np.zeros((5, 7), np.uint8)
    instances[1:3, 2:6] = 1
    instances[4, 0] = 2
    assert boxes_of(instances, 2).tolist() == [[2, 1, 6, 3], [0, 4, 1, 5]]
    with pytest.raises(ValueError, match="no 3"):
        boxes_of(instances, 3)


def test_run_lengths_go_down_the_columns():
    mask = np.array([[0, 1, 1], [0, 1, 0]], bool)
    assert run_lengths(mask) == (2, 3, 1)
    assert run_lengths(~mask) == (0, 2, 3, 1)


@pytest.mark.rest
def test_written_and_read_again(tmp_path):
    drawn = open_boxes("scenes", "test", count=13, size_px=64)
    write_coco(tmp_path, [drawn[index] for index in range(13)], drawn.labels)
    read = {split: open_coco(tmp_path, split) for split in ("train", "val", "test")}
    assert [len(each) for each in read.values()] == [10, 2, 1]
    assert read["train"].labels == drawn.labels
    for each in (entry for split in read.values() for entry in map(split.__getitem__, range(len(split)))):
        index = next(i for i in range(13) if np.array_equal(drawn[i].picture, each.picture))
        assert np.array_equal(drawn[index].boxes_xyxy, each.boxes_xyxy)
        assert np.array_equal(drawn[index].labels, each.labels)
        if len(each.labels):
            assert np.array_equal(drawn[index].instances, each.instances)


def test_boxes_shrink_with_a_picture_that_is_stored_smaller(tmp_path):
    Image.new("RGB", (50, 30)).save(tmp_path / "a.png")
    of(tmp_path, [thing([20, 10, 40, 20])], {"width": 100, "height": 60})
    assert open_coco(tmp_path, "train", count=1)[0].boxes_xyxy.tolist() == [[10, 5, 30, 15]]


def thing(box, **more):
    return {"image_id": 1, "category_id": 7, "bbox": box} | more


def of(folder, annotations, image=None, categories=None):
    picture = {"id": 1, "file_name": "a.png", "width": 10, "height": 10} | (image or {})
    content = {
        "images": [picture],
        "annotations": annotations,
        "categories": [{"id": 7, "name": "fly"}] if categories is None else categories,
    }
    (folder / FILE).write_text(json.dumps(content))


@pytest.mark.parametrize(
    "annotation, words",
    [
        (thing([5, 5, 9, 2]), "outside its image of 10 × 10"),
        (thing([-4, 0, 6, 2]), "outside"),
        (thing([1, 1, 0, 2]), "width and height are 0 and 2"),
        (thing([5, 5, -2, -2]), "width and height are -2 and -2"),
        (thing([1, 1, 2]), "not four numbers"),
        (thing("1,1,2,2"), "not four numbers"),
        (thing([1, 1, 2, "3"]), "not four numbers"),
        (thing([1, 1, True, 2]), "not four numbers"),
        (thing([1, 1, float("nan"), 2]), "not four numbers"),
        (thing([1, 1, float("inf"), 2]), "not four numbers"),
        (thing([1, 1, 1e300, 2]), "not four numbers"),
        (thing(None), "not four numbers"),
        (thing({"left": 1}), "not four numbers"),
        (thing([1, 1, 2, 2], category_id=8), "class 8 is not among"),
        (thing([1, 1, 2, 2], category_id=None), "class None"),
        (thing([1, 1, 2, 2], category_id=[7]), "class [7]"),
        (thing([1, 1, 2, 2], image_id=2), "image is not in the file"),
        (thing([1, 1, 2, 2], image_id={}), "image is not in the file"),
        (thing([1, 1, 2, 2], iscrowd=1), "crowd"),
        (thing([10, 10, 1, 1]), "nothing of it lies"),
        ("no dictionary", "image is not in the file"),
    ],
)
def test_a_box_that_does_not_hold_is_left_out_and_said(tmp_path, annotation, words):
    of(tmp_path, [annotation, thing([1, 2, 3, 4])])
    _, (entry,), problems = read_annotations(tmp_path)
    assert [each.box_xyxy for each in entry.things] == [(1, 2, 4, 6)]
    assert words in problems.notes[0]


@pytest.mark.parametrize(
    "image, words",
    [
        ({"file_name": "../../etc/passwd"}, "no file below"),
        ({"file_name": "/etc/passwd"}, "no file below"),
        ({"file_name": "a\\..\\b.png"}, "no file below"),
        ({"file_name": "a\0.png"}, "no file below"),
        ({"file_name": None}, "no file below"),
        ({"file_name": ""}, "no file below"),
        ({"width": 0}, "width and height"),
        ({"height": "10"}, "width and height"),
        ({"width": 10**9}, "width and height"),
        ({"id": None}, "no id"),
        ({"id": [1]}, "no id"),
    ],
)
def test_a_picture_that_is_none_is_left_out_and_said(tmp_path, image, words):
    of(tmp_path, [], image)
    _, entries, problems = read_annotations(tmp_path)
    assert not entries
    assert words in problems.notes[0]


@pytest.mark.parametrize(
    "content, words",
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("\xff", "COCO's format|not JSON"),
        ("[]", "COCO's format"),
        ("{}", "COCO's format"),
        ('{"images": {}, "annotations": [], "categories": []}', "COCO's format"),
    ],
)
def test_a_file_that_is_none_is_refused_in_a_sentence(tmp_path, content, words):
    (tmp_path / FILE).write_text(content)
    with pytest.raises(DatasetError, match=words):
        read_annotations(tmp_path)


def test_of_many_wrong_boxes_the_first_are_listed(tmp_path):
    of(tmp_path, [thing([1, 1, 0, 0])] * 50)
    _, _, problems = read_annotations(tmp_path)
    assert len(problems.notes) == 21
    assert problems.notes[-1] == "30 more were left out."


def test_categories_without_a_name_or_twice(tmp_path):
    of(tmp_path, [thing([1, 1, 2, 2])], categories=[{"id": 7, "name": "fly"}, {"id": 7, "name": "bee"}, {"id": 8}, 3])
    labels, _, problems = read_annotations(tmp_path)
    assert labels == ("fly",)
    assert len(problems.notes) == 3


@pytest.mark.parametrize("given", [{"split": "none"}, {"count": 0}, {"size_px": 9}, {"seed": -1}])
def test_a_set_that_there_is_not(given):
    with pytest.raises(DatasetError):
        open_boxes(**{"name": "scenes", "split": "test"} | given)


def test_a_folder_without_annotations(tmp_path):
    with pytest.raises(DatasetError, match=FILE):
        open_boxes(str(tmp_path), "train")
