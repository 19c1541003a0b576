"""Runs that are killed, stopped, full and robbed of their source: the rows are those of one process."""

import errno
import json
import os
import random
import shutil
import time
import tracemalloc

import pytest

from tests.explanations.working import contents, eye, photos, run, worked
from tests.launching import at_work
from vizkit.datasets.image_set import DatasetError
from vizkit.explanations import opened, parts, source
from vizkit.explanations.job import StoppedError
from vizkit.explanations.parts import Run, RunError
from vizkit.explanations.source import open_source
from vizkit.shortage import disk_full

LIMIT_S = 60.0


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return photos(tmp_path_factory.mktemp("many") / "photos", 47)


@pytest.fixture(scope="module")
def alone(pictures, tmp_path_factory):
    """One process, uninterrupted."""
    output = tmp_path_factory.mktemp("alone") / "rows"
    run(pictures, output)
    return contents(output)


def rows(output):
    return opened(output).table.select(["key", "error", "truth", "answer"]).to_pylist()


def test_one_row_for_each_picture(pictures, tmp_path):
    speed = run(pictures, tmp_path / "rows")
    found = rows(tmp_path / "rows")
    assert len(found) == len({row["key"] for row in found}) == 48
    (broken,) = [row for row in found if row["error"]]
    assert broken == {"key": "red/cut.jpg", "error": broken["error"], "truth": None, "answer": None}
    assert all(row["truth"] == row["answer"] for row in found if not row["error"])
    assert "of the bare forward" in str(speed)
    assert [path.name for path in (tmp_path / "rows").iterdir() if path.name.startswith(".")] == []


@pytest.mark.rest
def test_readers_change_nothing(pictures, alone, tmp_path):
    run(pictures, tmp_path / "rows", workers=2)
    assert contents(tmp_path / "rows") == alone


@pytest.mark.parametrize("kills", [5, pytest.param(20, marks=pytest.mark.rest)])
def test_killed_at_any_moment_it_has_the_same_rows(pictures, alone, tmp_path, kills):
    moments, killed, whole = random.Random(5), 0, 0
    output = tmp_path / "rows"
    for _ in range(kills):
        with at_work(worked, [pictures, output, 0.03, 0]) as process:
            before = len(contents(output))
            until = time.monotonic() + LIMIT_S
            while len(contents(output)) < before + moments.randrange(4) and process.is_alive():
                assert time.monotonic() < until
                time.sleep(0.005)
            time.sleep(moments.uniform(0, 0.2))
        killed += process.exitcode == -9
        assert contents(output).items() <= alone.items()
        if process.exitcode == 0:
            assert contents(output) == alone
            shutil.rmtree(output)
            whole += 1
    assert killed >= kills // 2
    run(pictures, output)
    assert contents(output) == alone


def test_one_process_is_at_work_in_a_folder(pictures, alone, tmp_path):
    """The lock goes with its process, however that ends."""
    output = tmp_path / "rows"
    with at_work(worked, [pictures, output, 0.5, 0]) as process:
        until = time.monotonic() + LIMIT_S
        while not contents(output) and time.monotonic() < until:
            time.sleep(0.01)
        with pytest.raises(RunError, match="at work in another process; wait for its end, or stop it"):
            run(pictures, output)
        process.kill()
        process.join(LIMIT_S)
    run(pictures, output)
    assert contents(output) == alone


def test_who_waits_begins_when_the_other_has_ended(tmp_path):
    folder, waits = tmp_path / "rows", []
    first = parts.alone(folder)
    first.__enter__()

    def wait():
        waits.append(len(waits))
        if len(waits) == 3:
            first.__exit__(None, None, None)

    with parts.alone(folder, wait):
        assert len(waits) == 3
        with pytest.raises(RunError, match="at work"), parts.alone(folder):
            pytest.fail("two are at work")


