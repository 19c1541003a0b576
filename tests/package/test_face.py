"""The library's face: what `vizkit.<name>` promises, and that the README's own lines run."""

import ast
import pydoc
import re
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch.testing import assert_close

import vizkit
from tests.toys import Stranger
from vizkit.analysis.attribution.methods import METHODS
from vizkit.datasets.insects import draw
from vizkit.traces import NotApplicable

FACE = ("data_set", "explain", "load", "open_image", "rollout", "save_html", "show", "trace", "wrap")
ROOT = Path(__file__).parents[2]
CODE, GUIDE = (
    re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(encoding="utf-8"), re.M | re.S)
    for name in ("README.md", "docs/command_line.md")
)
PICTURE = draw(3, split="test", size_px=224).picture


@pytest.mark.parametrize("code", CODE)
def test_the_code_of_the_readme_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Image.fromarray(PICTURE).save("photo.jpg")
    known = {"your_module": Stranger(56), "names": ["nymph", "larva", "beetle"]}
    exec(compile(code, "README.md", "exec"), known)
    if code is CODE[0]:  # the three lines on top
        return
    assert known["trace"].check.passed
    assert (tmp_path / "attention.html").stat().st_size > 10_000


def test_the_code_of_the_guide_runs_where_it_needs_no_file_of_weights(tmp_path, monkeypatch):
    """Of the rest the names and the arguments exist."""
    monkeypatch.chdir(tmp_path)
    Image.fromarray(PICTURE).save("photo.jpg")
    known, ran = {}, 0
    for code in GUIDE:
        for call in [each for each in ast.walk(ast.parse(code)) if isinstance(each, ast.Call)]:
            if ast.unparse(call.func).startswith("vizkit."):
                function = getattr(vizkit, call.func.attr)
                signature(function).bind(*call.args, **{each.arg: each.value for each in call.keywords})
        if not re.search(r"\.(pth|pt|ckpt)\"|transformers\.|\bmodel,", code):
            exec(compile(code, "command_line.md", "exec"), known)
            ran += 1
    assert ran == 3


def test_the_readme_shows_the_whole_face():
    assert tuple(vizkit.__all__) == FACE
    assert [name for name in FACE if not re.search(rf"\b(vizkit|trace)\.{name}\(", "".join(CODE))] == []


def test_every_name_is_explained():
    """help(vizkit) tells each name of the face, what it raises, and no other function."""
    told = pydoc.plain(pydoc.render_doc(vizkit)).partition("\nFUNCTIONS\n")[2]
    entries = re.split(r"^    (?=\w+\()", told, flags=re.M)[1:]
    assert [each.partition("(")[0] for each in entries if not each.startswith("__")] == list(FACE)
    assert [each.partition("(")[0] for each in entries if "Raises" not in each and not each.startswith("__")] == []


@pytest.fixture(scope="module")
def loaded():
    return vizkit.load("bundled:insects_vit")


@pytest.fixture(scope="module")
def trace(loaded):
    return vizkit.trace(loaded, PICTURE)


def test_rollout_is_a_share_of_every_place(trace):
    plain, without = vizkit.rollout(trace), vizkit.rollout(trace, query="cls", fusion="max", discard=0.5)
    assert plain.shape == without.shape == trace.attention[0].key.grid
    assert float(plain.min()) >= 0
    assert float(plain.sum()) == pytest.approx(1, abs=1e-5)
    assert not torch.allclose(plain, without)


def test_explain_gives_rollout_by_itself(loaded, trace):
    found = vizkit.explain(loaded, PICTURE)
    assert_close(found.heat, vizkit.rollout(trace))
    assert (found.method, found.target) == ("rollout", None)
    assert found.words.startswith(METHODS["rollout"].asks)
    assert "Abnar & Zuidema 2020" in found.words
    assert found.scale == f"share of the whole: {float(found.heat.min()):.3g} to {float(found.heat.max()):.3g}"


def test_explain_takes_the_likeliest_class_or_the_one_that_is_asked_for(loaded, trace):
    likeliest = int(trace.logits.argmax())
    usual = vizkit.explain(loaded, PICTURE, "input_times_gradient")
    other = vizkit.explain(loaded, PICTURE, "input_times_gradient", target=(likeliest + 1) % len(trace.logits))
    assert (usual.target, other.target) == (likeliest, (likeliest + 1) % len(trace.logits))
    assert not torch.allclose(usual.heat, other.heat)
    sides = "above 0 speaks for it, below 0 against it"
    assert re.fullmatch(rf"evidence, in units of the logit: \S+ to \S+; {sides}", usual.scale)


def test_what_cannot_be_explained_is_a_sentence(loaded):
    with pytest.raises(ValueError, match="There is no method 'magic'; there are attention, rollout,"):
        vizkit.explain(loaded, PICTURE, "magic")
    with pytest.raises(ValueError, match="Class 99 does not exist"):
        vizkit.explain(loaded, PICTURE, "legrad", target=99)
    with pytest.raises(NotApplicable):
        vizkit.explain(vizkit.load("bundled:insects_cnn"), np.ascontiguousarray(PICTURE), "rollout")


def test_no_other_name_is_there():
    with pytest.raises(AttributeError, match="has no attribute 'explained'"):
        _ = vizkit.explained
