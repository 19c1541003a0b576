"""Parts made by Ray on two nodes: the files of one process, whoever dies on the way; and one sentence where Ray cannot
be used."""

import json
import os
import random
import re
import shutil
import socket
import sys
import threading
import time
from contextlib import suppress

import psutil
import pytest
import ray
from pyarrow.parquet import read_table
from ray.cluster_utils import Cluster

from tests.commands.test_evaluate_command import table
from tests.explanations.working import FullRun, contents, eye, photos, run
from vizkit.__main__ import main
from vizkit.explanations import job, opened, parts, source
from vizkit.explanations.cluster import on_cluster
from vizkit.explanations.parts import RunError

DIGITS = "bundled:digits_vit"
LIMIT_S = 200.0
SMALL = {"num_cpus": 1, "object_store_memory": 100 * 2**20, "include_dashboard": False}


@pytest.fixture
def nodes():
    """Two, of one CPU each."""
    cluster = Cluster(initialize_head=True, head_node_args=SMALL)
    try:
        cluster.add_node(**SMALL)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return photos(tmp_path_factory.mktemp("many") / "photos", 47)


def without_ray(given, file):
    """What a command writes, alone and on the nodes that its last words name."""
    found = []
    for number, words in enumerate((given[:-2], given)):
        output = file.with_name(f"{number} {file.name}")
        assert main([*map(str, words), "-o", str(output)]) == 0
        found.append(output)
    return found


@pytest.mark.rest
def test_two_nodes_write_what_one_process_does(nodes, pictures, tmp_path, monkeypatch):
    few = ["--model", DIGITS, "--device", "cpu"]
    monkeypatch.setattr(source, "PART", 16)
    one, two = without_ray(["explain", pictures, *few, "--batch", 16, "--on", nodes.address], tmp_path / "maps")
    assert contents(two) == contents(one)
    assert [len(contents(two)), len(opened(two).table)] == [3, 48]
    evaluate = ["evaluate", "digits", *few, "--images", "150", "--seed", "1"]
    heads = ["heads", DIGITS, "--data", "digits", "--images", "11", "--without", "zero", "--device", "cpu"]
    for given, name in ((evaluate, "table.csv"), (heads, "heads.json")):
        found = []
        for place, where in enumerate(([], ["--on", nodes.address])):
            monkeypatch.setenv("VIZKIT_CACHE", str(tmp_path / f"cache {name} {place}"))
            output = tmp_path / f"{place} {name}"
            assert main([*given, *where, "-o", str(output)]) == 0
            found.append(table(output) if output.suffix == ".csv" else json.loads(output.read_text()))
        assert found[0]
        assert found[0] == found[1]


def processes_of_actors():
    for process in psutil.Process().children(recursive=True):
        try:
            if process.cmdline()[:1] == ["ray::_Maker.parts"]:
                yield process
        except psutil.Error:
            continue


@pytest.mark.rest
@pytest.mark.parametrize("kills", [1, 10])
def test_who_dies_loses_nothing(nodes, pictures, tmp_path, kills):
    """Processes at random moments, and then a node."""
    run(pictures, tmp_path / "alone")
    killed, ended, chance = [], threading.Event(), random.Random(kills)

    def kill():
        while len(killed) < kills and not ended.is_set():
            time.sleep(chance.uniform(0.05, 0.75))
            with suppress(StopIteration, psutil.NoSuchProcess):  # none is there, or it ended by itself
                process = next(processes_of_actors())
                process.kill()
                killed.append(process.pid)
        nodes.remove_node(next(iter(nodes.worker_nodes)))

    with on_cluster(nodes.address):
        thread = threading.Thread(target=kill)
        thread.start()
        try:
            run(pictures, tmp_path / "rows", eye(slow_s=0.7))
        finally:
            ended.set()
            thread.join(LIMIT_S)
    assert len(killed) == kills
    assert contents(tmp_path / "rows") == contents(tmp_path / "alone")
    keys = opened(tmp_path / "rows").table["key"].to_pylist()
    assert len(keys) == len({*keys}) == 48


def refused(address):
    with pytest.raises(RunError) as sentence, on_cluster(address):
        pytest.fail("it is used")
    assert "\n" not in str(sentence.value)
    return str(sentence.value)


