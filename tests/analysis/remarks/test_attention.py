"""What is said about attention, on both sides of every threshold: 5 × 5 patches of 8 pixels behind a class token."""

from dataclasses import replace

import pytest
import torch

from tests.toys import attending, trace_of
from vizkit.analysis.attention.statistics import Layer
from vizkit.analysis.remarks import attention as rules
from vizkit.geometry import all_ids
from vizkit.traces import Attention, Tokens

TOKENS = Tokens("image", ("cls",), (5, 5), stride=8.0)
MIDDLE, CENTRE = 1 + 12, (0.5, 0.5)


def attention(rows, tokens=TOKENS):
    """One group; (head, query, key)."""
    return attending(rows[None], tokens)


def one_row(weights, query=MIDDLE, heads=1):
    """The row of `query`: some weights, the rest spread evenly over all other tokens; other queries attend evenly."""
    rows = torch.full((heads, 26, 26), 1 / 26)
    rows[:, query] = (1 - sum(weights.values())) / (26 - len(weights))
    for key, weight in weights.items():
        rows[:, query, key] = weight
    return attention(rows)


def place(row, column):
    return 1 + 5 * (row - 1) + column - 1


AROUND = {place(row, column): 0.06 for row in (2, 3, 4) for column in (2, 3, 4)}
ROW = {place(2, column): 0.11 for column in range(1, 6)}


def test_on_how_many_patches_half_of_every_row_lies():
    """Three weights of 0.18 are half of 0.92 on patches, the class token's 0.08 left aside."""
    found = rules.how_widely(one_row({0: 0.08} | {place(1, column): 0.18 for column in (1, 2, 3)}), 5, None)
    assert sorted(found) == list(range(26))
    assert found[MIDDLE] == "Layer 5: half of this patch's attention to patches lies on 3 of 25."
    assert found[0] == "Layer 5: half of the class token's attention to patches lies on 13 of 25."
    assert found[1] == "Layer 5: half of this patch's attention to patches lies on 13 of 25."
    assert rules.how_widely(one_row({0: 1.0}), 5, None).keys() == set(range(26)) - {MIDDLE}  # nothing on patches
    own = rules.how_widely(one_row({0: 0.08}, query=0), 5, None)[0]
    assert own.endswith("lies on 13 of 25; the largest single share, 8 %, is its own.")  # most goes elsewhere


@pytest.mark.parametrize(
    "weights, words",
    [
        ({0: 0.51}, "Layer 5: this patch gives 51 % of its attention to the class token."),
        ({MIDDLE: 0.33}, "Layer 5: this patch gives 33 % of its attention to itself."),
        ({place(1, 2): 0.3}, "Layer 5: this patch gives 30 % of its attention to one patch, row 1, column 2."),
        (AROUND, "Layer 5: this patch gives 54 % of its attention to itself and its neighbours."),
        (ROW, "Layer 5: 55 % of this patch's attention lies in row 2."),
        ({place(row, 4): 0.11 for row in range(1, 6)}, "Layer 5: 55 % of this patch's attention lies in column 4."),
        ({}, "Layer 5: this patch attends almost evenly: the largest weight is 3.8 %, equal weights would be 3.8 %."),
        ({MIDDLE: 0.24, 0: 0.2}, None),
        (
            {MIDDLE: 0.33, 0: 0.4},
            "Layer 5: this patch gives 40 % of its attention to the class token and 33 % to itself.",
        ),
        (
            dict.fromkeys(ROW, 0.11) | {0: 0.3},
            "Layer 5: 55 % of this patch's attention lies in row 2; the largest single share, 30 %, goes to the class "
            "token.",
        ),
        (dict.fromkeys(AROUND, 0.054) | {0: 0.3}, None),
        (dict.fromkeys(ROW, 0.095) | {0: 0.3}, None),
    ],
)
def test_a_row_of_a_patch(weights, words):
    assert rules.of_map(one_row(weights), CENTRE, 5, None) == words


def test_layers_heads_and_special_queries_are_named_as_the_page_counts_them():
    layer = one_row({MIDDLE: 0.33}, query=0, heads=3)
    one_place = "the class token gives 33 % of its attention to one patch, row 3, column 3."
    assert rules.of_map(layer, "cls", 2, 1) == f"Head 2 of layer 2: {one_place}"
    assert rules.of_map(layer, "cls", 2, None) == f"The mean of 3 heads of layer 2: {one_place}"


