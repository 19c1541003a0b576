"""Which steps of a run are kept: powers of two and the ends of epochs, thinned to a budget."""

from collections.abc import Iterable, Sequence

from vizkit.training.runs.folder import RunFolder
from vizkit.work_folder import file_of, steps_in


def due(ends: Iterable[int]) -> list[int]:
    """The steps to keep of a run whose epochs ended after these: the powers of two, and the ends."""
    ends = list(ends)
    return sorted({2**power for power in range(max(ends, default=0).bit_length())} | set(ends) - {0})


def kept(steps: Iterable[int], most: int) -> list[int]:
    """Which of these steps, one after another, stay where at most so many may: when one comes too many, the one goes
    whose neighbours are nearest to each other on a logarithmic scale, the earlier of two, never the first or the last.
    """
    stay = list[int]()
    for step in steps:
        stay.append(step)
        if len(stay) > most:
            inner = range(1, len(stay) - 1)
            del stay[min(inner, key=lambda at: stay[at + 1] / stay[at - 1], default=0)]
    return stay


def thin(run: RunFolder, ends: Sequence[int], most: int) -> None:
    """Of the checkpoints of a run whose finished epochs ended after these steps, leave those that `kept` says."""
    stay = kept(due(ends), most)
    for step in steps_in(run.path):
        if step not in stay:
            file_of(run.path, step).unlink(missing_ok=True)
