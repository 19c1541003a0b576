"""A user's folder in COCO's format, from the annotations to boxes in a picture: train, open, evaluate, detect."""

import csv
import json

import numpy as np
import pytest
from PIL import Image

from tests.datasets.coco_folder import write_coco
from vizkit.__main__ import main
from vizkit.datasets.scenes.annotated import Annotated
from vizkit.datasets.scenes.drawing import draw_scene

SIZES = {"dim": 16, "heads": 2, "hidden": 16, "encoder_depth": 1, "decoder_depth": 1, "queries": 6, "groups": 1}
NAMES = ("moth", "louse", "flea")


@pytest.fixture
def folder(tmp_path):
    """Drawn scenes as somebody's own: other class names, no two of one size, two boxes that do not hold."""
    scenes = []
    for number in range(10):
        scene = draw_scene(number, size_px=64 + 7 * number)
        keep = slice(0, 64 + 5 * number)  # not square
        boxes = scene.boxes_xyxy.clip(0, [64 + 7 * number, 64 + 5 * number] * 2)
        whole = (boxes[:, 3] - boxes[:, 1] > 0) & (boxes[:, 2] - boxes[:, 0] > 0)
        scenes.append(Annotated(scene.picture[keep], boxes[whole], scene.labels[whole] % 3))
    write_coco(tmp_path / "mine", scenes, NAMES)
    file = tmp_path / "mine/annotations.json"
    content = json.loads(file.read_text())
    content["annotations"] += [
        {"image_id": 0, "category_id": 77, "bbox": [1, 1, 5, 5]},
        {"image_id": 1, "category_id": 1, "bbox": [1, 1, 0, 5]},
    ]
    file.write_text(json.dumps(content))
    return tmp_path / "mine"


def table(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_from_annotations_to_boxes(folder, tmp_path, capsys):
    run = str(tmp_path / "run")
    assert (
        main(
            [
                "train",
                "--recipe",
                "detr-small",
                "--data",
                str(folder),
                "-o",
                run,
                "--epochs",
                "1",
                "--batch",
                "4",
                "--image-size",
                "64",
                "--crop",
                "0.5",
                "--device",
                "cpu",
                "--quiet",
                "--precision",
                "fp32",
                "--model-args",
                json.dumps(SIZES),
            ]
        )
        == 0
    )
    said = capsys.readouterr().out
    assert "77 is not among the categories" in said
    assert "width and height are 0 and 5" in said
    assert json.loads((tmp_path / "run/status.json").read_text())["state"] == "done"

    output = tmp_path / "precision.json"
    assert main(["evaluate", str(folder), "--model", run, "--split", "train", "--quiet", "-o", str(output)]) == 0
    assert "77 is not among the categories" in capsys.readouterr().out
    content = json.loads(output.read_text())
    assert content["scenes"] == 8
    assert len(content["notes"]) == 2
    (model,) = content["models"]
    assert [each["class"] for each in model["classes"]] == list(NAMES)
    assert 0 <= model["ap"] <= model["ap50"] <= 1
    assert (
        main(
            [
                "evaluate",
                str(folder),
                "--model",
                run,
                "--split",
                "train",
                "--quiet",
                "-o",
                str(tmp_path / "precision.csv"),
            ]
        )
        == 0
    )
    rows = table(tmp_path / "precision.csv")
    page = tmp_path / "precision.html"
    assert main(["evaluate", str(folder), "--model", run, "--split", "train", "--quiet", "-o", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert f"python -m vizkit evaluate {folder} --model {run}" in text
    assert all(f'["{row["class"]}","{row["things"]}","' in text for row in rows[1:])
    assert text.count("77 is not among the categories") == 1
    assert [row["class"] for row in rows] == ["all", *NAMES]
    assert sum(int(row["things"]) for row in rows[1:]) == int(rows[0]["things"])
    assert float(rows[0]["ap50"]) == pytest.approx(model["ap50"], abs=1e-6)

    assert (
        main(
            [
                "detect",
                str(folder / "000009.png"),
                "--model",
                run,
                "--threshold",
                "0",
                "-o",
                str(tmp_path / "found.json"),
            ]
        )
        == 0
    )
    (picture,) = json.loads((tmp_path / "found.json").read_text())["pictures"]
    assert (picture["width"], picture["height"]) == (127, 109)
    assert {each["class"] for each in picture["found"]} <= set(NAMES)


def test_what_cannot_be_evaluated_gets_a_sentence(folder, tmp_path, capsys):
    from tests.models.detection.small import small_run

    run = str(small_run(tmp_path / "run"))
    for options, word in (
        (["--model", run], "no class in common"),
        (["--model", run, "--model", "bundled:digits_vit"], "apart"),
        (["--model", run, "-o", str(tmp_path / "out.pdf")], ".html or .json or .csv or .npz"),
        (["--model", run, "--pictures", str(tmp_path / "out.csv")], "leave it out"),
        (["--model", run, "--images", "0"], "--images. Must be > 0"),
    ):
        assert main(["evaluate", str(folder), *options, "--quiet"]) == 2
        error = capsys.readouterr().err.strip()
        assert word in error
        assert "\n" not in error
    assert main(["evaluate", str(tmp_path), "--model", run]) == 2
    assert "annotations.json" in capsys.readouterr().err


@pytest.mark.rest
def test_an_empty_picture_has_nothing_in_it(tmp_path):
    """A scene without insects is no error, in any of the commands."""
    from tests.models.detection.small import small_run

    picture = Image.fromarray(np.zeros((30, 20, 3), np.uint8))
    folder = tmp_path / "mine"
    write_coco(folder / "test", [Annotated(np.asarray(picture), np.zeros((0, 4)), np.zeros(0, np.int64))], ("ant",))
    run = str(small_run(tmp_path / "run"))
    assert main(["evaluate", str(folder), "--model", run, "--quiet", "-o", str(tmp_path / "out.csv")]) == 0
    rows = table(tmp_path / "out.csv")
    assert [(row["class"], row["things"], row["ap50"]) for row in rows] == [("all", "0", ""), ("ant", "0", "")]
    assert main(["evaluate", str(folder), "--model", run, "--quiet", "-o", str(tmp_path / "out.html")]) == 0
    assert '["ant","0","–"]' in (tmp_path / "out.html").read_text(encoding="utf-8")