def test_stopped_and_started_again(pictures, alone, tmp_path):
    output, asked = tmp_path / "rows", iter([False] * 7 + [True])
    with pytest.raises(StoppedError):
        run(pictures, output, stopping=lambda: next(asked))
    assert 0 < len(contents(output)) < len(alone)
    told = []
    run(pictures, output, tell=lambda done, total, _: told.append((done, total)))
    assert told[-1] == (48, 48)
    assert contents(output) == alone


def test_a_damaged_part_is_made_again(pictures, alone, tmp_path):
    output = tmp_path / "rows"
    run(pictures, output)
    part = output / "part-00003.parquet"
    part.write_bytes(part.read_bytes()[:-20])
    run(pictures, output)
    assert contents(output) == alone


def test_a_full_disk_loses_nothing(pictures, alone, tmp_path, monkeypatch):
    output, replaced = tmp_path / "rows", os.replace

    def full(source, target):
        if str(target).endswith("part-00004.parquet"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replaced(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(OSError, match="No space") as raised:
            run(pictures, output)
    assert disk_full(raised.value)
    assert len(contents(output)) == 4
    run(pictures, output)
    assert contents(output) == alone


@pytest.mark.parametrize("workers", [0, 1])
def test_a_source_that_vanishes_loses_nothing(alone, tmp_path, workers):
    pictures, output, away = photos(tmp_path / "photos", 47), tmp_path / "rows", tmp_path / "away"

    def tell(done, *_):
        if done > 20 and pictures.exists():
            pictures.rename(away)

    with pytest.raises(DatasetError, match="has vanished while it was read; bring it back"):
        run(pictures, output, tell=tell, workers=workers)
    made = contents(output)
    assert 0 < len(made) < len(alone)
    away.rename(pictures)
    run(pictures, output)
    assert [row["key"] for row in rows(output)] == sorted((row["key"] for row in rows(output)), key=source.natural)
    assert len(rows(output)) == 48
    assert sum(row["error"] is not None for row in rows(output)) == 1


def test_other_settings_and_other_folders_are_refused(tmp_path):
    (tmp_path / "rows").mkdir()
    Run.begin(tmp_path / "rows", {"model": "one", "batch": 3}, (4, 4))
    with pytest.raises(RunError, match="other settings \\(batch\\)"):
        Run.begin(tmp_path / "rows", {"model": "one", "batch": 4}, (4, 4))
    (tmp_path / "rows" / "_manifest.json").write_text("{")
    with pytest.raises(RunError, match="damaged"):
        Run.begin(tmp_path / "rows", {"model": "one", "batch": 3}, (4, 4))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "novel.txt").write_text("words")
    with pytest.raises(RunError, match="other things"):
        Run.begin(tmp_path / "mine", {}, (4,))


def test_pictures_that_have_changed_are_refused(tmp_path):
    pictures = photos(tmp_path / "photos", 9)
    run(pictures, tmp_path / "rows")
    (pictures / "red" / "0.png").unlink()
    with pytest.raises(RunError, match=r"\(pictures\)"):
        run(pictures, tmp_path / "rows")


@pytest.mark.rest
def test_the_memory_does_not_grow(tmp_path):
    peaks = []
    for count in (40, 400):
        pictures = open_source(str(photos(tmp_path / f"{count}", count)), most=4)
        tracemalloc.start()
        run(pictures, tmp_path / f"rows{count}")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0] + 100_000


def test_a_batch_that_is_too_large_is_halved(pictures, alone, tmp_path):
    loaded, passes = eye(), []

    def short(module, given):
        passes.append(len(given[0]))
        if len(given[0]) > 2:
            raise MemoryError

    loaded.model.register_forward_pre_hook(short)
    with pytest.raises(MemoryError):
        loaded.model(__import__("torch").zeros(3, 3, 8, 8))
    run(pictures, tmp_path / "rows", loaded)
    assert max(passes[3:]) <= 3
    assert passes.count(3) <= 3
    assert json.dumps(rows(tmp_path / "rows"))
    assert {name: len(each) for name, each in contents(tmp_path / "rows").items()} == {
        name: len(each) for name, each in alone.items()
    }
