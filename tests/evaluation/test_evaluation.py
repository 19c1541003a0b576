"""Asking models about many pictures: whole, in parts, again, with broken files, and names in any script."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

import vizkit
from vizkit.datasets.image_set import DatasetError, ImageSet, Source
from vizkit.evaluation import outcome as outcomes
from vizkit.evaluation import tables
from vizkit.evaluation.answers import AnswerCache, evaluate
from vizkit.evaluation.classes import EvaluationError, known
from vizkit.evaluation.job import JobFolder
from vizkit.evaluation.outcome import Outcome
from vizkit.evaluation.pictures import EVERY, open_pictures
from vizkit.explanations import reading
from vizkit.explanations.job import StoppedError
from vizkit.explanations.reading import Prepared, pixels_on, stored_input
from vizkit.explanations.source import OfSet, of_set
from vizkit.hosts.page import document
from vizkit.image import ImageError, Preprocessing, prepare
from vizkit.models import Loaded
from vizkit.views.evaluate.recorded import PICTURES
from vizkit.views.evaluate.results import Results
from vizkit.views.subject import Subject, no_model, no_picture
from vizkit.writing import read_record, write_record

HALF = (0.5, 0.5, 0.5)
CPU = torch.device("cpu")
SIGHT = Preprocessing((8, 8), HALF, HALF, crop_pct=1.0)
COLOURS = {"red": (200, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 200)}


class Eye(torch.nn.Module):
    """Answers with the strongest colour; `blur` makes it unsure, and counts its passes."""

    def __init__(self, classes=3, sharp=4.0):
        super().__init__()
        self.num_classes, self.passes = classes, 0
        self.weight = torch.nn.Parameter(sharp * torch.eye(classes, 3))

    def forward(self, pixels):
        self.passes += 1
        return pixels.mean((2, 3)) @ self.weight.T


def eye(name="eye", labels=tuple(COLOURS), **options):
    return Loaded(name, Eye(len(labels), **options).eval(), CPU, SIGHT, labels)


@dataclass(frozen=True)
class Painted(Source):
    """Plain pictures whose colour is their label, a little dirty; some cannot be read."""

    broken: frozenset = frozenset()

    def picture(self, index):
        if index in self.broken:
            raise ImageError("The picture is damaged.")
        draw = np.random.default_rng(index)
        return (np.array(list(COLOURS.values())[index % 3]) + draw.integers(-25, 55, (8, 8, 3))).astype(np.uint8)


def painted(count, broken=(), labels=tuple(COLOURS)):
    return ImageSet("painted", "test", labels, np.arange(count) % 3, Painted(frozenset(broken)), f"painted{count}")


def folder(path, names, count=4, size=(12, 12)):
    """A folder of classes; the pictures have the colours in turn."""
    for name, colour in zip(names, COLOURS.values(), strict=False):
        (path / name).mkdir(parents=True)
        for number in range(count):
            Image.new("RGB", size, colour).save(path / name / f"{name} №{number}.png")
    return path


# ---- what a model sees -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "needs",
    [
        Preprocessing((32, 32), (0.4, 0.5, 0.6), (0.2, 0.3, 0.25), crop_pct=0.9),
        Preprocessing((20, 36), HALF, HALF, crop_mode="squash"),
        Preprocessing((28, 28), (0.13,), (0.3,), channels=1),
    ],
    ids=["crop", "squash", "grey"],
)
def test_pictures_are_prepared_exactly_as_the_app_does_it(photo, needs):
    batch = torch.from_numpy(stored_input(photo, needs))[None]
    found = pixels_on(CPU, batch, needs)[0].numpy()
    assert_array_equal(found, prepare(photo, needs)[0])


def test_answers_equal_those_of_a_trace(digits):
    pictures = open_pictures("digits", images=5)
    answers = evaluate(digits, pictures)
    for row in range(5):
        expected = vizkit.trace(digits, pictures[row][0]).logits.numpy()
        assert_allclose(answers.logits[row], expected, atol=2e-5)
    assert answers.targets.tolist() == pictures.targets.tolist()


def test_a_broken_picture_is_a_word():
    source = of_set(painted(4, broken=[2]))
    read = Prepared(source, SIGHT)[0, [*source.items(0)]]
    assert read.pictures["key"][2].as_py() == "picture 2"
    assert read.pictures["error"].to_pylist() == [None, None, "The picture is damaged.", None]
    assert [bool(seen.any()) for seen in read.seen] == [True, True, False, True]


# ---- in parts --------------------------------------------------------------------------------------------------------
def test_stopped_and_continued_it_is_the_same_to_the_last_bit():
    images, whole = painted(100, broken=[3, 50, 99]), evaluate(eye(), painted(100, broken=[3, 50, 99]), chunk=100)
    expected = evaluate(eye(), images, chunk=9)
    shutil.rmtree(folder_of(eye(), images, 9))
    one, told = eye(), []
    for rounds in (2, 4):  # stopped after two, then four more batches
        left = iter(range(rounds))
        with pytest.raises(StoppedError):
            evaluate(one, images, chunk=9, stopping=lambda left=left: next(left, None) is None)
    assert len(list(folder_of(one, images, 9).glob("part-*.parquet"))) == 8
    before = one.model.passes
    found = evaluate(one, images, chunk=9, tell=lambda *said: told.append(said))
    assert told[0][:2] == (72, 100)
    assert one.model.passes - before == 3  # of twelve: the last batch has nothing but a broken picture
    assert np.asarray(found.logits).tobytes() == np.asarray(expected.logits).tobytes()
    assert found.rows.tolist() == [row for row in range(100) if row not in (3, 50, 99)]
    assert list(found.broken) == ["picture 3", "picture 50", "picture 99"]
    assert_allclose(found.logits, whole.logits, rtol=1e-6)
    assert list(folder_of(one, images, 9).iterdir())
    assert not list(folder_of(one, images, 9).glob("part-*.parquet"))


def folder_of(loaded, images, chunk):
    return AnswerCache.of(loaded, images, chunk, lambda: None, "answers").folder


def test_what_is_answered_is_never_asked_again():
    one, images = eye(), painted(30)
    first = evaluate(one, images)
    passes = one.model.passes
    again = evaluate(one, images)
    assert one.model.passes == passes
    assert np.asarray(again.logits).tobytes() == np.asarray(first.logits).tobytes()
    assert again.images_per_s == first.images_per_s
    evaluate(eye(sharp=5.0), images)  # other weights, other answers
    assert len({folder_of(one, images, chunk) for images in (images, painted(31)) for chunk in (8, 64)}) == 4
    with torch.no_grad():
        one.model.weight[0, 0] += 1e-6
    assert folder_of(one, images, 64) != folder_of(eye(), images, 64)


def test_a_torn_chunk_is_answered_again():
    one, images = eye(), painted(20)
    left = iter(range(1))
    with pytest.raises(StoppedError):
        evaluate(one, images, chunk=5, stopping=lambda: next(left, None) is None)
    first = folder_of(one, images, 5) / "part-00000.parquet"
    first.write_bytes(first.read_bytes()[:100])
    assert len(evaluate(one, images, chunk=5).logits) == 20


def test_worker_processes_change_nothing():
    images = painted(40, broken=[7])
    alone = np.array(evaluate(eye(), images, chunk=8).logits)
    shutil.rmtree(folder_of(eye(), images, 8))
    found = evaluate(eye(), images, chunk=8, workers=1)
    assert np.asarray(found.logits).tobytes() == alone.tobytes()
    assert list(found.broken) == ["picture 7"]


def test_a_full_disk_is_a_sentence(cache):
    cache.parent.mkdir(exist_ok=True)
    cache.write_text("not a folder")
    with pytest.raises(EvaluationError, match="cannot be kept"):
        evaluate(eye(), painted(4))


def test_the_oldest_answers_make_room(monkeypatch):
    evaluate(eye(), painted(30))
    monkeypatch.setattr("vizkit.explanations.kept.KEPT_BYTES", 1)
    evaluate(eye(), painted(31))
    assert not folder_of(eye(), painted(30), 64).exists()
    assert folder_of(eye(), painted(31), 64).exists()


@pytest.mark.rest
def test_twenty_thousand_pictures_are_judged_in_seconds_and_never_all_in_memory(monkeypatch):
    """Reading one takes no time here; the rest does not grow: a batch in memory at most, and answers on disk."""
    plain = [stored_input(np.full((8, 8, 3), colour, np.uint8), SIGHT) for colour in COLOURS.values()]
    monkeypatch.setattr(OfSet, "read", lambda self, row: np.full((8, 8, 3), self.set.targets[row], np.uint8))
    monkeypatch.setattr(reading, "stored_input", lambda rgb, _: plain[rgb[0, 0, 0]])
    largest = []
    monkeypatch.setattr(
        "vizkit.explanations.job.pixels_on", lambda *given: largest.append(len(given[1])) or pixels_on(*given)
    )
    models = [eye("a"), eye("b", sharp=-1.0)]
    found = outcomes.evaluate_all(models, painted(20_000), {})
    assert max(largest) == 64
    assert sum(largest) == 40_000
    assert [row.measures.images for row in found.models] == [20_000] * 2
    assert found.models[0].measures.accuracy.value == 1.0
    assert found.models[1].measures.accuracy.value == 0.0
    assert "a is better than b" in found.pairs[0].sentence
    assert isinstance(evaluate(models[0], painted(20_000)).logits, np.memmap)


# ---- which pictures --------------------------------------------------------------------------------------------------
def test_a_plain_folder_is_judged_whole(tmp_path):
    path = folder(tmp_path / "мои жуки و پروانه", ["красный жук", "سبز", "blue <b>&"])
    (path / "سبز" / "broken.jpg").write_bytes(b"\xff\xd8 no picture")
    (path / "empty").mkdir()
    found = open_pictures(path)
    assert (len(found), found.split) == (13, EVERY)
    assert found.notes[0] == "All images of мои жуки و پروانه: it has no test folder."
    assert any("folders without images" in note for note in found.notes)
    assert len(open_pictures(path, "test")) < 13
    some = open_pictures(path, images=6)
    assert np.bincount(some.targets).tolist() == [2, 2, 2]
    assert "6 of the 13 images" in some.notes[0]
    assert "not 99" in open_pictures(path, images=99).notes[1]
    loaded = eye(labels=("Красный_жук", "سبز", "Blue <b>&"))
    answers = evaluate(loaded, found)
    assert list(answers.broken) == [str(Path("سبز", "broken.jpg"))]
    judged = outcomes.evaluate_all([loaded], found, {"data": str(path)})
    assert judged.models[0].measures.accuracy.value == 1.0
    assert judged.models[0].measures.images == 12
    assert "1 broken file left out" in judged.notes[-1]
    page = document(Results(PICTURES.lend(judged)), [Subject(no_model, no_picture())])
    assert "красный жук" in page
    assert page.count("blue <b>") == 0 < page.count("blue \\u003cb>&")  # in a script that reads it as text
    assert not re.search(r"(src|href)\s*=\s*['\"]https?:", page)
    assert page.count("data:image/") > 12


@pytest.mark.parametrize("parts", [("train", "val", "test"), ("train", "test"), ("train", "val")])
def test_a_folder_with_parts_is_judged_on_its_test_part(tmp_path, parts):
    for number, part in enumerate(parts):
        folder(tmp_path / "set" / part, COLOURS, count=2 + number)
    found = open_pictures(tmp_path / "set")
    assert len(found) == 3 * (1 + len(parts))
    assert f"the {parts[-1]} folder" in found.notes[0]


def test_one_class_and_no_pictures_are_refused_in_a_sentence(tmp_path):
    (tmp_path / "none").mkdir()
    for path in (folder(tmp_path / "one", ["red"]), tmp_path / "none", tmp_path / "nowhere"):
        with pytest.raises(DatasetError) as error:
            open_pictures(path)
        assert str(error.value).endswith(".")


def test_only_broken_pictures_are_refused_in_a_sentence():
    with pytest.raises(EvaluationError, match=r"None of the 6 images of painted can be read; picture 0"):
        evaluate(eye(), painted(6, broken=range(6)))


# ---- whose classes ---------------------------------------------------------------------------------------------------
def test_only_pictures_whose_label_the_model_knows():
    images = painted(30, labels=("red", "grün", "Blue"))
    found = known("eye", ("blue", "green", "red"), images)
    assert found.classes.tolist() == [2, -1, 0]
    assert found.rows.tolist() == [row for row in range(30) if row % 3 != 1]
    assert found.note == "eye does not know 1 of 3 labels (grün): 10 of 30 images are left out."
    answers = evaluate(eye(labels=("blue", "green", "red")), images)
    assert answers.targets.tolist() == [2, 0] * 10


def test_models_are_compared_on_pictures_that_all_know():
    images = painted(30, broken=[0])
    found = outcomes.evaluate_all(
        [eye("all"), eye("two", labels=("red", "green", "yellow")), eye("stranger", labels=("cat", "dog"))], images, {}
    )
    assert [row.name for row in found.models] == ["all", "two"]
    assert found.labels == ("red", "green")
    assert found.rows.tolist() == [row for row in range(1, 30) if row % 3 != 2]
    assert {row.measures.images for row in found.models} == {19}
    assert {row.measures.accuracy.value for row in found.models} == {1.0}  # each answer stands with its own picture
    assert any("stranger knows no label of painted" in note for note in found.notes)
    assert any("19 images whose label every one of them knows" in note for note in found.notes)
    assert found.pairs[0].images == 19


def test_one_more_model_is_tested_against_all_as_if_they_had_been_judged_together():
    images, models = painted(30), [eye("a"), eye("b", sharp=-1.0), eye("c", sharp=0.2)]
    together = outcomes.evaluate_all(models, images, {})
    first, last = outcomes.evaluate_all(models[:2], images, {}), outcomes.evaluate_all(models[2:], images, {})
    joined = first.beside(last)
    assert joined.models == together.models
    assert joined.pairs == together.pairs
    assert joined.beside(last) is joined  # nobody stands there twice
    assert first.beside(outcomes.evaluate_all(models[2:], painted(29), {})) is first  # other images
    named = first.beside(last.renamed(lambda name: "a"))
    assert [row.name for row in named.models] == ["a", "b", "a (2)"]
    assert {name for pair in named.pairs for name in (pair.a, pair.b)} == {"a", "b", "a (2)"}


def test_models_that_are_done_can_be_seen_before_the_others(tmp_path):
    job, seen = JobFolder(tmp_path / "job"), []

    def keep(outcome):
        seen.append([row.name for row in outcome.models])
        write_record(job.first(len(outcome.models)), outcome)

    models = [eye("a"), eye("stranger", labels=("cat", "dog")), eye("b", sharp=-1.0), eye("c")]
    assert job.outcome is None
    whole = outcomes.evaluate_all(models, painted(9), {}, so_far=keep)
    assert seen == [["a"], ["a", "b"]]  # the last one is the whole outcome
    assert job.outcome == job.first(2)
    first = read_record(job.outcome, Outcome)
    assert first.models == whole.models[:2]
    assert first.pairs[0].pairs == 1
    write_record(job.result, whole)
    job.say(state="done")
    assert job.outcome == job.result


def test_nobody_knows_a_label():
    with pytest.raises(EvaluationError, match="knows no label of painted"):
        outcomes.evaluate_all([eye(labels=("cat", "dog"))], painted(6), {})
    with pytest.raises(EvaluationError, match="does not say what its classes are called"):
        outcomes.evaluate_all([Loaded("eye", Eye(), CPU, SIGHT)], painted(6), {})
    models = [eye("a", labels=("red", "x")), eye("b", labels=("blue", "y"))]
    with pytest.raises(EvaluationError, match="that all of a, b know"):
        outcomes.evaluate_all(models, painted(6), {})


def test_a_damaged_model_is_left_out_with_a_sentence():
    bad = eye("bad")
    bad.model.weight.data[0, 0] = float("nan")
    found = outcomes.evaluate_all([bad, eye("good")], painted(12), {})
    assert [row.name for row in found.models] == ["good"]
    assert any("bad answers with values that are no numbers" in note for note in found.notes)


def test_an_untrained_model_is_called_so():
    lazy = eye("lazy")
    lazy.trained = False
    assert "lazy is untrained: its answers mean nothing." in outcomes.evaluate_all([lazy], painted(6), {}).notes


def test_two_models_of_one_name_stay_two():
    assert outcomes.titles(["bundled:a", "a", "b", "a"]) == ["a", "a (2)", "b", "a (3)"]


# ---- on disk ---------------------------------------------------------------------------------------------------------
def test_an_outcome_survives_the_disk(tmp_path):
    found = outcomes.evaluate_all([eye("a"), eye("b", sharp=-1.0)], painted(30, broken=[4]), {"data": "painted"})
    write_record(tmp_path / "x.npz", found)
    again = read_record(tmp_path / "x.npz", Outcome)
    assert again.models == found.models
    assert again.pairs == found.pairs
    assert (again.labels, again.notes, again.places) == (found.labels, found.notes, found.places)
    assert (again.judged[1].loss == found.judged[1].loss).all()
    assert again.answer_of(0, 0) == found.answer_of(0, 0) == "red"
    assert tables.models_csv(again) == tables.models_csv(found)
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_csv_has_a_row_a_model_and_a_row_a_picture():
    found = outcomes.evaluate_all([eye("=a"), eye("b", sharp=-1.0)], painted(9), {})
    lines = tables.models_csv(found).splitlines()
    assert lines[0].startswith("model,pictures,accuracy")
    assert lines[1].startswith("'=a,9,1.000000,")  # no formula for a spreadsheet
    pictures = tables.pictures_csv(found).splitlines()
    assert len(pictures) == 10
    assert pictures[1].startswith("picture 0,red,red,")


def test_a_job_folder_that_lacks_all_says_nothing(tmp_path):
    job = JobFolder(tmp_path / "job")
    assert (job.status, job.done) == ({}, False)
    job.say(state="running", done=3)
    assert job.status["done"] == 3
    (job.path / "status.json").write_text("{torn")
    assert job.status == {}
