"""Names of words on a plane lie beside their dots and not over one another."""

import numpy as np

from vizkit.figure.palette import CLASSES
from vizkit.figure.sequences.word_plane import FONT_PX, SIDES, _beside, word_plane


def test_names_side_by_side_take_other_sides_and_a_crowd_leaves_some_out():
    near = np.array([[0.0, 0.0], [0.01, 0.0], [1.0, 1.0]])
    found = _beside(near, ["alpha", "gamma", "far"], (600, 400))
    assert found[2] == SIDES[0]
    assert found[0] != found[1]
    crowd = np.vstack([np.zeros((30, 2)), [[1.0, 1.0]]])
    left = _beside(crowd, ["a long name"] * 30 + ["far"], (600, 400))
    assert 30 in left
    assert len(left) < 1 + len(SIDES)
    assert FONT_PX > 0


def test_a_kind_has_one_colour_whatever_else_is_drawn():
    places = np.array([[0.0, 0.0], [1.0, 1.0]])
    every = ["digits", "months"]
    for kinds in (["months", "digits"], ["months", "months"]):
        figure = word_plane(places, ["may", "1"], kinds, order=every)
        colours = {line.name: line.marker.color for line in figure.data}
        assert colours["months"] == CLASSES[1]
    assert figure.layout.xaxis.range[0] < 0 < 1 < figure.layout.xaxis.range[1], "room for names at the edge"
