"""Heads of a model over pictures of a set; and what is no answer to lose."""

import numpy as np
import pytest

import vizkit
from vizkit.evaluation.inside import head_importance
from vizkit.evaluation.inside.head_importance import heads_of
from vizkit.traces import NotApplicable


def test_batches_give_what_all_pictures_at_once_give(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, shares = vizkit.load("bundled:digits_vit", device="cpu"), []
    whole = heads_of(loaded, "digits", 6, tell=shares.append)
    assert (shares[0], shares[-1]) == (0, 1)
    assert sorted(shares) == shares
    monkeypatch.setattr(head_importance, "BATCH", 4)
    parts = heads_of(loaded, "digits", 6)
    assert parts.images == whole.images == 6
    np.testing.assert_allclose(parts.lost, whole.lost, atol=1e-5)
    np.testing.assert_allclose(parts.estimate, whole.estimate, atol=1e-5)


@pytest.mark.parametrize(("name", "words"), [("bundled:digits_cnn", "no attention layers")])
def test_a_model_without_heads_gets_a_sentence(name: str, words: str) -> None:
    with pytest.raises(NotApplicable, match=words):
        heads_of(vizkit.load(name, device="cpu"), "digits", 2)
