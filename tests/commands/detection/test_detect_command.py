"""`vizkit detect`: numbers of several pictures, or one sentence; `vizkit show boxes` draws."""

import json

import numpy as np
import pytest
from PIL import Image

from tests.models.detection.small import LABELS, small_run
from vizkit.__main__ import main


@pytest.fixture
def run(tmp_path):
    return str(small_run(tmp_path / "run"))


@pytest.fixture
def pictures(tmp_path):
    names = [str(tmp_path / f"{number}.png") for number in range(2)]
    Image.fromarray(np.full((40, 70, 3), 120, np.uint8)).save(names[0])
    Image.fromarray(np.full((640, 900, 3), 120, np.uint8)).save(names[1])
    return names


def test_several_pictures_as_numbers(run, pictures, tmp_path, capsys):
    output = tmp_path / "found.json"
    assert main(["detect", *pictures, "--model", run, "--threshold", "0", "-o", str(output)]) == 0
    content = json.loads(output.read_text())
    assert content["threshold"] == 0
    assert [(each["image"], each["width"], each["height"]) for each in content["pictures"]] == [
        (pictures[0], 70, 40),
        (pictures[1], 900, 640),
    ]
    for each in content["pictures"]:
        assert len(each["found"]) == 6
        for thing in each["found"]:
            left, top, right, bottom = thing["box_xyxy"]
            assert 0 <= left <= right <= each["width"]
            assert 0 <= top <= bottom <= each["height"]
            assert thing["class"] in LABELS
            assert 0 <= thing["score"] <= 1
    assert content["pictures"][0]["found"][0]["class"] in capsys.readouterr().out


def test_a_picture_with_its_boxes(run, pictures, tmp_path, capsys):
    """By a view: of a model in a folder, too."""
    output = tmp_path / "out.png"
    assert main(["show", "boxes", pictures[0], "--detector", run, "--score", "0.05", "-o", str(output)]) == 0
    assert "boxes" in capsys.readouterr().out
    assert len(Image.open(output).convert("RGB").getcolors(2**20)) > 3


def test_nothing_found_is_no_error(run, pictures, tmp_path, capsys):
    assert main(["detect", pictures[0], "--model", run, "--threshold", "1", "-o", str(tmp_path / "out.json")]) == 0
    assert "nothing found" in capsys.readouterr().out
    assert json.loads((tmp_path / "out.json").read_text())["pictures"][0]["found"] == []


@pytest.mark.product
@pytest.mark.parametrize(
    "more, word",
    [
        ({"--threshold": "2"}, "between 0 and 1"),
        ({"-o": "out.txt"}, ".json"),
        ({"--model": "bundled:none"}, "no bundled model"),
        ({"--model": "nowhere"}, "run folder"),
    ],
)
def test_what_cannot_be_done_gets_a_sentence(run, pictures, tmp_path, capsys, more, word):
    options = {"--model": run, "-o": str(tmp_path / "out.json")} | more
    assert main(["detect", pictures[0], *(word for pair in options.items() for word in pair)]) == 2
    said = capsys.readouterr().err.strip()
    assert word in said
    assert "\n" not in said


def test_a_missing_picture_is_named(run, pictures, tmp_path, capsys):
    missing = str(tmp_path / "missing.png")
    assert main(["detect", pictures[0], missing, "--model", run, "-o", str(tmp_path / "out.json")]) == 2
    assert "missing.png" in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()
