"""Positions: an order that is changed by hand, and what each kind of positions knows."""

from functools import partial

import numpy as np
import pytest
import torch

import vizkit
from tests.views.contract import model, subject
from vizkit.analysis.attention.positions import similarity_to
from vizkit.datasets import samples
from vizkit.figure.palette import CLASSES
from vizkit.figure.scales import SHARES
from vizkit.models.probes.positions import relative_bias
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Bars, Canvas, Chart, Map, Numbers, Said
from vizkit.views.positions.shuffle import Shuffle, most_alike
from vizkit.views.positions.similarity import PositionSimilarity, offered
from vizkit.views.rows_of import of_others, similarity_for_browser
from vizkit.views.settled import flat, settled
from vizkit.views.subject import Subject


def shown(view, of):
    return list(flat(settled(view.show(of))))


def only(kind, blocks):
    return [block for block in blocks if isinstance(block, kind)]


def beside(*names):
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
        "when 2 patches stand at other places."
        in vizkit.show("shuffle", model("digits_vit"), of.rgb, share=0, swaps="1-20").said
    )


def test_of_a_known_picture_the_answer_without_positions_is_judged():
    of = subject("digits_vit")
    known, unknown = Subject(lambda: of.loaded, of.rgb, image="digit 3"), Subject(lambda: of.loaded, of.rgb)
    said, silent = (only(Said, shown(Shuffle(), each))[0].text for each in (known, unknown))
    answer = of.loaded.label(int(Shuffle().both(of)[False].in_order.argmax()))
    assert f"“{answer}” (" in said
    assert f"{'right' if answer == '3' else 'wrong'} both times" in said
    assert "both times" not in silent


def test_a_likeness_stands_beside_that_of_the_most_similar_other_photograph():
    loaded = vizkit.load("bundled:photographs_vit")
    of = Subject(lambda: loaded, samples.picture("cat"), image="cat")
    other, alike = most_alike(of)
    assert (other, alike) == ("flower", pytest.approx(0.658, abs=0.01))
    blocks = shown(Shuffle(), of)
    with_positions, without = only(Bars, blocks)
    assert with_positions.bars.values[-1] == alike
    assert len(without.bars.values) == 1
    assert "in both orders: the model cannot tell them apart." in only(Said, blocks)[0].text
    assert "The most similar of the other photographs, flower, has 0.658." in only(Said, blocks)[0].text


def test_a_class_has_one_colour_on_the_cards_of_all_models(monkeypatch):
    """Also where there are more classes than colours: then both cards share them out together."""

    def colours():
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


# ---- What positions know --------------------------------------------------------------------------------------------
def test_the_sentence_of_the_map_follows_the_pointer():
    of = subject("digits_vit")
    (over,) = only(Map, shown(PositionSimilarity(), of))
    assert {*over.said_by} == set(range(64))
    assert over.said == over.said_by[over.rows.query_id(of.asked)]
    assert len({*over.said_by.values()}) > 20


def test_each_model_opens_on_its_own_kind():
    """A learned table of the ViT, of the Swin the bias, as shares of the weight within a window."""
    vit, swin = subject("digits_vit"), subject("digits_swin")
    assert PositionSimilarity().title(vit) == "Similarity of positions: learned"
    assert PositionSimilarity().title(swin) == "Similarity of positions: relative, of layer 1"
    (over,) = only(Map, shown(PositionSimilarity(), swin))
    (row, _) = over.rows.row_of(over.rows.query_id(swin.asked))
    assert row.sum() == pytest.approx(1, abs=1e-5)  # all of the weight, within its window
    assert (row > 0).sum() == 16
    assert over.rows.scale == SHARES
    saved = only(Numbers, shown(PositionSimilarity(), swin))[0].arrays()
    bias = relative_bias(swin.loaded, 0).bias
    assert saved["mean"][0] == pytest.approx(float(bias.softmax(-1).mean(0).diagonal().mean()))


def test_the_cosines_of_all_cards_have_one_scale():
    of, other = beside("digits_vit", "digits_swin")
    maps = [only(Map, shown(PositionSimilarity(kind="sinusoids"), card))[0] for card in (of, other)]
    (scale,) = {each.rows.scale for each in maps}
    values = np.concatenate([of_others(each.rows.values, None).ravel() for each in maps])
    assert (scale.low, scale.top) == pytest.approx(np.percentile(values, (1, 99)).tolist(), rel=1e-5)
    assert values.max() < 1


def test_a_kind_that_a_model_does_not_have_is_no_other_kind():
    swin = subject("digits_swin")
    assert offered([swin]) == ["own", "sinusoids", "one row", "rotary", "relative"]
    with pytest.raises(NotApplicable, match=r"has no learned positions. Its own: relative, of layer 1."):
        shown(PositionSimilarity(kind="learned"), swin)


def test_the_chosen_curve_stands_beside_those_of_the_other_kinds():
    (chart,) = only(Chart, shown(PositionSimilarity(kind="one row"), subject("digits_vit")))
    names = [trace.name for trace in chart.figure.data]
    assert names == ["learned", "sinusoidal", "sinusoidal, in one row", "rotary"]
    assert [trace.opacity for trace in chart.figure.data] == [0.45, 0.45, 1, 0.45]
    (other,) = only(Chart, shown(PositionSimilarity(kind="sinusoids"), subject("digits_vit")))
    colours = [{trace.name: trace.line.color for trace in each.figure.data} for each in (chart, other)]
    assert colours[0] == colours[1]
    (alone,) = only(Chart, shown(PositionSimilarity(), subject("digits_swin")))
    assert [trace.name for trace in alone.figure.data] == ["relative, of layer 1"]


def test_another_grid_is_resampled():
    of = subject("digits_vit")
    own, double = (shown(PositionSimilarity(grid=grid), of) for grid in ("own", "double"))
    assert [only(Map, blocks)[0].rows.query_grid for blocks in (own, double)] == [(8, 8), (16, 16)]
    tables = [only(Numbers, blocks)[0].arrays()["table"] for blocks in (own, double)]
    assert [table.shape[:2] for table in tables] == [(8, 8), (16, 16)]
    for blocks, farthest in ((own, 10), (double, 21)):  # 7 · √2 and 15 · √2 steps: all curves are of the one grid
        (chart,) = only(Chart, blocks)
        assert {float(trace.x[-1]) for trace in chart.figure.data} == {farthest}


def test_of_very_many_places_the_curve_is_that_of_the_chosen_one(monkeypatch):
    of = subject("digits_vit")
    monkeypatch.setattr(
        "vizkit.views.positions.similarity.similarity_for_browser", partial(similarity_for_browser, most=100)
    )
    saved = only(Numbers, shown(PositionSimilarity(), of))[0].arrays()
    table = torch.from_numpy(saved["table"])
    near = similarity_to(table.flatten(0, 1), 4 * 8 + 4).view(8, 8)
    assert saved["mean"][0] == pytest.approx(1)
    assert saved["mean"][1] == pytest.approx(float((near[3:6, 3:6].sum() - near[4, 4]) / 8), abs=1e-5)
