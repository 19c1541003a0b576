"""Match: which place of other images is most like a patch, and whether it is the right one."""

from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from vizkit.analysis.features.matching import matching_error, middles, most_alike, near
from vizkit.analysis.remarks import features
from vizkit.analysis.remarks.places import cover
from vizkit.datasets import samples
from vizkit.evaluation.measures import share_interval
from vizkit.figure.features.alike_patches import AlikePatches
from vizkit.geometry import id_at
from vizkit.traces import Features, Tokens
from vizkit.views import alike
from vizkit.views.blocks import Blocks, Numbers, Proof, Said
from vizkit.views.features.vectors import PICK, Grids, OfPatch, called, chosen, foreground, grid_of, insect, on_grid
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

LIMIT = 0.1
"""PCK@0.1: of the side of the image."""
EXACT = 1e-5
HINT = (
    "Click a patch: lines lead to the most similar place of every other image, dashed where the way back leads "
    "elsewhere; ✓ or ✗ says whether that of the mirrored one is right."
)


class Match(View, OfPatch):
    """Which place of other images is most like a patch, by the cosine of their vectors."""

    alone = True
    overlays = False
    how = How(
        "Every patch is matched with the most similar one of each other image. The last image is the first in a "
        "mirror, where the right place of every patch is known. A patch that stays where it was took the other side "
        "for its own, or its place for its content. A line is dashed where the most similar patch to its end is not "
        "where it began: such a match has no right place for sure. On drawn insects the part of a patch is known.",
        r"m(i) = \arg\max_j \cos(x_i, y_j), \qquad \mathrm{PCK} = \tfrac1N \sum_i "
        r"\big[\,\lVert p_{m(i)} - p^*_i \rVert \le 0.1\,\text{side}\,\big]",
        "that anything matches: of what is not there the most similar place is shown all the same, and a way that "
        "leads back proves nothing.",
        "Amir et al. 2021; Zhang et al. 2024, “Telling left from right”; Min et al. 2019 for PCK",
    )

    def title(self, of: Subject) -> str:
        return f"Matches after {self.block(of)[1]}"

    def show(self, of: Subject) -> Blocks:
        images = self.pictured(of)
        vectors = [*(self.vectors(each) for each in images), self.mirrored(images[0])]
        names = [*map(called, images), f"{called(images[0])}, mirrored"]
        grids = [(each.shape[0], each.shape[1]) for each in vectors]
        every = [each.flatten(0, 1) for each in vectors]
        key = "matches", tuple(each.image for each in images), self.block(of)[0], self.norm
        ids, cosines = of.kept(key, partial(pairs, every))
        starts = np.cumsum([0, *(len(each) for each in every)])
        mirror = ids[: len(every[0]), -1] - int(starts[-2])
        right, swapped = of_mirror(mirror, grids[0])
        shares = float(right.float().mean()), float(swapped.float().mean())
        parts = of_parts(images, grids, ids, starts)
        back = returning(ids, grids)
        mirrored = features.of_matches(*shares, len(mirror), LIMIT)
        others = features.of_others(float(back[: len(mirror), :-1].float().mean()), LIMIT)
        yield Said(f"{parts} {mirrored}" if parts else f"{mirrored} {others}")
        rgb = [each.seen_rgb for each in images]
        drawn = AlikePatches(
            [*rgb, np.ascontiguousarray(rgb[0][:, ::-1])],
            names,
            grids,
            ids.numpy(),
            cosines.numpy(),
            chosen=chosen(self, grids, begins(of, grids[0])),
            paired=True,
            right=right.numpy(),
            back=back.numpy(),
        )
        yield self.canvas(drawn, f"{self.title(of)}, of", HINT, PICK)
        yield Proof(of.seen)
        error = max(
            matching_error(every[0], other, ids[: len(every[0]), at] - int(starts[at + 1]))
            for at, other in enumerate(every[1:])
        )
        more = f" by more than {error:.0e}" if error else ""
        words = f"computed once more in double precision, no other patch is nearer{more}"
        yield Proof(None, words, error <= EXACT)
        arrays = {"ids": ids.numpy(), "cosines": cosines.numpy(), "grids": np.array(grids)}
        yield Numbers(lambda: arrays | {"right": right.numpy(), "swapped": swapped.numpy(), "back": back.numpy()})

    def mirrored(self, of: Subject) -> Tensor:
        """The vectors of the image in a mirror."""
        blocks = of.kept("mirrored blocks", partial(mirrored_blocks, of))
        return grid_of(self.read(of, blocks[self.block(of)[0] - 1]))


