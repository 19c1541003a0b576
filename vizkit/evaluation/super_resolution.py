"""How good enlarged pictures are: PSNR and SSIM of the luminance by torchmetrics, over pairs of graded likeness."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor
from torchmetrics.functional.image import peak_signal_noise_ratio, structural_similarity_index_measure

from vizkit.analysis.super_resolution.quality import luminance

BATCH = 20
Pixels = Float[Tensor, "_picture 3 _row _column"]


@dataclass(frozen=True)
class Quality:
    """Means over pictures. `psnr` in dB; `ssim`: at most 1, Gaussian window of 11 pixels (Wang et al. 2004)."""

    psnr: float
    ssim: float


def quality_of(pixels: Pixels, truth: Pixels) -> Quality:
    """Of pixels from 0 to 1, by their luminance; pictures of 11 pixels a side at least."""
    return Quality(*(float(each.mean()) for each in by_picture(pixels, truth)))


def by_picture(pixels: Pixels, truth: Pixels) -> tuple[Float[Tensor, " _picture"], Float[Tensor, " _picture"]]:
    """PSNR and SSIM of each."""
    own, true = (luminance(each)[:, None] for each in (pixels, truth))
    decibels = peak_signal_noise_ratio(own, true, data_range=1.0, dim=(1, 2, 3), reduction="none")
    alike = structural_similarity_index_measure(own, true, data_range=1.0, reduction="none")
    assert isinstance(alike, Tensor)
    return decibels, alike
