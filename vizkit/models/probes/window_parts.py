"""One layer of window attention taken apart in all its windows: what content, relative position and mask add up to.

Liu et al. 2021 (arXiv 2103.14030), eq. 4: softmax(QKᵀ/√d + B)V, with the mask of § 3.2 in shifted blocks. Liu et al.
2022 (arXiv 2111.09883), eq. 2 and 3: the cosine of Q and K times a learned number for each head, and B computed from
the logarithm of the offset.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from vizkit.geometry import size_of
from vizkit.models.families import swin
from vizkit.models.probes.parts import watched
from vizkit.models.probes.positions import relative_bias
from vizkit.models.recording.watching import side_by_side
from vizkit.models.recording.weights import precise
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable, Tokens

MASKED = -100.0
"""What timm and torchvision add to a pair that only the cyclic roll has made neighbours; e⁻¹⁰⁰ is 4e-44."""


@dataclass(frozen=True)
class WindowParts:
    """All windows of one layer. Scores before softmax are `content` + `relative` + (−100 where `masked`).

    `content`: Q Kᵀ scaled as the layer does it (v2: cosines times the head's learned number). `relative`: the relative
    position bias, the same in every window. `weights`: after softmax. Ids of −1 are padding, a vector of zeros before
    the layer's linear map. `score_error`: largest difference between that sum and what the layer gave to its softmax.
    `branch_error`: ‖proj(concat_h A_h V_h) − branch‖ / ‖branch‖, the branch being what the layer hands on.
    """

    name: str
    tokens: Tokens
    window: tuple[int, int]
    shift: tuple[int, int]
    ids: Int[Tensor, "window token"]
    content: Float[Tensor, "window head query key"]
    relative: Float[Tensor, "head query key"]
    masked: Bool[Tensor, "window query key"]
    weights: Float[Tensor, "window head query key"]
    score_error: float
    branch_error: float


def window_parts(loaded: Loaded, pixels: Tensor, layer_index: int) -> WindowParts:
    """Layer `layer_index` in the order of the forward pass; `pixels` are (1, channel, height, width)."""
    if not swin.matches(loaded.model):
        raise NotApplicable(f"{loaded.name} has no windows: this view is made for Swin.")
    seen, attention = watched(loaded, pixels, layer_index)
    block = list(swin.blocks(loaded.model, size_of(pixels)))[layer_index]

    weights, values = precise(seen.weights), precise(seen.value)
    content = precise(seen.query @ seen.key.transpose(-1, -2) * seen.scale if seen.scaled is None else seen.scaled)
    scores = content + precise(seen.bias) if seen.biased is None else precise(seen.biased)
    relative = relative_bias(loaded, layer_index).bias.to(content)
    unmasked = content + relative
    # All heads of a window share the mask, and nothing but the mask is so far from the sum of the two.
    masked = (scores - unmasked).mean(1) < MASKED / 2
    sums = unmasked + torch.where(masked, MASKED, 0.0).to(unmasked)[:, None]

    branch = precise(seen.projected).reshape(len(weights), weights.shape[2], -1)
    out_bias = None if seen.out_bias is None else precise(seen.out_bias)
    rebuilt = F.linear(side_by_side(weights @ values), precise(seen.out_weight), out_bias)
    return WindowParts(
        name=attention.name,
        tokens=attention.query,
        window=block.window,
        shift=block.shift,
        ids=attention.query_ids.cpu(),
        content=content.cpu(),
        relative=relative.cpu(),
        masked=masked.cpu(),
        weights=weights.cpu(),
        score_error=float((sums - scores).abs().max()),
        branch_error=float((rebuilt - branch).norm() / branch.norm().clamp(min=torch.finfo(branch.dtype).tiny)),
    )
