"""Pictures in which every thing has a box, and a class, and sometimes a mask."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt8

__all__ = ["Annotated", "BoxSet"]


@dataclass(frozen=True)
class Annotated:
    """A picture and the things in it. `boxes_xyxy`: left, top, right, bottom in pixels of the picture, right and bottom
    exclusive. `instances`: of every pixel 0 or 1 + the place of the thing that is seen there, where that is known."""

    picture: UInt8[np.ndarray, "height width 3"]
    boxes_xyxy: Float[np.ndarray, "thing 4"]
    labels: Int[np.ndarray, " thing"]
    instances: UInt8[np.ndarray, "height width"] | None = None


@dataclass(frozen=True, eq=False)
class BoxSet:
    """One split of annotated pictures. `read`: picture `index`, from 0. `notes`: sentences for the user, such as what
    was left out. `digest` changes with the content."""

    name: str
    split: str
    labels: tuple[str, ...]
    count: int
    read: Callable[[int], Annotated]
    digest: str
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Annotated:
        """DatasetError, with its place, on a damaged picture."""
        return self.read(range(self.count)[index])
