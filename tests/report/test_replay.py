"""A report saved and made again gives the same bytes; another model or picture is said; text is in the files."""

import io
import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from PIL import Image

import vizkit
from vizkit.__main__ import main
from vizkit.datasets import samples
from vizkit.figure.saved.plate import Words
from vizkit.from_json import ReportError
from vizkit.models import ModelError
from vizkit.report.document import Entry, Report, files, html, opened, zipped
from vizkit.report.item import Item, Other, from_json, stem_of, to_json
from vizkit.report.making import made
from vizkit.report.replay import changed, inputs_for
from vizkit.traces import NotApplicable
from vizkit.views.attention.walkthrough import WalkThrough
from vizkit.views.convolution.feature_maps import FeatureMaps
from vizkit.views.convolution.slide import Slide
from vizkit.views.detection.boxes import Boxes
from vizkit.views.explore import Explore
from vizkit.views.relevance.maps import Maps
from vizkit.views.rollout import Rollout
from vizkit.views.subject import Subject, no_model

VIT, CNN = "bundled:digits_vit", "bundled:digits_cnn"
HOSTILE = "../<script>alert(1)</script>![x](http://evil.test/a.png)" + "n" * 200
LINK = "http://127.0.0.1:8501/explore?models=bundled:digits_vit"
ALL = [
    (VIT, Explore(layer=5, head=2)),
    (CNN, Explore(layer=2)),
    (VIT, Explore(query="cls", scale="linear")),
    (VIT, Rollout((2, 3), depth=4, scale="linear")),
    (VIT, Maps("3", "5", method="grad_cam")),
    (VIT, Maps("3", method="integrated_gradients")),
    (CNN, FeatureMaps(2, "activation", 8)),
    (CNN, FeatureMaps(3, "norm")),
    (CNN, Slide("blur", size=5)),
    ("", Boxes(scene=1, query=3)),
    (VIT, WalkThrough(5, query="patch", by_values=True)),
]
FEW = 3


def item_of(source, shows, **changed):
    name, image = source.removeprefix("bundled:"), "" if isinstance(shows, Boxes) else "digit 3"
    return Item(shows, **{"source": source, "model": name, "image": image, "link": LINK} | changed)


