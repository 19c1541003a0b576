"""The sentences about positions, on both sides of every threshold."""

import pytest
import torch

from vizkit.analysis.attention.positions import by_distance
from vizkit.analysis.remarks import positions
from vizkit.analysis.remarks.positions import Answers
from vizkit.analysis.remarks.remark import counted, joined, of_all, percent

LABELS = ("ant", "bee")
STAYS, NEARLY, FLIPS = ([4.0, 1.0], [4.0, 1.0]), ([4.0, 1.0], [4.0, 1.5]), ([4.0, 1.0], [1.0, 2.0])


def test_how_positions_fade():
    near = torch.tensor([[1.0, 0.6, 0.0], [0.6, 1.0, 0.8], [0.0, 0.8, 1.0]])
    rising = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    fell, rose, alone = (
        positions.fading(by_distance(cosines, (len(cosines),))) for cosines in (near, rising, torch.ones(1, 1))
    )
    assert fell == "With the distance the mean cosine falls from 0.70 to 0.00."
    assert rose == "With the distance the mean cosine does not fall, but goes from 0.00 to 1.00."
    assert alone is None
    assert positions.fading(by_distance(near, (3,)), shares=True) == (
        "The bias by itself gives a neighbour 70 % of the weight and the farthest place 0 %, in the mean of all "
        "queries and heads."
    )
    flat = positions.fading(by_distance(rising, (3,)), shares=True)
    assert flat.endswith("in the mean of all queries and heads: it does not favour near ones.")


def named(logits):
    return f"“{LABELS[int(logits.argmax())]}”"


def answers(pair):
    return Answers(*map(torch.tensor, pair))


@pytest.mark.parametrize(
    "own, without, words",
    [
        (
            FLIPS,
            STAYS,
            "Without positions both orders give the same outputs, “ant”, right both times: the model cannot tell them "
            "apart. With its positions the answer changes from “ant” to “bee” when the patches are shuffled.",
        ),
        (
            STAYS,
            NEARLY,
            "Without positions the outputs change too, but the answer stays “ant”, for other parts of the model tell "
            "the order. With its positions the answer stays “ant”, then “ant”, when the patches are shuffled.",
        ),
        (
            FLIPS,
            FLIPS,
            "Without positions the answer changes too, from “ant” to “bee”, for other parts of the model tell the "
            "order. With its positions the answer changes from “ant” to “bee” when the patches are shuffled.",
        ),
    ],
)
def test_one_picture(own, without, words):
    said = positions.shuffled(answers(own), answers(without), named, "ant")
    assert said == words
    judged = "right both times"
    assert positions.shuffled(answers(own), answers(without), named, "bee") == words.replace(judged, "wrong both times")
    assert positions.shuffled(answers(own), answers(without), named) == words.replace(f", {judged}", "")


def test_an_answer_that_is_a_value():
    assert positions.shuffled_value("likeness", ("1.000", "0.949"), ("0.933", "0.933")) == (
        "Without positions the likeness is 0.933 in both orders: the model cannot tell them apart. With its "
        "positions it goes from 1.000 to 0.949 when the patches are shuffled."
    )
    assert "changes too, from 0.933 to 0.921" in positions.shuffled_value("likeness", ("1", "0"), ("0.933", "0.921"))


def test_what_rounding_changes_is_no_change():
    """0.001 of the largest output, 4, is 0.004."""
    assert answers(([4.0, 1.0], [4.0, 1.0039])).change < positions.SAME < answers(([4.0, 1.0], [4.0, 1.0041])).change


def test_several_pictures():
    own, without = [answers(FLIPS)] * 2 + [answers(STAYS)], [answers(STAYS)] * 3
    said = positions.over_pictures(own, without)
    assert said == (
        "With its positions the answer changes on 2 of 3 images when the patches are shuffled, "
        "without positions on none of 3 images."
    )
    assert positions.over_pictures(own[:1], without[:1]) is None


def of_rows(part):
    """3 × 3 places; the first numbers stand for the row, `part` of their length, the rest for the place alone."""
    row, place = torch.eye(3).repeat_interleave(3, 0), torch.eye(9)
    return torch.cat([row * part**0.5, place * (1 - part) ** 0.5], 1).view(3, 3, 12)


def test_rows_that_were_learned():
    """Two places of one row have cosine `part`, all others 0; so of 0.1 on it is worth a sentence."""
    said = positions.cross(of_rows(0.12))
    assert said == "Places of the same row have similar positions: mean cosine 0.12, of all other pairs 0.00."
    assert positions.cross(of_rows(0.08)) is None
    assert positions.cross(torch.ones(2, 2, 4)) is None


def bias_of(near):
    """Two heads, 5 × 5 offsets: `near` up to one step, 0 beyond; the second head is flat."""
    values = torch.zeros(2, 5, 5)
    values[0, 1:4, 1:4] = near
    return values


def test_a_bias_that_favours_neighbours():
    """e^0.6931 = 2."""
    said = positions.bias(bias_of(0.6931))
    assert said == (
        "The bias favours neighbours of the query in 1 of 2 heads, most in head 1: by itself 2.0 "
        "times the weight of farther keys."
    )
    assert positions.bias(bias_of(0.49)) is None
    away = positions.bias(bias_of(-0.6))
    assert away == "The bias favours keys away from the query in 1 of 2 heads."
    assert positions.bias(torch.ones(1, 3, 3)) is None  # everything is a neighbour


def test_saturation():
    at_ends = torch.tensor([0.0, 16.0, 16.0, 8.0]).view(1, 2, 2)
    said = positions.saturation(at_ends)
    assert said == "50 % of the entries are near 16, an end of the range of 16·sigmoid."
    assert positions.saturation(torch.tensor([16.0, 8.0, 8.0, 8.0]).view(1, 2, 2)) is None


