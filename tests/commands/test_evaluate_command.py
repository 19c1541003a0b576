"""`python -m vizkit evaluate`: reports, refusals, killed and started again, two processes as one."""

import csv
import os
import time
import zipfile

import numpy as np
import pytest
from PIL import Image

from tests.launching import launched
from vizkit.__main__ import main
from vizkit.evaluation.job import JobFolder
from vizkit.evaluation.outcome import Outcome
from vizkit.explanations.job import StoppedError
from vizkit.writing import read_record

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
DIGITS = ["evaluate", "digits", "--device", "cpu", "--quiet", "--model", "bundled:digits_swin"]
SAME = ("model", "pictures", "accuracy", "accuracy_low", "accuracy_high", "top5", "loss_nats", "ece", "weights_digest")


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """One process, uninterrupted: its answers to the last bit, and its table."""
    home = tmp_path_factory.mktemp("one")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIZKIT_CACHE", str(home))
        assert main([*DIGITS, "-o", str(home / "table.csv")]) == 0
    return answers_in(home), table(home / "table.csv")


def answers_in(cache):
    (file,) = cache.glob("passes/*/logits.npy")
    return np.load(file)


def table(path):
    return [[row[name] for name in SAME] for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())]


def environment(cache):
    return {**ENVIRONMENT, "VIZKIT_CACHE": str(cache)}


@pytest.mark.rest
def test_killed_and_started_again_it_is_the_same_to_the_last_bit(one, cache, tmp_path):
    with launched(DIGITS, environment(cache)) as process:
        while not list(cache.glob("passes/*/part-00001.parquet")) and process.is_alive():
            time.sleep(0.002)
    done = len(list(cache.glob("passes/*/*.parquet")))
    assert 2 <= done < 6, "it was too quick, or too slow, to be killed"
    assert main([*DIGITS, "-o", str(tmp_path / "table.csv")]) == 0
    assert answers_in(cache).tobytes() == one[0].tobytes()
    assert table(tmp_path / "table.csv") == one[1]


def test_a_folder_with_all_that_goes_wrong(tmp_path, capsys):
    """Names in Cyrillic and Persian, spaces, a broken file, a class that no model knows."""
    home = tmp_path / "цифры ارقام"
    for name, level in (("0", 20), ("1", 90), ("жук & سوسک", 200)):
        (home / name).mkdir(parents=True)
        for number in range(3):
            Image.new("RGB", (40, 40), (level, level, 10 * number)).save(home / name / f"п <img src=x> {number}.png")
    (home / "1" / "broken one.jpg").write_bytes(b"no image")
    output, pictures = tmp_path / "an <odd> name.html", tmp_path / "all.csv"
    given = [
        "evaluate",
        str(home),
        "--model",
        "bundled:digits_cnn",
        "--model",
        "bundled:digits_vit",
        "--device",
        "cpu",
        "--quiet",
        "-o",
        str(output),
        "--pictures",
        str(pictures),
    ]
    assert main(given) == 0
    said = capsys.readouterr().out
    assert "6 images of цифры ارقام." in said
    assert "1 broken file left out: 1/broken one.jpg" in said
    page = output.read_text(encoding="utf-8")
    assert "1 of 3 labels (жук & سوسک): 3 of 10 images are left out" in page
    assert "1 broken file left out" in page
    assert "All images of цифры ارقام" in page
    assert f"'{home}'" in page  # the command that made it, quoted for a shell
    assert "п \\u003cimg src=x> 1.png" in page
    assert "<img src=x>" not in page
    assert page.count("data:image/png;base64,") == 6  # each image once
    rows = list(csv.DictReader(pictures.read_text(encoding="utf-8").splitlines()))
    assert [row["label"] for row in rows] == ["0"] * 3 + ["1"] * 3
    assert rows[0]["digits_cnn: answer"] in "0123456789"


def test_a_zip_is_judged_whole_and_a_part_when_asked(tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "my digits.zip", "w") as file:
        for name in "34":
            for number in range(4):
                Image.new("L", (32, 32), 60 * number).save(tmp_path / "x.png")
                file.write(tmp_path / "x.png", f"{name}/{number}.png")
    given = ["evaluate", str(tmp_path / "my digits.zip"), "--model", "bundled:digits_cnn", "--device", "cpu", "--quiet"]
    assert main(given) == 0
    assert "8 images of my digits." in capsys.readouterr().out
    assert main([*given, "--split", "test"]) == 0
    assert "The test part of my digits: as you named." in capsys.readouterr().out
    assert main([*given, "--images", "4"]) == 0
    assert "4 of the 8 images of my digits, each class in proportion." in capsys.readouterr().out


def test_a_page_s_folder_holds_status_outcome_and_report(tmp_path):
    job = JobFolder(tmp_path / "job")
    given = ["evaluate", "digits", "--images", "20", "--model", "bundled:digits_cnn", "--device", "cpu"]
    assert main([*given, "--folder", str(job.path), "--end-with", str(os.getppid())]) == 0
    assert job.done
    assert read_record(job.result, Outcome).models[0].name == "digits_cnn"
    page = (job.path / "report.html").read_text(encoding="utf-8")
    assert "python -m vizkit evaluate digits --images 20 --model bundled:digits_cnn" in page
    assert str(job.path) not in page
    assert (
        main(["evaluate", "insects", "--images", "4", "--model", "bundled:digits_cnn", "--folder", str(job.path)]) == 2
    )
    assert job.status["state"] == "failed"
    assert "knows no label of insects" in job.status["message"]


def test_asked_to_stop_it_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    def stopped(*given, **options):
        raise StoppedError

    monkeypatch.setattr("vizkit.explanations.kept.make_missing", stopped)
    job = JobFolder(tmp_path / "job")
    assert main([*DIGITS, "--folder", str(job.path)]) == 130
    assert job.status["state"] == "stopped"
    assert "the same command goes on from here" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, word",
    [
        (["nowhere", "--model", "bundled:digits_cnn"], "nowhere"),
        (["digits"], "--model"),
        (["digits", "--model", "bundled:none"], "none"),
        (["digits", "--model", "bundled:digits_cnn", "--images", "0"], "--images. Must be > 0"),
        (["digits", "--model", "bundled:digits_cnn", "-o", "report.pdf"], ".html or .csv"),
        (["scenes", "--model", "bundled:scenes_detr", "-o", "report.pdf"], ".html or .json"),
        (["digits", "--model", "bundled:digits_cnn", "--pictures", "no/such/p.csv"], "folder that exists"),
        (["insects", "--images", "4", "--model", "bundled:digits_cnn"], "knows no label"),
    ],
)
def test_it_refuses_in_one_sentence(tmp_path, monkeypatch, capsys, arguments, word):
    monkeypatch.chdir(tmp_path)
    try:
        code = main(["evaluate", *arguments])
    except SystemExit as end:
        code = end.code
    said = capsys.readouterr().err
    assert (code, said.count("\n")) == (2, 1)
    assert word in said