def inputs_of(source, image="digit 3"):
    loaded = vizkit.load(source) if source else no_model()
    return Subject(lambda: loaded, samples.picture(image), model=source.removeprefix("bundled:"))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder as it was saved, one picture of every kind."""
    report = Report("All", tuple(Entry(item_of(source, shows), f"comment {shows}") for source, shows in ALL))
    folder = tmp_path_factory.mktemp("saved")
    with zipfile.ZipFile(io.BytesIO(zipped(report, [inputs_of(source) for source, _ in ALL]))) as archive:
        archive.extractall(folder)
    return folder / "report"


@pytest.mark.rest
def test_the_pictures_are_the_same_again(saved, tmp_path, capsys):
    assert main(["report", str(saved / "replay.json"), "-o", str(tmp_path / "again")]) == 0
    names = sorted(path.name for path in saved.iterdir())
    assert sorted(path.name for path in (tmp_path / "again").iterdir()) == names
    assert len(names) == 3 * len(ALL) + 2
    for name in names:
        if name != "report.html":  # whose canvases have a number of their own
            assert (saved / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name
    assert "01_digits_vit_digit_3_explore_layer5_head2.png" in capsys.readouterr().out


@pytest.mark.rest
def test_another_model_is_said(saved, tmp_path, capsys, monkeypatch):
    loaded = vizkit.load(VIT)
    with torch.no_grad():
        next(loaded.model.parameters()).add_(0.01)
    by_name = {VIT: loaded, CNN: vizkit.load(CNN)}
    monkeypatch.setattr("vizkit.report.replay.named", lambda source, size_hw: by_name[source])
    few = tmp_path / "replay.json"  # one picture of the CNN among those of the other model
    report = opened((saved / "replay.json").read_bytes())
    few.write_text(replace(report, entries=report.entries[:FEW]).to_json())
    command = ["report", str(few), "-o", str(tmp_path / "other")]
    assert main(command) == 2
    assert "the model 'digits_vit' is another one" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()
    assert main([*command, "--changed"]) == 0
    assert "is another one" in capsys.readouterr().err
    assert len(list((tmp_path / "other").glob("*.png"))) == FEW


def test_a_picture_of_ones_own_is_given_as_a_file_and_compared(tmp_path, capsys):
    own = Subject(inputs_of(VIT).open, samples.picture("digit 5"))
    report = Report("", (Entry(made(item_of(VIT, Explore(layer=1, query="cls"), image="mine.png"), own).item),))
    (tmp_path / "replay.json").write_text(report.to_json())
    for name, digit in (("same.png", "digit 5"), ("other.png", "digit 7")):
        Image.fromarray(samples.picture(digit)).save(tmp_path / name)
    command = ["report", str(tmp_path / "replay.json"), "-o", str(tmp_path / "out")]
    assert main(command) == 2
    assert "give it as --image 'mine.png'=FILE" in capsys.readouterr().err
    assert main([*command, "--image", f"mine.png={tmp_path / 'other.png'}"]) == 2
    assert "the image 'mine.png' is another one" in capsys.readouterr().err
    assert main([*command, "--image", f"mine.png={tmp_path / 'same.png'}"]) == 0
    assert main([*command, "--image", f"strange={tmp_path / 'same.png'}"]) == 2
    assert "Nothing in this report is called 'strange'" in capsys.readouterr().err


@pytest.mark.parametrize("source", ["/etc", "../x", "runs/mine", "run:a", "checkpoint:a-1", "a.pt", "~/x", "C:\\x"])
def test_no_path_of_a_stranger_is_opened(source, monkeypatch):
    monkeypatch.setattr("vizkit.models.load", lambda source, **_: pytest.fail(source))
    monkeypatch.setattr("vizkit.report.replay.load", lambda source, **_: pytest.fail(source))
    if source == "runs/mine":  # could be a model of the hub, and is no more than that
        monkeypatch.setattr("vizkit.models.load", lambda source, **_: refuse(source))
    with pytest.raises(ValueError, match=r".") as error:
        inputs_for(Report("", (Entry(item_of(source, Explore(layer=1))),)), {}, {})
    assert "\n" not in str(error.value)


def refuse(source):
    assert source == "hf-hub:runs/mine"
    raise ReportError("no.")


def test_hostile_names_are_text_and_stay_in_the_folder():
    given = inputs_of(VIT)
    item = item_of(VIT, Explore(layer=1, query="cls"), model=HOSTILE, image=HOSTILE, link=HOSTILE)
    report = Report(HOSTILE, (Entry(item, HOSTILE),))
    for name, content in files(report, [given]):
        assert set(name) & set("/\\<>") == set()
        assert len(name) < 200
        if name.endswith((".svg", ".html")):
            assert b"<script>alert" not in content
    assert "![x]" in html(report, [given])  # as it stands


def test_settings_beyond_the_model_show_its_last_or_one_sentence():
    given = inputs_of(VIT)
    assert (
        made(item_of(VIT, Explore(layer=99, head=99, query="cls")), given).plate.title
        == "Attention of [cls]: layer 6 of 6, head 4 of 4"
    )
    assert made(item_of(VIT, Rollout(depth=99)), given).plate.title == "Rollout: layers 1 to 6 of 6"
    for shows in (
        Rollout((99, 99)),
        Maps("999"),
        Rollout("cls", discard=7.0),
        Rollout("nobody"),
    ):
        with pytest.raises(ValueError, match=r".") as error:
            made(item_of(VIT, shows), given)
        assert "\n" not in str(error.value)


def test_whether_a_picture_is_still_the_same():
    given = inputs_of(VIT)
    item = made(item_of(VIT, Explore(layer=1, query="cls")), given).item
    assert changed(item, given) == ""
    assert "image 'digit 3' is another one" in changed(item, inputs_of(VIT, "digit 5"))
    assert "the model 'digits_vit' is another one" in changed(replace(item, weights="0" * 64), given)
    assert changed(replace(item, weights="", pixels=""), given) == ""


def test_a_file_says_what_is_in_it():
    given = inputs_of(VIT)
    names = [stem_of(item_of(source, shows), given) for source, shows in ALL]
    assert len(set(names)) == len(ALL)
    assert names[4] == "digits_vit_digit_3_relevance_target-3_against-5_method-grad_cam"
    assert names[3] == "digits_vit_digit_3_rollout_query-row3_column4_depth4_scale-linear"
    assert opened(Report("", (Entry(item_of(*ALL[0])),)).to_json().encode()).entries[0].item == item_of(*ALL[0])


CHANGED = ("pixels:4x4:erase=5,6", "pixels:4x4:paste=digit 5@0", "heads:2.1=0")


@pytest.mark.rest
@pytest.mark.parametrize(
    "shows, array",
    [
        (Explore(layer=3, query="cls"), "places"),
        (Rollout("cls", depth=4), "places"),
        (Maps("3", method="generic_relevance"), "generic_relevance"),
    ],
)
def test_a_picture_with_changes_is_made_again_with_them(shows, array):
    item = replace(item_of(VIT, shows), edits=CHANGED)
    report = Report("changes", (Entry(item),))
    pictures = []
    for _ in range(2):
        (inputs,) = inputs_for(report, {}, {})
        pictures.append(made(item, inputs))
        report = opened(dict(files(report, [inputs]))["replay.json"])
        assert not changed(report.entries[0].item, inputs)
        assert report.entries[0].item.edits == CHANGED
    assert pictures[0].png == pictures[1].png
    assert f"Changed: {', '.join(CHANGED)}" in pictures[0].svg
    (plain,) = inputs_for(Report("plain", (Entry(replace(item, edits=())),)), {}, {})
    unchanged = made(replace(item, edits=()), plain).numbers[array]
    assert not np.array_equal(unchanged, pictures[0].numbers[array])


@pytest.mark.parametrize(
    "edit",
    ["<script>alert(1)</script>", "heads:99=0", "pixels:2x2:erase=99", "pixels:2x2:paste=../../secret@1", "x" * 3000],
)
def test_changes_of_strangers_give_one_sentence(edit):
    item = replace(item_of(VIT, Explore(layer=3, query="cls")), edits=(edit,))

    def make():
        (inputs,) = inputs_for(Report("hostile", (Entry(item),)), {}, {})
        made(item, inputs)

    with pytest.raises(ReportError) as refused:
        make()
    assert len(str(refused.value)) < 250
    assert str(refused.value).count("\n") == 0


# ---- views -----------------------------------------------------------------------------------------------------------
SWIN = "bundled:digits_swin"


def several(shows=None, *others, **changed):
    others = others or (SWIN,)
    more = tuple(Other(source, source.removeprefix("bundled:")) for source in others)
    return item_of(VIT, shows or Rollout(depth=2), others=more, **changed)


def made_again(item):
    """(what is made of it, the same from its replay.json)."""
    report = Report("", (Entry(item),))
    (inputs,) = inputs_for(report, {}, {})
    read = opened(dict(files(report, [inputs]))["replay.json"])
    (again,) = inputs_for(read, {}, {})
    assert changed(read.entries[0].item, again) == ""
    return made(item, inputs), made(read.entries[0].item, again)


@pytest.mark.rest
def test_several_models_are_on_one_picture_and_again_later():
    first, again = made_again(several())
    assert first.png == again.png
    assert first.plate.width == 960
    assert {"digits_vit", "digits_swin", "Models: digits_vit · digits_swin", "Image: digit 3"} <= {
        mark.text for mark in first.plate.marks if isinstance(mark, Words)
    }
    alone = [made(item_of(source, Rollout(depth=2)), inputs_of(source)).numbers for source in (VIT, SWIN)]
    for number, numbers in enumerate(alone, 1):
        assert_array_equal(first.numbers[f"places_{number}"], numbers["places"])
    assert all(other.weights for other in again.item.others)
    (given,) = inputs_for(Report("", (Entry(first.item),)), {}, {})
    assert stem_of(first.item, given) == "digits_vit_digits_swin_digit_3_rollout_depth2"


def test_a_further_model_that_is_another_one_is_said():
    item = several()
    (given,) = inputs_for(Report("", (Entry(item),)), {}, {})
    done = made(item, given).item
    other = replace(done, others=(replace(done.others[0], weights="0" * 64),))
    assert "the model 'digits_swin' is another one" in changed(other, given)
    with pytest.raises(ReportError, match="Nothing in this report is called 'x'"):
        inputs_for(Report("", (Entry(item),)), {}, {"x": VIT})
    inputs_for(Report("", (Entry(item),)), {}, {"digits_swin": SWIN})


@pytest.mark.rest
def test_the_cursor_comes_back():
    first, again = made_again(item_of(VIT, Rollout("patch"), at=(0.95, 0.05)))
    assert first.png == again.png
    elsewhere, _ = made_again(item_of(VIT, Rollout("patch"), at=(0.05, 0.95)))
    assert elsewhere.png != first.png
    corner, _ = made_again(item_of(VIT, Rollout((0, 7))))  # 0.95 of 8 columns is the last one
    assert_array_equal(corner.numbers["places"], first.numbers["places"])


def test_a_rollout_of_the_first_version_opens_as_the_view():
    record = to_json(item_of(VIT, Rollout((2, 3), depth=4)))
    former = {
        "query": [2, 3],
        "fusion": "mean",
        "upto": 4,
        "discard": 0.0,
        "residual": 0.5,
        "start": 1,
        "scale": "from 0",
    }
    left_out = {name: value for name, value in record.items() if name not in ("at", "others", "edits")}
    assert from_json(json.loads(json.dumps(left_out | {"kind": "rollout", "shows": former}))) == from_json(
        json.loads(json.dumps(record))
    )


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "view "},
        {"kind": "view ../../etc/passwd"},
        {"kind": "view os.system"},
        {"kind": "view rollout", "shows": {"depth": "3"}},
        {"kind": "view rollout", "shows": {"depth": 2**40}},
        {"kind": "view rollout", "shows": {"depth": 0}},
        {"kind": "view rollout", "shows": {"residual": 1e20}},
        {"kind": "view rollout", "shows": {"residual": float("inf")}},
        {"kind": "view rollout", "shows": {"fusion": "voodoo"}},
        {"kind": "view rollout", "shows": {"query": "nobody" * 200}},
        {"kind": "view rollout", "shows": {"query": [10**8, -5]}},
        {"kind": "view rollout", "shows": {"query": [[1, 2], 3]}},
        {"kind": "view rollout", "shows": {"show": "anything"}},
        {"kind": "view rollout", "shows": {"__class__": "x"}},
        {"kind": "view rollout", "shows": [1, 2]},
        {"kind": "view rollout", "shows": None},
        {"kind": "view position-similarity", "shows": {"kind": "spiral"}},
        {"kind": "view shuffle", "shows": {"seed": 10**9}},
        {"at": [0.5]},
        {"at": ["a", "b"]},
        {"at": [float("nan"), 0.5]},
        {"at": [1e29, -1e29]},
        {"others": [{"source": VIT, "model": "a"}] * 4},
        {"others": [{"source": VIT}]},
        {"others": [{"source": "../../x", "model": "a"}]},
        {"others": "x"},
    ],
    ids=str,
)
def test_a_view_of_a_stranger_gives_one_sentence(change):
    record = json.loads(Report("", (Entry(item_of(VIT, Rollout())),)).to_json())
    record["items"][0] |= change

    def make():
        report = opened(json.dumps(record).encode())
        (inputs,) = inputs_for(report, {}, {})
        made(report.entries[0].item, inputs)

    with pytest.raises((ReportError, NotApplicable, ModelError)) as refused:
        make()
    assert len(str(refused.value)) < 300
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(".")