def test_words_for_numbers():
    shares = {-1e-8: "0 %", 0.0: "0 %", 0.001: "less than 1 %", 0.33: "33 %", 0.996: "more than 99 %", 1.0: "100 %"}
    assert {share: percent(share) for share in shares} == shares
    assert [counted(n, "image") for n in (0, 1, 1200)] == ["0 images", "1 image", "1,200 images"]
    assert [of_all(n, 3, "head") for n in (0, 1, 3)] == ["none of 3 heads", "1 of 3 heads", "all 3 heads"]
    assert [of_all(n, 2, "head") for n in (1, 2)] == ["1 of 2 heads", "both heads"]
    assert of_all(1, 1, "head") == "the only head"
    assert [joined(list(names)) for names in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]


def test_rows_and_columns_that_were_learned():
    """Of length 1: √.3 for the row, √.3 for the column, √.4 for the place alone; then rows at 120° to one another."""
    first, place = torch.eye(3).repeat_interleave(3, 0), torch.eye(9)
    second = torch.eye(3).repeat(3, 1)
    said = positions.cross(torch.cat([0.3**0.5 * first, 0.3**0.5 * second, 0.4**0.5 * place], 1).view(3, 3, 15))
    assert said == (
        "Places of the same row or same column have similar positions: mean cosine 0.30, of all other pairs 0.00."
    )
    angle = torch.arange(3) * 2 * torch.pi / 3
    said = positions.cross(torch.stack([angle.cos(), angle.sin()], -1)[:, None].expand(3, 3, 2))
    assert said == "Places of the same row have similar positions: mean cosine 1.00, of all other pairs −0.50."


def test_what_all_places_have_in_common_makes_no_row():
    """Cosine .35 in a row, .3 elsewhere."""
    common = torch.ones(3, 3, 1) * 0.3**0.5
    row = torch.eye(3)[:, None].expand(3, 3, 3) * 0.05**0.5
    table = torch.cat([common, row, torch.eye(9).view(3, 3, 9) * 0.65**0.5], -1)
    assert positions.cross(table) is None
    assert positions.cross(torch.cat([table[:, :2], table[:, :2]], -1)) is None  # two columns are too few


def test_a_bias_of_both_signs_and_at_the_threshold():
    """Far keys at −0.6931 stand beside near ones at 0 as far ones at 0 beside 0.6931."""
    said = positions.bias(bias_of(0.6931) - 0.6931)
    assert said.endswith("in 1 of 2 heads, most in head 1: by itself 2.0 times the weight of farther keys.")
    assert positions.bias(bias_of(0.5))
    assert positions.bias(bias_of(-0.5))
    wide = torch.zeros(1, 3, 7)
    wide[..., 2:5] = 1.0  # three rows of offsets, all within a step; of the columns the middle three
    assert "in the only head" in str(positions.bias(wide))


def test_ends_of_a_range():
    said = positions.saturation(torch.tensor([15.3, 15.2, 0.7, 0.8]).view(1, 2, 2))
    assert said
    said = positions.saturation(torch.tensor([0.0, 0.0, 15.0, 1.0]).view(1, 2, 2))
    assert said.startswith("50 % of the entries are near 0,")


def test_two_pictures_and_small_outputs():
    said = positions.over_pictures([answers(FLIPS)] * 2, [answers(STAYS)] * 2)
    assert said.startswith("With its positions the answer changes on both images when")
    assert answers(([0.25, 0.0], [0.25, 0.125])).change == 0.125  # of 1, not of 0.25


def test_neighbours_and_the_farthest_place():
    """Of the middle of 3 × 4: left and right 2 and 3, above and below 1 and 4, of two corners as far away the first."""
    near = torch.tensor([[0.0, 1.0, 0.0, -0.25], [2.0, 9.0, 3.0, 0.0], [0.0, 4.0, 0.0, -0.5]])
    said = positions.told_apart(near, (1, 1))
    assert said == (
        "Neighbours in its row have a cosine of 2.50 with it, in its column 2.50, the farthest place −0.25."
    )
    shares = positions.told_apart(near.abs() / 100, (0, 0), shares=True)
    assert shares == ("Row 2, column 2 gets most, 9 % of the weight; each neighbour in its row 1 %, in its column 2 %.")
    assert positions.told_apart(near[:1], (0, 1)) is None


def test_where_a_bias_is_strongest():
    """3 × 5 offsets, the query in the middle: e^2 from 1 up and 2 to the right to the query itself."""
    around = torch.zeros(2, 3, 5)
    around[1, 0, 4], around[1, 1, 2] = 1.5, -0.5
    said = positions.range_of(around, 1)
    assert said == (
        "In head 2 the bias alone gives a key 1 row above and 2 columns right of the query 7.4 times the weight of one "
        "at the query's own place."
    )
    around[1, 2, 2] = 9.0
    assert "a key 1 row below the query over 1,000 times" in positions.range_of(around, 1)
    assert positions.range_of(around, 0) == "In head 1 the bias is the same at every offset."


def test_what_else_tells_the_order_is_said():
    moved = "2 patches stand at other places"
    said = positions.shuffled(answers(FLIPS), answers(FLIPS), named, others="windows", when=moved)
    assert "for windows tell the order." in said
    assert said.endswith("when 2 patches stand at other places.")
    counted_in = positions.over_pictures([answers(FLIPS)] * 3, [answers(STAYS)] * 3, "digit")
    assert "on all 3 digits when" in counted_in