def begins(of: Subject, grid: tuple[int, int]) -> int:
    """The patch that asks until one is chosen: at the cursor, but where nobody has set that and it stands near the axis
    of the mirror, where a patch that stays is right too, the most attended one aside of it, of a drawn insect's."""
    asked = id_at(Tokens("patches", (), grid, stride=1.0), of.asked) or 0
    aside = (middles(grid)[:, 0] - 0.5).abs() > LIMIT
    if not of.unasked or aside[asked] or not aside.any():
        return asked
    seen = insect(of, grid)
    on = aside if seen is None else aside & seen.flatten()
    weights = on_grid(foreground(of)[0], grid).flatten()
    return int(torch.where(on if on.any() else aside, weights, -1.0).argmax())


def mirrored_blocks(of: Subject) -> tuple[Features, ...]:
    """What leaves the blocks where the model sees its image in a mirror."""
    flipped = np.ascontiguousarray(of.seen_rgb[:, ::-1])
    loaded = replace(of.open(), preprocessing=of.open().preprocessing.of_seen)
    return alike.blocks_of(Subject(lambda: loaded, flipped, of.edits, of.picture_of))[1]


def pairs(every: list[Tensor]) -> tuple[Tensor, Tensor]:
    """(of each patch of every image the most similar one of each other image, counted through all, their cosines)."""
    starts = np.cumsum([0, *(len(each) for each in every)]).tolist()
    ids, cosines = [], []
    for at, own in enumerate(every):
        best = [
            (found[:, 0] + starts[number], cosine[:, 0])
            for number, other in enumerate(every)
            if number != at
            for found, cosine in [most_alike(own, other, 1)]
        ]
        ids.append(torch.stack([each for each, _ in best], 1))
        cosines.append(torch.stack([each for _, each in best], 1))
    return torch.cat(ids), torch.cat(cosines)


def returning(ids: Tensor, grids: Grids) -> Tensor:
    """(patch, other image): whether the most similar patch to the one that a match leads to lies where the match began.
    `ids`: as `pairs` has them."""
    own = torch.cat([middles(grid) for grid in grids])
    image = torch.arange(len(grids)).repeat_interleave(torch.tensor([rows * columns for rows, columns in grids]))
    of_asking = image[:, None] - (image[ids] < image[:, None]).long()  # its own image is left out of those before it
    back = ids[ids, of_asking]
    return near(own[back].flatten(0, 1), own.repeat_interleave(ids.shape[1], 0), LIMIT).view_as(back)


def of_mirror(found: Tensor, grid: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Of each patch of an image, matched with `found` of its mirror image: (whether that is its own place, whether it
    is that of its twin instead, which stood there before)."""
    own = middles(grid)
    true = own * torch.tensor([-1.0, 1.0]) + torch.tensor([1.0, 0.0])
    right = near(own[found], true, LIMIT)
    return right, near(own[found], own, LIMIT) & ~right


def of_parts(images: list[Subject], grids: list[tuple[int, int]], ids: Tensor, starts: np.ndarray) -> str | None:
    """Of a drawn insect beside others: how many of its patches match the same part there; None of other images."""
    drawn = [
        (number, each)
        for number, each in enumerate(images)
        if each.image in samples.INSECTS and insect(each, grids[number]) is not None
    ]
    if len(drawn) < 2 or drawn[0][0] != 0:
        return None
    parts = {number: part_of_each(each, grids[number]) for number, each in drawn}
    asking = parts[0].nonzero()[0]
    right: list[np.ndarray] = []
    chances: list[float] = []
    for number, _ in drawn[1:]:
        there = parts[number]
        found = ids[asking, number - 1].numpy() - int(starts[number])
        shared = np.isin(parts[0][asking], there[there > 0])
        right.append((there[found] == parts[0][asking])[shared])
        chances += [float((there[there > 0] == part).mean()) for part in parts[0][asking][shared]]
    if not chances:
        return None
    share = share_interval(np.concatenate(right))
    others = [f"the {each.image}" for _, each in drawn[1:]]
    return features.of_parts((share.value, share.low, share.high), len(chances), float(np.mean(chances)), others)


def part_of_each(of: Subject, grid: tuple[int, int]) -> np.ndarray:
    """The part that covers most of each patch of the drawn insect, row by row; 0 elsewhere."""
    seen = insect(of, grid)
    parts = samples.insect(of.image).parts
    counts = np.stack([on_patches(parts == part, of, grid) for part in range(1, int(parts.max()) + 1)])
    return np.where(np.zeros(grid, bool) if seen is None else seen.numpy(), counts.argmax(0) + 1, 0).ravel()


def on_patches(mask: np.ndarray, of: Subject, grid: tuple[int, int]) -> np.ndarray:
    """How much of each patch it covers."""
    return cover(torch.from_numpy(mask).float(), of.box_xyxy, grid).numpy()
