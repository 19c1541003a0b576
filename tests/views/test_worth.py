"""Is it worth it: what the runs of five equal models allow to say."""

import pytest

from tests.training.test_architecture_table import finish
from tests.views.contract import subject
from vizkit.models.probes.multiply_adds import counted
from vizkit.training.experiments.architectures import SIZES, VARIANTS, worths
from vizkit.views.blocks import Chart, Line, Table
from vizkit.views.compare import STUDY, worth
from vizkit.views.compare.cost import CHOSEN, Cost, offered
from vizkit.views.settled import flat


@pytest.fixture(autouse=True)
def _no_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path))


def test_shipped_runs_are_a_fair_comparison_of_three_seeds():
    rows = worths(SIZES["digits"], worth.shipped())
    assert [row.variant for row in rows] == list(VARIANTS)
    assert all([run.recipe.seed for run in row.runs] == [0, 1, 2] for row in rows)
    assert all(len(run.metrics()) == run.recipe.epochs for row in rows for run in row.runs)
    assert all(row.mean > 0.9 for row in rows)


def shown(title, kind):
    return [block for block in flat(worth.shown(title)) if isinstance(block, kind)]


def test_a_study_s_table_is_that_of_its_runs():
    rows = {row.words: row for row in worths(SIZES["digits"], worth.shipped())}
    (table,) = shown(STUDY["trained"], Table)
    assert {line["Model"]: line["Test"] for line in table.rows} == {
        name: f"{100 * row.mean:.1f} %" for name, row in rows.items()
    }


def test_a_study_stands_in_the_place_of_the_chosen_models():
    of = [subject("digits_vit")]
    assert offered(of) == [CHOSEN, *worth.studies()[0]]
    assert STUDY["trained"] in offered(of)
    (chart, *_) = [block for block in flat(Cost(trained=STUDY["trained"]).show(of)) if isinstance(block, Chart)]
    assert chart.alt == "Accuracy of every model against its cost"


def test_own_runs_stand_beside_the_shipped_ones_and_unfair_ones_are_named(tmp_path):
    finish(tmp_path, "digits_gradual", 0, 0.75)
    mine = next(title for title in worth.studies()[0] if title.startswith("your runs"))
    (table,) = shown(mine, Table)
    assert [line["Test"] for line in table.rows] == ["75.0 %"]
    finish(tmp_path, "digits_dual", 0, epochs=3)  # another recipe: said, and nothing is lost
    lines = shown(STUDY["trained"], Line)
    assert any("no fair comparison: its epochs differ" in line.text for line in lines)


def test_cost_is_that_of_the_trained_models():
    of = subject("digits_gradual")
    assert worth.cost_of("digits_gradual", 32, 10) == (of.loaded.parameters, counted(of.loaded))
