"""Object: which patches are the object, by four rules that need no label."""

import io
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from jaxtyping import Bool
from PIL import Image
from torch import Tensor

from vizkit.analysis.features.objects import (
    MASS,
    OF_OUTPUTS,
    THRESHOLD,
    chance_iou,
    clusters,
    heaviest,
    heavy_clusters,
    iou,
    lost,
    token_cut,
)
from vizkit.analysis.remarks import features
from vizkit.figure.features.alike_patches import cut_out, spread
from vizkit.models.probes.patch_vectors import keys
from vizkit.percent import in_percent
from vizkit.traces import NotApplicable
from vizkit.views import alike
from vizkit.views.blocks import Blocks, Columns, Download, Line, Numbers, Picture, Proof, Said, Table
from vizkit.views.controls import choice, layer
from vizkit.views.features.vectors import foreground, grid_of, insect, on_grid
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

KEYS, OUTPUTS = "keys", "block outputs"
RULES = ("TokenCut", "LOST", "attention", "k-means")
EXACT = 1e-6


@dataclass(frozen=True, eq=False)
class Found:
    """`masks` by their rules; `said`: of which vectors. `error`: of TokenCut's eigenvector."""

    masks: dict[str, Bool[Tensor, "row column"]]
    vector: Tensor
    said: str
    error: float


class Object(View):
    """Which patches are the object, by four rules that need no label."""

    rule: Literal["TokenCut", "LOST", "attention", "k-means"] = choice("Rule", RULES, "Which mask is shown large.")
    vectors: Literal["block outputs", "keys"] = choice(
        "Vectors",
        (OUTPUTS, KEYS),
        "What leaves the block of the layer, or its keys, all heads side by side, as TokenCut was published for DINO.",
        key="object_vectors",
        runs=True,
    )
    layer: int | None = layer("Layer", "A model with fewer layers shows its last.", key="layer", runs=True)

    alone = True
    overlays = False
    how = How(
        f"TokenCut joins patches whose vectors have a cosine of {OF_OUTPUTS:g} or more ({THRESHOLD:g} of keys) and "
        "cuts the graph where it is thinnest; the side on which the eigenvector is largest is the object. LOST begins "
        "with the patch that agrees with the fewest others and adds those that agree with it. “Attention” takes the "
        f"patches that hold {in_percent(MASS)} of the class token's attention in the last layer; k-means, of two "
        "clusters, those that get more than the mean of it. (Without a class token: of what all tokens attend to; "
        "without attention: of the strength of the last features.)",
        r"(D - E)\,y = \lambda D\,y, \quad E_{ij} = \begin{cases} 1 & \cos(k_i, k_j) \ge \tau \\ 10^{-5} & \text{else} "
        r"\end{cases}, \quad \text{object} = \{ i : y_i > \bar y \}",
        "what the object is; where there are several, or none, a rule finds something all the same.",
        "Wang et al. 2022; Siméoni et al. 2021; Caron et al. 2021, fig. 4",
    )

    def title(self, of: Subject) -> str:
        return f"Object by {self.rule}: {self.found(of).said}"

    def found(self, of: Subject) -> Found:
        return of.kept(("object", self.vectors, self.layer), partial(self._found, of))

    def _found(self, of: Subject) -> Found:
        vectors, said = self.read(of)
        grid, flat = (vectors.shape[0], vectors.shape[1]), vectors.flatten(0, 1)
        weights = on_grid(foreground(of)[0], grid).flatten()
        cut = token_cut(flat, THRESHOLD if said.startswith(KEYS) else OF_OUTPUTS)
        flat_masks = cut.mask, lost(flat), heaviest(weights), heavy_clusters(clusters(flat), weights)
        masks = {name: mask.view(grid) for name, mask in zip(RULES, flat_masks, strict=True)}
        return Found(masks, cut.vector.view(grid), said, cut.error)

    def read(self, of: Subject) -> tuple[Tensor, str]:
        """(vectors (row, column, channel), of what)."""
        depth = len(of.layers)
        at = min(self.layer or of.depth, of.depth)
        if self.vectors == KEYS and depth:
            try:
                return grid_of(keys(of.loaded, of.pixels, at - 1)), f"keys of layer {at} of {depth}"
            except NotApplicable:
                pass
        place, name = alike.after(of, at / (of.depth or 1))
        return grid_of(alike.blocks_of(of)[1][place - 1]), f"outputs of {name}"

    def show(self, of: Subject) -> Blocks:
        found, rgb = self.found(of), of.seen_rgb
        mask = found.masks[self.rule]
        truth = insect(of, (mask.shape[0], mask.shape[1]))
        share = float(mask.float().mean())
        scored = None if truth is None else {name: iou(each, truth) for name, each in found.masks.items()}
        every = 0.0 if truth is None else float(truth.float().mean())
        others = {name: iou(mask, each) for name, each in found.masks.items() if name != self.rule}
        yield Said(features.of_object(self.rule, share, scored, every, chance_iou(share, every), others))
        large = Picture(cut_out(rgb, mask.numpy()), f"{self.rule}: the object", f"{self.rule}, {found.said}")
        small = [
            Picture(cut_out(rgb, each.numpy()), f"{name}: the object", named(name, scored))
            for name, each in found.masks.items()
            if name != self.rule
        ]
        yield Columns(((large,), tuple(small)), (3, 1))
        if scored is not None:
            yield Table(tuple(rows(found.masks, scored, every)), "IoU of each rule with the drawn insect")
        if self.vectors == KEYS and not found.said.startswith(KEYS):
            yield Line(f"The keys of {of.name} are not to be seen, so these are the {found.said}.")
        yield Proof(of.seen)
        words = f"the eigenvector solves its equation, computed once more, to {found.error:.0e}"
        yield Proof(None, words, found.error <= EXACT)
        yield Download(f"Mask of {self.rule} with alpha (PNG)", partial(png, rgb, mask.numpy()))
        masks = {name.replace("-", "_"): each.numpy() for name, each in found.masks.items()}
        yield Numbers(lambda: masks | {"eigenvector": found.vector.numpy()})


def named(rule: str, scored: dict[str, float] | None) -> str:
    return rule if scored is None else f"{rule}: IoU {scored[rule]:.2f}"


def rows(masks: dict[str, Tensor], scored: dict[str, float], every: float) -> list[dict[str, str]]:
    """What is right of each rule, beside what needs none."""
    shares = {name: float(mask.float().mean()) for name, mask in masks.items()}
    ruled = [
        {"rule": name, "IoU": f"{value:.2f}", "as many patches anywhere": f"{chance_iou(shares[name], every):.2f}"}
        for name, value in scored.items()
    ]
    return [*ruled, {"rule": "the whole image", "IoU": f"{every:.2f}", "as many patches anywhere": f"{every:.2f}"}]


def png(rgb: np.ndarray, mask: np.ndarray) -> bytes:
    """The object as it is, all around it clear."""
    buffer = io.BytesIO()
    alpha = np.where(spread(mask, (rgb.shape[0], rgb.shape[1])), 255, 0).astype(np.uint8)
    Image.fromarray(np.dstack([rgb, alpha])).save(buffer, "PNG")
    return buffer.getvalue()
