"""Positions: an order that is changed by hand, colours and scales that hold over the cards, and what a click reads."""

import base64
from dataclasses import replace

import numpy as np
import pytest
import torch

import vizkit
from tests.views.contract import model, subject
from vizkit.figure.palette import CLASSES
from vizkit.figure.scales import SHARES
from vizkit.models.probes.positions import relative_bias
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Bars, Block, Canvas, Chart, Map, Numbers, Picture, Said
from vizkit.views.positions.kinds import Kinds, offered
from vizkit.views.positions.learned import Learned
from vizkit.views.positions.relative import Relative, most_heads, most_places
from vizkit.views.positions.shuffle import Shuffle
from vizkit.views.positions.sinusoids import Sinusoids
from vizkit.views.rows_of import of_others
from vizkit.views.settled import flat, settled
from vizkit.views.subject import Subject
from vizkit.views.view import View


def shown(view: View, of: Subject) -> list[Block]:
    return list(flat(settled(view.show(of))))


def only(kind: type, blocks: list[Block]) -> list:
    return [block for block in blocks if isinstance(block, kind)]


def beside(*names: str) -> list[Subject]:
    every = [subject(name) for name in names]
    for each in every:
        each.beside = tuple(other for other in every if other is not each)
    return every


# ---- Shuffle --------------------------------------------------------------------------------------------------------
def test_places_are_counted_from_1_and_their_order_is_saved():
    of = subject("digits_vit")
    saved = only(Numbers, shown(Shuffle(share=0, swaps="1-20 64-2"), of))[0].arrays()
    expected = list(range(64))
    expected[0], expected[19], expected[63], expected[1] = 19, 0, 1, 63
    assert saved["order"].tolist() == expected
    none = only(Numbers, shown(Shuffle(share=0, swaps="0-5 65-1 x"), of))[0].arrays()
    assert none["order"].tolist() == list(range(64)), "places that are not there change nothing"


def test_the_canvas_begins_where_a_shuffled_order_is_and_says_how_many_were_moved_by_hand():
    of = subject("digits_vit")
    (canvas,) = only(Canvas, shown(Shuffle(share=0, swaps="1-20"), of))
    assert canvas.data["order"] == list(range(64))
    assert (
        "With 2 patches at other places, the answer"
        in vizkit.show("shuffle", model("digits_vit"), of.rgb, share=0, swaps="1-20").said
    )


def test_a_class_has_one_colour_on_the_cards_of_all_models(monkeypatch: pytest.MonkeyPatch):
    """Also where there are more classes than colours: then both cards share them out together."""

    def colours() -> list[dict[str, str]]:
        cards = [only(Bars, shown(Shuffle(), of)) for of in beside("digits_vit", "digits_swin")]
        return [
            {name: tint for b in card for name, tint in zip(b.bars.names, b.bars.colours, strict=True)}
            for card in cards
        ]

    assert all(tint == CLASSES[int(name)] for card in colours() for name, tint in card.items())
    monkeypatch.setattr("vizkit.figure.palette.CLASSES", CLASSES[:9])
    vit, swin = colours()
    assert vit.keys() & swin.keys()
    assert all(vit[name] == swin[name] for name in vit.keys() & swin.keys())
    every = vit | swin
    assert len({*every.values()}) == len(every)


# ---- Kinds ----------------------------------------------------------------------------------------------------------
def test_the_sentence_of_every_kind_follows_the_pointer():
    of = subject("digits_vit")
    maps = only(Map, shown(Kinds(), of))
    assert len(maps) == 4
    for each in maps:
        assert {*each.said_by} == set(range(64))
        assert each.said == each.said_by[each.rows.query_id(of.asked)]
    assert len({*maps[0].said_by.values()}) > 20


def test_all_cosines_of_all_cards_have_one_scale():
    of, other = beside("digits_vit", "digits_swin")
    scales = {each.rows.scale for card in (of, other) for each in only(Map, shown(Kinds(), card)) if each.rows.bounds}
    (scale,) = scales
    every = [only(Map, shown(Kinds(), card)) for card in (of, other)]
    maps = [of_others(each.rows.values, None) for maps in every for each in maps if each.rows.bounds]
    values = np.concatenate([each.ravel() for each in maps])
    assert (scale.low, scale.top) == pytest.approx(np.percentile(values, (1, 99)).tolist(), rel=1e-5)
    assert values.max() < 1


def test_the_share_of_a_bias_is_on_no_scale_of_cosines():
    maps = only(Map, shown(Kinds(), subject("digits_swin")))
    assert [each.rows.scale == SHARES for each in maps] == [True, False, False, False]


