"""Work that several processes share, each every n-th piece: one process, or the launcher of Accelerate."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from vizkit.evaluation.answers import gathered

if TYPE_CHECKING:
    from accelerate import Accelerator


Piece = TypeVar("Piece")


def mine(pieces: Iterable[Piece], accelerator: "Accelerator | None") -> list[Piece]:
    """Those that this process does."""
    index, processes = (0, 1) if accelerator is None else (accelerator.process_index, accelerator.num_processes)
    return [*pieces][index::processes]


def together(done: list[Piece], accelerator: "Accelerator | None") -> list[Piece]:
    """What all processes did, in the order of the pieces. A meeting of all: each has to come."""
    every = gathered(done, accelerator)
    return [every[place % len(every)][place // len(every)] for place in range(sum(map(len, every)))]
