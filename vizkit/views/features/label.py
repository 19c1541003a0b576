"""Label: a few painted patches, and what a linear probe takes all others for."""

import io
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from vizkit.analysis.features.probe import RIDGE, begun, compact, mean_iou, probe, probe_error
from vizkit.analysis.remarks import features
from vizkit.figure.features.alike_patches import spread
from vizkit.figure.features.labelled_patches import THINGS, TINTS, LabelledPatches
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Download, Numbers, Proof, Said
from vizkit.views.controls import text
from vizkit.views.features.vectors import Grids, OfPatches, called, insect, patch_at
from vizkit.views.rules import words
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

MOST, LONGEST = 100, 1600  # clicks, and the characters that say them
NONE = "none"
EXACT = 1e-6
HINT = "Choose a thing, by its button or by 1 to 4, and click patches of it; once more takes one away."


class Label(View, OfPatches):
    """A few patches are painted as things, and a linear probe says of all others which they are."""

    clicks: str = text(
        "Painted",
        "",
        "Such as 1:2:350,617: thing 1 in the second image, 350 thousandths from the left and 617 from the top; by a "
        f"space the next, or {NONE}. By default a patch or two of each side of the first image's clusters.",
        longest=LONGEST,
        key="label_clicks",
        inside=True,
    )

    alone = True
    overlays = False
    how = How(
        "The vectors of the painted patches, one-hot answers, and a ridge regression between them: a linear probe of "
        "as many examples as there are clicks. It is solved where the click is made, and answers for all images; the "
        "model does not run. To begin with, two clusters of the first image are painted, thing 1 being the one that "
        "has less of its border. On drawn insects a thing is taken for the insect if half of its painted patches are, "
        "and the painted patches are not counted.",
        r"f(x) = k(x)^\top (K + \lambda I)^{-1} Y, \quad K_{ij} = \cos(x_i, x_j), \quad \lambda = 0.1",
        "where a thing ends within a patch; what is none of the things is taken for the most alike of them.",
        "Alain & Bengio 2016; Oquab et al. 2023; Saunders, Gammerman & Vovk 1998 for the dual form",
    )

    def title(self, of: Subject) -> str:
        return f"Labels after {self.block(of)[1]}"

    def show(self, of: Subject) -> Blocks:
        images = self.pictured(of)
        key = tuple(each.image for each in images), self.block(of)[0], self.norm
        vectors, grids = of.kept(("compact", *key), partial(self.compact, images))
        starts = np.cumsum([0, *(rows * columns for rows, columns in grids)])
        clicks = self.clicks or of.kept(("begun", *key), partial(first, vectors, grids[0]))
        painted = painted_by(clicks, grids)
        scores, found = probe(vectors, painted) if painted else (None, torch.zeros(len(vectors)))
        things = found.int().numpy()
        rgb, names = [each.seen_rgb for each in images], [*map(called, images)]
        own = [*zip(names, (part.tolist() for part in np.split(things, starts[1:-1])), strict=True)]
        yield Said(features.of_labels(painted, own, judged(images, grids, painted, things)))
        drawn = LabelledPatches(rgb, names, grids, things, painted, clicks, vectors.numpy(), RIDGE, MOST)
        yield self.canvas(drawn, f"{self.title(of)}, of", HINT, {"clicks": (words(LONGEST), "clicks")})
        yield Proof(of.seen)
        error = 0.0 if scores is None else probe_error(vectors, painted, scores)
        said = f"solved once more, with a weight for each direction, the scores differ by {error:.0e}"
        yield Proof(None, said, error <= EXACT)
        masks = [part.reshape(grid) for part, grid in zip(np.split(things, starts[1:-1]), grids, strict=True)]
        for name, picture, mask in zip(names, rgb, masks, strict=True):
            yield Download(f"Things in {name} by their numbers (PNG)", partial(png, mask, picture.shape[:2]))
        pairs = np.array([*painted.items()], int).reshape(-1, 2)
        yield Numbers(lambda: {"things": things, "painted": pairs, "grids": grids})

    def compact(self, images: Sequence[Subject]) -> tuple[Tensor, Grids]:
        vectors = [self.vectors(each) for each in images]
        grids = [(each.shape[0], each.shape[1]) for each in vectors]
        return compact(torch.cat([each.flatten(0, 1) for each in vectors])), grids


def first(vectors: Tensor, grid: tuple[int, int]) -> str:
    """The clicks to begin with, on the first image."""
    rows, columns = grid
    found = begun(vectors[: rows * columns].unflatten(0, grid))
    places = ((thing, *divmod(patch, columns)) for patch, thing in found.items())
    return " ".join(f"{thing}:1:{thousandths(x, columns)},{thousandths(y, rows)}" for thing, y, x in places)


def thousandths(at: int, count: int) -> int:
    """The middle of one of so many places."""
    return int(1000 * (at + 0.5) / count + 0.5)


def painted_by(clicks: str, grids: Grids) -> dict[int, int]:
    """Things by their patches; those of images that are not shown are left out. NotApplicable for other words."""
    found = dict[int, int]()
    for click in clicks.replace(NONE, "").split():
        thing, _, place = click.partition(":")
        if thing not in map(str, range(1, THINGS + 1)):
            raise NotApplicable(f"{click[:30]!r} is no painted patch such as 1:2:350,617: thing, image, x and y in ‰.")
        if (patch := patch_at(place, grids)) >= 0:
            found[patch] = int(thing)
    return found


def judged(
    images: Sequence[Subject], grids: Grids, painted: Mapping[int, int], things: np.ndarray
) -> tuple[int, int, float, float] | None:
    """Of drawn insects (their number, their patches that nobody painted, the mean IoU of insect and ground there, that
    of as many patches anywhere); None of other images. A thing is the insect if half of its painted patches are."""
    truths = [(insect(each, grid), grid) for each, grid in zip(images, grids, strict=True)]
    known = torch.cat([torch.full((r * c,), truth is not None) for truth, (r, c) in truths])
    truth = torch.cat([torch.zeros(r * c).bool() if each is None else each.flatten() for each, (r, c) in truths])
    votes = dict[int, list[bool]]()
    for patch, thing in painted.items():
        votes.setdefault(thing, []).extend([bool(truth[patch])] if known[patch] else [])
        known[patch] = False
    if not painted or not known.any():
        return None
    insects = [thing for thing, own in votes.items() if sum(own) >= max(1, len(own) / 2)]
    found = torch.from_numpy(np.isin(things, insects))
    return sum(each is not None for each, _ in truths), int(known.sum()), *mean_iou(found[known], truth[known])


def png(mask: np.ndarray, size_hw: tuple[int, int]) -> bytes:
    """The number of the thing in every pixel, and in the palette its colour."""
    made, buffer = Image.fromarray(spread(mask, size_hw).astype(np.uint8), "P"), io.BytesIO()
    made.putpalette(TINTS.tobytes())
    made.save(buffer, "PNG")
    return buffer.getvalue()
