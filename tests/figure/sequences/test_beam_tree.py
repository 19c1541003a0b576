"""The tree of a beam search, its places by hand."""

from vizkit.figure.sequences.beam_tree import beam_tree
from vizkit.models.sequences.generating import Hypothesis

TREE = (
    Hypothesis("", 0, None, 1.0, 0.0),
    Hypothesis("a", 1, 0, 0.3, -1.2),
    Hypothesis("b", 1, 0, 0.6, -0.5),
    Hypothesis("c", 2, 1, 0.9, -1.3),
)


def test_the_more_probable_text_of_a_step_stands_on_top():
    others, chosen, words = beam_tree(TREE, (0, 1, 3)).data
    assert list(words.x) == [0, 1, 1, 2]
    assert list(words.y) == [0, -1, 0, 0]
    assert list(words.text) == ["[BEGIN]", "a", "b", "c"]
    assert list(chosen.x) == [0, 1, None, 1, 2, None]
    assert list(chosen.y) == [0, -1, None, -1, 0, None]
    assert list(others.y) == [0, 0, None]
