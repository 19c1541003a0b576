"""What visitors may do on a server, and what is left of them: folders, deletion, trainings, uploads, keys."""

import gc
import io
import os
import re
import time
import zipfile
from pathlib import Path

import pytest
import streamlit as st
from PIL import Image
from streamlit import config
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.runtime.uploaded_file_manager import DeletedFile, UploadedFile, UploadedFileRec

from tests.ui.conftest import CNN, ROOT, choose, click, opened, texts
from tests.ui.test_pages import checkpoint_bytes
from vizkit.datasets.image_set import digest_of
from vizkit.settings import GIB
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.bin import KEPT_S, empty_bin, throw_away
from vizkit.training.runs.folder import RunFolder, runs
from vizkit.ui.pages.train import fields, model
from vizkit.ui.session import allowed, model_names, uploads
from vizkit.ui.session.evaluations import Evaluations, Request
from vizkit.ui.session.jobs import JobError, Jobs
from vizkit.ui.sidebar import checkpoint, folders, inputs
from vizkit.ui.widgets.processes import evaluation as data


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path / "runs"))
    for name in ("DATA_ROOTS", "ALLOW_DELETING", "ALLOW_JOBS", "UPLOADS_GIB", "UPLOADS_KEPT_HOURS"):
        monkeypatch.delenv(f"VIZKIT_{name}", raising=False)
    yield tmp_path
    data.opened.clear()


def visited(page, **query):
    return opened(page, **{"models": CNN, "image": "digit 3", **query})


def pictures(folder, classes=("0", "1")):
    for name in classes:
        (folder / name).mkdir(parents=True)
        for number in range(8):
            Image.new("RGB", (40, 40), (9 * number,) * 3).save(folder / name / f"{number}.png")
    return folder


def open_to_others(monkeypatch):
    monkeypatch.setattr(allowed, "only_here", lambda: False)


# ---- folders of the server -------------------------------------------------------------------------------------------
LINKS = {
    "evaluate": {"eval_data": "a folder on this machine", "eval_folder": "{}"},
    "train": {"train_data": "a folder on this machine", "train_folder": "{}"},
}


@pytest.mark.product
@pytest.mark.parametrize("page", LINKS)
@pytest.mark.parametrize("roots", ["", "allowed"])
def test_a_link_opens_no_folder_and_does_not_tell_whether_it_exists(home, monkeypatch, page, roots):
    pictures(home / "secret")
    pictures(home / "allowed" / "birds")
    monkeypatch.setenv("VIZKIT_DATA_ROOTS", str(home / "allowed") if roots else "")
    monkeypatch.setattr("vizkit.datasets.layout.list_folder", lambda path: pytest.fail(f"{path} was looked through"))
    said = set()
    for path in (home / "secret", home / "nothing", home / "allowed" / "birds", Path("/etc/passwd")):
        test = visited(page, **{key: value.format(path) for key, value in LINKS[page].items()})
        assert not test.error
        assert str(path) not in texts(test)
        said.add(re.sub(r"[\d.]+ GiB in use", "", texts(test)))
    assert len(said) == 1


def test_a_page_says_how_its_owner_allows_a_folder():
    assert "VIZKIT_DATA_ROOTS=~/photos make run" in texts(visited("evaluate", eval_data=data.FOLDER))


def test_what_lies_in_an_allowed_folder_is_offered_and_links_out_of_it_are_not(home, monkeypatch):
    root = home / "photos"
    pictures(root / "birds")
    pictures(root / "more" / "fish")
    pictures(root / ".hidden")
    pictures(home / "secret")
    (root / "loose.zip").write_bytes(b"PK")
    (home / "out.zip").write_bytes(b"PK")
    (root / "out").symlink_to(home / "secret")
    (root / "out.zip").symlink_to(home / "out.zip")
    (root / "in").symlink_to(root / "birds")
    (root / "round").symlink_to(root)
    monkeypatch.setenv("VIZKIT_DATA_ROOTS", str(root))
    found = folders.offered((root.resolve(),))
    assert set(found) == {"photos", "photos/loose.zip", "photos/birds", "photos/more", "photos/more/fish"}
    test = visited("evaluate", eval_data=data.FOLDER, eval_images="4")
    assert "secret" not in "".join(test.selectbox(key="eval_folder").options)
    choose(test, eval_folder="photos/birds")
    assert not test.error
    assert "2 classes" in texts(test)