def test_the_share_on_a_drawn_insect():
    """It covers one of five rows; 0.11 · 5 of (1 − 0.45 / 21) lie there."""
    covered = torch.zeros(5, 5)
    covered[1] = 1
    said = rules.of_map(one_row(ROW, query=0), "cls", 1, None, covered)
    assert said == (
        "Layer 1: 56 % of the class token's attention to patches lies on the insect, which covers 20 % of the image."
    )


def diagonal(share):
    return attention((torch.eye(26) * share + (1 - share) / 26).expand(2, 26, 26))


def test_a_head_over_all_queries():
    """The diagonal has share + (1 − share) / 26."""
    words = "Head 2 of layer 5 looks at its own patch: 33 % on the diagonal of all queries."
    assert rules.of_head(diagonal(0.3), 5, 1) == words
    assert rules.of_head(diagonal(0.21), 5, 1) is None
    even = rules.of_head(diagonal(0.0), 5, None)
    assert even == (
        "The mean of 2 heads of layer 5 attends almost evenly for all queries: its entropy is 100 % of the largest."
    )
    to_class = torch.zeros(1, 26, 26)
    to_class[..., 0], to_class[..., 1:] = 0.6, 0.4 / 25
    said = rules.of_head(attention(to_class), 1, None)
    assert said == "Layer 1 gives 60 % of the attention of all queries to the class token."


def test_with_depth_attention_goes_farther():
    """To its right neighbour 8 pixels, to one two to the right 16; 11.9 would be less than 1.5 times 8."""
    near, far = one_row({place(3, 4): 1.0}), one_row({place(3, 5): 1.0})
    said = rules.with_depth(trace_of(near, far), CENTRE)
    assert said == "What this patch attends to lies 8 pixels away on average in layer 1, 16 in layer 2."
    between = one_row({place(3, 4): 0.52, place(3, 5): 0.48})  # 11.84
    assert rules.with_depth(trace_of(near, between), CENTRE) is None
    assert rules.with_depth(trace_of(near), CENTRE) is None
    assert rules.with_depth(trace_of(near, far), "cls") is None


def test_the_most_local_and_the_most_global_head():
    from vizkit.analysis.attention.statistics import by_layer

    shifted = torch.zeros(2, 26, 26)
    shifted[0].fill_diagonal_(1.0)
    shifted[1] = 1 / 26
    said = rules.extremes(by_layer(trace_of(attention(shifted))))
    assert said.startswith(
        "Most local is head 1 of layer 1, which attends 0 pixels away on average; most global is head 2 of"
    )
    alike = rules.extremes(by_layer(trace_of(attention(shifted[1:].expand(2, 26, 26)))))
    assert alike == "Heads differ little in distance: 20 pixels on average."  # 20.4 between any two of 5 × 5
    layer = by_layer(trace_of(attention(shifted)))[0]
    alike = rules.extremes((replace(layer, distance_px=torch.tensor([8.0, 11.0])),))
    assert alike == "Heads differ little in distance: 8 to 11 pixels on average."


def test_heads_whose_entropies_are_written_alike_are_not_told_apart():
    from vizkit.analysis.attention.statistics import by_layer

    layer = by_layer(trace_of(attention(torch.full((2, 26, 26), 1 / 26))))[0]
    said = rules.evenest((replace(layer, entropy=torch.tensor([0.996, 0.998])),))
    assert said == "All heads attend about equally evenly, with more than 99 % of the largest entropy."
    said = rules.evenest((replace(layer, entropy=torch.tensor([0.5, 0.998])),))
    assert said.startswith("Least even is head 1 of layer 1, with 50 %")


def test_beside_an_even_mean_the_clearest_deep_head_is_named():
    """Of layer 1 nothing is taken; of layer 2 head 1 looks at its own place, head 2 at four far away, head 3 at
    eight."""
    even, maps = torch.full((10, 10), 0.01), torch.zeros(2, 3, 10, 10)
    maps[0, :, 9, :4] = maps[1, 1, 9, :4] = maps[1, 0, 0, :4] = 0.25
    maps[1, 2, 5, :8] = 0.125
    assert rules.clearest(even, [*maps], (0, 0)) == "Clearer is head 2 of layer 2, where half lies on 2 of 100."
    assert rules.clearest(maps[1, 2], [*maps], (0, 0)) is None, "no even map"
    assert rules.clearest(even, [even.expand(3, 10, 10)] * 2, (0, 0)) is None, "no clear head"


