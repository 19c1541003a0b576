"""How good enlarged pictures are: PSNR and SSIM of the luminance, over pictures."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor
from torchmetrics.functional.image import structural_similarity_index_measure

from vizkit.analysis.super_resolution.quality import luminance, psnr

Pixels = Float[Tensor, "_picture 3 _row _column"]


@dataclass(frozen=True)
class Quality:
    """Means over pictures. `psnr` in dB; `ssim`: at most 1, Gaussian window of 11 pixels (Wang et al. 2004)."""

    psnr: float
    ssim: float


def quality_of(pixels: Pixels, truth: Pixels) -> Quality:
    """Of pixels from 0 to 1, by their luminance; pictures of 11 pixels a side at least."""
    return Quality(*(float(of(pixels, truth).mean()) for of in (psnr, ssim)))


def ssim(pixels: Pixels, truth: Pixels) -> Float[Tensor, " _picture"]:
    own, true = (luminance(each)[:, None] for each in (pixels, truth))
    alike = structural_similarity_index_measure(own, true, data_range=1.0, reduction="none")
    assert isinstance(alike, Tensor)
    return alike
