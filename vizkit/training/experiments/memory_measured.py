"""What a run of `memory` has learned to remember: exact match by how many letters there are and how long the gap is."""

from accelerate import Accelerator

from vizkit.datasets.sequences.opening import open_pairs
from vizkit.models.sequences import open_sequence
from vizkit.training.evaluating import evaluate
from vizkit.training.experiments.memory import BY, COUNT
from vizkit.training.runs.folder import RunFolder
from vizkit.training.sequences.lines import Lines


def measure(run: RunFolder) -> dict[str, list[float]]:
    """Shares of texts wholly right, along each of BY; kept in memory.json of the run."""
    model, accelerator = open_sequence(run.path), Accelerator(cpu=True)

    def right(letters: int, gap: int) -> float:
        pairs = open_pairs(model.data, "test", count=COUNT, letters=letters, gap=gap)
        return evaluate(model.model, Lines(pairs, model.task, learns=False), None, accelerator, 0).accuracy

    shares = {by: [right(letters, gap) for letters, gap in points] for by, points in BY.items()}
    run.write("memory.json", shares)
    return shares
