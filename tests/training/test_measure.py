"""By what a run is judged: pages, cards and the loop take the same epoch as the best."""

import pytest

from vizkit.training.runs.measure import ACCURACY, best_of, measure_of, merit
from vizkit.ui.widgets.run_watch import numbers

PLAIN = {"epoch": 1, "seconds": 2.0, "images_per_s": 50.0, "val_accuracy": 0.9}
LATER = {"epoch": 2, "seconds": 2.0, "images_per_s": 50.0, "val_accuracy": 0.8}
CASES = [
    ("psnr", 31.0, 32.125, "32.12 dB", "PSNR"),
    ("ap50", 0.25, 0.5, "0.500", "AP50"),
    ("pq", 0.25, 0.5, "0.500", "Panoptic quality"),
]


def test_of_classifiers_it_is_the_accuracy():
    assert measure_of([]) == measure_of([PLAIN, LATER]) == ACCURACY
    assert best_of([PLAIN, LATER]) is PLAIN
    assert merit(PLAIN | {"val_answers_right": 0.5}) > merit(PLAIN | {"val_answers_right": 0.25})
    boxes = numbers({}, [PLAIN, LATER], "done", {"test_accuracy": 0.875, "test_images": 1200})
    assert [box[:2] for box in boxes[2:]] == [("Best, epoch 1", "90.0 %"), ("Test", "87.5 %")]


def test_the_speed_of_an_ended_run_is_the_median_as_in_the_table_of_runs():
    lines = [PLAIN | {"images_per_s": speed} for speed in (48.0, 41.0, 35.0)]
    assert ("Images a second", "41") in [box[:2] for box in numbers({}, lines, "done", {})]
    assert ("Images a second", "9") in [box[:2] for box in numbers({"images_per_s": 9.0}, lines, "running", {})]


@pytest.mark.parametrize("name, early, late, words, title", CASES)
def test_other_tasks_have_their_own(name, early, late, words, title):
    lines = [PLAIN | {f"val_{name}": early}, LATER | {f"val_{name}": late}]
    assert measure_of(lines).name == name
    assert best_of(lines) is lines[1]  # although fewer were wholly right
    boxes = numbers({}, lines, "done", {"test_accuracy": 0.9, f"test_{name}": late, "test_images": 1200})
    assert [box[:2] for box in boxes[2:]] == [("Best, epoch 2", words), ("Test", words)]
    assert boxes[3][2] == f"{title} of 1,200 examples that had no part in training."


def test_runs_of_different_tasks_share_the_accuracy():
    assert measure_of([PLAIN, PLAIN | {"val_ap50": 0.5}]) == ACCURACY
