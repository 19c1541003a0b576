"""`vizkit show`: every view, its options from its settings, and one sentence for whatever is wrong."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image

import vizkit
from tests.commands.test_explaining_commands import numbers
from vizkit.__main__ import main
from vizkit.datasets import samples
from vizkit.views import VIEWS, bundled, class_of
from vizkit.views.controls import controls

ROOT = Path(__file__).parents[2]
VIT = "bundled:digits_vit"


@pytest.fixture
def show(tmp_path, capsys):
    """Run it on the bundled ViT and the digit 3; (exit code, what it printed)."""

    def run(*options, view="rollout", image="sample:digit 3", output="out.npz", model=VIT):
        arguments = [view, image, "--model", model, "--device", "cpu", "-o", str(tmp_path / output), *options]
        return main(["show", *arguments]), capsys.readouterr()

    return run


def test_it_writes_what_the_library_gives(show, digits, tmp_path):
    options = ["--depth", "3", "--fusion", "max", "--discard", "0.5", "--full", "--query", "5,3"]
    code, printed = show(*options, "-o", str(tmp_path / "a.PNG"))
    expected = vizkit.show(
        "rollout", digits, "sample:digit 3", depth=3, fusion="max", discard=0.5, full=True, query=(4, 2)
    )
    meta, arrays = numbers(tmp_path / "out.npz")
    assert (code, printed.err) == (0, "")
    head, *seen, first, second = printed.out.splitlines()
    assert head == f"{VIT} (bundled with vizkit, licence mit)"
    assert "\n".join(seen).strip() == str(expected)
    assert (first, second) == (str(tmp_path / "out.npz"), str(tmp_path / "a.PNG"))
    assert meta == json.loads(json.dumps(expected.meta))
    assert arrays.keys() == expected.numbers.keys()
    assert_array_equal(arrays["places"], expected.numbers["places"])
    assert (tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG")


def test_a_figure_has_the_layers_heads_and_width_that_are_asked_for(show, digits, tmp_path):
    """By default the mean of heads is large, and all heads stand below it, layers across."""
    asked = ["--width-mm", "89", "--only", "layer 2", "--only", "layer 3", "--only", "head 1"]
    code, printed = show(*asked, "-o", str(tmp_path / "a.svg"), view="explore")
    assert (code, printed.err) == (0, "")
    drawn = (tmp_path / "a.svg").read_text()
    assert f'width="{89 * 72 / 25.4:g}pt"' in drawn
    assert set(re.findall(r">((?:layer|head) \d)<", drawn)) == {"layer 2", "layer 3", "head 1"}
    shown = vizkit.show("explore", digits, "sample:digit 3")
    shown.save(tmp_path / "b.svg", width_mm=89, only=("layer 2", "layer 3", "head 1"))
    assert (tmp_path / "b.svg").read_text() == drawn
    code, printed = show("--only", "layer 99", "-o", str(tmp_path / "c.png"), view="explore")
    assert code == 2
    assert "No small map of this figure is called 'layer 99'; there are layer 1, " in printed.err
    code, printed = show("--methods", "rollout,b", "-o", str(tmp_path / "c.png"), view="relevance")
    assert code == 2
    assert "There is no method 'b'; there are attention, rollout, " in printed.err


@pytest.mark.parametrize("view, takes", [("relevance", ["--methods"]), ("explore", ["--heads", "--layers"])])
def test_the_help_of_a_view_has_the_small_maps_that_are_its_own(view, takes, capsys):
    assert main(["show", view, "--help"]) == 0
    assert sorted({*re.findall(r"--(?:layers|heads|methods)\b", capsys.readouterr().out)}) == takes


def test_options_take_the_words_of_the_page(show, tmp_path):
    show("--query", "class", "--no-full")
    by_words = numbers(tmp_path / "out.npz")
    show("--query", "cls")
    assert numbers(tmp_path / "out.npz")[0] == by_words[0]


def test_a_point_an_edit_and_several_models(show, digits, tmp_path):
    code, _ = show("--at", "0.3,0.6", "--edit", "heads:2.1=0", "--model", "bundled:digits_swin")
    meta, arrays = numbers(tmp_path / "out.npz")
    assert (code, meta["point"], meta["edits"]) == (0, [0.3, 0.6], ["heads:2.1=0"])
    assert [each["name"] for each in meta["models"]] == [VIT, "bundled:digits_swin"]
    alone = vizkit.show("rollout", digits, "sample:digit 3", at=(0.3, 0.6), edits=["heads:2.1=0"])
    assert_array_equal(arrays["places_1"], alone.numbers["places"])


def test_a_file_may_be_called_as_a_sample(show, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Image.fromarray(samples.picture("digit 5")).save("digit 3", "PNG")
    show(image="digit 3")
    of_file = numbers(tmp_path / "out.npz")[0]["picture"]
    show(image="sample:digit 3")
    assert of_file != numbers(tmp_path / "out.npz")[0]["picture"]


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--depth", "x"], "depth is a number from 1, not 'x'."),
        (["--fusion", "sum"], "fusion cannot be 'sum': there are mean, max, min."),
        (["--query", "dist"], "query cannot be 'dist': there are cls, mean, patch."),
        (["--query", "9,9"], "There is no patch at row 9, column 9: bundled:digits_vit has 8 × 8."),
        (["--at", "2,2"], "A point is (x, y) in fractions of the image, each from 0 to 1, not (2.0, 2.0)."),
        (["--edit", "heads:99.1=0"], "heads:99.1=0: the model has 6 attention layers."),
        (["--model", "bundled:digits_cnn"], "bundled:digits_cnn: This model has no attention layers; there is nothing"),
        (["--width-mm", "5"], "The width of a figure is from 60 to 420 mm, not 5."),
        (
            ["-o", "out.gif"],
            "out.gif cannot be written: give a name that ends in .png or .svg or .html or .npz or .zip.",
        ),
    ],
)
def test_what_is_wrong_is_a_sentence(show, tmp_path, options, sentence):
    code, printed = show(*options)
    assert (code, printed.out) == (2, "")
    assert printed.err.startswith(f"vizkit: {sentence}")
    assert printed.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"view": "rolout"}, "There is no view 'rolout': see --list."),
        ({"image": "nowhere.png"}, "There is no file at this path; give the path of an image."),
        ({"image": "sample:digit 33"}, "No image that comes with vizkit is called 'digit 33'"),
    ],
)
def test_what_is_not_there_is_a_sentence(show, given, sentence):
    code, printed = show(**given)
    assert code == 2
    assert sentence in printed.err
    assert printed.err.count("\n") == 1


def test_a_point_is_typed_as_one_word_or_as_two(show, tmp_path):
    said = []
    for at in (["0.3,0.6"], ["0.3", "0.6"], ["0.9", "0.6"]):
        code, _ = show("--query", "patch", "--at", *at)
        assert code == 0
        said.append(numbers(tmp_path / "out.npz")[1]["places"].tolist())
    assert said[0] == said[1] != said[2]


@pytest.mark.parametrize("at", ["middle", "0.5", "1,2,3"])
def test_what_is_no_point_is_refused(show, at):
    code, printed = show("--at", at)
    assert code == 2
    assert f"{at!r} is no point such as 0.5,0.5." in printed.err


@pytest.mark.parametrize("view", VIEWS)
def test_every_setting_is_an_option_and_explained(view, capsys):
    assert main(["show", view, "--help"]) == 0
    told = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for name, control in controls(class_of(view)).items():
        assert f"--{name.replace('_', '-')}" in told
        assert " ".join(control.label.split()) in told


def test_the_list_has_every_view(capsys):
    assert main(["show", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(VIEWS)
    assert all(
        entry.line in line and f"(page {entry.page})" in line for line, entry in zip(lines, VIEWS.values(), strict=True)
    )


@pytest.mark.parametrize("arguments", [["--list"], ["--help"]])
def test_what_there_is_needs_no_torch(arguments):
    code = f"""import sys
