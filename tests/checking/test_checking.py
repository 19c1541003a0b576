"""The instrument of the tests: a toy package whose functions refuse what their annotations do not allow."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from beartype.roar import BeartypeCallHintParamViolation, BeartypeCallHintReturnViolation
from jaxtyping import TypeCheckError

import vizkit.geometry
from tests.checking import install

TOY = """
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TYPE_CHECKING
import numpy as np
from jaxtyping import Float
if TYPE_CHECKING:
    from nowhere import Unknown

Row = Float[np.ndarray, " key"]

def named(kind: Literal["a", "b"], times: int = 1) -> str:
    return kind * times if times else None

def scaled(row: Row, weights: Row | None = None) -> Row:
    return row[1:] if weights is None else row * weights

def counted(count: int) -> Float[np.ndarray, "{count}"]:
    return np.zeros(max(count, 3))

def each(rows: Sequence[Row]) -> Iterator[Row]:
    yield from rows

def unknown(what: "Unknown", times: int) -> int:
    return times

def outer(value):
    def inner(number: int) -> int:
        return number
    return inner(value)

def within(row: Row) -> float:
    return float(scaled(np.ones(2), np.ones(2)).sum() + row.sum())

@dataclass(frozen=True)
class Pair:
    first: Row
    second: Row

    @property
    def least(self) -> int:
        return self.first.min()
"""
ONE, TWO, THREE = np.ones(1), np.ones(2), np.ones(3)
ALLOWED = (
    lambda toy: toy.named("a"),
    lambda toy: toy.scaled(TWO, TWO),
    lambda toy: toy.scaled(THREE, THREE),  # the axes of another call
    lambda toy: toy.within(THREE),  # and those of a call inside
    lambda toy: toy.counted(4),
    lambda toy: list(toy.each([TWO, TWO])),
    lambda toy: toy.unknown(None, 2),
    lambda toy: toy.outer(1),
    lambda toy: toy.Pair(TWO, TWO),
)
REFUSED = (
    lambda toy: toy.named("c"),
    lambda toy: toy.named("a", "b"),
    lambda toy: toy.named("a", 0),  # the result
    lambda toy: toy.scaled(TWO, THREE),
    lambda toy: toy.scaled(TWO),  # the result is shorter
    lambda toy: toy.scaled(TWO.astype(int), TWO),
    lambda toy: toy.counted(2),
    lambda toy: toy.each([TWO.astype(int)]),
    lambda toy: toy.unknown(None, "2"),
    lambda toy: toy.outer("1"),
    lambda toy: toy.Pair(TWO, THREE),
    lambda toy: toy.Pair(TWO, TWO).least,
)


@pytest.fixture(params=["compiled", "kept"])
def toy(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Once as it is compiled, once from what was kept beside Python's own."""
    (tmp_path / "vizkit_toy.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    install("vizkit_toy")
    for _ in range(1 + (request.param == "kept")):
        sys.modules.pop("vizkit_toy", None)
        module = importlib.import_module("vizkit_toy")
    assert [*tmp_path.glob("__pycache__/*.opt-checked.pyc")]
    yield module
    del sys.modules["vizkit_toy"]


def test_what_annotations_allow_passes(toy):
    for call in ALLOWED:
        call(toy)


@pytest.mark.parametrize("call", REFUSED)
def test_what_they_do_not_allow_is_refused(toy, call):
    with pytest.raises((BeartypeCallHintParamViolation, BeartypeCallHintReturnViolation, TypeCheckError)):
        call(toy)


def test_a_changed_source_is_compiled_again(toy, tmp_path):
    (tmp_path / "vizkit_toy.py").write_text("def named(kind: int) -> int:\n    return kind\n")
    del sys.modules["vizkit_toy"]
    changed = importlib.import_module("vizkit_toy")
    assert changed.named(1) == 1
    with pytest.raises(BeartypeCallHintParamViolation):
        changed.named("a")


def test_the_library_is_instrumented():
    with pytest.raises(BeartypeCallHintParamViolation):
        vizkit.geometry.all_ids("three")
    with pytest.raises(RuntimeError, match="imported already"):
        install("vizkit")
