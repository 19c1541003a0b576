"""A few hundred of the broken and hostile files of `python -m benchmarks faults`."""

import sys
from collections import defaultdict

import pytest

from benchmarks.testing import faults, hostile, hostile_folders
from vizkit.image import read_picture


def test_files_follow_from_their_seed_alone():
    assert hostile.picture(17) == hostile.picture(17) != hostile.picture(18)
    assert hostile.archive(17) == hostile.archive(17) != hostile.archive(18)


@pytest.mark.rest  # it imports transformers
def test_folders_follow_from_their_seed_alone(tmp_path):
    pytest.importorskip("transformers")
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        assert hostile_folders.folder(26, tmp_path / name)[0] == "config, sizes"
    files = [
        {path.name: path.read_bytes() for path in (tmp_path / name / "folder").iterdir()} for name in ("one", "other")
    ]
    assert files[0] == files[1]


def test_what_is_mutated_can_be_read():
    forms = {form for form, _ in hostile.pictures()}
    assert forms == {"JPEG", "progressive JPEG", "PNG", "GIF", "WebP", "BMP", "TIFF", "AVIF"}
    for _, data in hostile.pictures():
        assert read_picture(data).rgb.size


@pytest.mark.rest
def test_hostile_files_are_shown_or_refused(capsys):
    faults.run(["--pictures", "240", "--zips", "30", "--checkpoints", "16", "--folders", "0", "--first", "100000"])
    said = capsys.readouterr().out
    assert "scan bomb" in said
    assert "python -m benchmarks.testing.faults" not in said  # which would tell of a failure


def test_other_errors_are_failures():
    assert faults.outcome(lambda: {}["x"]) == "KeyError: 'x'"
    assert faults.outcome(lambda: read_picture(b"")) == "refused"
    assert faults.outcome(lambda: 1) == "shown"


def test_failures_are_counted_and_end_the_command(monkeypatch, capsys):
    def measure(kind, first, count, found):
        found[kind, "PNG"].add({"seed": 3, "outcome": "shown", "seconds": 9.0, "mib": 1.0})
        found[kind, "PNG"].add({"seed": 4, "outcome": "KeyError: x", "seconds": 0.0, "mib": 2000.0})

    monkeypatch.setattr(faults, "measure", measure)
    with pytest.raises(SystemExit):
        faults.run([])
    said = capsys.readouterr().out
    assert "python -m benchmarks.testing.faults pictures 3    # 9.0 s" in said
    assert "python -m benchmarks.testing.faults zips 4    # KeyError: x" in said


CRASHING = """
import json, os, signal, sys
for seed in range(int(sys.argv[2]), int(sys.argv[3])):
    print(json.dumps({"seed": seed, "form": "PNG"}), flush=True)
    if seed == 5:
        os.kill(os.getpid(), signal.SIGSEGV)
    print(json.dumps({"seed": seed, "form": "PNG", "outcome": "shown", "seconds": 0, "mib": 0}), flush=True)
"""


def test_how_long_others_waited_is_told(capsys):
    found = {
        ("folders", "index"): faults.Found(beside_s=[0.1, 0.3, 0.2]),
        ("folders", "alone"): faults.Found(beside_s=[0.05]),
    }
    faults.say_waits(found)
    alone, beside = capsys.readouterr().out.splitlines()
    assert alone.startswith("1 traces of bundled:digits_vit alone: median 50 ms")
    assert beside.startswith("3 traces of bundled:digits_vit beside: median 200 ms")
    assert beside.endswith("slowest 300 ms")


def test_crash_is_counted_and_the_rest_goes_on(monkeypatch):
    monkeypatch.setattr(faults, "CHILD", [sys.executable, "-c", CRASHING])
    found = defaultdict(faults.Found)
    faults.measure("pictures", 4, 3, found)
    one = found["pictures", "PNG"]
    assert (one.shown, one.refused) == (2, 0)
    assert one.failures == [(5, "the process ended with -11 ")]


def test_silence_is_counted_as_a_hang(monkeypatch):
    monkeypatch.setattr(faults, "CHILD", [sys.executable, "-c", "import threading; threading.Event().wait()"])
    monkeypatch.setattr(faults, "SILENCE_S", 0.2)
    found = defaultdict(faults.Found)
    faults.measure("zips", 7, 1, found)
    assert [seed for seed, _ in found["zips", "unknown"].failures] == [7]
