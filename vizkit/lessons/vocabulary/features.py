"""Words about what the vectors of patches know, as the page Features shows it of the same images."""

from typing import Any

import numpy as np
import torch

from vizkit.analysis.features import objects
from vizkit.lessons.vocabulary.asking import VOCABULARY as VOCABULARY
from vizkit.lessons.vocabulary.asking import At, one_of, plain, says, token_of, word
from vizkit.traces import Map, NotApplicable, Tokens
from vizkit.views.blocks import Numbers
from vizkit.views.features.colours import Colours
from vizkit.views.features.match import Match
from vizkit.views.features.object import Object
from vizkit.views.subject import Subject


def _numbers(of: Subject, view: Any, at: At) -> dict[str, np.ndarray]:
    shown = view(layer=1 + one_of(of.depth, at, "block"))

    def made() -> dict[str, np.ndarray]:
        return {
            name: each
            for block in shown.show(of)
            if isinstance(block, Numbers)
            for name, each in block.arrays().items()
        }

    return of.kept(("lesson", shown), made)


def _first(numbers: dict[str, np.ndarray]) -> tuple[int, int]:
    """The grid of the image at hand; those of the others follow."""
    return tuple(numbers["grids"][0].tolist())


@word
def main_direction(of: Subject, number: int = 1, block: At = "last") -> Map:
    """How far every patch lies along one of the three main directions of the patches of all images that the page
    shows, from their mean."""
    numbers = _numbers(of, Colours, block)
    rows, columns = _first(numbers)
    at = one_of(3, number, "direction")
    return torch.from_numpy(numbers["scores"][: rows * columns, at].reshape(rows, columns))


def _explained(of: Subject, number: int = 1, block: At = "last") -> float:
    return float(_numbers(of, Colours, block)["explained"][one_of(3, number, "direction")])


says("explained", "The share of the variance along one of the three main directions.", _explained)


@word
def object_by(of: Subject, rule: str = "TokenCut", block: At = "last") -> Map:
    """1 for every patch that a rule takes for the object, else 0: TokenCut, LOST, attention or k_means."""
    masks = _numbers(of, Object, block)
    if rule not in masks or rule == "eigenvector":
        raise NotApplicable(f"“{rule[:20]}” is no rule for an object; there are TokenCut, LOST, attention, k_means.")
    return torch.from_numpy(masks[rule]).float()


def _found(of: Subject, name: str, block: At) -> np.ndarray:
    """Of the marked patch and every other image, the mirrored one last."""
    numbers = _numbers(of, Match, block)
    grid = _first(numbers)
    return numbers[name][token_of(of, Tokens("patches", (), grid, stride=1.0), "patch")]


def _elsewhere(of: Subject, block: At = "last") -> float:
    return float(_found(of, "cosines", block)[:-1].max())


says("best_elsewhere", "The highest cosine of the marked patch with a patch of another image.", _elsewhere)
says(
    "mirrored",
    "The share of patches found at the right place of the image's mirror image.",
    lambda of, block="last": float(_numbers(of, Match, block)["right"].mean()),
)
says("above", "1 where a map is above a value, else 0.", lambda map, value=0: (map > value).float(), plain)
says(
    "iou",
    "Intersection over union of the patches above 0 of two maps.",
    lambda one, other: objects.iou(one > 0, other > 0),
    plain,
)