def test_the_head_that_gives_most():
    """(0.1 + 0.5 + 0.3) ÷ 3 = 0.3."""
    said = rules.most_given([torch.tensor([0.1, 0.5]), torch.tensor([0.3])], "the class token")
    assert said == "Of all heads, head 2 of layer 1 gives the class token most: 50 %; the mean is 30 %."
    said = rules.most_given([torch.tensor([0.011, 0.012])], "the class token")
    assert said == "All heads give the class token about equally much: 1 %."
    assert rules.most_given([torch.tensor([0.1])], "padding") is None
    assert rules.most_given([torch.zeros(2)], "padding") is None


def test_heads_that_are_alike():
    """cos = 0.6 · 0.8 + 0.8 · 0.6 = 0.96 for rows (.6, .8) and (.8, .6) in length; below 0.9 nothing is said."""
    tokens = Tokens("two", (), (1, 2), stride=8.0)

    def pair(first, second):
        rows = torch.tensor([[first, 1 - first], [second, 1 - second]])
        return trace_of(attention(rows[:, None].expand(2, 2, 2), tokens))

    said = rules.most_alike(pair(3 / 7, 4 / 7))
    assert said == "Most alike are heads 1 and 2 of layer 1: the cosine of their weights is 0.96."
    assert rules.most_alike(pair(0.2, 0.8)) is None


def test_a_layer_of_four_tokens_looks_at_itself_and_everywhere_alike():
    """A quarter each: of so few that is no place of its own."""
    four = Tokens("four", (), (2, 2), stride=8.0)
    even = torch.full((1, 4, 4), 0.25)
    said = rules.of_head(attention(even, four), 1, None)
    assert said == "Layer 1 attends almost evenly for all queries: its entropy is 100 % of the largest."
    said = rules.of_map(attention(even, Tokens("few", ("reg1",), (1, 3), stride=8.0)), "reg1", 1, None)
    assert said == (
        "Layer 1: the token [reg1] attends almost evenly: the largest weight is 25.0 %, equal weights would be 25.0 %."
    )
    three = Tokens("three", (), (1, 3), stride=8.0)
    assert (
        rules.of_map(attention(torch.full((1, 3, 3), 1 / 3), Tokens("few", ("cls",), (1, 2))), "cls", 1, None) is None
    )
    assert rules.of_head(attention(torch.full((1, 3, 3), 1 / 3), three), 1, None) is not None


def test_the_mean_over_heads_alone_was_recorded():
    mean = replace(one_row({MIDDLE: 0.33}), heads=3)
    own = "this patch gives 33 % of its attention to itself."
    assert rules.of_map(mean, CENTRE, 2, 1) == f"The mean of 3 heads of layer 2: {own}"
    assert rules.of_head(replace(diagonal(0.3), weights=diagonal(0.3).weights[:, :1], heads=3), 2, 1) == (
        "The mean of 3 heads of layer 2 looks at its own patch: 33 % on the diagonal of all queries."
    )


def test_of_two_heads_the_one_that_is_asked_for():
    both = attention(torch.stack([torch.eye(26), torch.full((26, 26), 1 / 26)]))
    assert "Head 1 of layer 1 looks at its own patch: 100 %" in str(rules.of_head(both, 1, 0))
    assert "Head 2 of layer 1 attends almost evenly" in str(rules.of_head(both, 1, 1))
    assert "The mean of 2 heads of layer 1 looks at its own" in str(rules.of_head(both, 1, None))


def test_too_many_weights_and_missing_rows_are_not_counted():
    """30 heads of 10 × 10 tokens have 300,000 weights."""
    hundred = Tokens("hundred", (), (10, 10), stride=8.0)
    even = torch.full((1, 100, 100), 0.01)
    assert rules.of_head(attention(even.expand(30, -1, -1), hundred), 1, None) is not None
    assert rules.of_head(attention(even.expand(31, -1, -1), hundred), 1, None) is None
    assert rules.of_head(attention(even.expand(31, -1, -1), hundred), 1, 30) is not None  # one head is counted alone
    some = attention(even, hundred)
    rows = replace(some, weights=some.weights[:, :, :50], query_ids=some.query_ids[:, :50])
    assert rules.of_head(rows, 1, None) is None


