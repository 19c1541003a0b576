"""`explain` and `score` in the terminal: their files, and one sentence for whatever goes wrong."""

import csv
import json
import re
import signal

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image

import vizkit
from vizkit.__main__ import main
from vizkit.analysis.attribution.explaining import METHODS, explain
from vizkit.analysis.trust.table import Row, Summary
from vizkit.commands.explaining import score as command
from vizkit.commands.explaining.maps import chosen
from vizkit.commands.options import Opening
from vizkit.datasets.insects import draw

VIT, SWIN, CNN = "bundled:insects_vit", "bundled:insects_swin", "bundled:insects_cnn"


@pytest.fixture(scope="module")
def insect(tmp_path_factory):
    path = tmp_path_factory.mktemp("pictures") / "insect.png"
    Image.fromarray(draw(3, split="test", seed=5, size_px=112).picture).save(path)
    return str(path)


def numbers(path):
    with np.load(path, allow_pickle=False) as file:
        return json.loads(file["meta"].item()), {name: file[name] for name in file.files if name != "meta"}


# explain --------------------------------------------------------------------------------------------------------------


def test_explain_writes_what_the_library_gives(insect, tmp_path, capsys):
    assert main(["explain", insect, "--model", VIT, "-o", str(tmp_path / "a.npz"), "-o", str(tmp_path / "a.png")]) == 0
    printed = capsys.readouterr().out
    meta, maps = numbers(tmp_path / "a.npz")
    loaded = vizkit.load(VIT)
    picture = vizkit.open_image(insect)
    trace = vizkit.trace(loaded, picture)
    assert_allclose(maps["rollout"], explain("rollout", trace).heat.numpy(), atol=1e-6)
    assert (meta["model"], meta["picture_hw"]) == (VIT, [112, 112])
    assert meta["seen_box_xyxy"] == [0, 0, 112, 112]
    assert meta["maps"] == [{"method": "rollout", "signed": False, "target": None, "against": None, "notes": []}]
    label = loaded.label(int(trace.logits.argmax()))
    assert re.search(rf"^ +(> |< )?[\d.]+ %  {label}$", printed, re.MULTILINE)
    assert METHODS["rollout"].caveat in printed
    assert np.asarray(Image.open(tmp_path / "a.png")).shape == (224, 224, 3)  # enlarged twice


def test_explain_one_class_against_another(insect, tmp_path):
    there = []
    for target, against in (("Damselfly", "mosquito"), ("mosquito larva", "damselfly nymph")):
        path = tmp_path / f"{target}.npz"
        options = ["--target", target, "--against", against, "--method", "grad_cam", "-o", str(path)]
        assert main(["explain", insect, "--model", CNN, *options]) == 0
        there.append(numbers(path))
    (meta, one), (_, other) = there
    assert (one["grad_cam"] == -other["grad_cam"]).all()
    assert meta["maps"][0] | {"notes": []} == {
        "method": "grad_cam",
        "signed": True,
        "target": 2,
        "against": 6,
        "notes": [],
    }


