"""Every run has its own line, and nothing is drawn where no run was."""

import pytest

from vizkit.figure.sequences.repeated import Repeated, repeated_lines


def test_runs_are_thin_lines_around_their_mean():
    figure = repeated_lines([Repeated("one", [1, 2], [[1.0, 0.25], [1.0, 1.0], [1.0, 1.0]])], "x", "y", 1)
    *runs, mean = figure.data
    assert [list(run.y) for run in runs] == [[1.0, 0.25], [1.0, 1.0], [1.0, 1.0]]
    assert list(mean.y) == pytest.approx([1.0, 0.75])
    assert list(mean.customdata) == ["100 %, 100 %, 100 %", "25 %, 100 %, 100 %"]
    assert [run.showlegend for run in runs] == [False] * 3


def test_a_single_run_is_its_own_mean():
    (mean,) = repeated_lines([Repeated("one", [1], [[0.5]])], "x", "y").data
    assert list(mean.y) == [0.5]
