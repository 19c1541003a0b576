"""TTSR: super-resolution ×4 with the texture of a reference (Yang et al. 2020, arXiv 2006.04139, figures 2 and 4).

    Q = LTE(LR↑), K = LTE(Ref↓↑), V = LTE(Ref)        LR↑: enlarged by bicubic; Ref↓↑: as blurred as LR↑
    at 1×, 2× and 4×:  F ← F + Conv(Concat(F, T)) · gate(S), then the scales exchange features

Smaller than the paper's, and what it learns is the difference to the bicubic enlargement.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jaxtyping import Float
from torch import Tensor, nn

from vizkit.models.networks.super_resolution.parts import (
    Exchange,
    Extractor,
    Residual,
    Transfer,
    bicubic,
    shuffling,
    up,
)
from vizkit.models.networks.super_resolution.texture import Match, gathered, match, mixed, neighbours

TIMES = 4
"""How many times a picture is enlarged, in each direction."""

Pixels = Float[Tensor, "_picture 3 _row _column"]


class Search(NamedTuple):
    """What attention is made of: Q and K at the scale of the small picture, V at 1×, 2× and 4×, and the match."""

    query: Tensor
    key: Tensor
    values: tuple[Tensor, Tensor, Tensor]
    matched: Match


class TTSR(nn.Module):
    """Values of pixels are 0…1. `widths` and `blocks`: channels and residual blocks at 1×, 2× and 4×; `textures`:
    channels of the extractor, the same order. `reference`: False makes the same network without the second picture."""

    def __init__(
        self,
        widths: Sequence[int] = (32, 24, 16),
        blocks: Sequence[int] = (4, 2, 1),
        textures: Sequence[int] = (32, 24, 16),
        reference: bool = True,
    ) -> None:
        super().__init__()
        one, two, four = widths = tuple(widths)
        self.sizes = {"widths": widths, "blocks": tuple(blocks), "textures": tuple(textures), "reference": reference}
        self.start = nn.Sequential(nn.Conv2d(3, one, 3, padding=1), *(Residual(one) for _ in range(blocks[0])))
        self.extractor = Extractor((textures[2], textures[1], textures[0])) if reference else None
        self.transfers = nn.ModuleList(map(Transfer, widths, textures) if reference else ())
        self.finer = shuffling(widths)
        self.work = nn.ModuleList(
            nn.Sequential(*(Residual(width) for _ in range(count))) for width, count in zip(widths, blocks, strict=True)
        )
        self.exchanges = nn.ModuleList([Exchange((one, two)), Exchange((one, two, four))])
        self.merge = nn.ModuleList(nn.Conv2d(width, four, 1) for width in (one, two))
        self.end = nn.Sequential(nn.Conv2d(four, four, 3, padding=1), nn.ReLU(), nn.Conv2d(four, 3, 3, padding=1))

    def search(self, small: Pixels, reference: Pixels) -> Search:
        """For each pixel of `small` the cell of 4 × 4 pixels of `reference` that is most like it.

        The sides of `reference` are multiples of 4; it may be of another size than the enlarged picture.
        """
        assert self.extractor is not None
        rows, columns = small.shape[-2:]
        shrunk = (reference.shape[-2] // TIMES, reference.shape[-1] // TIMES)
        query = self.extractor(bicubic(small, (TIMES * rows, TIMES * columns)))[-1]
        key = self.extractor(bicubic(bicubic(reference, shrunk), (TIMES * shrunk[0], TIMES * shrunk[1])))[-1]
        fine, middle, deep = self.extractor(reference)
        return Search(query, key, (deep, middle, fine), match(query, key))

    def textures(self, search: Search, sharpness: float = 0.0) -> list[Tensor]:
        """T at 1×, 2× and 4× by hard attention; with a `sharpness` above 0 by the softmax mixture of all places."""
        grid = tuple(search.query.shape[-2:])
        if sharpness:
            return [mixed(search.query, search.key, v, 2**k, sharpness) for k, v in enumerate(search.values)]
        rows = neighbours(search.matched.place, grid, tuple(search.key.shape[-2:]))  # type: ignore[arg-type]
        return [gathered(values, rows, grid, 2**k) for k, values in enumerate(search.values)]  # type: ignore[arg-type]

    def forward(self, small: Pixels, reference: Pixels | None = None, sharpness: float = 0.0) -> Pixels:
        """`small` four times as large, not clipped. `sharpness`: see `textures`."""
        if not self.sizes["reference"]:
            return self.enlarged(small, None)
        if reference is None:
            raise ValueError("This network takes its texture from a reference: give a second image.")
        search = self.search(small, reference)
        return self.enlarged(small, (self.textures(search, sharpness), search.matched.relevance))

    def enlarged(self, small: Pixels, taken: tuple[list[Tensor], Tensor] | None) -> Pixels:
        """`taken`: the texture at each scale and S at the scale of the small picture."""
        rows, columns = small.shape[-2:]
        scales = [self.start(4 * small - 2)]
        for k, work in enumerate(self.work):
            if k:
                scales.append(self.finer[k - 1](scales[-1]))
            if taken:
                trust = taken[1].reshape(-1, 1, rows, columns)
                scales[k] = self.transfers[k](scales[k], taken[0][k], up(trust, 2**k))
            if k:
                scales = self.exchanges[k - 1](*scales)
            scales[k] = work(scales[k])
        one, two, four = scales
        merged = four + up(self.merge[0](one), 4) + up(self.merge[1](two), 2)
        return bicubic(small, (TIMES * rows, TIMES * columns)) + 0.25 * self.end(merged).float()


NETWORKS: dict[str, dict[str, Any]] = {"ttsr_small": {}, "sr_small": {"reference": False}}
"""`sr_small` is `ttsr_small` without the reference: what the second picture brings is the difference of the two."""


def build(name: str, sizes: Mapping[str, Any] | None = None) -> TTSR:
    """A network by its name in NETWORKS with new weights. KeyError for a name, TypeError for a size there is not."""
    return TTSR(**{**NETWORKS[name], **(sizes or {})})
