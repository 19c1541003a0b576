"""`vizkit heads`: a table and a file of all numbers, or one sentence."""

import json

import pytest
import timm
from timm.models import save_for_hf

from vizkit.__main__ import main

FEW = ["heads", "bundled:digits_vit", "--data", "digits", "--images", "3", "--device", "cpu"]


@pytest.mark.rest
def test_a_table_and_all_numbers(tmp_path, capsys):
    assert main(FEW) == 0
    assert "3 images, a head gives its mean; rank correlation" in capsys.readouterr().out
    kept = tmp_path / "heads.json"
    assert main([*FEW, "--without", "zero", "--prune", "-o", str(kept)]) == 0
    content = json.loads(kept.read_text())
    assert (content["images"], content["data"]) == (3, "digits")
    assert len(content["names"]) == len(content["importance"]["zero"]["lost"]) == len(content["behaviours"]["own"])
    assert content["pruning"]["zero"]["own"]["random"][2][0] == 1
    assert main([*FEW, "-o", str(tmp_path / "heads.csv")]) == 0
    header, *rows = (tmp_path / "heads.csv").read_text().splitlines()
    assert header.startswith("layer,head,mean lost,mean half,mean flipped,mean estimate,distance,")
    assert len(rows) == 24


@pytest.mark.rest
def test_a_model_without_classes_loses_likeness(tmp_path, capsys):
    save_for_hf(timm.create_model("test_vit", num_classes=0), str(tmp_path / "run"), safe_serialization=True)
    assert main(["heads", str(tmp_path / "run"), *FEW[2:]]) == 0
    told = capsys.readouterr().out
    assert told.split()[:3] == ["head", "likeness", "lost"]
    assert "rank correlation" not in told
    assert "nan" not in told


@pytest.mark.parametrize("more", [["--images", "0"], ["-o", "heads.txt"], ["--data", "no/folder"]])
def test_what_cannot_be_measured_gets_a_sentence(more, capsys):
    assert main([*FEW, *more]) == 2
    assert capsys.readouterr().err.strip().count("\n") == 0
