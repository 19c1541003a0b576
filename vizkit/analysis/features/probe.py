"""A linear probe on a few painted patches: which thing all others are.

Ridge regression to one-hot answers in its dual form (Saunders, Gammerman & Vovk 1998), a system no larger than the
patches that are painted; vectors of unit length, as most right on drawn insects. canvas/features/probe.js is the same.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Bool, Float, Int, Int16
from torch import Tensor

from vizkit.analysis.features.objects import chance_iou, clusters, iou

RIDGE = 0.1
CHANNELS, STEPS = 64, 32767
"""Directions that are kept of the vectors, and the steps of a unit in which they are written: both sides of a browser
multiply the same whole numbers."""
TIE = 1e-9


def compact(vectors: Float[Tensor, "patch channel"]) -> Int16[Tensor, "patch direction"]:
    """Their directions in whole steps, in at most 64 main axes of all of them."""
    unit = torch.nn.functional.normalize(vectors.double(), dim=1)
    axes = torch.linalg.eigh(unit.T @ unit).eigenvectors[:, -CHANNELS:]
    return (STEPS * torch.nn.functional.normalize(unit @ axes, dim=1)).round().to(torch.int16)


def probe(
    vectors: Int16[Tensor, "patch direction"], painted: Mapping[int, int]
) -> tuple[Float[Tensor, "patch thing"], Int[Tensor, " patch"]]:
    """(scores of the things that are painted, in their order; the thing of every patch, the first where several score
    the same). `painted`: things by patches, at least one."""
    x, y, things = _given(vectors, painted)
    cosines = x @ x[[*painted]].T
    scores = cosines @ torch.linalg.solve(cosines[[*painted]] + RIDGE * torch.eye(len(painted)), y)
    best = (scores >= scores.amax(1, keepdim=True) - TIE).int().numpy().argmax(1)
    return scores, things[torch.from_numpy(best)]


def probe_error(
    vectors: Int16[Tensor, "patch direction"], painted: Mapping[int, int], scores: Float[Tensor, "patch thing"]
) -> float:
    """How far scores are from those of the primal form, a weight for each direction and thing; 0 but for rounding."""
    x, y, _ = _given(vectors, painted)
    own = x[[*painted]]
    weights = torch.linalg.solve(own.T @ own + RIDGE * torch.eye(x.shape[1]), own.T @ y)
    return float((x @ weights - scores).abs().max())


def _given(vectors: Tensor, painted: Mapping[int, int]) -> tuple[Tensor, Tensor, Tensor]:
    """(vectors, one-hot answers of the painted ones, things)."""
    own = torch.tensor([*painted.values()])
    things = own.unique()
    return vectors.double() / STEPS, (own[:, None] == things).double(), things


def begun(vectors: Int16[Tensor, "row column direction"]) -> dict[int, int]:
    """Patches of an image to begin with: of two clusters the one with less of its patches at the border is thing 1, and
    of two clusters within each the patch nearest to the centre is painted."""
    flat, border = vectors.flatten(0, 1).double(), torch.ones(vectors.shape[:2])
    border[1:-1, 1:-1] = 0
    sides, painted = clusters(flat, 2), dict[int, int]()
    for thing, side in enumerate(sorted(sides.unique(), key=lambda each: border.flatten()[sides == each].mean()), 1):
        ids = (sides == side).nonzero()[:, 0]
        parts = clusters(flat[ids], 2)
        for members in (ids[parts == part] for part in parts.unique()):
            own = flat[members]
            painted[int(members[(own @ own.mean(0)).argmax()])] = thing
    return painted


def mean_iou(found: Bool[Tensor, " patch"], truth: Bool[Tensor, " patch"]) -> tuple[float, float]:
    """(the mean of the IoU of a thing and that of what is none, 0 to 1; the same of as many patches laid anywhere)."""
    shares = float(found.float().mean()), float(truth.float().mean())
    chance = chance_iou(*shares) + chance_iou(*(1 - share for share in shares))
    return (iou(found, truth) + iou(~found, ~truth)) / 2, chance / 2
