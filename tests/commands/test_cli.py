"""The command line: its files, its lines, and one sentence for whatever goes wrong."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import vizkit
from tests.drawn import seeded
from vizkit.__main__ import main
from vizkit.commands.trace import numbers
from vizkit.models import Keep
from vizkit.saving import npz_bytes, open_npz, save_npz
from vizkit.traces import TraceError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def picture(tmp_path, photo):
    Image.fromarray(photo).save(tmp_path / "photo.png")
    return str(tmp_path / "photo.png")


@pytest.fixture
def trace_it(picture, tmp_path, capsys):
    """Run `trace` on a small untrained model; (exit code, what it printed, the file)."""

    def run(*options, model="test_vit", image=picture, output="out.npz"):
        with seeded(3):
            device = () if "--device" in options else ("--device", "cpu")
            code = main(["trace", image, "--model", model, "-o", str(tmp_path / output), *device, *options])
        return code, capsys.readouterr(), tmp_path / output

    return run


def test_trace_writes_what_the_library_gives(trace_it, photo, tmp_path):
    code, _, path = trace_it("--random-weights")
    assert code == 0
    with seeded(3):
        loaded = vizkit.load("test_vit", pretrained=False)
    expected = vizkit.trace(loaded, photo)
    with np.load(path, allow_pickle=False) as file:
        meta = json.loads(file["meta"].item())
        assert file["layer000_weights"].shape == (1, 2, 101, 101)
        for i, layer in enumerate(expected.attention):
            assert (file[f"layer{i:03}_weights"] == layer.weights.numpy()).all()
            assert (file[f"layer{i:03}_query_ids"] == layer.query_ids.numpy()).all()
            assert (file[f"layer{i:03}_key_ids"] == layer.key_ids.numpy()).all()
    assert meta["model"] == "test_vit"
    assert (meta["family"], meta["source"], meta["trained"]) == ("vit", "timm, random weights", False)
    assert meta["licence"] == "none needed (random weights)"
    assert meta["image_size"] == [160, 160]
    assert meta["layers"][0]["query"]["grid"] == [10, 10]
    assert meta["layers"][0]["query"]["special"] == ["cls"]
    assert meta["check"]["layers_found"] == meta["check"]["layers_expected"] == 6
    assert meta["versions"]["timm"]
    assert meta["picture_hw"] == [48, 64]
    left, top, right, bottom = meta["seen_box_xyxy"]
    assert 0 <= left < right <= 64
    assert 0 <= top < bottom <= 48
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.npz", "photo.png"]


def test_trace_prints_five_classes_and_the_proof(trace_it):
    _, printed, _ = trace_it("--random-weights")
    head, *classes, proof = printed.out.splitlines()
    assert head == "test_vit (timm, random weights, licence none needed (random weights))"
    assert len(classes) == 5
    assert all(re.fullmatch(r" +(> |< )?[\d.]+ %  \S.*", line) for line in classes)
    rows = r"rows \de-\d\d · outputs \de-\d\d in 24 of 606 rows"
    assert re.fullmatch(
        rf"{rows} · logits \de[-+]\d\d · 6 of 6 layers · places measured in 6 of 6 layers on another image", proof
    )
    assert printed.err == ""


def test_trace_options(trace_it):
    _, _, path = trace_it("--random-weights", "--layers", "0,4-5", "--rows", "0,17", "--image-size", "96", "160")
    trace, _ = open_npz(path)
    assert [layer.name for layer in trace.attention] == ["blocks.0.attn", "blocks.4.attn", "blocks.5.attn"]
    assert trace.attention[0].query_ids.tolist() == [[0, 17]]
    assert trace.attention[0].weights.shape == (1, 2, 2, 61)
    assert trace.image_size == (96, 160)
    _, _, path = trace_it("--random-weights", "--mean-heads")
    trace, _ = open_npz(path)
    assert (trace.attention[0].weights.shape[1], trace.attention[0].heads) == (1, 2)
    _, _, path = trace_it("--random-weights", "--target", "3")
    trace, _ = open_npz(path)
    assert trace.target == 3
    assert trace.attention[0].gradient.shape == trace.attention[0].weights.shape


def test_trace_of_features(trace_it, vit, tmp_path):
    """A model without classes has no probabilities, and no single feature is an answer."""
    state = {key: value for key, value in vit.model.state_dict().items() if not key.startswith("head.")}
    torch.save(state, tmp_path / "headless.pt")
    code, printed, _ = trace_it("--architecture", "test_vit", model=str(tmp_path / "headless.pt"))
    assert code == 0
    assert re.search(r"^ +\d+\.\d+  is the length of its embedding, 64 features$", printed.out, re.MULTILINE)
    assert "%" not in printed.out


WRONG = {  # what is asked → the sentence
    "no image": ({"image": "nowhere.png"}, "no file at this path"),
    "text for an image": ({"image": __file__}, "not an image"),
    "no such model": ({"model": "vit_of_mine"}, "timm has no model 'vit_of_mine'"),
    "offline": ({"model": "test_vit"}, "choose a bundled model"),
    "no such bundled model": ({"model": "bundled:x"}, "There is no bundled model 'x'"),
    "no folder to write to": ({"output": "nowhere/out.npz"}, "cannot be written"),
    "output is a folder": ({"output": "."}, "cannot be written"),
    "no such layer": ({"options": ["--random-weights", "--layers", "2,6"]}, "no layer 6: this model has 6"),
    "no such row": ({"options": ["--random-weights", "--rows", "101"]}, "no query token 101: this model has 101"),
    "no such name": ({"options": ["--random-weights", "--target", "zzz"]}, "has no class 'zzz'; it has tench"),
    "no such class": ({"options": ["--random-weights", "--target", "1000"]}, "Class 1000 does not exist"),
    "mean with gradients": ({"options": ["--random-weights", "--target", "1", "--mean-heads"]}, "single heads"),
    "size that is cut": ({"options": ["--random-weights", "--image-size", "100", "160"]}, "nearest size is 96×160"),
    "no such device": ({"options": ["--random-weights", "--device", "gpu"]}, "no device 'gpu'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_one_sentence_and_exit_code_two(trace_it, tmp_path, name):
    given, expected = WRONG[name]
    before = set(tmp_path.iterdir())
    options = given.get("options", ())
    code, printed, _ = trace_it(*options, **{key: value for key, value in given.items() if key != "options"})
    assert code == 2
    assert printed.out == ""
    assert expected in printed.err
    assert printed.err.startswith("vizkit: ")
    assert printed.err.count("\n") == 1
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "given",
    [
        ["dance"],
        ["trace"],
        ["trace", "a.png", "--model", "x"],
        ["trace", "a.png", "--model", "x", "-o", "o.npz", "--layers", "first"],
        ["trace", "a.png", "--model", "x", "-o", "o.npz", "--image-size", "224"],
    ],
)
def test_wrong_arguments_are_one_line(given, capsys):
    assert main(given) == 2
    assert re.fullmatch(r"vizkit: .*See python -m vizkit.* --help\.\n", capsys.readouterr().err)


def test_disk_that_is_full(trace_it, monkeypatch, tmp_path):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    code, printed, _ = trace_it("--random-weights")
    assert (code, printed.err.endswith("out.npz cannot be written: No space left on device.\n")) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["photo.png"]


def test_numbers():
    assert numbers("0,4-6,2") == (0, 2, 4, 5, 6)


def test_as_a_program(tmp_path):
    """Help answers without torch, a closed pipe is no error, and errors leave no traceback."""
    run = subprocess.run([sys.executable, "-m", "vizkit", "--help"], cwd=ROOT, capture_output=True, text=True)
    assert (run.returncode, "trace" in run.stdout, run.stderr) == (0, True, "")
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run([sys.executable, "-m", "vizkit", "models"], cwd=ROOT, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (run.returncode, run.stderr) == (0, b"")


def test_models_without_a_pattern_are_the_bundled_ones(capsys):
    assert main(["models"]) == 0
    *lines, blank, hint = capsys.readouterr().out.splitlines()
    assert (blank, "timm" in hint) == ("", True)
    rows, (heading, *of_texts) = lines[: lines.index("")], lines[lines.index("") + 1 :]
    assert "translate" in heading
    assert len(of_texts) == 10
    assert all(
        re.match(r"bundled:(dates|copy)_\w+ +[\d,]+ parameters +[\d,]+ of 2,000 texts ", row) for row in of_texts
    )
    said = r"bundled:\w+ +[\d,]+ parameters +[\d,]+ of [\d,]+ right \([\d.]+ %\)"
    (classless,) = (row for row in rows if row.startswith("bundled:photographs_vit"))
    assert classless.endswith("22,056,192 parameters  features, no classes")
    assert all(re.fullmatch(said, row) for row in rows if row != classless)
    assert len(rows) > 10


def test_models_by_pattern(capsys):
    assert main(["models", "test_"]) == 0
    rows = [re.split("  +", row) for row in capsys.readouterr().out.splitlines()]
    assert ["test_vit.r160_in1k", "vit", "weights: published"] in rows
    assert ["test_resnet.r160_in1k", "cnn", "weights: published"] in rows
    assert main(["models", "maxvit_tiny_rw_256*"]) == 0
    assert capsys.readouterr().out == "maxvit_tiny_rw_256.untrained  generic  weights: none\n"
    assert main(["models", "no_such_thing"]) == 2
    assert capsys.readouterr().err == "vizkit: No model is called 'no_such_thing'.\n"


# ---- the file --------------------------------------------------------------------------------------------------------
def same(one, two):
    """In all that `two` has: a file has no picture."""
    if isinstance(one, torch.Tensor):
        return one.dtype == two.dtype and torch.equal(one, two)
    if hasattr(one, "__dataclass_fields__"):
        return all(same(getattr(one, name), getattr(two, name)) for name in two.__dataclass_fields__)
    if isinstance(one, tuple):
        return len(one) == len(two) and all(map(same, one, two))
    return one == two


@pytest.mark.parametrize("name", ["vit", "swin", "cnn"])
def test_file_gives_the_trace_back(request, photo, tmp_path, name):
    trace = vizkit.trace(request.getfixturevalue(name), photo, target=2 if name == "vit" else None)
    save_npz(trace, tmp_path / "trace.npz", {"course": "Übung 3"})
    back, meta = open_npz(tmp_path / "trace.npz")
    assert same(trace, back)
    assert meta["course"] == "Übung 3"
    assert npz_bytes(trace) == npz_bytes(back)


def test_half_precision_is_kept_and_bfloat16_widened(vit, photo, tmp_path):
    for dtype, stored in ((torch.float16, "float16"), (torch.bfloat16, "float32")):
        trace = vizkit.trace(vit, photo, keep=Keep(dtype=dtype, layers=(0,)))
        save_npz(trace, tmp_path / "trace.npz")
        with np.load(tmp_path / "trace.npz") as file:
            assert file["layer000_weights"].dtype == stored


def test_saving_replaces_a_file_or_leaves_it(vit, photo, tmp_path, monkeypatch):
    path = tmp_path / "trace.npz"
    path.write_text("old")
    trace = vizkit.trace(vit, photo, keep=Keep(layers=(0,)))

    def interrupted(file, **_):
        file.write(b"half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", interrupted)
        with pytest.raises(KeyboardInterrupt):
            save_npz(trace, path)
    assert (path.read_text(), len(list(tmp_path.iterdir()))) == ("old", 1)
    save_npz(trace, path)
    assert same(trace, open_npz(path)[0])


@pytest.mark.parametrize("content", [b"", b"text", b"\x80\x04pickle", b"PK\x03\x04zip"])
def test_other_files_are_no_trace(tmp_path, content):
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(TraceError, match="no trace that vizkit wrote"):
        open_npz(tmp_path / "x.npz")
    np.savez(tmp_path / "y.npz", meta=np.array('{"layers": []}'))
    with pytest.raises(TraceError, match="no trace that vizkit wrote"):
        open_npz(tmp_path / "y.npz")
    with pytest.raises(FileNotFoundError):
        open_npz(tmp_path / "missing.npz")
