"""`explain` of many pictures: maps that are those of one, a table others open, two processes as one, refusals."""

import json
import os
import shutil
import time

import numpy as np
import pandas
import pyarrow.parquet
import pytest
import torch
from numpy.testing import assert_allclose
from PIL import Image
from scipy.stats import spearmanr

import vizkit
from tests.models.recording.test_precision import pretend_tf32
from vizkit.__main__ import main
from vizkit.commands.explaining import explain_many
from vizkit.commands.explaining.explained import explained as tell
from vizkit.datasets.insects import draw
from vizkit.explanations import difference, job, opened, passes
from vizkit.explanations import source as sources
from vizkit.explanations.reading import workers_for
from vizkit.explanations.table import alike

VIT = "bundled:digits_vit"


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Class folders of three and two pictures, one of them broken, and what is no picture."""
    folder = tmp_path_factory.mktemp("many") / "photos"
    for index, name in enumerate(("3/a.png", "3/a.jpg", "7/b 10.png", "7/c.png")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw(index, split="test", seed=5, size_px=96 + 16 * index).picture).save(folder / name)
    (folder / "3" / "broken.png").write_bytes(b"no image")
    (folder / "notes.txt").write_text("words")
    return folder


@pytest.fixture(scope="module")
def whole(photos, tmp_path_factory):
    output = tmp_path_factory.mktemp("whole") / "maps"
    assert explained(photos, output, "--method", "rollout", "--method", "grad-cam") == 0
    return output


def explained(photos, output, *options):
    return main(["explain", str(photos), "--model", VIT, "-o", str(output), "--device", "cpu", *options])


def files(output):
    return {path.name: path.read_bytes() for path in output.glob("*.parquet")}


def test_a_row_has_the_map_and_all_that_is_known_of_it(photos, whole, capsys):
    results, loaded = opened(whole), vizkit.load(VIT)
    assert results.methods == ["rollout", "grad_cam"]
    keys = results.table["key"].to_pylist()
    assert keys == ["3/a.jpg", "3/a.png", "3/broken.png", "7/b 10.png", "7/c.png"]
    for key in ("3/a.png", "7/b 10.png"):
        image, row = vizkit.open_image(photos / key), results.row(key)
        trace = vizkit.trace(loaded, image)
        answer = int(trace.logits.argmax())
        assert (row["answer"], row["explained"], row["truth"]) == (answer, answer, int(key[0]))
        assert row["label"] == key[0]
        assert row["probability"] == pytest.approx(float(trace.logits.softmax(0)[answer]), rel=1e-4)
        assert (row["width_px"], row["height_px"]) == (image.shape[1], image.shape[0])
        assert 0 <= row["proof_error"] < 1e-4
        for method in results.methods:
            heat = vizkit.explain(loaded, image, method).heat.numpy()
            assert abs(row[f"map_{method}"] - heat).max() <= (heat.max() - heat.min()) / 400
        masses = vizkit.analysis.attribution.rollout.rollout_masses(trace).special
        assert row["rollout_special"] == pytest.approx(masses, abs=1e-5)
    broken = results.row("3/broken.png")
    assert broken["error"]
    assert {broken[name] for name in ("answer", "explained", "proof_error", "map_rollout", "low_rollout")} == {None}


def test_it_says_how_it_was_made(photos, whole):
    manifest = opened(whole).manifest
    assert manifest["model"] == VIT
    assert manifest["maps"]["rollout"] == {"shape": [8, 8], "signed": False}
    assert {"torch", "timm", "pyarrow", "vizkit"} == {*manifest["versions"]}
    told = json.loads(opened(whole).dataset.schema.metadata[b"vizkit"])
    assert {name: manifest[name] for name in told} == told


def test_pandas_opens_the_folder(whole):
    table = pandas.read_parquet(whole)
    assert len(table) == 5
    assert table["map_rollout"][0].shape == (64,)
    assert table.loc[table["error"].notna(), "key"].to_list() == ["3/broken.png"]


def test_half_precision_is_nearer_and_runs_are_compared(photos, whole, tmp_path):
    assert explained(photos, tmp_path / "maps", "--maps", "float16", "--method", "rollout") == 0
    keys, apart = difference(opened(whole), opened(tmp_path / "maps"), "rollout")
    assert keys[0] == "3/a.jpg"
    assert np.isnan(apart[2]).all()
    one = opened(tmp_path / "maps").row("3/a.png")["map_rollout"]
    heat = vizkit.explain(vizkit.load(VIT), vizkit.open_image(photos / "3/a.png")).heat.numpy()
    assert_allclose(one, heat, atol=2e-5)
    assert 0 < np.nanmax(abs(apart)) < (heat.max() - heat.min()) / 100


def test_tf32_is_for_gpus_that_have_it_and_is_told(photos, tmp_path, capsys, monkeypatch):
    try:
        assert explained(photos, tmp_path / "none", "--precision", "tf32") != 0
        assert "TF32 is a precision of NVIDIA's GPUs since Ampere" in capsys.readouterr().err
        with pretend_tf32(monkeypatch):
            assert explained(photos, tmp_path / "maps", "--precision", "tf32") == 0
    finally:
        torch.set_float32_matmul_precision("highest")
    results = opened(tmp_path / "maps")
    assert results.manifest["precision"] == "TF32"
    assert 1e-4 < max(filter(None, results.table["proof_error"].to_pylist())) < 2e-3  # as rounded factors allow
    assert not any(results.table["no_map"].to_pylist())


@pytest.mark.parametrize("target, classes", [("label", [3, 3, None, 7, 7]), ("4", [4, 4, None, 4, 4])])
def test_the_class_is_chosen(photos, tmp_path, target, classes):
    assert explained(photos, tmp_path / "maps", "--method", "grad-cam", "--target", target) == 0
    table = opened(tmp_path / "maps").table
    assert table["explained"].to_pylist() == classes
    heat = vizkit.explain(vizkit.load(VIT), vizkit.open_image(photos / "7/c.png"), "grad_cam", classes[-1]).heat.numpy()
    assert_allclose(opened(tmp_path / "maps").row("7/c.png")["map_grad_cam"], heat, atol=np.ptp(heat) / 400)


def test_without_a_known_label_there_is_no_map(photos, tmp_path):
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "a.png").write_bytes((photos / "3/a.png").read_bytes())
    assert explained(tmp_path / "beside", tmp_path / "maps", "--target", "label") == 0
    row = opened(tmp_path / "maps").row("a.png")
    assert (row["map_rollout"], row["no_map"]) == (None, "The model knows no class of the image's label.")


def test_one_class_against_another(photos, tmp_path):
    assert explained(photos, tmp_path / "maps", "--method", "grad-cam", "--target", "3", "--against", "7") == 0
    assert opened(tmp_path / "maps").manifest["maps"]["grad_cam"]["signed"]


def test_methods_that_a_model_has_not_are_said(photos, tmp_path, capsys):
    arguments = ["explain", str(photos), "--model", "bundled:digits_cnn", "--device", "cpu", "-o"]
    assert main([*arguments, str(tmp_path / "maps"), "--method", "rollout", "--method", "grad-cam"]) == 0
    assert "ollout: no map. This model has no attention layers" in capsys.readouterr().out
    assert opened(tmp_path / "maps").methods == ["grad_cam"]
    assert main([*arguments, str(tmp_path / "more"), "--method", "rollout"]) == 2


def test_stopped_it_says_how_to_go_on(photos, whole, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sources, "PART", 1)
    with monkeypatch.context() as patch:
        original, asked = job.PassWork.parts, iter([False, False, True])
        patch.setattr(job.PassWork, "parts", lambda *given: original(*given[:3], lambda: next(asked)))
        assert explained(photos, tmp_path / "maps") == 130
    assert "Stopped; the same command goes on from here." in capsys.readouterr().err
    assert len(files(tmp_path / "maps")) == 3
    assert explained(photos, tmp_path / "maps") == 0
    assert opened(tmp_path / "maps").table["key"].to_pylist() == opened(whole).table["key"].to_pylist()


def test_a_part_takes_no_longer_than_it_may(photos, whole, tmp_path, monkeypatch):
    """Begun with small parts, a run goes on with them, however quick the machine is then."""
    with monkeypatch.context() as patch:
        patch.setattr(explain_many, "PART_S", 1e-9)
        assert explained(photos, tmp_path / "maps") == 0
    assert len(files(tmp_path / "maps")) == 5
    (tmp_path / "maps" / "part-00003.parquet").unlink()
    assert explained(photos, tmp_path / "maps") == 0
    assert opened(tmp_path / "maps").manifest["part"] == 1
    assert opened(tmp_path / "maps").table["answer"].equals(opened(whole).table["answer"])


def test_how_many_pictures_fit_into_a_time(monkeypatch):
    answers = passes.Answers(vizkit.load(VIT))
    monkeypatch.setattr(answers, "of", lambda seen: time.sleep(0.05 * len(seen.keys)))
    assert 1 <= answers.most_within(1.0) <= 20
    assert answers.most_within(0.01) == 1


def test_another_method_needs_another_folder(photos, whole, capsys):
    assert explained(photos, whole) == 2
    assert "begun with other settings (maps); give another folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "output, words", [("map.png", "need a folder"), ("no/where/maps", "cannot be written: No such file")]
)
def test_outputs_that_cannot_be(photos, tmp_path, capsys, output, words):
    assert explained(photos, tmp_path / output) == 2
    assert words in capsys.readouterr().err


def test_maps_in_the_folder_of_the_pictures_are_no_pictures(tmp_path):
    Image.new("RGB", (20, 20), "red").save(tmp_path / "a.png")
    (tmp_path / "maps").mkdir()
    Image.new("RGB", (20, 20), "red").save(tmp_path / "maps" / "a.png")
    found = sources.open_source(str(tmp_path), without=(tmp_path / "maps").resolve())
    assert [item.key for item in found.items(0)] == ["a.png"]


def test_reading_beside_the_model_where_it_is_worth_it(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    found = [workers_for(*given) for given in (("cpu", 50), ("cpu", None), ("cuda", 10_000))]
    assert found == [0, 1, 3]
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert workers_for("cpu", 5000) == 0


def test_a_folder_that_holds_none(tmp_path):
    with pytest.raises(ValueError, match="holds no explanations"):
        opened(tmp_path)
    (tmp_path / "_manifest.json").write_text("{}")
    with pytest.raises(ValueError, match="Nothing is written"):
        opened(tmp_path)


def test_a_row_is_told_and_drawn(photos, whole, tmp_path, capsys):
    assert main(["explained", str(whole), "7/c.png", "-o", str(tmp_path / "one.png")]) == 0
    said = capsys.readouterr().out
    row = opened(whole).row("7/c.png")
    assert f"answer: {row['answer']} {vizkit.load(VIT).labels[row['answer']]}" in said
    assert f"proof_error: {row['proof_error']}" in said
    drawn = np.asarray(Image.open(tmp_path / "one.png"))
    assert drawn.shape[1] > 2 * 224  # two maps beside one another
    assert main(["explained", str(whole), "3/broken.png"]) == 0
    assert "error: " in capsys.readouterr().out
    for key, words in (("none.png", "has no image"), ("3/broken.png", "has no map")):
        assert main(["explained", str(whole), key, "-o", str(tmp_path / "two.png")]) == 2
        assert words in capsys.readouterr().err
    assert not (tmp_path / "two.png").exists()


def test_all_rows_are_a_table(whole, tmp_path, capsys):
    assert main(["explained", str(whole), "-o", str(tmp_path / "table.csv")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["key", "label", "answer", "probability"]
    assert [line.split("  ")[0] for line in lines[1:6]] == opened(whole).table["key"].to_pylist()
    table, labels = pandas.read_csv(tmp_path / "table.csv"), vizkit.load(VIT).labels
    assert table["answer"].to_list()[:2] == opened(whole).table["answer"].to_pylist()[:2]
    for name in ("answer", "truth", "explained"):
        named = [labels[int(number)] for number in table[name].dropna()]
        assert table[f"{name}_name"].dropna().astype(int).astype(str).to_list() == named
    assert not [name for name in table if name.startswith("map_")]
    assert main(["explained", str(whole), "7/c.png", "-o", str(tmp_path / "one.csv")]) == 2
    assert "OUT.csv without a key" in capsys.readouterr().err


def test_a_row_of_a_stranger_is_told_without_what_a_terminal_obeys(photos, tmp_path, capsys):
    odd = tmp_path / "odd"
    odd.mkdir()
    (odd / "\x1b[2Jred.png").write_bytes((photos / "7/c.png").read_bytes())
    assert explained(odd, tmp_path / "maps", "--method", "rollout") == 0
    key = opened(tmp_path / "maps").table["key"][0].as_py()
    capsys.readouterr()
    assert main(["explained", str(tmp_path / "maps"), key]) == 0
    assert "\x1b" not in capsys.readouterr().out
    (tmp_path / "maps/_manifest.json").write_text("{}")
    assert main(["explained", str(tmp_path / "maps"), key]) == 2
    assert "was not written by vizkit explain" in capsys.readouterr().err


JUNK = [None, -1, 1e999, "x\0", [None], {"rollout": None}, [0, 0]]


def damaged(whole):
    """Runs that only seem to be some, each by one change: of the manifest, then of the columns."""
    told = json.loads((whole / "_manifest.json").read_text())
    table = pyarrow.parquet.read_table(next(whole.glob("part-*.parquet")))
    places = [(told, name) for name in told]
    places += [(told[name], each) for name in ("preprocessing", "maps") for each in told[name]]
    places += [(told["maps"]["rollout"], each) for each in ("shape", "signed")]
    yield from (("_manifest.json", text) for text in ("[]", "null", "7", '"x"', "{", "[" * 9999, "\udcff"))
    for inside, name in places:
        kept = inside.pop(name)
        yield "_manifest.json", json.dumps(told)
        for junk in JUNK:
            inside[name] = junk
            yield "_manifest.json", json.dumps(told)
        inside[name] = kept
    for at, name in enumerate(table.column_names):
        texts = pyarrow.array(["x"] * len(table))
        for changed in (
            table.drop([name]),
            table.set_column(at, name, texts),
            table.set_column(at, name, pyarrow.nulls(len(table), table.schema.field(name).type)),
            table.set_column(at, table.schema.field(name).remove_metadata(), table[name]),
            table.append_column(name, texts),
        ):
            yield "part-00000.parquet", changed
    yield from (("part-00000.parquet", content) for content in (b"", b"PAR1", b"x" * 99))


@pytest.mark.rest
def test_what_another_wrote_is_said_in_a_sentence(whole, tmp_path, capsys):
    """Whatever is changed: a row, a picture, or a sentence."""
    copy, sentences = tmp_path / "maps", list[str]()
    for name, content in damaged(whole):
        shutil.copytree(whole, copy, dirs_exist_ok=True)
        if isinstance(content, pyarrow.Table):
            pyarrow.parquet.write_table(content, copy / name)
        else:
            (copy / name).write_bytes(
                content if isinstance(content, bytes) else content.encode(errors="surrogateescape")
            )
        for key, more in (("7/c.png", {}), (None, {}), (None, {"less": str(whole)})):
            try:
                tell(str(copy), key, **more)
            except ValueError as error:
                sentences.append(str(error))
        capsys.readouterr()
    assert len(sentences) > 200
    assert [each for each in sentences if not each.endswith(".") or "\n" in each] == []


def test_two_runs_are_compared(photos, whole, tmp_path, capsys):
    """Grad-CAM of the class that is the answer to one picture: the same map there, others elsewhere."""
    other, answer = tmp_path / "one class", opened(whole).row("3/a.png")["answer"]
    assert explained(photos, other, "--method", "grad-cam", "--target", str(answer)) == 0
    capsys.readouterr()
    assert main(["explained", str(whole), "--less", str(other)]) == 0
    told = capsys.readouterr().out
    assert "Grad-CAM: 4 images, rank correlation of their maps" in told
    assert "Rollout" not in told
    keys, shared = alike(opened(whole), opened(other), "grad_cam")
    maps = [dict(zip(*opened(folder).maps("grad_cam"), strict=True)) for folder in (whole, other)]
    for key, number in zip(keys, shared, strict=True):
        expected = spearmanr(*(each[key].ravel() for each in maps)).statistic
        assert number == pytest.approx(expected, abs=1e-5)
    assert shared[keys.index("3/a.png")] == pytest.approx(1, abs=0.01)
    drawn = tmp_path / "apart.png"
    assert main(["explained", str(whole), "7/c.png", "--less", str(other), "-o", str(drawn)]) == 0
    assert min(vizkit.open_image(drawn).shape[:2]) > 100


def test_runs_that_cannot_be_compared(photos, whole, tmp_path, capsys):
    other = tmp_path / "rollout"
    assert main(["explain", str(photos), "--model", "bundled:digits_swin", "--device", "cpu", "-o", str(other)]) == 0
    for given, words in (
        (["-o", str(tmp_path / "a.png")], "a figure is one of a key"),
        (["--less", str(other)], "no method in common with maps of one size"),
    ):
        assert main(["explained", str(whole), *given]) == 2
        assert words in capsys.readouterr().err
