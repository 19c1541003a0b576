"""Colours of patches: the three main directions of the vectors of all images' patches as red, green and blue."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch

from vizkit.analysis.attention.token_norms import norms_of
from vizkit.analysis.features.matching import most_alike
from vizkit.analysis.features.objects import iou
from vizkit.analysis.features.principal import Principal, principal, told_apart
from vizkit.analysis.remarks import features
from vizkit.figure.features.alike_patches import AlikePatches
from vizkit.traces import Features, Tokens
from vizkit.views.blocks import Blocks, Line, Numbers, Proof, Said
from vizkit.views.features.vectors import PICK, OfPatch, called, chosen, foreground, insect, on_grid
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

ALIKE, LEAST, SHARE = 32, 4, 0.05
"""So many of the most alike patches light up: a twentieth, at least 4 and at most 32."""
EXACT = 1e-6
HINT = "Point at a patch: those most alike to it, in all images, light up. A click keeps it."


class Colours(View, OfPatch):
    """Patches of several images in the colours of their three main directions."""

    alone = True
    overlays = False
    how = How(
        "Patches of one colour have similar vectors, within an image and from image to image, for all images share one "
        "basis. A component points to the foreground: it has a positive covariance with what the class token attends "
        "to in the last layer (without one: what all tokens attend to, or where the last features are strongest). "
        "Patches of far larger norm than all others, as X-ray shows them, are left out of the basis. Point "
        "at a patch: the most alike ones, by the cosine of their vectors, light up.",
        r"X - \bar X = U S V^\top, \quad (r, g, b)_i = (x_i - \bar x)\,[\pm v_1, \pm v_2, \pm v_3], \quad "
        r"\text{explained}_k = s_k^2 / \textstyle\sum_j s_j^2",
        "what a colour means: only which patches have the same. Three directions are a part of the variance, and the "
        "first may be of position or light.",
        "Oquab et al. 2023, fig. 1; Darcet et al. 2024 for the long patches",
    )

    def title(self, of: Subject) -> str:
        return f"Colours of patches after {self.block(of)[1]}"

    def show(self, of: Subject) -> Blocks:
        images, after = self.pictured(of), self.block(of)[1]
        vectors = [self.vectors(each) for each in images]
        every = tuple(each.image for each in images)
        key = "colours of patches", every, self.block(of)[0], self.norm
        found, left_out, ids, cosines = of.kept(key, partial(together, images, vectors))
        flat = torch.cat([each.flatten(0, 1) for each in vectors])
        grids = [(each.shape[0], each.shape[1]) for each in vectors]
        names = [called(each) for each in images]
        held = float(found.explained.sum())
        yield Said(features.of_colours(held, len(flat), after, len(images), *apart(images, found.rgb)))
        drawn = AlikePatches(
            [each.seen_rgb for each in images],
            names,
            grids,
            ids.numpy(),
            cosines.numpy(),
            np.rint(255 * torch.cat([each.flatten(0, 1) for each in found.rgb]).numpy()).astype(np.uint8),
            chosen(self, grids),
        )
        yield self.canvas(drawn, f"Patches of {self.title(of).removeprefix('Colours of patches ')}:", HINT, PICK)
        parts = " + ".join(f"{100 * share:.0f} %" for share in found.explained.tolist())
        yield Line(
            f"Red + green + blue: {parts} of the variance of all patches; patches of one colour may differ in the rest."
        )
        if (mask := insect(of, grids[0])) is not None:
            own, whole = (iou(each, mask) for each in (found.scores[0][..., 0] > 0, torch.ones_like(mask)))
            yield Line(features.of_first(own, whole))
        yield Line(features.of_basis(foreground(of)[1], left_out, found.clipped, len(flat)))
        yield Proof(of.seen)
        words = f"computed once more from the vectors, the shares of the variance differ by {found.error:.0e}"
        yield Proof(None, words, found.error <= EXACT)
        yield Numbers(partial(numbers, found))


def apart(images: list[Subject], colours: Sequence[torch.Tensor]) -> tuple[float, float | None]:
    """(how well colours tell the images apart, and insect from ground within them: None where not all are drawn
    insects), each from chance to 1."""
    own = [each.flatten(0, 1) for each in colours]
    masks = [insect(each, (rgb.shape[0], rgb.shape[1])) for each, rgb in zip(images, colours, strict=True)]
    drawn = [mask.flatten() for mask in masks if mask is not None]
    if len(drawn) < len(images):
        return told_apart(own), None
    within, on = torch.cat([each - each.mean(0) for each in own]), torch.cat(drawn)
    return told_apart(own), told_apart([within[on], within[~on]])


def together(images: list[Subject], vectors: list[torch.Tensor]) -> tuple[Principal, int, torch.Tensor, torch.Tensor]:
    """(the colours, how many patches have no say in them, the most alike patches of each, their cosines)."""
    grids = [(each.shape[0], each.shape[1]) for each in vectors]
    outliers = [
        norms_of(Features("", each.flatten(0, 1), Tokens("patches", (), grid))).outliers.view(grid)
        for each, grid in zip(vectors, grids, strict=True)
    ]
    weights = [on_grid(foreground(each)[0], grid) for each, grid in zip(images, grids, strict=True)]
    flat = torch.cat([each.flatten(0, 1) for each in vectors])
    count = max(LEAST, min(ALIKE, round(SHARE * len(flat))))
    alike = most_alike(flat, flat, count, same=True)
    return principal(vectors, weights, outliers), int(sum(each.sum() for each in outliers)), *alike


def numbers(found: Principal) -> dict[str, np.ndarray]:
    """Scores of all images in a row, image by image, and their grids (image, 2)."""
    return {
        "scores": torch.cat([each.flatten(0, 1) for each in found.scores]).numpy(),
        "colours": torch.cat([each.flatten(0, 1) for each in found.rgb]).numpy(),
        "grids": np.array([each.shape[:2] for each in found.scores]),
        "explained": found.explained.numpy(),
        "directions": found.directions.float().numpy(),
    }
