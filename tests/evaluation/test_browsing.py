"""Five pictures, two labels, two models, sorted out by hand."""

import numpy as np
import pytest

from vizkit.evaluation.browsing import KINDS, ORDERS, Filter, common_answers, disagreement, matching, ordered, paged
from vizkit.evaluation.measures import Judged

ALL, MISTAKES, DISAGREE = KINDS


@pytest.fixture
def judged():
    """Labels 0 0 1 1 1; answered 0 1 1 2 (no label) 0."""
    return Judged(
        target=np.array([0, 0, 1, 1, 1]),
        answer=np.array([0, 1, 1, 7, 0]),
        label=np.array([0, 1, 1, 2, 0]),
        probability=np.array([0.9, 0.5, 1.0, 0.3, 0.5], np.float32),
        loss=np.array([0.1, 2.0, 0.0, 3.0, 2.0]),
        rank=np.array([0, 1, 0, 3, 1]),
        outputs=9,
    )


DIFFER = np.array([False, True, False, False, True])


@pytest.mark.parametrize(
    "chosen, expected",
    [
        (Filter(), [0, 1, 2, 3, 4]),
        (Filter(label=1), [2, 3, 4]),
        (Filter(answer=1), [1, 2]),
        (Filter(answer=2), [3]),  # no label of the set
        (Filter(label=1, answer=0), [4]),
        (Filter(kind=MISTAKES), [1, 3, 4]),
        (Filter(kind=DISAGREE), [1, 4]),
        (Filter(kind=DISAGREE, label=0), [1]),
        (Filter(kind=MISTAKES, answer=2), [3]),
        (Filter(label=0, answer=2), []),
    ],
)
def test_what_passes(judged, chosen, expected):
    assert matching(judged, DIFFER, chosen).tolist() == expected


@pytest.mark.parametrize(
    "order, expected",
    [
        ("hardest first", [3, 1, 4, 0]),
        ("most confident first", [0, 1, 4, 3]),
        ("least confident first", [3, 1, 4, 0]),
        ("as in the set", [0, 1, 3, 4]),
    ],
)
def test_orders(judged, order, expected):
    assert ordered(judged, np.array([0, 1, 3, 4]), order).tolist() == expected


def test_every_order_is_tested():
    assert len(ORDERS) == 4


def test_models_disagree_by_the_names_of_their_classes():
    answers = common_answers([np.array([0, 1, 1, 2]), np.array([1, 0, 1, 2])], [("ant", "bee"), ("bee", "ant")])
    assert disagreement(answers).tolist() == [False, False, True, True]  # class 2 has no name in either
    assert not disagreement(answers[:1]).any()


@pytest.mark.parametrize(
    "count, page, expected",
    [
        (0, 1, (1, slice(0, 0))),
        (24, 1, (1, slice(0, 24))),
        (25, 2, (2, slice(24, 25))),
        (25, 9, (2, slice(24, 25))),
        (25, 0, (2, slice(0, 24))),
    ],
)
def test_pages(count, page, expected):
    assert paged(count, page, 24) == expected
