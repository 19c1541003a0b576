"""Views of what `vizkit explain` wrote: Data set shows its answers and maps, Similarity how two runs differ. Nothing
that a manifest says is believed, and no picture is shown but that which was explained."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image

import vizkit
from vizkit.__main__ import main
from vizkit.datasets.insects import draw
from vizkit.evaluation.data_set.explained import GREY, explained
from vizkit.explanations import opened, table
from vizkit.explanations.written import checked
from vizkit.traces import NotApplicable
from vizkit.ui.sidebar import folders
from vizkit.views.blocks import Canvas, Columns, Download, Later, Line, Numbers, Picture, Said
from vizkit.views.compare.similarity import LayerSimilarity
from vizkit.views.controls import checked as settled
from vizkit.views.data_set.plane import Plane
from vizkit.views.data_set.recorded import allowed
from vizkit.views.data_set.shortcuts import Shortcuts
from vizkit.views.data_set.suspects import Suspects
from vizkit.views.data_set.taught import Taught
from vizkit.views.subject import Subject, no_picture

FOLDER = "a folder"
COUNT = 24


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Pictures in class folders of which the model knows two, one broken; what was written of them; and another run."""
    home = tmp_path_factory.mktemp("work")
    for index in range(COUNT):
        file = home / "photos" / ("backswimmer", "water strider", "heron")[index % 3] / f"{index}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw(index, split="test", seed=5, size_px=112).picture).save(file)
    (home / "photos" / "heron" / "broken.png").write_bytes(b"no picture")
    given = ["explain", str(home / "photos"), "--device", "cpu", "--model", "bundled:insects_vit"]
    assert main([*given, "--method", "rollout", "--method", "grad-cam", "-o", str(home / "maps")]) == 0
    assert main([*given, "--method", "rollout", "--maps", "float16", "-o", str(home / "half")]) == 0
    return home


@pytest.fixture
def of(home):
    """Another model than the one that was explained: it is asked nothing."""
    loaded = vizkit.load("bundled:insects_cnn")
    subject = Subject(lambda: loaded, no_picture(), model="CNN")
    subject.folders = folders.offered.__wrapped__((home,), runs=True)
    return subject


def name_of(home, name):
    return f"{home.name}/{name}"


def flat(blocks):
    for block in blocks:
        if isinstance(block, Later):
            yield from flat(block.now())
        elif isinstance(block, Columns):
            for part in block.parts:
                yield from flat(part)
        else:
            yield block


def one(blocks, kind):
    return next(block for block in blocks if isinstance(block, kind))


def test_what_was_written_is_offered_to_views_and_to_nobody_who_trains(home):
    views, others = (folders.offered.__wrapped__((home,), runs=runs) for runs in (True, False))
    assert {*views} - {*others} == {name_of(home, "maps"), name_of(home, "half")}
    assert name_of(home, "photos") in others


def test_the_map_and_the_worst_pictures_are_those_of_the_run(home, of):
    view = Plane(data=FOLDER, folder=name_of(home, "maps"), images="300")
    blocks, results = [*flat(view.show(of))], opened(home / "maps")
    table = results.table.to_pylist()
    read = [row for row in table if not row["error"]]
    right = sum(row["answer"] == row["truth"] for row in read)
    known = sum(row["truth"] is not None for row in read)
    assert known == 16
    assert one(blocks, Said).text.startswith(f"bundled:insects_vit is right on {right} of {known} images")
    points = one(blocks, Canvas).data
    assert points["places"] == [row["key"] for row in read]
    said = " ".join(block.text for block in blocks if isinstance(block, Line))
    assert "is asked nothing" in said
    assert "Grad-CAM" in said
    assert "Not read: 1 image" in said
    tiles = [block for block in blocks if isinstance(block, Canvas)][1].data["tiles"]
    worst = max((row for row in read if row["truth"] not in (None, row["answer"])), key=lambda row: row["probability"])
    assert tiles[0]["place"] == worst["key"]
    assert str(home) not in repr([view.title(of), said, tiles, points["places"]])
    csv = next(block for block in blocks if isinstance(block, Download)).make().decode().splitlines()
    assert len(csv) == 1 + len(read)
    assert np.isfinite(one(blocks, Numbers).make()["xy"]).all()


def test_shortcuts_need_maps_alone_and_the_others_say_what_they_need(home, of):
    view = {"data": FOLDER, "folder": name_of(home, "maps")}
    with pytest.raises(NotApplicable, match="No label has ten images"):  # clustered, and too few
        [*flat(Shortcuts(**view).show(of))]
    for cls in (Suspects, Taught):
        with pytest.raises(NotApplicable, match="not what the last layer reads: choose the folder of images"):
            [*flat(cls(**view).show(of))]


