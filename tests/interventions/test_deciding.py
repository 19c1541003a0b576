"""Deciding parts: as many pixels are erased in both, where they should be; means and intervals by hand."""

import numpy as np
import pytest

import vizkit
from vizkit.__main__ import main
from vizkit.datasets import insects
from vizkit.interventions.deciding import Deciding, deciding_parts, erased_pair
from vizkit.traces import NotApplicable


@pytest.mark.parametrize("index", range(12))
def test_as_many_pixels_of_both_kinds_are_erased_and_no_others(index):
    sample = insects.draw(index, split="test", size_px=112)
    pair = erased_pair(sample)
    named = np.isin(
        sample.parts, [1 + insects.PARTS.index(part) for part in insects.DECIDING[insects.LABELS[sample.label]]]
    )
    assert pair.deciding.sum() == pair.others.sum() == min(named.sum(), (sample.insect & ~named).sum())
    assert not (pair.deciding & ~named).any()
    assert not (pair.others & (named | ~sample.insect)).any()
    for picture, mask in ((pair.without_deciding, pair.deciding), (pair.without_others, pair.others)):
        assert np.array_equal(picture[~mask], sample.picture[~mask])
        assert len(np.unique(picture[mask], axis=0)) == 1


def test_means_and_intervals_by_hand():
    result = Deciding((0, 0, 1), (3.0, 1.0, 2.0), (1.0, 1.0, 4.0), 0)
    assert result.mean("deciding") == pytest.approx((2.0, 1.96 / np.sqrt(3)))
    assert result.mean("difference")[0] == pytest.approx(0.0)
    assert result.mean("difference", 0) == pytest.approx((1.0, 1.96 * np.sqrt(2) / np.sqrt(2)))
    assert result.larger == pytest.approx(1 / 3)


def test_a_model_loses_what_its_logits_lose():
    loaded = vizkit.load("bundled:insects_cnn")
    result = deciding_parts(loaded, 3)
    sample = insects.draw(1, split="test", seed=5, size_px=max(loaded.preprocessing.size_hw))
    pair = erased_pair(sample, 1)
    plain, without = (vizkit.models.trace(loaded, rgb).logits[sample.label] for rgb in (sample.picture, pair[0]))
    assert result.deciding[1] == pytest.approx(float(plain - without), abs=1e-4)


def test_a_model_of_other_classes_is_refused(capsys):
    with pytest.raises(NotApplicable, match="does not know the drawn insects"):
        deciding_parts(vizkit.load("bundled:digits_vit"), 2)
    assert main(["deciding", "bundled:insects_cnn", "--images", "2"]) == 0
    assert "2 drawings" in capsys.readouterr().out
