"""How good enlarged pictures are: PSNR and SSIM of the luminance by torchmetrics, over pairs of graded likeness."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor
from torchmetrics.functional.image import peak_signal_noise_ratio, structural_similarity_index_measure

from vizkit.analysis.super_resolution.quality import luminance
from vizkit.datasets.pairs.drawn import LEVELS, SIDE, DrawnPairs
from vizkit.evaluation.measures import Interval, mean_interval
from vizkit.models.networks.super_resolution.parts import bicubic
from vizkit.models.networks.super_resolution.ttsr import TTSR

BATCH = 20
Pixels = Float[Tensor, "_picture 3 _row _column"]


@dataclass(frozen=True)
class Quality:
    """Means over pictures. `psnr` in dB; `ssim`: at most 1, Gaussian window of 11 pixels (Wang et al. 2004)."""

    psnr: float
    ssim: float


@dataclass(frozen=True)
class Level(Quality):
    """`gain`: the mean over pictures of PSNR minus that of the same picture without a reference, in dB."""

    gain: Interval


def quality_of(pixels: Pixels, truth: Pixels) -> Quality:
    """Of pixels from 0 to 1, by their luminance; pictures of 11 pixels a side at least."""
    return Quality(*(float(each.mean()) for each in _by_picture(pixels, truth)))


@torch.inference_mode()
def by_level(
    with_reference: TTSR, without: TTSR, count: int, *, seed: int = 0, tell: Callable[[int, int], None] | None = None
) -> dict[str, Level]:
    """Over `count` pairs of unseen scenes: "bicubic", "without" a reference, and every level of likeness."""
    pairs, device = DrawnPairs("test", count, seed), next(with_reference.parameters()).device
    scenes = [pairs.scene(index) for index in range(count)]
    results: dict[str, list[Float[Tensor, "2 _picture"]]] = {}

    def note(name: str, pixels: Tensor, truth: Tensor) -> None:
        results.setdefault(name, []).append(torch.stack(_by_picture(pixels.cpu(), truth.cpu())))

    for start in range(0, count, BATCH):
        rows = range(start, min(start + BATCH, count))
        for level in LEVELS:
            batch = [pairs.pair(row, level=level, scene=scenes.__getitem__) for row in rows]
            small, reference, truth = (_pixels([pair[part] for pair in batch]).to(device) for part in range(3))  # type: ignore[misc]
            if level == LEVELS[0]:
                note("bicubic", bicubic(small, (SIDE, SIDE)), truth)
                note("without", without(small), truth)
            note(level, with_reference(small, reference), truth)
        if tell:
            tell(rows.stop, count)
    measured = {name: torch.cat(parts, 1).numpy() for name, parts in results.items()}
    return {
        name: Level(float(psnr.mean()), float(ssim.mean()), gain_of(psnr, measured["without"][0]))
        for name, (psnr, ssim) in measured.items()
    }


def gain_of(psnr: Float[np.ndarray, " picture"], without: Float[np.ndarray, " picture"]) -> Interval:
    """Of the same pictures in the same order, so that what makes a picture hard counts in neither."""
    gained = (psnr - without).astype(np.float32)
    return mean_interval(gained) if gained.any() else Interval(0.0, 0.0, 0.0)


def _pixels(pictures: Sequence[UInt8[np.ndarray, "_row _column 3"]]) -> Pixels:
    return torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2).float() / 255


def _by_picture(pixels: Pixels, truth: Pixels) -> tuple[Float[Tensor, " _picture"], Float[Tensor, " _picture"]]:
    """PSNR and SSIM of each."""
    own, true = (luminance(each)[:, None] for each in (pixels, truth))
    decibels = peak_signal_noise_ratio(own, true, data_range=1.0, dim=(1, 2, 3), reduction="none")
    alike = structural_similarity_index_measure(own, true, data_range=1.0, reduction="none")
    assert isinstance(alike, Tensor)
    return decibels, alike
