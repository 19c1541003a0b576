"""One pass: what it keeps is what the model itself gives; stopped it goes on; kept it is not made again."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from torch.testing import assert_close

import vizkit
from vizkit.__main__ import main
from vizkit.datasets.image_set import DatasetError
from vizkit.datasets.opening import open_set
from vizkit.evaluation.data_set import Look, data_set, open_labelled, record
from vizkit.evaluation.data_set.opening import joined, split_of
from vizkit.explanations.data_set import evenness
from vizkit.explanations.job import StoppedError
from vizkit.image import prepare


@pytest.fixture(scope="module")
def digits():
    return vizkit.load("bundled:digits_vit")


def test_what_is_kept_is_what_the_model_gives(digits):
    images = open_labelled("digits", images=40)
    found = record(digits, images)
    pixels = torch.stack([torch.from_numpy(prepare(images[row][0], digits.preprocessing)[0]) for row in range(40)])
    with torch.no_grad():
        logits = digits.model(pixels)
        read = torch.nn.functional.linear(
            torch.tensor(found.features), digits.model.head.weight, digits.model.head.bias
        )
    assert_allclose(found.logits, logits, atol=1e-4)
    assert_allclose(read, logits, atol=1e-4)
    assert found.linear
    assert_array_equal(found.right, found.answer == images.targets)
    assert (found.method, found.maps.shape[0], len(found.keys)) == ("rollout", 40, 40)
    assert np.isfinite(found.loss).all()
    assert ((found.entropy >= 0) & (found.entropy <= 1)).all()


@pytest.mark.rest
def test_it_goes_on_where_it_was_stopped_and_is_not_made_twice(digits, monkeypatch):
    images, told = open_labelled("digits", images=300), []
    with pytest.raises(StoppedError):
        record(digits, images, tell=lambda done, total, _: told.append(done), stopping=lambda: told[-1] >= 160)
    told.clear()
    found = record(digits, images, tell=lambda done, total, _: told.append(done))
    assert told[0] == 160  # the batches that were whole
    assert told[-1] == 300
    monkeypatch.setattr("vizkit.explanations.kept.make_missing", None)
    again = record(digits, images)
    assert_array_equal(found.features, again.features)
    assert_array_equal(found.maps, again.maps)


def folder_with_classes(path, splits=("",)):
    chance = np.random.default_rng(0)
    for split in splits:
        for name in ("zero", "one"):
            (path / split / name).mkdir(parents=True)
            for number in range(6):
                small = Image.fromarray(chance.integers(0, 256, (32, 32, 3)).astype(np.uint8))
                small.save(path / split / name / f"{number}.png")
    return path


def test_a_broken_file_is_named_and_a_stranger_is_neither_right_nor_wrong(tmp_path, digits):
    path = folder_with_classes(tmp_path / "pictures")
    (path / "one" / "3.png").write_bytes(b"no image")
    found = record(digits, open_labelled(path))
    assert [*found.broken] == ["one/3.png"]
    assert len(found) == 11
    assert found.keys == [found.images.place(row) for row in found.rows.tolist()]
    assert not found.known.any()
    assert np.isnan(found.loss).all()
    assert_array_equal(found.picture(0), found.images[int(found.rows[0])][0])


def test_a_folders_own_splits_are_kept_and_several_are_joined(tmp_path):
    whole = open_labelled(folder_with_classes(tmp_path / "pictures", ("train", "test")))
    assert [split_of(whole, row) for row in (0, 11, 12, 23)] == ["train", "train", "test", "test"]
    assert len({whole.place(row) for row in range(24)}) == 24
    both = open_labelled("digits", "train+test", images=5)
    assert (len(both), both.split) == (10, "train+test")
    parts = {split: open_set("digits", split, images=5) for split in ("train", "test")}
    assert both.digest == joined(parts).digest != joined({"test": parts["test"], "train": parts["train"]}).digest
    assert_array_equal(both[7][0], parts["test"][2][0])
    with pytest.raises(DatasetError):
        open_labelled("digits", "train+nothing")


def test_a_network_without_attention_gets_another_map(tmp_path):
    found = record(vizkit.load("bundled:digits_cnn"), open_labelled("digits", images=8))
    assert found.method == "grad_cam"
    assert np.isnan(found.entropy).all()
    assert found.linear


def test_an_embedding_has_features_and_no_answers(digits):
    headless = replace(vizkit.load("bundled:digits_vit"), head=vizkit.heads.HEADS["embedding"], labels=())
    headless.model.reset_classifier(0)
    found = record(replace(headless, outputs=0), open_labelled("digits", images=8))
    assert (found.classifies, found.linear) == (False, False)
    assert_array_equal(found.features, found.logits)


def test_entropy_by_hand():
    rows = torch.tensor([[1.0, 0, 0, 0], [2, 2, 2, 2], [1, 1, 0, 0]])
    assert_close(evenness(rows), torch.tensor([0.0, 1.0, 0.5]))


@pytest.mark.rest
def test_the_library_and_the_command_look_over_a_set(tmp_path, digits, capsys):
    look = data_set(digits, "digits", images=60)
    assert isinstance(look, Look)
    table, suspects = tmp_path / "look.parquet", tmp_path / "look.csv"
    asked = ["look-over", "digits", "--model", "bundled:digits_vit", "--images", "60"]
    assert main([*asked, "-o", str(table), "-o", str(suspects)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("60 images of digits, ")
    assert " folds: k-NN" in said
    from pyarrow.parquet import read_table

    rows = read_table(table)
    assert rows["picture"].to_pylist() == look.found.keys
    assert rows["answer"][0].as_py() in digits.labels
    assert len(suspects.read_text().splitlines()) == 1 + len(look.suspects)
    assert main([*asked, "-o", str(tmp_path / "look.txt")]) == 2
    assert "ends in .html or .parquet or .csv" in capsys.readouterr().err


@pytest.mark.product
@pytest.mark.parametrize("missing", ["openTSNE", "cleanlab"])
def test_a_missing_library_is_one_sentence(digits, missing, monkeypatch, capsys):
    for name in [name for name in sys.modules if name.partition(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(["look-over", "digits", "--model", "bundled:digits_vit", "--images", "30"]) == 2
    assert f"vizkit: This needs {missing}: pip install 'vizkit[data]' brings it." in capsys.readouterr().err
