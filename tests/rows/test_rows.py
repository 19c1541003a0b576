"""`make test` and the rest are all tests, each once, by the rule of `tests/rows`."""

import pytest

from tests.conftest import ROWS_OF_ALL
from tests.rows import split


class Row:
    """What the rule reads of a test."""

    def __init__(self, test, mark=None, **params):
        self.nodeid = f"{test}[{'-'.join(map(str, params.values()))}]"
        self.mark = mark
        self.callspec = type("", (), {"params": params})

    def get_closest_marker(self, name):
        return self.mark.mark if self.mark and self.mark.mark.name == name else None


@pytest.mark.parametrize(
    "mark, first",
    [
        (None, ["ax", "ay", "bx", "by"]),
        (pytest.mark.product("view", "model"), ["ax", "ay", "bx", "by"]),
        (pytest.mark.product("view"), ["ax", "bx"]),
        (pytest.mark.product("model"), ["ax", "ay"]),
        (pytest.mark.product, ["ax"]),
        (pytest.mark.rest, []),
    ],
)
def test_the_order_of_parameters_says_which_rows_are_first(mark, first):
    rows = [Row(test, mark, view=view, model=model) for test in "12" for view in "ab" for model in "xy"]
    kept, others = split(rows)
    assert ["".join(row.callspec.params.values()) for row in kept] == first * 2
    assert sorted(map(id, [*kept, *others])) == sorted(map(id, rows))


def test_the_two_together_are_all(request):
    first, rest = request.config.stash[ROWS_OF_ALL]
    collected = {item.nodeid for item in (*first, *rest)}
    assert len(collected) == len(first) + len(rest)
    rows = request.config.getoption("rows")
    run = {"first": first, "rest": rest, "all": [*first, *rest]}[rows]
    assert {item.nodeid for item in request.session.items} == {item.nodeid for item in run}
    assert rows == "rest" or request.node.nodeid in {item.nodeid for item in first}


def test_every_file_has_a_first_row(request):
    first, rest = request.config.stash[ROWS_OF_ALL]
    assert {item.path for item in rest} <= {item.path for item in first}
