"""Where the boxes of a block stand."""

from itertools import pairwise

import numpy as np
import pytest

from vizkit.figure.architecture.block_diagram import GAP, Node, diagram


def nodes():
    def of(name, columns, **more):
        return Node(name, name, np.ones((10, columns)), **more)

    return [
        of("x", 40),
        of("q", 10, group="g"),
        of("k", 10, group="g"),
        of("a", 10, square=True),
        Node("", "+"),
        of("y", 80),
    ]


def test_a_channel_is_equally_wide_everywhere_and_a_token_equally_high():
    drawn = diagram(nodes(), 800.0, 100.0, [(0, 4)], [])
    x, q, k, a, _, y = drawn.boxes
    assert (q.width, k.width, y.width) == pytest.approx((x.width / 4, x.width / 4, 2 * x.width))
    assert {each.height for each in (x, q, k, a, y)} == {100.0} == {a.width}
    assert q.left - (x.left + x.width) == pytest.approx(GAP)
    assert len(drawn.arrows) == 4  # to a group once


@pytest.mark.parametrize("width", [340.0, 800.0])
def test_nothing_leaves_the_drawing(width):
    drawn = diagram(nodes(), width, 74.0, [(0, 4)], [(2, 5)])
    points = [point for line in (*drawn.arrows, *drawn.paths) for point in line]
    assert all(box.left >= 0 and box.left + box.width <= width + 1 for box in drawn.boxes)
    assert all(-10 <= x <= width + 30 and 0 <= y <= drawn.height for x, y in points)


def test_the_residual_path_runs_above_the_names_also_on_another_line():
    drawn = diagram(nodes(), 340.0, 74.0, [(0, 4)], [])
    (path,) = drawn.paths
    assert drawn.boxes[0].line != drawn.boxes[4].line
    rows = {y0 for (x0, y0), (x1, y1) in pairwise(path) if y0 == y1 and x0 != x1}
    for row in rows:
        assert all(not box.top - 20 < row < box.top + box.height for box in drawn.boxes if box.height > 30)
