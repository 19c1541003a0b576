"""Several models on the same images: who is right, what is comparable, what it costs, what an answer withstands."""

import csv
import io
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn
from torch.testing import assert_close

import vizkit
from tests.views.contract import texts
from vizkit.analysis.comparison.average_map import average, laid, strongest, times_equal
from vizkit.analysis.comparison.perturbation import LEVELS, PERTURBATIONS, perturbed
from vizkit.analysis.remarks.answers import agreement
from vizkit.analysis.remarks.remark import percent
from vizkit.datasets import photographs, samples
from vizkit.figure.evaluation.strength_curves import strength_curves
from vizkit.heads import LIKENESS
from vizkit.models.sources.loaded import with_head
from vizkit.percent import in_percent
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Canvas, Chart, Download, Grid, Hint, Later, Line, Link, Said, Table
from vizkit.views.compare import cost
from vizkit.views.compare.answers import Answers
from vizkit.views.compare.images import all_photographs, suggested
from vizkit.views.compare.papers import Papers
from vizkit.views.compare.robustness import Robustness, answers
from vizkit.views.compare.side_by_side import DISAGREEING, MANY, THESE, Found, SideBySide, scale_of, share
from vizkit.views.compare.similarity import kinds
from vizkit.views.settled import flat, settled
from vizkit.views.subject import Subject

FEATURES = "random:vit_small_patch16_dinov3_qkvb"


def subject(source, image="mayfly nymph", **changed):
    name = source.removeprefix("random:")
    loaded = replace(vizkit.load(name, pretrained=name == source), **changed)
    return Subject(lambda: loaded, samples.picture(image), image=image, model=changed.get("name", ""))


@pytest.fixture(scope="module")
def insects():
    return [subject(f"bundled:insects_{name}") for name in ("vit", "swin", "cnn")]


@pytest.fixture(scope="module")
def two(insects):
    return [subject("bundled:digits_vit"), *insects[::2]]


def of_kind(blocks, kind):
    return [block for block in blocks if isinstance(block, kind)]


def csv_of(blocks):
    (file,) = of_kind(blocks, Download)
    return list(csv.DictReader(io.StringIO(file.make().decode())))


def rows_of(blocks):
    """Of the grid by the names of its images (who agrees on it, the answers of each model)."""
    (grid,) = of_kind(flat(blocks), Grid)
    there = zip(grid.rows[: grid.pictured], grid.maps, strict=False)
    return {head.name: (head.note, [tile.answers for tile, _ in row]) for head, row in there}


# ---- answers ---------------------------------------------------------------------------------------------------------
def test_who_is_right_is_said_and_marked(insects):
    blocks = list(SideBySide().show(insects))
    (said,) = of_kind(blocks, Said)
    assert said.text.startswith(
        "bundled:insects_swin is wrong on 1 of 3 images: it takes “stonefly nymph” for “water scorpion”; "
        "bundled:insects_vit and bundled:insects_cnn are right on all. In the mean of 3 images "
    )
    rows = rows_of(blocks)
    _, answers = rows["stonefly nymph"]
    assert [first.right for first, *_ in answers] == [True, False, True]
    expected = insects[1].pictured("stonefly nymph").seen.logits.softmax(0)
    first = answers[1][0]
    assert (first.name, first.share) == ("water scorpion", pytest.approx(float(expected.max()), abs=1e-5))
    assert first.value == in_percent(first.share)
    note = rows["mayfly nymph"][0]
    assert note == "All 3 agree: mayfly nymph ✓"
    apart = rows["stonefly nymph"][0]
    assert apart.startswith("They disagree · ")
    assert " · bundled:insects_swin: water scorpion ✗" in apart
    every = {(each.name, each.colour) for _, row in rows.values() for cell in row for each in cell}
    assert len({name for name, _ in every}) == len(every), "a class has one colour"


def test_where_they_disagree_comes_first_or_alone(insects):
    assert next(iter(rows_of(SideBySide(order=DISAGREEING).show(insects)))) == "stonefly nymph"
    assert [*rows_of(SideBySide(differ=True).show(insects))] == ["stonefly nymph"]
    agreed = flat(SideBySide(images=("mayfly nymph",), differ=True).show(insects))
    assert not of_kind(agreed, Grid)
    assert any("give the same first class" in line.text for line in of_kind(agreed, Line))


