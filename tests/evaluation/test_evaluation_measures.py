"""Accuracy, loss, calibration, confusion and paired tests: by hand, and against the libraries that others trust."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from scipy.stats import bootstrap
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss, top_k_accuracy_score
from statsmodels.stats.contingency_tables import mcnemar as their_mcnemar
from statsmodels.stats.multitest import multipletests
from torchmetrics.functional.classification import (
    binary_calibration_error,
    multiclass_accuracy,
    multiclass_calibration_error,
)

from vizkit.analysis.comparison.holm import holm
from vizkit.evaluation.measures import (
    BELOW_ONE,
    BINS,
    Interval,
    Judged,
    calibration_error,
    confusion,
    judge,
    mean_interval,
    measure,
    ratio_interval,
    reliability,
    share_interval,
)
from vizkit.evaluation.paired import Pair, compare, mcnemar


@pytest.fixture
def random():
    """300 pictures of 7 classes, a model that is often right and too sure of itself."""
    draw = np.random.default_rng(3)
    target = draw.integers(7, size=300)
    logits = 3 * draw.standard_normal((300, 7)).astype(np.float32)
    logits[np.arange(300), target] += 2
    return logits, target


def toy():
    """Four pictures, two classes: 0.62 right, 0.62 wrong, 0.95 right twice."""
    shares = np.array([[0.62, 0.38], [0.38, 0.62], [0.05, 0.95], [0.05, 0.95]])
    return judge(np.log(shares).astype(np.float32), np.array([0, 0, 1, 1]), np.array([0, 1]))


# ---- by hand ---------------------------------------------------------------------------------------------------------
def test_four_pictures_by_hand():
    found = measure(toy(), ("cat", "dog"))
    assert found.accuracy.value == 0.75
    assert found.top5 is None
    assert found.loss == pytest.approx(-(math.log(0.62) + math.log(0.38) + 2 * math.log(0.95)) / 4)
    # Two bins of two pictures: |0.5 − 0.62| and |1 − 0.95|, each with half of the weight.
    assert found.ece == pytest.approx(0.085, abs=1e-6)
    assert [(b.images, b.accuracy) for b in found.bins] == [(2, 0.5), (2, 1.0)]
    assert [b.confidence for b in found.bins] == pytest.approx([0.62, 0.95])
    assert [b.low for b in found.bins] == pytest.approx([9 / 15, 14 / 15])
    cat, dog = found.classes
    assert (cat.images, cat.precision, cat.recall) == (2, 1.0, 0.5)
    assert (dog.images, dog.precision, dog.recall) == (2, pytest.approx(2 / 3), 1.0)
    assert dog.f1 == pytest.approx(0.8)
    assert confusion(toy(), 2).tolist() == [[1, 1, 0], [0, 2, 0]]


def test_a_model_of_other_classes_answers_with_another_class():
    """The set's labels are the model's classes 2 and 0; its class 1 is none of them."""
    logits = np.array([[0, 0, 9], [0, 9, 0], [9, 0, 0], [0, 0, 9]], np.float32)
    judged = judge(logits, np.array([0, 0, 1, 1]), np.array([2, 0]))
    assert judged.label.tolist() == [0, 2, 1, 0]
    assert judged.right.tolist() == [True, False, True, False]
    assert judged.rank.tolist() == [0, 2, 0, 1]  # of equal classes the first comes before
    assert confusion(judged, 2).tolist() == [[1, 0, 1], [1, 1, 0]]


def test_who_finds_all_classes_equally_likely_is_not_right_among_the_first_five():
    judged = judge(np.zeros((12, 12), np.float32), np.arange(12), np.arange(12))
    assert judged.rank.tolist() == [*range(12)]
    assert measure(judged, tuple("abcdefghijkl")).top5 == pytest.approx(5 / 12)


def test_a_label_without_pictures_or_answers_has_no_figures():
    judged = judge(np.eye(3, dtype=np.float32)[[0, 0, 1]] * 9, np.array([0, 0, 1]), np.arange(3))
    rows = measure(judged, ("a", "b", "c")).classes
    assert rows[2].images == 0
    assert math.isnan(rows[2].recall)
    assert math.isnan(rows[2].precision)


def test_the_five_likeliest_of_five_are_no_measure():
    logits = np.zeros((2, 6), np.float32)
    assert measure(judge(logits, np.array([0, 1]), np.arange(6)), tuple("abcdef")).top5 == 1.0
    assert measure(judge(logits[:, :5], np.array([0, 1]), np.arange(5)), tuple("abcde")).top5 is None


def test_losses_are_taken_in_double_precision(random):
    logits, target = random
    expected = -torch.from_numpy(logits).double().log_softmax(1).numpy()[np.arange(300), target]
    assert_allclose(judge(logits, target, np.arange(7)).loss, expected, rtol=1e-13)


# ---- against libraries -----------------------------------------------------------------------------------------------
def test_all_measures_equal_the_libraries(random):
    logits, target = random
    found = measure(judge(logits, target, np.arange(7)), tuple("abcdefg"))
    given = torch.from_numpy(logits), torch.from_numpy(target)
    shares = given[0].double().softmax(1).numpy()
    assert found.accuracy.value == pytest.approx(accuracy_score(target, logits.argmax(1)))
    assert found.accuracy.value == pytest.approx(float(multiclass_accuracy(*given, 7, average="micro")))
    assert found.top5 == pytest.approx(top_k_accuracy_score(target, logits, k=5))
    assert found.loss == pytest.approx(log_loss(target, shares))
    assert found.loss == pytest.approx(float(torch.nn.functional.cross_entropy(*given)), rel=1e-6)
    assert found.ece == pytest.approx(float(multiclass_calibration_error(*given, 7, n_bins=BINS)), abs=1e-6)
    expected = confusion_matrix(target, logits.argmax(1))
    assert (confusion(judge(logits, target, np.arange(7)), 7)[:, :7] == expected).all()


def by_library(probability, right):
    """One rounded to 1 would get a bin of its own there."""
    given = torch.from_numpy(np.minimum(probability, BELOW_ONE)), torch.from_numpy(right.astype(np.int64))
    return float(binary_calibration_error(*given, n_bins=BINS, norm="l1"))


def test_the_bins_add_up_to_the_calibration_error_of_torchmetrics(random):
    for scale in (1, 40):  # at 40 many probabilities round to one
        judged = judge(scale * random[0], random[1], np.arange(7))
        bins = reliability(judged)
        assert sum(b.images for b in bins) == 300
        assert max(b.low for b in bins) < 14.5 / 15
        assert calibration_error(bins) == pytest.approx(by_library(judged.probability, judged.right), abs=1e-6)


def test_a_probability_on_an_edge_of_two_bins_belongs_to_the_upper_one():
    """As torchmetrics counts, so that the bars of the figure add up to the calibration error beside it."""
    edge, inside = (float(torch.linspace(0, 1, BINS + 1)[9]), 9.5 / 15)
    sure = np.array([edge, inside, edge, 8.5 / 15], np.float32)
    right = np.array([1, 0, 1, 0])
    judged = Judged(np.ones(4, int), right, right, sure, np.zeros(4), np.zeros(4, int), 2)
    found = reliability(judged)
    assert [(round(15 * b.low), b.images) for b in found] == [(8, 1), (9, 3)]
    assert calibration_error(found) == pytest.approx(by_library(sure, right), abs=1e-6)
    assert calibration_error(found) == pytest.approx((8.5 / 15 + abs(2 - 2 * edge - inside)) / 4, abs=1e-6)


def test_large_sets_are_read_in_pieces(random, monkeypatch):
    whole = judge(*random, np.arange(7))
    monkeypatch.setattr("vizkit.evaluation.measures.ROWS", 64)
    parts = judge(*random, np.arange(7))
    for name in ("answer", "label", "probability", "loss", "rank"):
        assert (getattr(parts, name) == getattr(whole, name)).all()


# ---- intervals -------------------------------------------------------------------------------------------------------
def test_an_interval_is_as_wide_as_theory_says():
    right = np.zeros(2000, bool)
    right[:1600] = True
    found = share_interval(right)
    deviation = math.sqrt(0.8 * 0.2 / 2000)
    assert found.value == 0.8
    assert found.low == pytest.approx(0.8 - 1.96 * deviation, abs=0.003)
    assert found.high == pytest.approx(0.8 + 1.96 * deviation, abs=0.003)
    assert share_interval(right) == found  # seeded


def test_all_right_is_not_certain_and_all_wrong_neither():
    """Three of three: the lower end is 0.025^(1/3), not 1."""
    end = pytest.approx(0.025 ** (1 / 3))
    found = share_interval(np.ones(3, bool))
    assert (found.value, found.low, found.high) == (1.0, end, 1.0)
    found = share_interval(np.zeros(3, bool))
    assert (found.value, found.low, 1 - found.high) == (0.0, 0.0, end)
    three = share_interval(np.arange(2000) >= 3)  # errors that were seen: 100 % cannot be
    assert (three.low, three.high) == pytest.approx((0.99562, 0.99969), abs=1e-5)
    for wrong, exact in ((0, True), (4, True), (5, False), (16, True), (20, True)):
        answers = np.eye(2, dtype=np.float32)[(np.arange(20) < wrong).astype(int)]
        judged = judge(answers, np.zeros(20, np.int64), np.arange(2))
        assert measure(judged, ("a", "b")).exact == exact


def test_the_interval_is_scipys_percentile_bootstrap_of_two_thousand_resamples():
    draw = np.random.default_rng(1)
    losses = draw.exponential(size=90).astype(np.float32)
    target = draw.integers(2, size=5_000)  # so many that another seed ends elsewhere
    answers = judge(draw.standard_normal((5_000, 2)).astype(np.float32), target, np.arange(2))
    for seed in (0, 3):
        given = (seed,) if seed else ()  # 0 unless told
        for values, found in (
            (losses, [mean_interval(losses, *given)]),
            (answers.right, [share_interval(answers.right, *given), measure(answers, ("a", "b"), *given).accuracy]),
        ):
            expected = bootstrap(
                (values.astype(np.float32),),
                np.mean,
                n_resamples=2000,
                batch=100,
                confidence_level=0.95,
                method="percentile",
                rng=np.random.default_rng(seed),
            ).confidence_interval
            for each in found:
                assert (each.low, each.high) == (expected.low, expected.high)
                assert each.value == pytest.approx(values.mean())


def test_an_interval_of_differences_is_paired():
    draw = np.random.default_rng(0)
    a = draw.random(1500) < 0.7
    b = a.copy()
    b[:20] = False  # the two models hardly differ, so their difference is sure
    found = compare({"a": a, "b": b})[0]
    alone = share_interval(a)
    assert found.difference.high - found.difference.low < 0.4 * (alone.high - alone.low)
    assert mean_interval(a.astype(np.float32) - b).value == pytest.approx(a.mean() - b.mean(), abs=1e-6)


def test_a_ratio_is_one_of_sums_and_its_interval_one_of_drawn_examples():
    """By plain loops."""
    sums = np.array([[0.01, 0.02], [0.03, 0.04], [0.0, 0.05], [0.02, 0.03]])
    ratios = []
    for row in np.random.default_rng(3).integers(4, size=(1000, 4)):
        ratios.append(sum(sums[each][0] for each in row) / sum(sums[each][1] for each in row))
    found = ratio_interval(sums, seed=3)
    assert found.value == pytest.approx(0.06 / 0.14)
    assert (found.low, found.high) == pytest.approx(tuple(np.percentile(ratios, [2.5, 97.5])))
    assert ratio_interval(np.zeros((2, 2))) == Interval(0.0, 0.0, 0.0)


# ---- paired tests ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("only_a, only_b", [(0, 0), (5, 0), (1, 1), (12, 25), (80, 50), (3, 200)])
def test_mcnemar_equals_statsmodels(only_a, only_b):
    theirs = their_mcnemar([[40, only_a], [only_b, 9]], exact=True).pvalue
    assert mcnemar(only_a, only_b) == pytest.approx(min(1.0, theirs))


def test_mcnemar_by_hand():
    assert mcnemar(5, 0) == pytest.approx(2 * 0.5**5)
    assert mcnemar(0, 0) == 1.0


def test_holm_equals_statsmodels():
    draw = np.random.default_rng(1)
    for count in (1, 2, 6):
        p = draw.random(count) ** 3
        assert holm(p.tolist()) == pytest.approx(multipletests(p, method="holm")[1])
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_the_sentence_says_who_is_better_or_that_nobody_knows():
    right = {"a": np.arange(100) < 60, "b": np.arange(100) < 80, "c": np.arange(100) < 61}
    pairs = {frozenset((pair.a, pair.b)): pair for pair in compare(right)}
    sure, unsure = pairs[frozenset("ab")], pairs[frozenset("ac")]
    assert (sure.a, sure.only_a, sure.only_b) == ("b", 20, 0)
    assert sure.significant
    assert sure.corrected == pytest.approx(3 * 2 * 0.5**20)
    assert sure.sentence.startswith("b is better than a on images like these: +20.0 percentage points")
    assert not unsure.significant
    assert unsure.sentence.startswith("On these images c and a do not differ significantly: +1.0 percentage points")
    same = compare({"a": right["a"], "b": right["a"].copy()})[0]
    assert (same.p, same.difference.low, same.difference.high) == (1.0, 0.0, 0.0)
    assert "exactly the same images" in same.sentence
    assert compare({"a": right["a"]}) == ()


def test_two_sided_and_symmetric():
    a, b = np.arange(50) < 30, np.arange(50) % 3 > 0
    one, other = compare({"a": a, "b": b})[0], compare({"b": b, "a": a})[0]
    assert isinstance(one, Pair)
    assert (one.a, one.p, one.only_a) == (other.a, other.p, other.only_a)


@pytest.mark.parametrize(
    "p, words",
    [(9e-5, "p < 0.0001"), (1e-4, "p = 0.0001"), (0.0625, "p = 0.062"), (0.1, "p = 0.10"), (0.5, "p = 0.50")],
)
def test_the_whole_sentence_of_a_pair_and_of_several(p, words):
    pair = Pair("a", "b", 1200, 16, 4, Interval(0.01, -0.005, 0.025), p, 1.0, 1)
    said = (
        "On these images a and b do not differ significantly: +1.0 percentage points (95 % interval −0.5 to "
        f"+2.5); alone right on 16 and 4 of 1,200 images; exact McNemar {words}"
    )
    assert pair.sentence == f"{said}."
    assert replace(pair, pairs=3).sentence == f"{said}, after Holm for 3 pairs p = 1.00."
    assert not replace(pair, corrected=0.05).significant


def test_as_many_right_on_other_pictures_is_not_the_same():
    first, second = np.array([True, False] * 4), np.array([False, True] * 4)
    (pair,) = compare({"a": first, "b": second})
    assert (pair.a, pair.p) == ("a", 1.0)
    assert pair.sentence.startswith("On these images a and b do not differ significantly: +0.0 percentage points")
    assert pair.difference.low < 0 < pair.difference.high
    (same,) = compare({"a": first, "b": first})
    assert same.difference == Interval(0.0, 0.0, 0.0)
    draw = np.random.default_rng(0)
    right = {name: draw.random(300) < 0.7 for name in "ab"}
    assert compare(right) == compare(right, 0) != compare(right, 1)
