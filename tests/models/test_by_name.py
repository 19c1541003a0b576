"""Names from links and files open no folder of this machine, however they are spelled."""

import itertools
import shutil
from urllib.parse import quote

import pytest

import vizkit
from vizkit.from_json import ReportError
from vizkit.models import ModelError
from vizkit.models.by_name import named
from vizkit.models.sources import loading
from vizkit.report.document import Entry, Report
from vizkit.report.item import Item
from vizkit.report.replay import inputs_for
from vizkit.views import class_of

SCHEMES = ["", "random:", "random:random:", "bundled:", "torchvision:", "hf-hub:", "random:bundled:", "random:hf-hub:"]
SCHEMES += ["random:torchvision:", "timm:", "local-dir:", "file://", "random:file:", "RANDOM:", "run:", " ", "random: "]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A model of somebody's, where the app was started and beside it; fails when anything but a bundled one is read."""
    for name in ("mine", "resnet18", "vit_small_resnet50d"):  # the last two are timm's, one of them in former days
        shutil.copytree(loading.BUNDLED / "digits_vit", tmp_path / "start" / "own" / name)
        shutil.copytree(loading.BUNDLED / "digits_vit", tmp_path / "start" / name)
    (tmp_path / "start" / "linked").symlink_to(tmp_path / "start" / "mine")
    shutil.copy(tmp_path / "start/mine/model.safetensors", tmp_path / "start" / "weights.PT")
    monkeypatch.chdir(tmp_path / "start")
    monkeypatch.setenv("HOME", str(tmp_path))

    def refuse(path, *_):
        pytest.fail(f"{path} was opened") if loading.BUNDLED not in path.parents else None
        raise ModelError("bundled")

    def no_hub(*_):
        raise ModelError("no network")

    monkeypatch.setattr(loading, "_from_folder", refuse)
    monkeypatch.setattr(loading, "_from_file", refuse)
    monkeypatch.setattr(loading, "published_weights", no_hub)
    monkeypatch.setattr("vizkit.models.sources.hub.weights_file", no_hub)
    return tmp_path / "start"


def spellings(folder):
    path = str(folder / "mine")
    yield from (path, f"{path}/", f"/{path}", path.replace("/", "\\"), quote(path), quote(path, safe=""), f"{path}\0")
    yield from (
        "mine",
        "./mine",
        "../start/mine",
        "own/mine",
        "own/../mine",
        "~/start/mine",
        "linked",
        "mine/",
        "mine ",
    )
    yield from (
        ".",
        "..",
        "",
        "~",
        "own//mine",
        "own\\mine",
        "MINE",
        "ｍine",
        "weights.PT",
        "./weights.pt",
        "vit_small_resnet50d",
    )


def test_no_spelling_of_a_path_opens_it(folder):
    for scheme, spelling in itertools.product(SCHEMES, spellings(folder)):
        with pytest.raises(ModelError):
            named(scheme + spelling)


def test_a_name_that_is_a_folder_too_is_the_name(folder):
    assert named("random:resnet18").labels != ()
    with pytest.raises(ModelError, match="bundled"):
        named("bundled:digits_vit")


def test_nor_does_a_replay(folder):
    for scheme in SCHEMES:
        item = Item(class_of("rollout")(), f"{scheme}{folder / 'mine'}", "mine", "digit 3")
        with pytest.raises((ModelError, ReportError)):
            inputs_for(Report("", (Entry(item),)), {}, {})


@pytest.mark.parametrize("name, answers", [("digits_vit", "10 classes"), ("photographs_vit", "features, not classes")])
def test_a_model_is_told_in_one_line(name, answers):
    """A class may have any number of modules, which nobody asked for."""
    said = repr(vizkit.load(f"bundled:{name}"))
    assert len(said.splitlines()) == 1
    assert len(said) < 200
    assert all(words in said for words in (name, answers, "pixels"))