def test_what_would_fill_the_memory_is_not_read(home, monkeypatch):
    monkeypatch.setattr(table, "MOST_UNPACKED", 1000)
    with pytest.raises(ValueError, match=r"maps would take .* of memory at once.*; divide it\.$"):
        checked(home / "maps")


def test_few_of_many_and_pictures_that_changed_or_went(home, tmp_path):
    for name in ("photos", "half"):
        shutil.copytree(home / name, tmp_path / name)
    manifest = json.loads((tmp_path / "half" / "_manifest.json").read_text())
    (tmp_path / "half" / "_manifest.json").write_text(json.dumps(manifest | {"source": "photos"}))  # beside it
    found = explained(checked(tmp_path / "half"), 5)
    assert len(found) == 5
    assert found.maps.shape == (5, 14, 14)
    assert found.picture(0).std() > 1
    changed = tmp_path / "photos" / found.keys[0]
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(changed)
    with pytest.raises(ValueError, match="has changed since it was explained"):
        found.picture(0)
    changed.unlink()
    with pytest.raises(ValueError, match="no longer where it was explained"):
        explained(checked(tmp_path / "half"), 5).picture(0)
    shutil.rmtree(tmp_path / "photos")
    gone = explained(checked(tmp_path / "half"), 5)
    assert {*gone.picture(0).ravel().tolist()} == {GREY}
    assert "maps lie on grey" in " ".join(gone.images.notes)


@pytest.mark.parametrize("source", ["/etc", "{home}/../elsewhere", "../elsewhere", "torchvision:pets", "hf:name", "*"])
def test_a_manifest_of_a_stranger_opens_no_other_folder(home, tmp_path, source):
    """Even pictures whose digest it knows."""
    shutil.copytree(home / "photos", tmp_path / "elsewhere")
    shutil.copytree(home / "half", tmp_path / "work" / "half")
    file = tmp_path / "work" / "half" / "_manifest.json"
    told = json.loads(file.read_text()) | {"source": source.format(home=tmp_path / "work")}
    file.write_text(json.dumps(told))
    of = Subject(lambda: None, no_picture())
    of.folders = folders.offered.__wrapped__((tmp_path / "work",), runs=True)
    found = explained(checked(file.parent), 5, lambda path: allowed(of, path))
    assert {*found.picture(0).ravel().tolist()} == {GREY}


def test_a_damaged_run_is_a_sentence_without_its_path(home, tmp_path, of):
    shutil.copytree(home / "half", tmp_path / "half")
    (tmp_path / "half" / "_manifest.json").write_text("{}")
    of.folders = {"half": str(tmp_path / "half")}
    for view in (Plane(data=FOLDER, folder="half"), LayerSimilarity(between="maps", maps="half", less="half")):
        with pytest.raises(NotApplicable, match="not written by vizkit explain, or is damaged") as sentence:
            [*flat(view.show(of))]
        assert str(tmp_path) not in str(sentence.value)


def test_two_runs_are_compared_as_the_command_does(home, of, capsys):
    names = {"maps": name_of(home, "maps"), "less": name_of(home, "half")}
    blocks = [*flat(LayerSimilarity(between="maps", **names).show(of))]
    assert main(["explained", str(home / "maps"), "--less", str(home / "half")]) == 0
    assert capsys.readouterr().out.splitlines()[0] == one(blocks, Said).text
    rows = one(blocks, Numbers).make()
    assert rows["rank_correlation"] == sorted(rows["rank_correlation"])
    assert len(rows["image"]) == COUNT
    drawn = [block for block in blocks if isinstance(block, Picture)]
    assert [block.alt.partition(": ")[0] for block in drawn[::3]] == rows["image"][:4]
    assert len(drawn) == 12
    assert str(home) not in repr([block.text for block in blocks if isinstance(block, Line | Said)])


@pytest.mark.parametrize("name", ["elsewhere", "../secret", "/etc", "memory://bucket/maps"])
def test_no_other_name_opens_anything(of, name):
    with pytest.raises(ValueError, match="is no folder that is offered here"):
        settled(LayerSimilarity(between="maps", maps=name), [of])
    with pytest.raises(NotApplicable, match="Choose two folders"):
        [*LayerSimilarity(between="maps", maps=name, less=name).show(of)]