def test_a_chosen_folder_that_is_no_longer_allowed_is_let_go(home, monkeypatch):
    pictures(home / "photos" / "birds")
    monkeypatch.setenv("VIZKIT_DATA_ROOTS", str(home / "photos"))
    test = visited("evaluate", eval_data=data.FOLDER)
    choose(test, eval_folder="photos/birds")
    assert "2 classes" in texts(test)
    monkeypatch.setenv("VIZKIT_DATA_ROOTS", "")
    test.run()
    assert "2 classes" not in texts(test)
    assert "Folders of this machine are off" in texts(test)


@pytest.mark.parametrize("typed", ["/etc/passwd", "../secret.pt", "docs", "no_such_thing", "~/x.safetensors", "a:/b"])
def test_a_typed_model_is_never_a_path(home, monkeypatch, typed):
    """`docs` is a folder where the app runs, `no_such_thing` is not: the answers are the same."""
    assert not model_names.is_name(typed)
    with pytest.raises(RecipeError, match="is no name of a model"):
        model.folder_of(typed)
    test = visited("explore", models=typed)
    assert "run folder" not in test.warning[0].value


@pytest.mark.parametrize(
    "given",
    [
        {"checkpoint_path": "x.pth"},
        {"pretrained_cfg": {"file": "/etc/passwd"}},
        {"pretrained_cfg_overlay": "x"},
        {"cache_dir": "x"},
        {"other": "/etc/passwd"},
        {"other": ["a/b"]},
        [1],
    ],
)
def test_model_arguments_of_a_visitor_name_no_file(given):
    with pytest.raises(RecipeError):
        fields.refuse_paths(given)


def test_plain_model_arguments_are_taken():
    fields.refuse_paths({"depth": 6, "reduce_after": [1, 2], "global_pool": "avg", "qkv_bias": False, "x": None})


# ---- deleting, starting, stopping ------------------------------------------------------------------------------------
def finished(home, name="first"):
    run = RunFolder(home / "runs" / name)
    run.create(Recipe(data="digits", model="digits_cnn", epochs=1))
    run.write("status.json", {"state": "stopped"})
    return run


def test_a_deleted_run_lies_in_the_bin_for_thirty_days(home):
    run = finished(home)
    run.path.with_name(".first.log").write_text("words")
    throw_away(run)
    (kept,) = (home / "runs" / ".bin").iterdir()
    assert (kept / "recipe.json").is_file()
    assert (kept / "log").read_text() == "words"
    assert not list(runs())
    assert empty_bin(home / "runs", now=time.time() + KEPT_S - 60) == []
    assert empty_bin(home / "runs", now=time.time() + KEPT_S + 60) == [kept.name]
    assert not kept.exists()


def test_the_bin_keeps_several_runs_of_one_name_and_an_old_one_from_now_on(home):
    for _ in range(2):
        run = finished(home)
        os.utime(run.path, (1, 1))
        throw_away(run)
    assert empty_bin(home / "runs") == []
    assert len(list((home / "runs" / ".bin").iterdir())) == 2


@pytest.mark.parametrize("typed", ["", "firs", "First", "second"])
def test_nothing_is_deleted_unless_its_name_is_typed(home, typed):
    run = finished(home)
    test = visited("train", train_view="Watch", run="first")
    test.text_input(key="run_delete_name").set_value(typed)
    click(test, "run_delete")
    assert run.path.is_dir()
    assert "type the name" in test.warning[0].value


def test_on_a_server_for_others_nobody_deletes_starts_or_stops(home, monkeypatch):
    run = finished(home)
    test = visited("train", train_view="Watch", run="first")
    open_to_others(monkeypatch)
    test.text_input(key="run_delete_name").set_value("first")
    click(test, "run_delete")  # of a page drawn before
    assert run.path.is_dir()
    assert "run_delete" not in [button.key for button in test.button]
    assert test.button(key="run_resume").disabled
    test = visited("train", train_view="Start")
    assert test.button(key="train_start").disabled
    assert "VIZKIT_ALLOW_JOBS" in texts(test)
    with pytest.raises(JobError, match="off on this server"):
        Jobs().start(run)
    with pytest.raises(JobError, match="off on this server"):
        Evaluations().start(Request("digits", "", 1, ("bundled:digits_cnn",), "", "c"))
    monkeypatch.setenv("VIZKIT_ALLOW_DELETING", "yes")
    monkeypatch.setenv("VIZKIT_ALLOW_JOBS", "yes")
    test = visited("train", train_view="Watch", run="first")
    assert "run_delete" in [button.key for button in test.button]
    assert not test.button(key="run_resume").disabled