def test_two_that_nobody_can_judge_say_on_which_image_they_differ():
    firsts = [("cat", {"a": "tabby", "b": "tabby"}), ("china", {"a": "palace", "b": "dam"})]
    assert agreement(firsts) == "Both models agree on 1 of 2 images; of “china” a says “palace” and b says “dam”."
    assert agreement(firsts[:1]) == "Both models agree: “tabby”."
    assert agreement(firsts[1:]) == "They differ: a says “palace”; b says “dam”."
    assert agreement([("cat", {"a": "tabby"})]) is None


def test_only_models_of_common_classes_are_compared(two):
    blocks = list(SideBySide(images=("mayfly nymph",)).show(two))
    lines = " ".join(line.text for line in of_kind(blocks, Line))
    assert "bundled:digits_vit and bundled:insects_vit have no classes in common by name and are not compared." in lines
    ((note, answers),) = rows_of(blocks).values()
    assert [first.right for first, *_ in answers] == [None, True, True]
    assert note == "Both agree: mayfly nymph ✓"
    assert not of_kind(SideBySide(images=("mayfly nymph",), differ=True).show(two), Grid), "all that can be agree"
    every = list(SideBySide(images=("mayfly nymph", "digit 3")).show(two))
    assert of_kind(every, Said)[0].text.startswith("All 3 models are right on every image whose class they know. ")


def test_lists_that_share_a_part_say_how_much():
    few = subject("bundled:digits_vit", "digit 3", name="few", labels=("cat", "Dog, hound", *"abcdefgh"))
    more = subject("bundled:digits_vit", "digit 3", name="more", labels=("dog", "cat", *"ijklmnop"))
    assert list(Answers([[few, more]]).unmatched()) == [
        "few and more have 2 classes in common by name, of 10 and 10; only these are compared."
    ]


def test_photographs_and_features():
    insects, features = subject("bundled:insects_vit", "flower"), subject(FEATURES, "flower")
    (grid,) = of_kind(SideBySide(images=("flower",)).show([features, insects]), Grid)
    (alone, seen), _ = grid.maps[0]
    assert "choose a second image" in alone.note
    assert not alone.answers
    assert seen.box_xyxy[1] == 0.0 < seen.box_xyxy[0], "the model sees a square of it"
    both = rows_of(SideBySide(images=("flower", "china", "cat")).show([features, insects]))
    to = {
        name: float(torch.cosine_similarity(features.embedding, features.pictured(name).embedding, dim=0))
        for name in ("china", "cat")
    }
    over, *nearest = both["flower"][1][0]
    assert (over.name, over.value) == ("most alike images", "cosine"), "they are no answers"
    listed = [(each.name, each.share, each.value) for each in nearest]
    assert [name for name, *_ in listed] == sorted(to, key=to.__getitem__, reverse=True), "and not the image itself"
    assert all((share, value) == (max(0.0, to[name]), LIKENESS.text(to[name])) for name, share, value in listed)
    alone = list(SideBySide(images=("flower",)).show([insects]))
    assert any("choose a second one" in line.text for line in of_kind(alone, Hint)), "the page is to compare"
    said = of_kind(alone, Said)[0].text
    assert said.startswith("bundled:insects_vit says of “flower”: ")


def test_the_file_has_every_answer_and_no_formula(insects):
    formula = subject("bundled:insects_vit", name="=1+1")
    lines = csv_of(SideBySide().show([formula, insects[2]]))
    assert len(lines) == 3 * 2 * 5
    assert lines[0] | {"probability": "", "apart_bits": ""} == {
        "image": "mayfly nymph",
        "model": "'=1+1",
        "rank": "1",
        "class": "mayfly nymph",
        "probability": "",
        "apart_bits": "",
        "right": "True",
    }
    assert float(lines[0]["probability"]) == pytest.approx(float(insects[0].seen.logits.softmax(0).max()), rel=1e-4)


