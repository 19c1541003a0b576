"""Windows counted by hand: 4 × 4 tokens in windows of 2 × 2."""

import torch

from tests.toys import attending
from vizkit.analysis.remarks import swin
from vizkit.analysis.swin.shifted_windows import cut, layout
from vizkit.traces import Attention, Tokens

TOKENS = Tokens("grid", (), (4, 4), stride=8.0)


def test_pairs_that_windows_save():
    """4 windows of 4² pairs are 64 of 16² = 256."""
    assert swin.pairs_saved(layout((4, 4), (2, 2)), "stage 2") == (
        "Window attention saves 75 % of the pairs in stage 2: 64 instead of 256."
    )
    assert swin.pairs_saved(layout((4, 4), (4, 4)), "stage 1") is None
    assert swin.pairs_saved(layout((4, 4), (3, 3)), "stage 1") == (
        "With padding window attention takes 27 % more pairs in stage 1: 324 instead of 256."
    )


def test_weight_that_crosses_former_windows():
    """Of even weights ¾ in the window of the middle, with one token of each of four former ones, ¼ in the eight places
    at edges, which may meet one other token, none in the corners: (4 · ¾ + 8 · ¼) / 16."""
    windows = layout((4, 4), (2, 2), (1, 1))
    ids = cut(windows.ids, windows.window)
    even = attending(torch.full((4, 1, 4, 4), 0.25), TOKENS, ids)
    said = swin.crossing(even, windows, 5)
    assert said == (
        "31 % of the weight of all tokens crosses the dashed lines, where the windows of the block before ended; of "
        "this token’s 75 %."
    )
    corner = swin.crossing(even, windows, 0)
    assert corner.endswith("of this token’s none: its region touches no dashed line.")
    itself = attending(torch.eye(4).expand(4, 1, 4, 4), TOKENS, ids)
    assert swin.crossing(itself, windows, 5) is None
    regular = layout((4, 4), (2, 2))
    ids = cut(regular.ids, regular.window)
    assert swin.crossing(attending(even.weights, TOKENS, ids), regular, 5) is None


def test_what_a_merging_does_to_the_numbers():
    names = ["top left", "bottom left", "top right", "bottom right"]
    said = swin.merges(64, 128, torch.tensor([2.0, 4.0, 2.0, 2.0]), names)
    assert said == (
        "Four tokens of 64 numbers become one of 128. The bottom left one contributes most, 40 %; an equal share is "
        "25 %."
    )
    alike = swin.merges(64, 128, torch.tensor([2.5, 2.6, 2.4, 2.5]), names)
    assert alike == "Four tokens of 64 numbers become one of 128, and all four contribute alike, 24 % to 26 %."
    assert swin.merges(64, 128, torch.zeros(4), names) == "Four tokens of 64 numbers become one of 128."


def test_what_the_bias_moves():
    both = torch.tensor([0.1, 0.4])
    assert swin.bias_moves(both, 0.3, 1, 3) == (
        "In head 1 of block 3 the relative bias moves 30 % of this token’s attention to other keys, and 10 % as the "
        "mean of all tokens; most in head 2, 40 %."
    )
    assert swin.bias_moves(both, 0.3, 2, 3).endswith("and 40 % as the mean of all tokens.")


def test_what_is_right_over_many():
    assert swin.without_over(list("abc"), list("bd"), 12, "without shift") == (
        "Without shift the answer is right for 2 instead of 3 of 12 images of known class; no longer for a and c; now "
        "for d."
    )


def test_windows_that_are_not_square():
    """Two windows of 2 × 4 tokens: 2 · 8² = 128 of 256 pairs."""
    said = swin.pairs_saved(layout((2, 8), (2, 4)), "stage 1")
    assert said == "Window attention saves 50 % of the pairs in stage 1: 128 instead of 256."


def test_padding_crosses_nothing():
    """Three tokens in a column and padding, windows of two: before {0, 1} {2, –}, after the shift {1, 2} {–, 0}. 1
    attends to 2, 2 half to 1, 0 to itself: on average half of it crosses. What padding attends to does not count."""
    column = Tokens("column", (), (3, 1), stride=8.0)
    windows = layout((3, 1), (2, 1), (1, 0), pad_first=True)
    ids = cut(windows.ids, windows.window)
    assert ids.tolist() == [[1, 2], [-1, 0]]
    weights = torch.tensor([[[0.0, 1.0], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]])
    heads = weights[:, None].expand(2, 3, 2, 2)
    said = swin.crossing(attending(heads, column, ids), windows, 2)
    assert said.startswith("50 % of the weight")
    assert said.endswith("of this token’s 50 %.")


def test_of_some_rows_nothing_is_said():
    windows = layout((4, 4), (2, 2), (1, 1))
    ids = cut(windows.ids, windows.window)
    half = Attention("half", torch.full((4, 1, 2, 4), 0.25), TOKENS, TOKENS, ids[:, :2], ids)
    assert swin.crossing(half, windows, 5) is None
