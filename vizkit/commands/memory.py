"""How long an RNN, an LSTM and a transformer remember, run after run, then the tables.

What is done stays: killed at any moment, the same command goes on after the last finished epoch.
"""

from collections.abc import Sequence

from vizkit.commands.of_runs import Runs, trained
from vizkit.commands.output import markdown
from vizkit.training.experiments.memory import BY, COUNT, METHODS, TASKS, curves, measured, plan
from vizkit.training.runs.folder import RunFolder, runs

ALONG = {"length": "letters, after a gap of 8", "gap": "dots between 5 letters and the question mark"}
WORDS = {"copy": "Repeat the letters", "reverse": "Say the letters backwards"}


def memory(*, asked: Runs) -> None:
    """Train an RNN, two LSTMs and a transformer to copy and to reverse letters after a gap, and compare.

    vizkit memory -o runs/memory --seed 0 --seed 1 --seed 2 --table memory.md

    Trains what is missing, one run after another, and prints the tables. Stop it and start it again.
    """
    mine = _trained(asked) if asked.training else list(runs(asked.output))
    parts = [_markdown(mine, data, by) for data in TASKS for by in BY if curves(mine, data, by)]
    recipe = METHODS["RNN"]
    about = f"""\
Texts wholly right, in percent, of {COUNT} for each number, none of more than 3 letters learned from: the mean over the
seeds, and from the lowest to the highest where they differ. All have learned from the same {recipe.images:,} texts of 1
to 8 letters and gaps of 0 to 24 in {recipe.epochs} epochs, with about 45,000 parameters; what is longer is new to
them."""
    asked.tell("How long networks remember", parts, about)


def _trained(asked: Runs) -> list[RunFolder]:
    mine = trained(plan, asked)
    for run in mine:
        if measured(run) is None:
            from vizkit.training.experiments.memory_measured import measure

            measure(run)
    return mine


def _markdown(mine: Sequence[RunFolder], data: str, by: str) -> str:
    """One row for each method, one column for each length or gap."""
    lines = curves(mine, data, by)
    seeds = ", ".join(map(str, lines[0].shares[0]))
    rows = [[line.method, *(_words([*shares.values()]) for shares in line.shares)] for line in lines]
    return f"## {WORDS[data]}: by {by}, seeds {seeds}\n\n{markdown([ALONG[by], *lines[0].at], rows)}"


def _words(shares: Sequence[float]) -> str:
    """ "76 (28–100)": percent, the mean over seeds and the ends of their range."""
    mean, low, high = (f"{100 * share:.0f}" for share in (sum(shares) / len(shares), min(shares), max(shares)))
    return mean if low == high else f"{mean} ({low}–{high})"