def test_an_owner_switches_deleting_off_at_home_too(home, monkeypatch):
    finished(home)
    monkeypatch.setenv("VIZKIT_ALLOW_DELETING", "no")
    test = visited("train", train_view="Watch", run="first")
    assert "run_delete" not in [button.key for button in test.button]


@pytest.mark.parametrize(
    "address, here",
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), (None, False), ("10.1.2.3", False)],
)
def test_only_an_address_of_this_machine_counts_as_alone(monkeypatch, address, here):
    monkeypatch.setattr(st, "get_option", lambda name: {"server.address": address}[name])
    assert allowed.only_here() is here


def test_the_server_listens_on_this_machine_alone_and_its_errors_link_nowhere():
    assert st.get_option("server.address") == "127.0.0.1"
    assert st.get_option("client.showErrorLinks") is False


# ---- uploads ---------------------------------------------------------------------------------------------------------
def upload(name, content):
    return UploadedFile(UploadedFileRec("1", name, "application/zip", content), FileURLs())


@pytest.mark.rest
def test_a_checkpoint_leaves_the_disk_with_its_session(home):
    test = visited("explore")
    test.file_uploader(key="checkpoint").upload("mine.safetensors", checkpoint_bytes(3), "x/y").run()
    choose(test, architecture="test_vit")
    click(test, "open_checkpoint")
    (folder,) = uploads.root().glob("session-*")
    assert list(folder.rglob("mine.safetensors"))
    del test
    gc.collect()
    assert not folder.exists()


def test_a_visitor_who_comes_back_keeps_what_was_uploaded_and_one_who_does_not_loses_it(monkeypatch):
    own = uploads.Belongings()
    uploads.leave(own.folder)
    timer = uploads._leaving[own.folder]
    uploads.stay(own.folder)
    timer.join(10)
    assert own.folder.is_dir()
    monkeypatch.setattr(uploads, "AWAY_S", 0.0)
    uploads.leave(own.folder)
    uploads._leaving[own.folder].join(10)
    assert not own.folder.exists()


def test_uploads_leave_by_age_and_the_oldest_for_want_of_room(home, monkeypatch):
    kept = {}
    for age, name in enumerate(("new", "old", "older")):
        kept[name] = uploads.root() / name
        (kept[name]).mkdir(parents=True)
        (kept[name] / "a.zip").write_bytes(bytes(1000))
        then = time.time() - 3600 * (10 * age)
        os.utime(kept[name], (then, then))
    unpacked = home / "cache" / "archives" / "d"
    (unpacked / "class").mkdir(parents=True)
    (unpacked / "class" / "a.png").write_bytes(bytes(500))
    os.utime(unpacked, (1, 1))
    monkeypatch.setenv("VIZKIT_UPLOADS_KEPT_HOURS", "15")
    uploads.sweep()
    assert [name for name, path in kept.items() if path.exists()] == ["new", "old"]
    assert not unpacked.exists()
    monkeypatch.setenv("VIZKIT_UPLOADS_GIB", str(1500 / GIB))
    uploads.sweep()
    assert [name for name, path in kept.items() if path.exists()] == ["new"]
    with pytest.raises(uploads.UploadError, match="no room"):
        uploads.kept_zip(upload("b.zip", bytes(2000)))
    assert uploads.kept_zip(upload("b.zip", bytes(400))).read_bytes() == bytes(400)


def test_nothing_that_a_training_reads_is_swept(home, monkeypatch):
    place = uploads.kept_zip(upload("b.zip", b"PK"))
    monkeypatch.setattr(Jobs, "active", lambda self, root: RunFolder(root / "at work"))
    uploads.sweep(now=time.time() + 1e9)
    assert place.is_file()
    monkeypatch.undo()
    monkeypatch.setenv("VIZKIT_CACHE", str(home / "cache"))
    monkeypatch.setenv("VIZKIT_RUNS", str(home / "runs"))
    uploads.sweep(now=time.time() + 1e9)
    assert not place.exists()