# ---- maps ------------------------------------------------------------------------------------------------------------
def test_maps_of_any_unit_and_grid_are_compared_and_averaged():
    fine, coarse = torch.tensor([[1.0, 3.0], [0.0, 0.0]]), torch.tensor([[8.0]])
    assert_close(times_equal(fine), fine)
    assert_close(times_equal(5 * fine), fine)
    assert_close(average([times_equal(fine), times_equal(coarse)]), torch.tensor([[1.0, 2.0], [0.5, 0.5]]))
    assert strongest(fine) == 0.75
    assert strongest(-fine) == 0


def test_maps_of_different_grids_are_compared_on_the_coarsest_one():
    fine, insect = torch.zeros(4, 4), torch.zeros(4, 4)
    fine[0, 0] = insect[0, 0] = 1.0
    coarse = Found(torch.tensor([[1.0, 0.0], [0.0, 0.0]]), False, laid(insect, (2, 2)))
    assert share(Found(fine, False, insect), (4, 4), True) == 1, "all of it lies there"
    assert share(Found(fine, False, insect), (2, 2), True) == share(coarse, (2, 2), True) == 0.25
    assert share(Found(fine, False, None), (2, 2), False) == 1, "no insect: the strongest tenth"


def test_one_scale_counts_doublings_whatever_the_maps():
    times = torch.tensor([[0.25, 1.0], [2.0, 32.0]])
    plain, signed = (scale_of([Found(times, any_signed, None)]) for any_signed in (False, True))
    assert_allclose(plain.positions(times.numpy()), [[0, 2 / 7], [3 / 7, 1]])
    assert signed.positions(np.array([-32.0, 0.0, 32.0])).tolist() == [0, 0.5, 1]


def test_a_map_says_what_it_is_where_a_model_has_no_attention(insects):
    blocks = flat(SideBySide().show(insects[::2]))
    (grid,) = of_kind(blocks, Grid)
    assert grid.columns == ("bundled:insects_vit (attention)", "bundled:insects_cnn (responses)")
    words = " ".join(block.text for block in blocks if isinstance(block, Said | Line))
    assert re.search(r"_vit has \d+ % of its attention on the insect, which covers .* 7 × 7\. In the mean", words)
    assert re.search(r"_cnn has \d+ % of its responses on the insect, another quantity\.", words), "and no rank"
    assert "bundled:insects_cnn has no attention: its map is how strongly each place responds." in words


def test_of_newly_drawn_images_it_is_known_where_the_insect_is(insects, monkeypatch):
    monkeypatch.setattr("vizkit.views.compare.side_by_side.OTHERS", 1)
    (one,) = SideBySide(over=MANY).over_many(insects[1], lambda done, total: None)
    assert one.covered.shape == one.heat.shape
    assert 0 < one.covered.mean() < 0.5


def test_the_last_row_is_the_average_over_these_images_or_over_others(insects):
    (grid,) = of_kind(SideBySide().show(insects[::2]), Grid)
    *maps, means = [[tile.places for tile, _ in row] for row in grid.maps]
    for mean, every in zip(means, zip(*maps, strict=True), strict=True):
        assert_allclose(mean, np.mean(every, axis=0), rtol=1e-5)
    assert grid.rows[-1].name == "Average over 3 images"
    assert len(grid.values) == grid.pictured == 3, "a click on the average is of no image"
    (later,) = of_kind(SideBySide(over=MANY).show(insects[::2]), Later)
    (begun,) = later.show({})
    assert len(begun.rows) == 3
    one = Found(torch.ones(2, 2), False, torch.eye(2))
    (half,) = later.show({later.jobs[0].key: [one]})
    assert half.rows[-1].name == "Average over 48 images"
    assert [tile.places is None for tile, _ in half.maps[-1]] == [False, True]
    told, _ = later.show({job.key: [one] for job in later.jobs})
    assert told.text.startswith("In the mean of 48 images bundled:insects_vit has 50 % of its attention on the insect")
    assert "of 3 images bundled" not in next(iter(SideBySide(over=MANY).show(insects[::2]))).text
    assert [each.words for each in of_kind(SideBySide(over=MANY).show(insects[::2]), Link)] == [f"Average over {THESE}"]


