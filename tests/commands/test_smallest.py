"""The command `smallest`: words, numbers, and refusals in one sentence."""

import json

import pytest
from PIL import Image

from vizkit.__main__ import main
from vizkit.datasets import samples


@pytest.fixture
def digit(tmp_path):
    Image.fromarray(samples.picture("digit 3")).save(tmp_path / "digit.png")
    return str(tmp_path / "digit.png")


def test_heads_that_flip_the_answer(digit, tmp_path, capsys):
    out = tmp_path / "heads.json"
    given = ["smallest", digit, "--model", "bundled:digits_vit", "--flip", "--parts", "heads", "-o", str(out)]
    assert main(given) == 0
    said = capsys.readouterr().out
    assert "the answer is no longer 3" in said
    assert "Greedy, in this order" in said
    content = json.loads(out.read_text(encoding="utf-8"))
    assert content["reached"]
    assert len(content["probability"]) == len(content["order"]) + 1


def test_patches_that_keep_the_answer_as_far_as_wanted(digit, capsys):
    assert main(["smallest", digit, "--model", "bundled:digits_cnn", "--keep", "--most", "1"]) == 0
    assert "1 of 256 patches (less than 1 %) is not enough yet" in capsys.readouterr().out


def test_nothing_but_one_goal(digit, capsys):
    assert main(["smallest", digit, "--model", "bundled:digits_vit", "--keep", "--most", "0"]) == 2
    assert capsys.readouterr().err.strip() == "vizkit: --most is 1 or more."
    with pytest.raises(SystemExit):
        main(["smallest", digit, "--model", "bundled:digits_vit"])