def test_without_ray_it_is_a_sentence(pictures, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["explain", str(pictures), "--model", DIGITS, "--on", "ray", "-o", str(tmp_path / "maps")]) == 2
    assert "ray is not installed; pip install 'vizkit[ray]' brings it." in capsys.readouterr().err
    assert not (tmp_path / "maps").exists()


def test_an_address_that_does_not_answer_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for address in (f"ray://127.0.0.1:{port}", f"127.0.0.1:{port}"):
        assert refused(address) == f"No Ray answers at {address}; see whether it is started there."
    for address in ("local machine", "ray://", "a:b", "host:99999"):
        assert refused(address)
    assert "Could not find any running Ray instance" in refused("auto")
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text(f"127.0.0.1:{port}")  # as a cluster that was killed leaves it
    assert re.fullmatch(rf"No Ray answers at \S+:{port}; .*", refused("auto"))


@pytest.mark.rest
def test_another_version_is_a_sentence(nodes, monkeypatch):
    monkeypatch.setattr(ray, "__version__", "1.0.0")
    assert "ersion mismatch" in refused(nodes.address)


@pytest.mark.rest
def test_pictures_are_scored_and_looked_over_there_too(nodes, tmp_path, monkeypatch):
    """By their tables: score writes means over pictures, look-over a row for each."""
    few = ["--model", DIGITS, "--device", "cpu", "--images", "12"]
    score = ["score", "--data", "digits", "--method", "rollout", "--measure", "deletion", "--steps", "4"]
    look = ["look-over", "digits"]
    for given, name in (([*score, *few], "trust.csv"), ([*look, *few], "look.parquet")):
        found = []
        for place, where in enumerate(([], ["--on", nodes.address])):
            monkeypatch.setenv("VIZKIT_CACHE", str(tmp_path / f"cache {name} {place}"))
            output = tmp_path / f"{place} {name}"
            assert main([*given, *where, "-o", str(output)]) == 0
            found.append(output.read_text() if output.suffix == ".csv" else read_table(output).to_pylist())
        assert len(found[0]) >= 12
        assert repr(found[0]) == repr(found[1])  # nan is not itself


@pytest.mark.rest
def test_a_full_disk_and_a_source_that_vanishes_there_are_a_sentence(nodes, pictures, tmp_path, monkeypatch, capsys):
    """And what is no picture is a row, whoever reads it."""
    photos, given = shutil.copytree(pictures, tmp_path / "photos"), ["--model", DIGITS, "--device", "cpu"]
    os.mkfifo(photos / "red" / "pipe.png")
    (photos / "red" / "words.png").write_text("words")
    monkeypatch.setattr(source, "PART", 16)
    given = ["explain", photos, *given, "--batch", 16, "--on", nodes.address]
    made = job.make_missing

    def fails(words):
        assert main([*map(str, given), "-o", str(tmp_path / "maps")]) == 2
        (said,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("vizkit: ")]
        assert words in said

    with monkeypatch.context() as patch:
        patch.setattr(parts, "Run", FullRun)
        fails("cannot be written: No space left on device.")
    with monkeypatch.context() as patch:
        patch.setattr(job, "make_missing", lambda *more: (photos.rename(tmp_path / "away"), made(*more)))
        fails("has vanished while it was read; bring it back, and the same command goes on.")
    (tmp_path / "away").rename(photos)
    one, two = without_ray(given, tmp_path / "whole")
    assert main([*map(str, given), "-o", str(tmp_path / "maps")]) == 0
    assert contents(one) == contents(two) == contents(tmp_path / "maps")
    errors = {
        row["key"]: row["error"] for row in opened(two).table.select(["key", "error"]).to_pylist() if row["error"]
    }
    assert {*errors} == {"red/cut.jpg", "red/pipe.png", "red/words.png"}


@pytest.mark.rest
def test_a_model_that_fails_there_says_why(nodes, pictures, tmp_path):
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "novel.txt").write_text("words")
    with on_cluster(nodes.address), pytest.raises(RunError, match="holds other things"):
        run(pictures, tmp_path / "rows")
    broken = eye()
    broken.model.weight.data = broken.model.weight.data[:, :2]
    with on_cluster(nodes.address), pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        run(pictures, tmp_path / "more", broken)