def test_beside_a_photograph_without_classes_stand_photographs(insects):
    features = subject(FEATURES, "china")
    assert all_photographs([features, insects[0]]) == [*photographs.NAMES], (
        "what is nearest of all of them is the answer"
    )
    assert suggested([features.pictured("mayfly nymph"), insects[0]])[1] in samples.INSECTS
    assert suggested([insects[0].pictured("china"), features])[1] in samples.INSECTS


def test_maps_of_two_runs_are_compared_where_there_are_folders(insects):
    of = subject(FEATURES)
    assert kinds([of]) == ["layers"]
    of.folders = {"one": "/one"}
    assert kinds([of]) == ["layers", "maps"]


# ---- cost ------------------------------------------------------------------------------------------------------------


def test_one_that_costs_less_is_said_to_read_smaller_images(insects):
    small, large = cost.facts(insects[1]), cost.facts(subject(FEATURES, "flower"))
    words = cost.Cost().said([large], [small])
    assert words.endswith(
        " of bundled:insects_swin, which stands beside as a measure and reads images of 112 × 112 pixels against "
        f"{large['input']}."
    )
    assert "which reads images" in cost.Cost().said([large, small], []), "somebody has chosen it"


def test_what_was_tested_on_other_images_is_not_drawn(two):
    view = cost.Cost()
    (chart, *_), lines = (of_kind(view.picture([cost.facts(of) for of in two], []), kind) for kind in (Chart, Line))
    assert [text for trace in chart.figure.data for text in trace.text or ()] == ["bundled:digits_vit"]
    sizes = {"a": 112, "b": 112, "c": 64}
    (why,) = cost.drawn_small([{"model": name, "input": px, "test": "insects"} for name, px in sizes.items()])
    assert "own input: 112, of c 64." in why.text, "Evaluate draws them larger and counts others"
    assert lines[-1].text == "Without such a test, and not drawn: bundled:insects_vit and bundled:insects_cnn."


def test_of_a_published_table_accuracy_and_cost_stand_before_the_rest():
    (table,) = Papers("ImageNet-1K", None).tabled()
    assert [*table.rows[0]][:5] == ["Model", "Input (px)", "Top-1 (%)", "Parameters (M)", "Multiply–adds (G)"]


def test_published_numbers_belong_to_a_size():
    loaded = vizkit.load("deit_small_patch16_224", pretrained=False, image_size=(112, 112))
    assert "published" not in cost.facts(Subject(lambda: loaded, samples.picture("flower")))


# ---- robustness ------------------------------------------------------------------------------------------------------
def test_curves_are_the_models_answers_to_the_changed_picture(insects):
    of, told = insects[2], []
    found = {name: answers(2, name, of, lambda done, total: told.append((done, total))) for name in PERTURBATIONS}
    assert len(told) == 5 + 3 * 2
    assert {name: len(each) for name, each in found.items()} == {
        name: 2 if kind.chance else 1 for name, kind in PERTURBATIONS.items()
    }
    for kind, draw in (("rotation", 0), ("noise", 0), ("noise", 1), ("shuffle", 1)):
        changed = perturbed(of.rgb, kind, PERTURBATIONS[kind].strengths[4], draw)
        expected = vizkit.trace(of.loaded, changed).logits
        assert_close(found[kind][draw, 4], expected, rtol=1e-4, atol=1e-4)


def test_a_curve_is_seen_as_soon_as_its_change_is_through(insects):
    (later,) = of_kind(Robustness(draws=5).show(insects[1:]), Later)
    first, second, *_ = later.jobs
    assert [first.words.partition(":")[0] for first in (first, second)] == ["bundled", "bundled"]
    title = first.words.rpartition(": ")[2]
    found = {job.key: job.work(lambda done, total: None) for job in (first, second)}
    (canvas,) = of_kind(later.show(found), Canvas)
    there = {kind["title"]: [curve is not None for curve in kind["curves"]] for kind in canvas.data["kinds"]}
    assert there.pop(title) == [True, True], "one change in both models"
    assert not any(map(any, there.values()))