def test_exactly_at_the_thresholds():
    for weights, words in (
        ({0: 0.5}, "gives 50 % of its attention to the class token"),
        ({MIDDLE: 0.25}, "gives 25 % of its attention to itself"),
        ({place(1, 1): 0.25}, "gives 25 % of its attention to one patch, row 1, column 1"),
    ):
        said = rules.of_map(one_row(weights), CENTRE, 5, None)
        assert said == f"Layer 5: this patch {words}."
    near, far = one_row({place(3, 4): 1.0}), one_row({place(3, 4): 0.5, place(3, 5): 0.5})  # 8 and 12 pixels
    said = rules.with_depth(trace_of(near, far), CENTRE)
    assert said is not None
    back = rules.with_depth(trace_of(far, near), CENTRE)
    assert back == "What this patch attends to lies 12 pixels away on average in layer 1, 8 in layer 2."
    assert rules.with_depth(trace_of(one_row({MIDDLE: 1.0}), one_row({MIDDLE: 1.0})), CENTRE) is None


def test_special_tokens_lie_nowhere():
    """Of a row with half of its weight on the class token the other half counts as all; a row without any is left
    out."""
    nowhere, half = one_row({0: 1.0}), one_row({0: 0.5, place(3, 4): 0.5})
    said = rules.with_depth(trace_of(nowhere, half, one_row({place(3, 5): 1.0})), CENTRE)
    assert said == "What this patch attends to lies 8 pixels away on average in layer 2, 16 in layer 3."


def test_the_numbers_behind_the_words():
    """Heads 8 and 12 pixels far; a head without a place has no distance."""
    none, one = torch.zeros(3), torch.ones(3)
    layer = Layer("a", torch.tensor([12.0, torch.nan, 8.0]), one, one, {}, none, none, none)
    said = rules.extremes((layer,))
    assert said == (
        "Most local is head 3 of layer 1, which attends 8 pixels away on average; most global is head 1 of layer 1, "
        "12 pixels away."
    )
    sink = replace(layer, distance_px=torch.tensor([12.0, 30.0, 8.0]), sink=torch.tensor([0.1, 0.47, 0.0]))
    assert rules.extremes((sink,)) == (
        "Most local is head 3 of layer 1, which attends 8 pixels away on average; most global is head 1 of layer 1, "
        "12 pixels away; "
        "head 2 of layer 1 gives 47 % of its attention to one patch, and is left out."
    )
    assert said is not None
    assert rules.extremes((replace(layer, distance_px=torch.tensor([8.0, torch.nan, torch.nan])),)) is None
    alike = rules.most_alike(trace_of(attention(torch.eye(26).expand(2, 26, 26))))
    assert alike is not None


def test_names_of_special_tokens():
    assert [rules.called(name) for name in ("cls", "dist", "pool", "reg2")] == [
        "the class token",
        "the distillation token",
        "the pooling token",
        "the token [reg2]",
    ]


def test_shares_are_means_over_heads():
    to_class = torch.full((2, 26, 26), 0.7 / 25)
    to_class[..., 0] = 0.3
    assert rules.of_head(attention(to_class), 1, None) is None


def test_heads_of_too_large_a_trace_are_not_compared():
    """Two heads of 1,000 × 1,000 weights are compared, three are not."""
    tokens = Tokens("many", (), (25, 40), stride=8.0)
    assert rules.most_alike(trace_of(attention(torch.eye(1000).expand(2, -1, -1), tokens))) is not None
    assert rules.most_alike(trace_of(attention(torch.eye(1000).expand(3, -1, -1), tokens))) is None


def test_in_a_corner_and_of_tokens_without_a_name():
    corner = {place(1, 1): 0.2, place(1, 2): 0.12, place(2, 1): 0.12, place(2, 2): 0.12}
    said = rules.of_map(one_row(corner, query=place(1, 1)), (0.1, 0.1), 1, None)
    assert said == "Layer 1: this patch gives 56 % of its attention to itself and its neighbours."
    free = Tokens("free", free=2)
    weights = torch.zeros(1, 1, 2, 26)
    weights[..., 0] = 1.0
    said = rules.of_map(Attention("free", weights, free, TOKENS, all_ids(2), all_ids(26)), "cls", 1, None)
    assert said == "Layer 1: this token gives 100 % of its attention to the class token."


def test_a_layer_with_fewer_heads_shows_its_last():
    both = attention(torch.stack([torch.full((26, 26), 1 / 26), torch.eye(26)]))
    assert "looks at its own patch" in str(rules.of_head(both, 1, 2))
