"""`vizkit patching` and `vizkit steer`: a table, all numbers and a picture, or one sentence."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vizkit.__main__ import main
from vizkit.datasets.samples import picture

MODEL = ["--model", "bundled:digits_vit", "--device", "cpu"]


@pytest.fixture
def digit(tmp_path: Path) -> str:
    Image.fromarray(picture("digit 3")).save(tmp_path / "digit.png")
    return str(tmp_path / "digit.png")


def test_shares_of_all_regions_and_a_picture_of_all_blocks(digit, tmp_path, capsys):
    numbers, maps = tmp_path / "shares.npz", tmp_path / "maps.png"
    assert (
        main(["patching", digit, *MODEL, "--corrupt", "noise", "--rows", "4", "-o", str(numbers), "-o", str(maps)]) == 0
    )
    assert "after block  1: row " in capsys.readouterr().out
    with np.load(numbers) as file:
        kept = dict(file)
    assert kept["regions"].shape[0] == kept["special"].shape[0]
    assert int(kept["heads_by_layer"].sum()) == len(kept["heads"])
    assert float(kept["special"][-1, 0]) == pytest.approx(1, abs=1e-4)  # the class token alone is read
    with Image.open(maps) as drawn:
        assert drawn.width > 400


def test_the_answers_against_the_factor(digit, tmp_path, capsys):
    curve = tmp_path / "curve.npz"
    few = ["--data", "digits", "--images", "40", "--block", "2"]
    assert main(["steer", digit, *MODEL, *few, "--towards", "7", "-o", str(curve)]) == 0
    assert "λ =  0.0" in capsys.readouterr().out
    with np.load(curve) as file:
        kept = dict(file)
    at = {float(factor): logits for factor, logits in zip(kept["factors"], kept["logits"], strict=True)}
    assert at[6.0][7] > at[0.0][7]


@pytest.mark.parametrize(
    "line",
    [["patching", "-o", "a.txt"], ["patching", "-o", "a.npz", "--rows", "1"],
     ["patching", "-o", "a.npz", "--corrupt", "no"],
     ["steer", "--towards", "nobody", "--block", "1", "--data", "digits", "--images", "4"],
     ["steer", "--towards", "3", "--block", "99", "--data", "digits", "--images", "40"]],
)  # fmt: skip
def test_what_cannot_be_done_gets_a_sentence(line, digit, capsys):
    assert main([line[0], digit, *MODEL, *line[1:]]) == 2
    assert capsys.readouterr().err.strip().count("\n") == 0
