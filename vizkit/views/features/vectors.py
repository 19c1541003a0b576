"""The vectors of the patches of an image that dense views read, and what they take for its foreground."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.attention_map import head_map
from vizkit.analysis.attention.feature_strength import feature_strength
from vizkit.figure.features.alike_patches import OverImages
from vizkit.models.probes.patch_vectors import last_norm, normed
from vizkit.traces import Features, NotApplicable
from vizkit.views import alike
from vizkit.views.blocks import Canvas, Paper
from vizkit.views.compare.images import OfImages
from vizkit.views.controls import choice, layer, text
from vizkit.views.rules import RefusedError
from vizkit.views.subject import Subject

BEFORE, AFTER = "before the last norm", "after the last norm"
MOST_SIDE = 56  # places; of more, such as a CNN's first stages have, neighbours are averaged
PLACE, LONGEST = re.compile(r"([1-9]):(\d{1,3}),(\d{1,3})"), 12
Grids = Sequence[tuple[int, int]]


def place(told: object) -> str:
    """As `patch_at` reads it, or none."""
    if not isinstance(told, str) or not (told == "" or PLACE.fullmatch(told)):
        raise RefusedError
    return told


PICK = {"pick": (place, "patch")}
COVERED = 0.25  # of a patch, from which it belongs to a drawn insect, whose legs are thin


def norms(of: Sequence[Subject]) -> list[str]:
    return [BEFORE, AFTER] if any(last_norm(each.loaded, width) for each in of for width in widths(each)) else [BEFORE]


def widths(of: Subject) -> set[int]:
    return {each.values.shape[1] for each in alike.blocks_of(of)[1]}


@dataclass(frozen=True)
class OfPatches(OfImages):
    """Views of the patches of several images after a block."""

    layer: int | None = layer("Layer", "A model with fewer layers shows its last.", plays=True, key="layer")
    norm: str = choice(
        "Vectors",
        norms,
        "As they leave the block, or as the model's last normalisation would leave them, which its head reads.",
        default=BEFORE,
        key="feature_norm",
    )

    def block(self, of: Subject) -> tuple[int, str]:
        return alike.after(of, min(self.layer or of.depth, of.depth or 1) / (of.depth or 1))

    def pictured(self, of: Subject) -> list[Subject]:
        return [each for (each,) in self.rows([of])]

    def vectors(self, of: Subject) -> Tensor:
        """(row, column, channel) after the block that is shown."""
        return grid_of(self.read(of, alike.blocks_of(of)[1][self.block(of)[0] - 1]))

    def read(self, of: Subject, features: Features) -> Features:
        return normed(of.loaded, features) if self.norm == AFTER else features

    def canvas(self, drawn: OverImages, alt: str, hint: str, tells: dict[str, Any]) -> Canvas:
        return Canvas("vizkit_alike", drawn.pack() | {"hint": hint}, alt, tells, (Paper(drawn.marks),))


@dataclass(frozen=True)
class OfPatch(OfPatches):
    """Those of which one may ask for others."""

    patch: str = text(
        "Patch",
        "",
        "Such as 2:350,617: in the second image, 350 thousandths from the left and 617 from the top.",
        longest=LONGEST,
        key="feature_patch",
        inside=True,
    )


def grid_of(features: Features) -> Float[Tensor, "row column channel"]:
    """Of patches alone; very many are averaged. NotApplicable where their places are not known."""
    tokens = features.tokens
    if tokens.grid is None:
        raise NotApplicable("Where the tokens of this block lie in the image is not known.")
    first, (rows, columns) = len(tokens.special), tokens.grid
    vectors = features.values[first : first + rows * columns].float().unflatten(0, tokens.grid)
    while max(vectors.shape[:2]) > MOST_SIDE:
        vectors = F.avg_pool2d(vectors.permute(2, 0, 1), 2, ceil_mode=True).permute(1, 2, 0)
    return vectors


def foreground(of: Subject) -> tuple[Float[Tensor, "row column"], str]:
    """(how much each place stands out, ≥ 0, by what): the attention of the class token in the last layer, in the mean
    of its heads, else what all tokens attend to; without attention how strong the last features are."""
    return of.kept("foreground", lambda: _foreground(of))


def _foreground(of: Subject) -> tuple[Float[Tensor, "row column"], str]:
    last = next((each for each in reversed(of.whole().attention) if each.learned and each.key.grid), None)
    if last is not None:
        maps = [head_map(last, head) for head in range(last.weights.shape[1])]
        who = f"[{last.query.special[0]}] attends" if last.query.special else "all tokens attend"
        return torch.stack([each for each in maps if each is not None]).mean(0), f"what {who} to in the last layer"
    placed = [each for each in of.seen.features if each.tokens.grid]
    if not placed:
        raise NotApplicable(f"No layer of {of.name} has places in the image.")
    return feature_strength(placed[-1]), "where the last features are strongest"


def on_grid(places: Float[Tensor, "row column"], grid: tuple[int, int]) -> Float[Tensor, "rows columns"]:
    """The same map on another grid."""
    return F.interpolate(places[None, None].float(), grid, mode="area")[0, 0]


def insect(of: Subject, grid: tuple[int, int]) -> Tensor | None:
    """The patches of the drawn insect, (row, column); None of other images, and where it covers none enough."""
    covered = of.covered(grid)
    mask = None if covered is None else covered >= COVERED
    return mask if mask is not None and bool(mask.any()) else None


def called(of: Subject) -> str:
    """Its name, of a file without its folder."""
    return PurePath(of.image).name or "the image"


def chosen(view: OfPatch, grids: Grids, default: int = -1) -> int:
    """Which patch asks, counted through all images from 0; −1 for none."""
    return patch_at(view.patch, grids) if view.patch else default


def patch_at(place: str, grids: Grids) -> int:
    """The patch at a place such as 2:350,617, counted through all images, as alike.js reads it, whatever grid it was
    chosen on; −1 in an image that is not shown. NotApplicable for other words."""
    if not (told := PLACE.fullmatch(place)):
        raise NotApplicable(f"{place[:30]!r} is no patch such as 2:350,617: image, x and y in ‰.")
    image, x, y = map(int, told.groups())
    if image > len(grids):
        return -1
    rows, columns = grids[image - 1]
    return sum(down * across for down, across in grids[: image - 1]) + y * rows // 1000 * columns + x * columns // 1000
