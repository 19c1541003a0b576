"""The memory experiment: equal networks, curves from run folders by hand, the command's table, what is measured."""

import pytest

from tests.training.test_training import followed
from vizkit.__main__ import main
from vizkit.datasets.sequences.opening import open_pairs
from vizkit.models.networks.sequence_models import build
from vizkit.training.experiments import memory, memory_measured
from vizkit.training.experiments.memory import BY, METHODS, curves, name_of, outcomes, plan
from vizkit.training.recipe import Recipe
from vizkit.training.runs.folder import RunFolder, runs


def finished(home, data, method, seed, shares):
    """A run of the plan whose shares are the same number everywhere."""
    run = RunFolder(home / name_of(data, method, seed))
    run.create(plan(seed)[run.name])
    run.write("memory.json", {by: [shares] * len(points) for by, points in BY.items()})
    return run


def test_the_four_differ_in_the_model_alone_and_have_as_many_parameters():
    counts = [sum(p.numel() for p in build(each.model, 15, each.model_args).parameters()) for each in METHODS.values()]
    assert max(counts) < 1.08 * min(counts)
    assert len({each.but({"model": "seq2seq_rnn", "model_args": {}}).to_json() for each in METHODS.values()}) == 1
    assert len(plan()) == 2 * len(METHODS)


def test_curves_have_the_seeds_of_the_runs_that_were_measured(tmp_path):
    finished(tmp_path, "copy", "LSTM", 0, 0.25)
    finished(tmp_path, "copy", "LSTM", 1, 0.75)
    finished(tmp_path, "reverse", "RNN", 0, 0.5)
    stranger = RunFolder(tmp_path / "stranger")
    stranger.create(Recipe(model="seq2seq_lstm", data="copy"))
    stranger.write("memory.json", {by: [1.0] * len(points) for by, points in BY.items()})
    damaged = finished(tmp_path, "copy", "Transformer", 0, 0.5)
    damaged.write("memory.json", {"length": [1.0]})
    mine = list(runs(tmp_path))
    assert {key: list(by_seed) for key, by_seed in outcomes(mine).items()} == {
        ("copy", "LSTM"): [0, 1],
        ("reverse", "RNN"): [0],
    }
    (line,) = curves(mine, "copy", "gap")
    assert (line.method, line.at) == ("LSTM", tuple(range(0, 41, 4)))
    assert all(shares == {0: 0.25, 1: 0.75} for shares in line.shares)
    assert line.runs == [[0.25] * 11, [0.75] * 11]
    assert curves(mine, "reverse", "length")[0].method == "RNN"


def test_the_command_prints_a_table_of_the_runs_that_are_done(tmp_path, capsys):
    finished(tmp_path, "copy", "LSTM", 0, 0.25)
    finished(tmp_path, "copy", "LSTM", 1, 0.75)
    table = tmp_path / "memory.md"
    assert main(["memory", "-o", str(tmp_path), "--no-training", "--table", str(table)]) == 0
    text = table.read_text()
    assert "| LSTM | 50 (25–75) |" in text
    assert "by gap, seeds 0, 1\n" in text
    assert main(["memory", "-o", str(tmp_path / "none"), "--no-training"]) == 2
    assert "no finished run" in capsys.readouterr().err


def test_a_run_is_asked_for_letters_and_gaps_of_every_point(tmp_path, monkeypatch):
    sizes = {"dim": 8, "hidden": 8}
    run = followed(
        tmp_path / "run",
        Recipe(data="reverse", model="seq2seq_rnn", model_args=sizes, images=64, epochs=1, warmup_epochs=0.0),
    )
    asked = []
    monkeypatch.setattr(memory_measured, "COUNT", 5)
    monkeypatch.setattr(
        memory_measured, "open_pairs", lambda *given, **how: asked.append(open_pairs(*given, **how)) or asked[-1]
    )
    shares = memory_measured.measure(run)
    assert memory.measured(run) == shares
    points = [(len(pairs[0].target), len(pairs[0].source) - len(pairs[0].target) - 1) for pairs in asked]
    assert points == [*BY["length"], *BY["gap"]]
    assert all(pair.target == pair.source[: len(pair.target)][::-1] for pairs in asked for pair in pairs)


@pytest.mark.parametrize("data", memory.TASKS)
@pytest.mark.parametrize("by", BY)
def test_the_shipped_experiment_has_all_methods_with_the_same_seeds(data, by):
    shipped = [RunFolder(file.parent) for file in memory.SHIPPED.glob("*/recipe.json")]
    lines = curves(shipped, data, by)
    assert [line.method for line in lines] == list(METHODS)
    assert len({tuple(shares) for line in lines for shares in line.shares}) == 1
    recurrent, *_, transformer = (line.runs for line in lines)
    assert all(run[4] < 0.1 for run in recurrent)  # at 5 letters, or after 16 dots
    assert all(run[4] > 0.9 for run in transformer)