from vizkit.__main__ import main
main({["show", *arguments]})
print("torch" in sys.modules)"""
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "False"


def test_a_step_of_a_run_is_the_model_of_then(show, tmp_path):
    run = str(bundled.RECORDED_FOLDER)
    assert show("--step", "64", model=run)[0] == 0
    assert show(model=f"{run}@64", output="at.npz")[0] == 0
    assert (tmp_path / "out.npz").read_bytes() == (tmp_path / "at.npz").read_bytes()
    assert show("--model-step", "64", "--step", "2", model=run, view="walk-through")[0] == 0, "it has steps of its own"
    assert show("--step", "70", model=run)[1].err.endswith("no checkpoint of step 70: the nearest are 64 and 99.\n")
    assert "says its step already: leave --step 70 out" in show("--step", "70", model=f"{run}@64")[1].err
    image = str(tmp_path / "3.png")
    Image.fromarray(samples.picture("digit 3")).save(image)
    for command in ("trace", "explain"):
        for name, options in (("a", ["--model", run, "--step", "64"]), ("b", ["--model", f"{run}@64"])):
            assert main([command, image, *options, "--device", "cpu", "-o", str(tmp_path / f"{name}.npz")]) == 0
        one, other = (numbers(tmp_path / f"{name}.npz") for name in "ab")
        assert one[0] == other[0]
        assert all(np.array_equal(values, other[1][name]) for name, values in one[1].items())