@pytest.mark.rest
def test_mean_and_range_of_several_draws(insects):
    blocks = flat(Robustness(draws=5, level=2).show(insects[2:]))
    (canvas,) = of_kind(blocks, Canvas)
    kinds = {kind["title"]: kind for kind in canvas.data["kinds"]}
    (noise,), (shift,) = kinds["Noise"]["curves"], kinds["Shift"]["curves"]
    assert "low" not in shift
    assert all(low <= mean <= high for low, mean, high in zip(noise["low"], noise["mean"], noise["high"], strict=True))
    assert len({len(each) for each in (*noise.values(), kinds["Noise"]["pictures"])} | {LEVELS}) == 1
    assert shift["answers"][0] == "mayfly nymph"
    lines = csv_of(blocks)
    assert len(lines) == LEVELS * (5 + 3 * 5)
    drawn = [float(line["probability"]) for line in lines if line["change"] == "noise" and line["strength"] == "0.6"]
    assert [noise[name][-1] for name in ("low", "high")] == pytest.approx([min(drawn), max(drawn)], rel=1e-4)
    assert noise["mean"][-1] == pytest.approx(sum(drawn) / 5, rel=1e-4)
    kept = [line["answer"] == "mayfly nymph" for line in lines if line["strength"] != "0" and line["change"] == "noise"]
    assert len(kept) == 40
    rows = {row[""]: row["bundled:insects_cnn"] for row in of_kind(blocks, Table)[0].rows}
    draws = [sum(kept[at : at + 8]) / 8 for at in range(0, 40, 8)]
    ends = f"({percent(min(draws))} to {percent(max(draws))})"
    assert rows["Noise"] == f"{percent(sum(kept) / 40)} {ends}", "what the sentence counts is in the table"
    assert rows["All changes"].partition(" (")[0] in of_kind(blocks, Said)[0].text
    assert any("mean of 5 draws" in line.text for line in of_kind(blocks, Line))


def test_an_image_without_cells_and_a_model_of_values_are_refused(insects):
    tiny = Subject(insects[2].open, np.zeros((9, 40, 3), np.uint8))
    with pytest.raises(NotApplicable, match="fewer than 14 pixels"):
        list(Robustness().show([tiny]))
    value = Subject(lambda: with_head(insects[2].loaded, "regression"), insects[2].rgb)
    with pytest.raises(NotApplicable, match="values, not classes"):
        list(Robustness().show([value]))


def test_features_withstand_as_far_as_they_stay_alike():
    tiny = vizkit.load("test_vit", pretrained=False, model_args={"num_classes": 0})
    blocks = settled(Robustness(draws=1).show([Subject(lambda: tiny, samples.picture("flower"))]))
    assert "the likeness of the changed images to the image itself" in of_kind(blocks, Said)[0].text
    rows = [[*row.values()] for row in of_kind(blocks, Table)[0].rows]
    assert ["Unchanged", "1.000"] in rows
    assert "probab" not in " ".join(text for block in blocks for text in texts(block))
    (canvas,) = of_kind(blocks, Canvas)
    assert canvas.data["models"][0]["likeness"], "whose axis is not in per cent"


def test_the_chart_holds_the_numbers_and_marks_the_strength():
    draws = np.array([[0.9, 0.5, 0.1], [0.9, 0.7, 0.3]])
    figure = strength_curves({"a": draws, "b": draws[:1]}, (0.0, 1.0, 4.0), 1, "px")
    band, mean, alone = figure.data
    assert list(band.y) == pytest.approx([0.9, 0.5, 0.1, 0.3, 0.7, 0.9])
    assert list(mean.y) == pytest.approx([0.9, 0.6, 0.2])
    assert list(alone.y) == pytest.approx([0.9, 0.5, 0.1])
    assert mean.line.color != alone.line.color
    assert [shape.x0 for shape in figure.layout.shapes] == [1]


def test_weights_are_said_with_their_precision():
    """1.24 million numbers of four bytes each, two where they are halved."""
    assert cost.weights_in_words(nn.Linear(1000, 1240)) == "4.7 MiB, float32"
    assert cost.weights_in_words(nn.Linear(1000, 1240).half()) == "2.4 MiB, float16"
    assert (
        cost.weights_in_words(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).half())) == "0.0 MiB, float16 and float32"
    )
