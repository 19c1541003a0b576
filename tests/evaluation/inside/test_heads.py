"""Heads of a model over pictures of a set, in batches, stopped and gone on; and what is no answer to lose."""

import math

import numpy as np
import pyarrow
import pytest
from numpy.testing import assert_allclose

import vizkit
from vizkit.analysis.attention.head_atlas import HeadAtlas, as_json, from_json, table
from vizkit.evaluation.inside import heads
from vizkit.models import families, trace
from vizkit.traces import NotApplicable


class Enough(Exception):  # noqa: N818
    pass


def stop_at(limit):
    def tell(done, *_):
        if done >= limit:
            raise Enough

    return tell


@pytest.fixture(autouse=True)
def few_references(monkeypatch):
    monkeypatch.setattr(heads, "REFERENCES", 8)


def filled(kept):
    kept.fill()
    return kept.every()


def order_of(loaded, images, **options):
    return heads.summed(
        filled(heads.importance(loaded, "digits", images, **options)), heads.names_of(heads.places_of(loaded))
    )


@pytest.mark.product
@pytest.mark.parametrize("ablation", ["mean", "zero"])
def test_batches_give_what_all_pictures_at_once_give(ablation, monkeypatch):
    loaded, told = vizkit.load("bundled:digits_vit"), []
    kept = heads.importance(loaded, "digits", 6, ablation)
    kept.fill(tell=lambda done, total, _: told.append((done, total)))
    assert (told[0], told[-1]) == ((0, 6), (6, 6))
    assert kept.fill() is None  # nothing is missing
    whole = order_of(loaded, 6, ablation=ablation)
    monkeypatch.setattr(heads, "BATCH", 4)
    kept = heads.importance(loaded, "digits", 6, ablation)
    with pytest.raises(Enough):
        kept.fill(tell=stop_at(4))
    assert kept.done == 4
    again = order_of(loaded, 6, ablation=ablation)
    assert again.images == whole.images == 6
    assert_allclose(again.lost, whole.lost, atol=1e-5)
    assert_allclose(again.estimate, whole.estimate, atol=1e-5)
    assert again.examples == whole.examples


@pytest.mark.rest
def test_a_head_that_is_taken_away_gives_its_mean():
    loaded = vizkit.load("bundled:digits_swin")
    result = order_of(loaded, 1)
    opened = heads.few_pictures(loaded, "digits", 1)
    references = heads.few_pictures(loaded, "digits", 8, "train")
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
    assert len(heads.means_of(loaded, "digits", heads.places_of(loaded))) == 6


@pytest.mark.parametrize("name", ["digits_vit", "digits_swin"])
def test_behaviours_of_many_pictures_are_those_of_each(name):
    loaded = vizkit.load(f"bundled:{name}")
    rows, few = filled(heads.behaviours(loaded, "digits", 3)), heads.few_pictures(loaded, "digits", 3)
    for at, row in enumerate(rows.to_pylist()):
        pixels = few.pixels(range(at, at + 1))
        alone = heads.behaviours_of(families.trace(loaded, pixels), pixels[0])
        together = np.array([row[each] for each in heads.BEHAVIOURS])
        assert_allclose(together, alone.numpy(), atol=2e-5, equal_nan=True)
    mean = heads.means(rows)
    assert len(mean["entropy"]) == len(heads.names_of(heads.places_of(loaded)))
    assert all(map(math.isnan, mean["registers"]))


def test_pictures_that_cannot_be_read_are_left_out_and_keep_their_numbers():
    of = {name: [[0.1, 3.0], None, [0.2, 1.0]] for name in heads.IMPORTANCE}
    rows = pyarrow.table({"error": [None, "cut off", None], **of})
    found = heads.summed(rows, ((0, 0), (0, 1)))
    assert found.lost == pytest.approx((0.15, 2.0))
    assert found.examples == ((2, 0), (0, 2))


@pytest.mark.rest
def test_all_answers_stay_until_a_head_goes_and_orders_end_in_the_same_place():
    loaded = vizkit.load("bundled:digits_vit")
    order = order_of(loaded, 4)
    result = heads.pruned(filled(heads.without(loaded, "digits", 8, order)), order)
    curves = [curve for lists in result.own.values() for curve in lists]
    assert len(curves) == 5
    assert {curve[0] for curve in curves} == {1.0}
    assert len({curve[-1] for curve in curves}) == 1
    assert result.right["measured"][0][0] >= 0.75
    assert (result.counts[0], result.counts[-1]) == (0, 24)
    behaviours = heads.means(filled(heads.behaviours(loaded, "digits", 1)))
    atlas = HeadAtlas(order.names, "digits", 4, behaviours, {"mean": order}, {"mean": result})
    again = from_json(as_json(atlas, model="bundled:digits_vit"))
    assert again.pruning == atlas.pruning
    assert again.importance["mean"].examples == order.examples
    assert [*table(again)][:4] == ["layer", "head", "mean lost", "mean half"]
    assert "registers" not in table(again)  # there are none
    assert_allclose(table(again)["entropy"], table(atlas)["entropy"], rtol=1e-5)


def test_shares_by_hand():
    """Two pictures, two heads (0, 1 or 2 go): the first is right until a head goes, nobody knows of the second."""
    order = heads.summed_up(((0, 0), (0, 1)), *(np.array([[0.1, 0.2]]),) * 3)
    steps = [1, 2, 2] * 5
    rows = pyarrow.table(
        {"error": [None, None], "truth": [1, None], "answer": [1, 0], "without": [steps, [0] * len(steps)]}
    )
    result = heads.pruned(rows, order)
    assert result.counts == (0, 1, 2)
    assert result.own["measured"] == ((1.0, 0.5, 0.5),)
    assert result.right["random"] == ((1.0, 0.0, 0.0),) * 3
    unknown = rows.set_column(1, "truth", pyarrow.array([None, None], pyarrow.int32()))
    assert heads.pruned(unknown, order).right == {}


@pytest.mark.parametrize("name, words", [("bundled:digits_cnn", "no attention layers")])
def test_a_model_without_heads_gets_a_sentence(name, words):
    with pytest.raises(NotApplicable, match=words):
        heads.importance(vizkit.load(name), "digits", 2).fill()