def test_a_kind_that_a_model_does_not_have_is_no_other_kind():
    swin = subject("digits_swin")
    assert offered([swin]) == ["all", "sinusoids", "one row", "rotary", "relative"]
    with pytest.raises(NotApplicable, match=r"has no learned positions. Its own: relative, of layer 1."):
        shown(Kinds(kind="learned"), swin)
    (over,) = only(Map, shown(Kinds(kind="relative"), swin))
    (row, _) = over.rows.row_of(over.rows.query_id(swin.asked))
    assert row.sum() == pytest.approx(1, abs=1e-5)  # all of the weight, within its window
    assert (row > 0).sum() == 16


# ---- Learned and Sinusoids ------------------------------------------------------------------------------------------
def test_another_grid_is_seen_beside_the_learned_one():
    of = subject("digits_vit")
    own, double = (shown(Learned(grid=grid), of) for grid in ("own", "double"))  # pyright: ignore[reportArgumentType]
    assert [only(Map, blocks)[0].rows.query_grid for blocks in (own, double)] == [(8, 8), (16, 16)]
    assert only(Picture, double)[0].rgb.shape[1] > 1.9 * only(Picture, own)[0].rgb.shape[1]
    names = [[line.name for line in only(Chart, blocks)[0].figure.data] for blocks in (own, double)]
    assert names == [["learned positions", "sinusoids"], ["learned positions", "sinusoids", "resampled ones"]]
    ends = [line.x[-1] for line in only(Chart, double)[0].figure.data]
    assert ends == pytest.approx([10, 10, 10.5])  # 15 × 2^½ of half a step are 10.6 of the learned grid's


def test_the_two_ways_to_count_have_one_scale():
    charts = only(Chart, shown(Sinusoids(count="64", position=12), subject("digits_vit")))
    assert len(charts) == 5
    one, two = (chart.figure.data[0] for chart in charts[1:3])
    assert (one.zmin, one.zmax) == (two.zmin, two.zmax) == (0, 1)
    assert (one.z[1][3], two.z[1][3]) == pytest.approx((1, 1)), (
        "position 12 of 8 × 8: the second row, the fourth column"
    )


# ---- Relative -------------------------------------------------------------------------------------------------------
def test_every_head_has_a_small_table_that_makes_it_the_large_one():
    of = subject("digits_swin")
    bias = relative_bias(of.loaded, 0)
    (canvas,) = only(Canvas, shown(Relative(head=2), of))
    values = np.frombuffer(base64.b64decode(canvas.data["values"]), "<f4")
    torch.testing.assert_close(torch.from_numpy(values.copy()), bias.by_offset.flatten())
    assert (canvas.data["head"], canvas.data["heads"]) == (1, len(bias.bias))
    rule, field = canvas.tells["head"]
    assert (rule(1), field) == (1, "head")
    query, key = canvas.data["pair"]
    assert bias.bias[1, query, key] == bias.bias[1, query].max(), "the key that gains most, of the middle query"


def test_the_sentence_names_the_head_and_both_offsets(monkeypatch: pytest.MonkeyPatch):
    """Most one row below and two columns left of the query, least at its own place."""
    of = subject("digits_swin")
    bias = relative_bias(of.loaded, 0)
    by_offset = torch.zeros_like(bias.by_offset)
    by_offset[1, 3 - 1, 3 + 2], by_offset[1, 3, 3] = 2.0, -1.0  # for a query that lies there from its key
    monkeypatch.setattr("vizkit.views.positions.relative.relative_bias", lambda *_: replace(bias, by_offset=by_offset))
    (said,) = only(Said, shown(Relative(head=2), of))
    assert said.text.startswith(
        "In head 2 the bias alone gives a key 1 row below and 2 columns left of the query 20.1 times the weight of one "
        "at the query's own place."
    )


def test_a_model_that_rotates_has_the_same_canvas(monkeypatch: pytest.MonkeyPatch):
    turned = torch.linspace(-1, 1, 2 * 15 * 15).view(2, 15, 15)
    monkeypatch.setattr("vizkit.views.positions.relative.kind", lambda loaded: ("rotary",))
    monkeypatch.setattr("vizkit.views.positions.relative.rope_similarity", lambda loaded: turned)
    of = subject("digits_vit")
    view = Relative(head=2, query=64, key=1)
    (canvas,) = only(Canvas, shown(view, of))
    assert canvas.data["window"] == (8, 8)
    assert canvas.data["pair"] == (63, 0)
    assert canvas.data["does"] == "is what is left of a product of equal vectors"
    assert canvas.tells["pair"][0]([64, 64]) == (64, 64)
    assert (most_heads([of]), most_places([of])) == (2, 64), "so a click there is a setting"