WRONG = {
    "no such class": (["--target", "trout"], "has no class 'trout'; it has mayfly nymph"),
    "several classes": (["--target", "nymph"], "4 classes of bundled:insects_vit have 'nymph' in their name"),
    "number too high": (["--target", "12"], "Class 12 does not exist: bundled:insects_vit has 12 classes"),
    "rival too high": (["--against", "99"], "Class 99 does not exist"),
    "with itself": (["--target", "1", "--against", "1"], "cannot be compared with itself"),
    "no class in it": (["--against", "1", "--method", "rollout"], "No map can be drawn. Rollout knows no class"),
    "another ending": (["-o", "x.gif"], "give a name that ends in .png or .npz"),
    "no folder": (["-o", "nowhere/x.png"], "give the name of a file in a folder that exists"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_sentence(name, insect, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options, expected = WRONG[name]
    assert main(["explain", insect, "--model", VIT, "-o", "fine.png", *options]) == 2
    said = capsys.readouterr().err
    assert expected in said
    assert said.startswith("vizkit: ")
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_outputs_are_named_by_a_file(tmp_path):
    file = tmp_path / "names.txt"
    file.write_text("\n".join(f"kind {i}" for i in range(10)) + "\n\n")
    loaded = Opening(labels=file, device="cpu").load("bundled:digits_vit")
    assert (loaded.label(3), loaded.number_of("kind 3")) == ("kind 3", 3)
    with pytest.raises(ValueError, match=r"missing\.txt cannot be read as a text file with one name a line"):
        Opening(labels=tmp_path / "missing.txt", device="cpu").load("bundled:digits_vit")


def test_methods_by_name():
    assert chosen(["occlusion", "rollout"]) == ["rollout", "occlusion"]
    assert chosen(["all"]) == list(METHODS)
    assert chosen(["fast", "smooth_grad"]) == [*(n for n, m in METHODS.items() if not m.slow or n == "smooth_grad")]


# score ----------------------------------------------------------------------------------------------------------------

FEW = ["--images", "2", "--steps", "3", "--method", "rollout", "--method", "grad_cam", "--threads", "1"]


@pytest.fixture(autouse=True)
def _as_it_was():
    """The command sets the threads and the handler of its process."""
    import torch

    threads, handler = torch.get_num_threads(), signal.getsignal(signal.SIGTERM)
    yield
    torch.set_num_threads(threads)
    signal.signal(signal.SIGTERM, handler)


def test_score_writes_a_table(tmp_path, capsys):
    out = tmp_path / "trust.md"
    assert main(["score", "--model", SWIN, "--model", CNN, *FEW, "-o", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert f"python -m vizkit score --model {SWIN} --model {CNN} --images 2" in text
    assert f"## {SWIN}\n\n2 images" in text
    row = next(line for line in text.splitlines() if line.startswith("| Rollout"))
    assert len(row.split("|")) == 10
    assert "**" in row
    assert re.search(r"\| Rollout \| (\*\*)?1\.00(\*\*)? \(\+0\.\d\d\) \|", row)
    chance = [line for line in text.splitlines() if line.startswith("| Chance")]
    assert len(chance) == 2
    assert re.fullmatch(r"\| Chance \| 0\.\d\d \| 0\.\d\d \|( 0\.\d{3} ± 0\.\d{3} \|){4}  \|", chance[0])
    assert "pointing within 3 % ↑ | pointing exactly ↑" in text
    assert "in brackets its difference to chance" in text
    assert "Rollout: This model has no attention layers" in text
    assert "- **deletion**: " in text
    assert "- **Grad-CAM**: " in text
    assert capsys.readouterr().out == f"{out}: {SWIN} on 2 images, {CNN} on 2 images\n"


@pytest.mark.rest
def test_score_writes_csv_and_json(tmp_path):
    options = ["score", "--model", CNN, *FEW, "--measure", "truth", "--measure", "road"]
    assert main([*options, "-o", str(tmp_path / "t.csv")]) == 0
    assert main([*options, "-o", str(tmp_path / "t.json")]) == 0
    with open(tmp_path / "t.csv", encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    (one,) = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert {line["figure"] for line in lines} == {"pointing", "pointing_strict", "on_thing", "on_deciding", "road"}
    for line in lines:
        if line["method"] == "chance":
            assert line["chance"] == line["above_chance"] == ""
        else:
            assert float(line["above_chance"]) == pytest.approx(float(line["mean"]) - float(line["chance"]), abs=2e-6)
    figures = one["rows"][0]["figures"]
    assert float(lines[0]["mean"]) == pytest.approx(figures[lines[0]["figure"]]["mean"], abs=1e-6)
    assert (one["images"], one["asked"], one["rows"][0]["method"]) == (2, 2, "grad_cam")


def test_score_without_a_file_prints(capsys):
    assert main(["score", "--model", "bundled:digits_cnn", "--data", "digits", *FEW]) == 0
    printed = capsys.readouterr().out
    assert "| method | deletion ↓ | insertion ↑ | mean place |" in printed  # no truth for digits


def test_what_was_scored_stays_when_it_is_stopped(tmp_path, monkeypatch):
    from vizkit.evaluation import maps

    real, calls = maps.score_case, []

    def interrupted(*args, **options):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(maps, "score_case", interrupted)
    out = tmp_path / "part.md"
    options = ["--images", "6", "--method", "grad_cam", "--measure", "truth", "-o", str(out)]
    assert main(["score", "--model", CNN, "--model", VIT, *options]) == 130
    text = out.read_text(encoding="utf-8")
    assert "It was stopped before the end." in text
    assert "2 images of 6" in text
    assert VIT not in text.split("##", 1)[1]


def test_score_of_a_folder(tmp_path):
    for place in ("train/a", "train/b", "test/a", "test/b"):
        (tmp_path / "set" / place).mkdir(parents=True)
        Image.fromarray(draw(3, size_px=64).picture).save(tmp_path / "set" / place / "one.png")
    out = tmp_path / "t.json"
    assert main(["score", "--model", CNN, "--data", str(tmp_path / "set"), *FEW, "-o", str(out)]) == 0
    assert json.loads(out.read_text(encoding="utf-8"))[0]["rows"][0]["figures"].keys() == {"deletion", "insertion"}


@pytest.mark.parametrize(
    "options, expected",
    [
        (["-o", "t.txt"], "ends in .md or .csv or .json"),
        (["--images", "0"], "--images. Must be > 0"),
        (["--data", "nowhere"], "No set and no folder is called 'nowhere'"),
        (["--steps", "0"], "--steps. Must be > 0"),
        (["--method", "rollout"], "None of these methods applies to bundled:insects_cnn. This model has no attention"),
    ],
)
def test_what_cannot_be_scored(options, expected, capsys):
    assert main(["score", "--model", CNN, *options]) == 2
    assert expected in capsys.readouterr().err


def test_the_best_of_a_column():
    def row(method, mean, chance, rank=1.0):
        summary = Summary(mean, 0.1, 2, chance)
        return Row(method, method, {"pointing": summary, "deletion": summary, "randomisation": summary}, rank)

    assert command.best([], "pointing") is None
    rows = [row("a", 0.4, 0.3), row("b", 0.6, 0.7), row("chance", 0.9, None, None)]
    assert command.best(rows[:1], "pointing") == 0.4
    assert command.best(rows, "pointing") is None  # the best is below chance
    assert command.best(rows, "deletion") is None  # where less is better, .4 is above its chance
    assert command.best([row("a", 0.2, 0.3), rows[1]], "deletion") == 0.2
    assert command.best(rows, "randomisation") is None
    assert command.best([row("a", 0.4, None)], "deletion") == 0.4
    assert command.cell(rows[0], "pointing", 0.4) == "**0.40** (+0.10)"
    assert command.cell(rows[0], "deletion", 0.4004) == "**0.400 ± 0.100** (+0.100)"
    assert command.cell(rows[0], "deletion", 0.401) == "0.400 ± 0.100 (+0.100)"
    assert command.cell(rows[0], "deletion", None) == "0.400 ± 0.100 (+0.100)"
    assert command.cell(rows[1], "deletion", None) == "0.600 ± 0.100 (−0.100)"
    assert command.cell(rows[2], "deletion", 0.9) == "0.900 ± 0.100"
    assert command.cell(rows[2], "road", None) == "–"


@pytest.mark.rest
def test_a_changed_picture_and_model_are_explained(insect, tmp_path, capsys):
    out = tmp_path / "changed.npz"
    given = ["explain", insect, "--model", VIT, "--method", "generic_relevance", "-o", str(out)]
    edits = ["--edit", "pixels:14x14:erase=90,91", "--edit", "heads:2.1=0"]
    assert main([*given, *edits]) == 0
    assert "Changed: pixels:14x14:erase=90,91, heads:2.1=0." in capsys.readouterr().out
    _, changed = numbers(out)
    assert main(given) == 0
    _, plain = numbers(out)
    assert not np.array_equal(changed["generic_relevance"], plain["generic_relevance"])
    assert main([*given[:5], "occlusion", "-o", str(out), "--edit", "heads:2.1=0"]) == 2
    assert "runs the model again, as it is" in capsys.readouterr().err
    assert main([*given, "--edit", "pixels:14x14:erase=999"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
