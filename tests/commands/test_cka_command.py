"""`vizkit cka`: all pairs of layers as a table or a file, or one sentence."""

import csv
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from vizkit.__main__ import main

FEW = [
    "cka",
    "bundled:digits_vit",
    "bundled:digits_cnn",
    "--data",
    "digits",
    "--images",
    "8",
    "--batch",
    "8",
    "--device",
    "cpu",
]


def test_all_pairs_of_two_models(tmp_path, capsys):
    kept = tmp_path / "cka.json"
    assert main([*FEW, "-o", str(kept)]) == 0
    assert "12 layers, 8 images" in capsys.readouterr().out
    content = json.loads(kept.read_text())
    assert content["models"] == FEW[1:3]
    assert [at for at, _ in content["layers"]] == [0] * 6 + [1] * 6
    values = np.array(content["cka"])
    assert_allclose(values, values.T)
    assert_allclose(values.diagonal(), 1)
    assert main(FEW) == 0
    header, first, *_ = csv.reader(capsys.readouterr().out.splitlines())
    assert header[1].endswith("blocks.0")
    assert float(first[1]) == 1
    assert main([*FEW, "-o", str(tmp_path / "cka.npz")]) == 0
    assert_allclose(np.load(tmp_path / "cka.npz")["cka"], values, atol=1e-4)


@pytest.mark.parametrize("more", [["--images", "3"], ["-o", "cka.txt"], ["--batch", "0"]])
def test_what_cannot_be_compared_gets_a_sentence(more, capsys):
    assert main([*FEW, *more]) == 2
    assert capsys.readouterr().err.strip().count("\n") == 0
