"""Which rows of a product `make test` runs, and which only `make test-all` does.

A test that asks one thing of many rows (views × models × options, files × damages) is marked:

    @pytest.mark.product("view", "model")  # of each view with each model the first row
    @pytest.mark.product                   # the first row alone
    @pytest.mark.rest                      # none: it asks of everything together what other tests ask of each part

The rule is `is_first`: a row runs in `make test` where no earlier row of its test has the same values of the parameters
that the mark names. Their order decides, never a chance. Tests without a mark always run.
"""

from collections import defaultdict
from collections.abc import Iterable

import pytest

ROWS = ("first", "rest", "all")
"""Values of `--rows`: what `make test` runs, what else `make test-all` runs, both."""


def split(items: Iterable[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """(the tests of `make test`, the others), each in the order of collection."""
    taken: dict[str, set[str]] = defaultdict(set)
    first, rest = [], []
    for item in items:
        (first if is_first(item, taken) else rest).append(item)
    return first, rest


def is_first(item: pytest.Item, taken: dict[str, set[str]]) -> bool:
    """Whether `make test` runs this row. `taken`: by test the values that its earlier rows have."""
    if item.get_closest_marker("rest"):
        return False
    mark = item.get_closest_marker("product")
    if mark is None:
        return True
    params = item.callspec.params if hasattr(item, "callspec") else {}
    values = repr([params[name] for name in mark.args])
    rows = taken[item.nodeid.partition("[")[0]]
    new = values not in rows
    rows.add(values)
    return new
