"""Which versions the program promises to run with: the lock, the ranges, and the table of the matrix."""

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.testing.matrix import SHOWN, Result, main, oldest, page, result_of

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / "requirements.lock").read_text().splitlines()


def wanted():
    """Of the program and of its tests."""
    lines = [*(ROOT / "requirements.txt").read_text().splitlines()]
    lines += (ROOT / "requirements-dev.txt").read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-r "))]


def test_the_lock_says_one_version_of_each_package_and_nothing_else():
    pins = [line for line in LOCK if not line.startswith("#")]
    assert [line for line in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line)] == []
    names = [canonicalize_name(line.partition("==")[0]) for line in pins]
    assert len(names) == len(set(names)) > 60


def test_the_lock_leaves_the_parts_of_a_platform_to_torch():
    """A pin of them would fight with torch's own on another platform, or of its CPU build."""
    assert [line for line in LOCK if line.startswith(("nvidia", "cuda", "triton"))] == []


def test_the_lock_is_inside_the_ranges_and_has_all_that_is_wanted():
    locked = {canonicalize_name(line.partition("==")[0]): line.partition("==")[2] for line in LOCK}
    for each in wanted():
        assert each.specifier.contains(locked[canonicalize_name(each.name)]), each


def test_what_make_installs_is_locked():
    """And nothing else in the Makefile installs, but what makes the lock anew."""
    text = (ROOT / "Makefile").read_text()
    assert re.search(r"^PIP := .* -c requirements.lock$", text, re.M)
    installing = [line.strip() for line in text.splitlines() if line.startswith("\t") and "-r requirements" in line]
    assert [line for line in installing if not line.startswith("$(PIP)")] == [
        ".venv-lock/bin/pip install --quiet -r requirements-dev.txt"
    ]
    assert len(installing) == 3
    for rule in ("run", "dev"):
        assert "requirements.lock" in re.search(rf"^\.venv/{rule}:(.*)$", text, re.M)[1]


def test_the_oldest_are_the_lower_ends_of_all_ranges():
    assert oldest("# torch\ntorch>=2.9\nscikit-learn>=1.5,<2\nwithout\n") == "torch==2.9\nscikit-learn==1.5\n"
    found = {line.partition("==")[0] for line in oldest((ROOT / "requirements.txt").read_text()).splitlines()}
    names = (ROOT / "requirements.txt").read_text().splitlines()
    assert found == {Requirement(line).name for line in names if not line.startswith("#")}


REPORT = """<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="4" time="90">
<testcase classname="tests.test_a" name="test_good" time="1"/>
<testcase classname="tests.test_a" name="test_bad[1]" time="1"><failure message="no">…</failure></testcase>
<testcase classname="tests.test_b" name="test_broken" time="1"><error message="no">…</error></testcase>
<testcase classname="tests.test_b" name="test_left_out" time="1"><skipped message="no"/></testcase>
</testsuite></testsuites>"""


def test_a_report_of_pytest_is_counted():
    found = result_of(REPORT, {"torch": "2.9.0"}, "python -m pytest")
    assert (found.passed, found.skipped, found.minutes) == (1, 1, 1.5)
    assert found.failed == ["tests/test_a.py::test_bad[1]", "tests/test_b.py::test_broken"]


def test_the_page_tells_versions_and_names_what_failed():
    versions = dict.fromkeys(SHOWN, "1.2")
    bad = [f"tests/test_a.py::test_{number}" for number in range(22)]
    old = Result("2026-11-22", "3.11.7", versions, 2500, bad, 3, 12.4, 'python -m pytest -m "not browser"')
    new = Result("2026-11-23", "3.12.1", versions | {"torch": "9.0"}, 2522, [], 3, 9.6, "python -m pytest")
    text = page({"oldest": old, "newest": new})
    for line in (
        "|  | oldest | newest |",
        "| torch | 1.2 | 9.0 |",
        "| passed | 2,500 | 2,522 |",
        "| failed | 22 | 0 |",
        "| day | 2026-11-22 | 2026-11-23 |",
        "- and 2 more",
        "- `tests/test_a.py::test_19`",
    ):
        assert line in text.splitlines()
    assert "test_20" not in text
    assert "Failed with the newest" not in text


def test_a_column_that_does_not_exist_is_named(capsys):
    with pytest.raises(SystemExit):
        main(["newer"])
    assert "there is no column newer" in capsys.readouterr().err
