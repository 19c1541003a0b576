"""Is it worth it?: the table of the Architecture page, from shipped runs and from one's own."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.training.test_architecture_table import finish
from tests.ui.conftest import opened
from vizkit.training.experiments.architectures import SIZES, VARIANTS, Worth, worths
from vizkit.ui.pages.architecture.worth import shipped, verdict


def worth_of(runs: Path, monkeypatch: pytest.MonkeyPatch, **query: str) -> AppTest:
    monkeypatch.setenv("VIZKIT_RUNS", str(runs))
    chosen = {"models": "bundled:digits_gradual", "image": "digit 3", "architecture_view": "Gradual reduction", **query}
    return opened("architecture", **chosen)


def test_shipped_runs_are_a_fair_comparison_of_three_seeds():
    rows = worths(SIZES["digits"], shipped())
    assert [row.variant for row in rows] == list(VARIANTS)
    assert all([run.recipe.seed for run in row.runs] == [0, 1, 2] for row in rows)
    assert all(len(run.metrics()) == run.recipe.epochs for row in rows for run in row.runs)
    assert all(row.mean > 0.9 for row in rows)


def test_the_page_shows_the_shipped_runs_and_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rows = worths(SIZES["digits"], shipped())
    test = worth_of(tmp_path, monkeypatch)
    assert not test.exception
    (table,) = (frame.value for frame in test.dataframe if "± between seeds" in frame.value)
    assert list(table["Model"]) == list(VARIANTS.values())
    assert list(table["Test"]) == pytest.approx([100 * row.mean for row in rows])
    assert verdict(rows) in [each.value for each in test.main.markdown]
    finish(tmp_path, "digits_gradual", 0, 0.75)
    mine = next(name for name in worth_of(tmp_path, monkeypatch).selectbox(key="worth").options if "your runs" in name)
    test = worth_of(tmp_path, monkeypatch, worth=mine)
    (table,) = (frame.value for frame in test.dataframe if "± between seeds" in frame.value)
    assert list(table["Test"]) == [75.0]
    finish(tmp_path, "digits_dual", 0, epochs=3)  # another recipe: said, and nothing is lost
    test = worth_of(tmp_path, monkeypatch)
    assert any("no fair comparison: its epochs differ" in each.value.replace("\\", "") for each in test.main.caption)
    assert not test.exception


def test_the_verdict_says_what_the_seeds_allow(tmp_path: Path):
    def row(variant: str, *tests: float) -> Worth:
        runs = tuple(finish(tmp_path / variant, f"digits_{variant}", seed, test) for seed, test in enumerate(tests))
        return Worth(variant, runs)

    near, far, alone = row("vit_fine", 0.90, 0.92), row("dual", 0.98, 0.98), row("gradual", 0.5)
    assert "more than twice" in verdict([near, far])  # 7 points, seeds differ by 1.4
    assert "**dual-scale, α learned** leads **plain ViT, fine patches** by 7.0 points" in verdict([near, far])
    assert "show no significant difference" in verdict([near, row("dual_half", 0.92, 0.93)])
    assert "One seed" in verdict([near, alone])
