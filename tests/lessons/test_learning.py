"""What a lesson says of a run, of the recorded one and of one's own, equal to plain torch at every kept step."""

import math
from functools import cache, partial
from unittest.mock import patch

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.stats import spearmanr

import vizkit
from tests.lessons.plain import Plain, Words
from vizkit.analysis.trust.truth_score import seen_mask
from vizkit.datasets import samples
from vizkit.datasets.balance import balanced_rows
from vizkit.datasets.opening import open_set
from vizkit.lessons.shelf import files, opened
from vizkit.lessons.vocabulary import VOCABULARY
from vizkit.models import pixels_of
from vizkit.traces import NotApplicable
from vizkit.views import bundled
from vizkit.views.subject import Subject

LESSON = "10_did_my_attention_learn"
CHANGED, NAMED = 5, 9  # a question to a network, not to a table; one that names its two runs
OWN = [1, 64, 990]
FIGURES = {"step", "right", "evenness", "sharpest", "distance_px", "nearest_px", "positions"}


@cache
def seen_at(step):
    """Of 60 test images after a step, from the weights."""
    loaded = vizkit.load(f"{bundled.RECORDED_FOLDER}@{step}")
    net = Plain(loaded.model)
    whole = open_set("digits", "test", size_px=32)
    right, even, entropy, far = [], [], [], []
    for rgb, target in whole.take(balanced_rows(whole.targets, 60)):
        with torch.no_grad():
            seen = net.run(pixels_of(loaded, rgb))
            even.append(float(int(net.run(pixels_of(loaded, rgb), "uniform:all").out[0].argmax()) == target))
        right.append(float(int(seen.out[0].argmax()) == target))
        weights = torch.stack(seen.weights)
        entropy.append(-(weights * weights.log()).sum(-1).mean(-1) / math.log(weights.shape[-1]))
        rows, columns = net.grid
        place = torch.tensor([(row, column) for row in range(rows) for column in range(columns)], dtype=torch.float)
        apart = torch.cdist(place, place) * net.patch
        inner = weights[..., net.special :, net.special :]
        far.append(((inner * apart).sum(-1) / inner.sum(-1)).mean(-1))
    heads, distances = torch.stack(entropy).mean(0), torch.stack(far).mean(0)
    unit = F.normalize(net.w["pos_embed"][0, net.special :], dim=-1)
    pairs = torch.triu_indices(len(unit), len(unit), 1)
    near = spearmanr((unit @ unit.T)[*pairs], -torch.cdist(place, place)[*pairs])[0]
    return {
        "step": step, "each": np.array(right), "right": np.mean(right), "even": np.mean(even), "positions": near,
        "evenness": float(heads.mean()), "sharpest": float(heads.min()),
        "distance_px": float(distances.mean()), "nearest_px": float(distances.min()),
    }  # fmt: skip


@cache
def on_object(step):
    """(median share of the relevance of the true class on the digit, what the digits cover)."""
    loaded = vizkit.load(f"{bundled.RECORDED_FOLDER}@{step}")
    whole, shares, areas = open_set("digits", "test", size_px=32), [], []
    for rgb, target in whole.take(balanced_rows(whole.targets, 60)):
        words = Words(Subject(lambda: loaded, rgb))
        heat = words.relevance(cls=loaded.labels[target])
        ink = seen_mask(rgb.mean(-1) > 127, loaded.preprocessing).float()  # cut as the pixels are
        covered = F.avg_pool2d(ink[None], words.plain()[0].patch)[0]
        shares.append(float((heat * covered).sum() / heat.sum()))
        areas.append(float(ink.mean()))
    return float(np.median(shares)), float(np.mean(areas))


def recorded():
    loaded = vizkit.load("bundled:digits_vit")
    return Subject(lambda: loaded, samples.picture("digit 3"), image="digit 3", model="ViT · digits")


def agree(of):
    for step in OWN:
        for what in FIGURES:
            expected = pytest.approx(seen_at(step)[what], rel=3e-3, abs=2e-3)
            assert VOCABULARY["learned"](of, what, step) == expected, (what, step)
    share, area = on_object(OWN[-1])
    assert VOCABULARY["learned"](of, "on_object") == pytest.approx(share, abs=4e-3)
    assert VOCABULARY["object_share"](of) == pytest.approx(area, abs=1e-4)
    last = seen_at(OWN[-1])
    assert VOCABULARY["right_with"](of) == pytest.approx(last["right"])
    assert VOCABULARY["right_with"](of, "uniform:all") == pytest.approx(last["even"])
    assert last["even"] < 0.5 * last["right"]


@pytest.mark.product
def test_numbers_of_the_recorded_run_are_those_of_plain_torch():
    of = recorded()
    assert VOCABULARY["run_name"](of) == bundled.RECORDED
    agree(of)


@pytest.mark.parametrize("number", [number for number, _ in opened(LESSON).questions if number not in (CHANGED, NAMED)])
def test_an_answer_is_another_one_of_another_run(number):
    """No number is typed: of the insects' run every question has another answer."""
    question, of = opened(LESSON).steps[number - 1].question, recorded()

    names = ("learned", "step_of", "images_forgotten", "images_asked")
    words = {name: partial(VOCABULARY[name], run="small ViT · insects") for name in names}
    here = [each.value(of) for each in question.expressions]
    with patch.dict(VOCABULARY, words):
        assert [each.value(of) for each in question.expressions] != here


@pytest.mark.parametrize(
    "word, given, sentence",
    [
        ("learned", {"what": "colour"}, "Nothing measured is called “colour”"),
        ("learned", {"what": "right", "run": "../mine"}, "none of the recorded runs"),
        ("learned", {"what": "right", "step": "now"}, "first, last or a number"),
    ],
)
def test_what_is_not_there_is_a_sentence(word, given, sentence):
    with pytest.raises(NotApplicable, match=sentence):
        VOCABULARY[word](recorded(), **given)


def test_the_tenth_lesson_stands_after_the_ninth():
    names = [*files()]
    assert names.index(LESSON) == 10
    assert names[0].startswith("0_")