def test_an_upload_without_room_is_a_sentence(monkeypatch):
    monkeypatch.setenv("VIZKIT_UPLOADS_GIB", "1e-9")
    test = visited("evaluate", eval_data=data.ARCHIVE)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("a/b.txt", "x")
    test.file_uploader(key="eval_zip").upload("a.zip", file.getvalue(), "application/zip").run()
    assert "no room for more uploads" in test.error[0].value


VANISHED = {
    "uploads": ("explore", {}),
    "checkpoint": ("explore", {}),
    "eval_zip": ("evaluate", {"eval_data": data.ARCHIVE}),
    "texts_files": ("sequences", {"sequences_view": "Masks"}),
}


def vanished(test, key):
    """As a browser that comes back to a server that has been started anew, or one that lies."""
    own = test.file_uploader(key=key).proto.id
    states = test._tree.get_widget_states()
    state = next((each for each in states.widgets if each.id == own), None) or states.widgets.add()
    state.id = own
    state.file_uploader_state_value.uploaded_file_info.add(file_id="gone", name="a.png", size=3)
    return test._run(states)


@pytest.mark.parametrize("key", VANISHED)
def test_an_upload_that_is_not_here_is_a_sentence(key):
    page, query = VANISHED[key]
    test = visited(page, **query)
    assert uploads.GONE not in texts(test)
    vanished(test, key)
    assert uploads.GONE in texts(test)


def test_a_photograph_that_is_not_here_is_none(monkeypatch):
    monkeypatch.setattr(st, "session_state", {"camera": DeletedFile("gone"), "uploads": [DeletedFile("gone")]})
    inputs._keep_photo()
    assert "_taken" not in st.session_state
    assert inputs.read_uploads() == ({}, [])


def test_there_is_one_way_to_ask_for_files():
    asking = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "vizkit").rglob("*.py")
        if "file_uploader(" in path.read_text("utf-8")
    ]
    assert asking == ["vizkit/ui/session/uploads.py"]


@pytest.mark.parametrize(
    "here, said, mib",
    [
        (True, "/x/.streamlit/config.toml", 500),
        (False, "/x/.streamlit/config.toml", 20),
        (True, "environment variable", 20),
        (True, "command-line argument or environment variable", 20),
    ],
)
def test_weights_are_larger_than_pictures_where_only_their_owner_uploads(monkeypatch, here, said, mib):
    before = config.get_option(allowed.UPLOAD), config.get_where_defined(allowed.UPLOAD)
    monkeypatch.setattr(allowed, "only_here", lambda: here)
    try:
        config.set_option(allowed.UPLOAD, 20, said)
        assert allowed.upload_mib() == mib
        test = visited("explore")
        assert test.file_uploader(key="checkpoint").proto.max_upload_size_mb == mib == config.get_option(allowed.UPLOAD)
        assert f"Up to {mib} MiB a file" in test.file_uploader(key="checkpoint").help
        assert "STREAMLIT_SERVER_MAX_UPLOAD_SIZE" in test.file_uploader(key="checkpoint").help
        assert test.file_uploader(key="uploads").proto.max_upload_size_mb == 20
    finally:
        config.set_option(allowed.UPLOAD, *before)


# ---- keys ------------------------------------------------------------------------------------------------------------
@pytest.mark.rest
def test_two_checkpoints_whose_digests_begin_alike_stay_two_models(monkeypatch):
    """Two files with the same six first digits are found in seconds; every session shares what is kept by name."""
    alike = iter(["ab" * 31 + "01", "ab" * 31 + "02"])
    monkeypatch.setattr(checkpoint, "digest_of", lambda *parts: next(alike))
    test = visited("explore")
    for seed in (3, 4):
        test.file_uploader(key="checkpoint").upload("mine.safetensors", checkpoint_bytes(seed), "x/y").run()
        choose(test, architecture="test_vit")
        click(test, "open_checkpoint")
    assert len(set(test.session_state["models"][-2:])) == 2
    assert len(test.session_state["_checkpoints"]) == 2


def test_no_key_is_cut():
    assert len(digest_of("a")) == 64
    cut = re.compile(r"hexdigest\(\)\s*\[|digest\[\s*:")
    assert [path.name for path in (ROOT / "vizkit").rglob("*.py") if cut.search(path.read_text(encoding="utf-8"))] == []


def test_a_digest_tells_a_file_from_its_architecture():
    assert digest_of("ab", "c") != digest_of("a", "bc")
