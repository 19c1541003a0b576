"""How long do networks remember? Four that translate learn to copy and to reverse letters after a gap.

RNN, LSTM, LSTM with attention and transformer have about as many parameters, see the same texts in the same order and
take as many steps. Each is then asked for more letters, and after longer gaps, than it has learned.
No torch here: the page reads the runs before it is loaded.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder

SHIPPED = Path(__file__).parents[2] / "bundled" / "experiments" / "memory"
TASKS = ("copy", "reverse")
_BEGIN = Recipe(images=20_000, epochs=3, batch=64, lr=3e-3, warmup_epochs=0.5)
METHODS: dict[str, Recipe] = {
    "RNN": _BEGIN.but({"model": "seq2seq_rnn", "model_args": {"dim": 32, "hidden": 128}}),
    "LSTM": _BEGIN.but({"model": "seq2seq_lstm", "model_args": {"dim": 32, "hidden": 60}}),
    "LSTM + attention": _BEGIN.but({"model": "seq2seq_lstm_attention", "model_args": {"dim": 32, "hidden": 50}}),
    "Transformer": _BEGIN.but(
        {"model": "seq2seq_transformer", "model_args": {"dim": 32, "depth": 2, "heads": 4, "hidden": 72}}
    ),
}
BY: dict[str, tuple[tuple[int, int], ...]] = {
    "length": tuple((letters, 8) for letters in range(1, 13)),
    "gap": tuple((5, gap) for gap in range(0, 41, 4)),
}
"""What is measured along: (letters, gap) of every point. The longest learned are 8 letters and a gap of 24."""
COUNT = 200
"""Texts of a point, none of which was learned from where they have more than 3 letters."""


def plan(seed: int = 0) -> dict[str, Recipe]:
    """A run's name and its recipe, in the order of training."""
    return {
        name_of(data, method, seed): recipe.but({"data": data, "seed": seed})
        for data in TASKS
        for method, recipe in METHODS.items()
    }


def name_of(data: str, method: str, seed: int) -> str:
    return f"{data}-{method.lower().replace(' + ', '-')}-seed{seed}"


@dataclass(frozen=True)
class Curve:
    """Exact match of one method, by how many letters or how long a gap there is: `at`, with all seeds' shares."""

    data: str
    method: str
    by: str
    at: tuple[int, ...]
    shares: tuple[Mapping[int, float], ...]  # by seed, 0 to 1

    @property
    def runs(self) -> list[list[float]]:
        """Of every seed its shares at all of `at`."""
        return [[shares[seed] for shares in self.shares] for seed in self.shares[0]]


def outcomes(runs: Iterable[RunFolder]) -> dict[tuple[str, str], dict[int, RunFolder]]:
    """(task, method) → its finished runs by seed; runs that the plan does not know are left out."""
    order: dict[tuple[str, str], dict[int, RunFolder]] = {(data, method): {} for data in TASKS for method in METHODS}
    for run in runs:
        try:
            recipe = run.recipe
        except RecipeError:
            continue
        for (data, method), by_seed in order.items():
            planned = METHODS[method].but({"data": data, "seed": recipe.seed})
            if recipe == planned and isinstance(measured(run), dict):
                by_seed[recipe.seed] = run
    return {key: dict(sorted(by_seed.items())) for key, by_seed in order.items() if by_seed}


def measured(run: RunFolder) -> dict[str, list[float]] | None:
    """Shares of a run along each of BY, where they were measured."""
    content: Any = run.read("memory.json")
    sound = isinstance(content, dict) and all(
        isinstance(content.get(by), list) and len(content[by]) == len(points) for by, points in BY.items()
    )
    return content if sound else None


def curves(runs: Iterable[RunFolder], data: str, by: str) -> list[Curve]:
    """One curve for each method that has learned this task. `by`: "length" or "gap"."""
    lines, at = [], tuple(letters if by == "length" else gap for letters, gap in BY[by])
    for (task, method), by_seed in outcomes(runs).items():
        if task == data:
            values = {seed: content[by] for seed, run in by_seed.items() if (content := measured(run))}
            shares = tuple({seed: along[place] for seed, along in values.items()} for place in range(len(at)))
            lines.append(Curve(data, method, by, at, shares))
    return lines
