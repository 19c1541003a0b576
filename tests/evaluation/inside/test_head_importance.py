"""Heads of a model over pictures of a set, in batches, stopped and gone on; and what is no answer to lose."""

import math

import numpy as np
import pytest
import torch

import vizkit
from vizkit.analysis.attention.head_atlas import HeadAtlas, as_json, from_json, table
from vizkit.evaluation.inside import head_importance
from vizkit.evaluation.inside.head_behaviour import behaviours_of
from vizkit.evaluation.inside.head_importance import ABLATIONS, heads_of, means_of, places_of
from vizkit.evaluation.inside.head_pruning import pruned
from vizkit.models import trace
from vizkit.models.probes.importance.heads import Importance
from vizkit.traces import NotApplicable


class Enough(Exception):  # noqa: N818
    pass


def stop_at(limit: float):
    def tell(share: float) -> None:
        if share >= limit:
            raise Enough

    return tell


@pytest.fixture(autouse=True)
def few_references(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_importance, "REFERENCES", 8)


@pytest.mark.parametrize("ablation", ABLATIONS)
def test_batches_give_what_all_pictures_at_once_give(ablation, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, shares, parts = vizkit.load("bundled:digits_vit", device="cpu"), [], list[Importance]()
    whole = heads_of(loaded, "digits", 6, ablation=ablation, tell=shares.append)
    assert (shares[0], shares[-1]) == (0, 1)
    assert sorted(shares) == shares
    monkeypatch.setattr(head_importance, "BATCH", 4)
    with pytest.raises(Enough):
        heads_of(loaded, "digits", 6, ablation=ablation, tell=stop_at(0.7), parts=parts)
    assert [len(part.plain) for part in parts] == [4]
    again = heads_of(loaded, "digits", 6, ablation=ablation, parts=parts)
    assert again.images == whole.images == 6
    np.testing.assert_allclose(again.lost, whole.lost, atol=1e-5)
    np.testing.assert_allclose(again.estimate, whole.estimate, atol=1e-5)
    assert again.examples == whole.examples


def test_a_head_that_is_taken_away_gives_its_mean() -> None:
    loaded = vizkit.load("bundled:digits_swin", device="cpu")
    result = heads_of(loaded, "digits", 1)
    opened = head_importance.few_pictures(loaded, "digits", 1)
    references = head_importance.few_pictures(loaded, "digits", 8, "train")
    image, column = opened.images[0][0], 3
    layer, head = result.names[column]
    plain = trace(loaded, image).logits.log_softmax(-1)
    edited = trace(
        loaded,
        image,
        edits=[f"heads:{layer + 1}.{head + 1}=mean"],
        reference=[references.images[i][0] for i in range(8)],
    ).logits.log_softmax(-1)
    answer = int(plain.argmax())
    assert result.lost[column] == pytest.approx(float(plain[answer] - edited[answer]), abs=1e-4)
    assert len(means_of(loaded, "digits", places_of(loaded))) == 6


def test_behaviours_go_on_where_they_were_stopped() -> None:
    loaded, parts = vizkit.load("bundled:digits_vit", device="cpu"), list[torch.Tensor]()
    whole = behaviours_of(loaded, "digits", 3)
    with pytest.raises(Enough):
        behaviours_of(loaded, "digits", 3, tell=stop_at(0.5), parts=parts)
    assert len(parts) == 2
    assert behaviours_of(loaded, "digits", 3, parts=parts)["distance"] == whole["distance"]
    assert len(whole["entropy"]) == 24
    assert all(map(math.isnan, whole["registers"]))


def test_all_answers_stay_until_a_head_goes_and_orders_end_in_the_same_place() -> None:
    loaded, parts = vizkit.load("bundled:digits_vit", device="cpu"), []
    importance = heads_of(loaded, "digits", 4)
    with pytest.raises(Enough):
        pruned(loaded, "digits", 8, importance, tell=stop_at(0.3), parts=parts)
    assert parts
    result = pruned(loaded, "digits", 8, importance, parts=parts)
    curves = [curve for order in result.own.values() for curve in order]
    assert len(curves) == 5
    assert {curve[0] for curve in curves} == {1.0}
    assert len({curve[-1] for curve in curves}) == 1
    assert result.right["measured"][0][0] >= 0.75
    assert (result.counts[0], result.counts[-1]) == (0, 24)
    atlas = HeadAtlas(
        importance.names, "digits", 4, behaviours_of(loaded, "digits", 1), {"mean": importance}, {"mean": result}
    )
    again = from_json(as_json(atlas, model="bundled:digits_vit"))
    assert again.pruning == atlas.pruning
    assert again.importance["mean"].examples == importance.examples
    assert [*table(again)][:4] == ["layer", "head", "mean lost", "mean half"]
    assert "registers" not in table(again)  # there are none
    np.testing.assert_allclose(table(again)["entropy"], table(atlas)["entropy"], rtol=1e-5)


@pytest.mark.parametrize(("name", "words"), [("bundled:digits_cnn", "no attention layers")])
def test_a_model_without_heads_gets_a_sentence(name: str, words: str) -> None:
    with pytest.raises(NotApplicable, match=words):
        heads_of(vizkit.load(name, device="cpu"), "digits", 2)
