"""`explain` of a folder: every picture's map and numbers, one table, resumed, by two processes, and what is refused."""

import csv
import json
import os
import shutil

import numpy as np
import pytest
from PIL import Image
from pyarrow import parquet

import vizkit
from tests.launching import on_two_nodes
from vizkit.__main__ import main
from vizkit.analysis.attribution.explaining import explain
from vizkit.commands.explaining import explain_folder
from vizkit.commands.explaining.explain_folder import COLUMNS, pictures_in
from vizkit.datasets.insects import draw

VIT = "bundled:digits_vit"


@pytest.fixture
def photos(tmp_path):
    """Three pictures, one of them in a folder, one broken file, and what is no picture."""
    folder = tmp_path / "photos"
    (folder / "more").mkdir(parents=True)
    for index, name in enumerate(("a.png", "a.jpg", "more/b 10.png")):
        Image.fromarray(draw(index, split="test", seed=5, size_px=96 + 16 * index).picture).save(folder / name)
    (folder / "broken.png").write_bytes(b"no picture")
    (folder / "notes.txt").write_text("words")
    return folder


def table(output):
    with (output / "table.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def explained(photos, output, *options):
    return main(["explain", str(photos), "--model", VIT, "-o", str(output), "--device", "cpu", *options])


def test_a_map_the_numbers_and_a_line_for_every_picture(photos, tmp_path, capsys):
    assert explained(photos, tmp_path / "maps", "--method", "rollout", "--method", "grad-cam") == 0
    assert "4 pictures, 1 with an error that the table tells" in capsys.readouterr().out
    rows = table(tmp_path / "maps")
    assert [*rows[0]] == [*COLUMNS]
    pictures = ["a.jpg", "a.png", "broken.png", "more/b 10.png"]
    assert list(dict.fromkeys(row["picture"] for row in rows)) == pictures
    assert [row["method"] for row in rows if row["picture"] == "a.png"] == ["rollout", "grad_cam"]
    (broken,) = [row for row in rows if row["picture"] == "broken.png"]
    assert broken["error"]
    assert not broken["class"]
    assert not (tmp_path / "maps/broken.png.png").exists()

    loaded = vizkit.load(VIT, device="cpu")
    trace = vizkit.trace(loaded, vizkit.open_image(photos / "more/b 10.png"))
    heat = explain("rollout", trace).heat
    with np.load(tmp_path / "maps/more/b 10.png.npz", allow_pickle=False) as file:
        np.testing.assert_allclose(file["rollout"], heat.numpy(), atol=1e-6)
        assert {"rollout", "grad_cam", "meta"} == set(file.files)
    row = next(row for row in rows if row["picture"] == "more/b 10.png" and row["method"] == "rollout")
    label = int(trace.logits.argmax())
    assert (row["class"], int(row["class_number"])) == (loaded.label(label), label)
    assert float(row["probability"]) == pytest.approx(float(trace.logits.softmax(0)[label]), rel=1e-4)
    assert float(row["highest"]) == pytest.approx(float(heat.max()), rel=1e-4)
    place = divmod(int(heat.argmax()), 8)  # 8 × 8 patches on a picture of 128 pixels: 16 of them each
    assert (float(row["highest_y_px"]), float(row["highest_x_px"])) == tuple(16 * at + 8 for at in place)
    with Image.open(tmp_path / "maps/more/b 10.png.png") as drawn:
        assert drawn.width >= 224


def test_parquet_has_the_same_with_its_types(photos, tmp_path):
    explained(photos, tmp_path / "maps")
    rows, columns = table(tmp_path / "maps"), parquet.read_table(tmp_path / "maps/table.parquet")
    assert columns.column_names == [*COLUMNS]
    assert [str(kind) for kind in columns.schema.types[3:6]] == ["int64", "double", "double"]
    for row, line in zip(rows, columns.to_pylist(), strict=True):
        assert {name: "" if value is None else str(value) for name, value in line.items()} == row


def test_it_goes_on_where_it_was_stopped(photos, tmp_path, monkeypatch):
    explained(photos, tmp_path / "whole")
    wrote, write = [], explain_folder.write_numbers

    def stopping(path, *arguments, **options):
        if len(wrote) == 2:
            raise KeyboardInterrupt
        write(path, *arguments, **options)
        wrote.append(path)

    monkeypatch.setattr(explain_folder, "write_numbers", stopping)
    assert explained(photos, tmp_path / "maps") == 130
    assert not (tmp_path / "maps/table.csv").exists()
    monkeypatch.setattr(
        explain_folder, "write_numbers", lambda path, *a, **o: (wrote.append(path), write(path, *a, **o))
    )
    assert explained(photos, tmp_path / "maps") == 0
    assert len(wrote) == 3  # the two that were done were not made again
    assert (tmp_path / "maps/table.csv").read_text() == (tmp_path / "whole/table.csv").read_text()
    assert [path.name for path in (tmp_path / "maps").rglob(".*")] == []


def test_another_method_needs_another_folder(photos, tmp_path, capsys):
    explained(photos, tmp_path / "maps")
    assert explained(photos, tmp_path / "maps", "--method", "all") == 2
    assert "give another folder" in capsys.readouterr().err
    (tmp_path / "maps/explained.json").write_text("{")
    assert explained(photos, tmp_path / "maps") == 2


@pytest.mark.parametrize(
    ("output", "words"), [("map.png", "need a folder"), ("no/where/maps", "cannot be written: No such file")]
)
def test_outputs_that_cannot_be(photos, tmp_path, capsys, output, words):
    assert explained(photos, tmp_path / output) == 2
    assert words in capsys.readouterr().err


def test_a_folder_without_pictures(tmp_path, capsys):
    assert explained(tmp_path, tmp_path / "maps") == 2
    assert "There are no pictures" in capsys.readouterr().err


def test_maps_in_the_folder_of_the_pictures_are_no_pictures(photos):
    maps = photos / "maps"
    maps.mkdir()
    shutil.copy(photos / "a.png", maps / "a.png.png")
    assert pictures_in(photos, maps.resolve()) == ["a.jpg", "a.png", "broken.png", "more/b 10.png"]


def test_two_processes_share_the_pictures(photos, tmp_path):
    explained(photos, tmp_path / "alone")
    arguments = ["explain", photos, "--model", VIT, "-o", tmp_path / "maps", "--device", "cpu"]
    nodes = on_two_nodes(arguments, os.environ | {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"})
    assert [node.returncode for node in nodes] == [0, 0], nodes[0].stderr + nodes[1].stderr
    rows, alone = table(tmp_path / "maps"), table(tmp_path / "alone")
    numbers = [name for name, kind in COLUMNS.items() if kind is float]
    for row, other in zip(rows, alone, strict=True):
        assert {k: v for k, v in row.items() if k not in numbers} == {
            k: v for k, v in other.items() if k not in numbers
        }
        for name in numbers:
            assert row[name] == other[name] or float(row[name]) == pytest.approx(float(other[name]), rel=1e-4)
    assert json.loads((tmp_path / "maps/explained.json").read_text())["model"] == VIT
