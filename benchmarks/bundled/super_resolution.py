"""What a reference is worth by its likeness, over unseen pairs; and what relevance needs in memory, by block.

`python -m benchmarks super_resolution` writes levels.json beside the bundled models that enlarge; the page reads it.
"""

import json
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from vizkit.analysis.super_resolution.quality import psnr
from vizkit.datasets.pairs.drawn import LEVELS, SIDE, DrawnPairs
from vizkit.evaluation.measures import Interval, mean_interval
from vizkit.evaluation.super_resolution import Pixels, Quality, ssim
from vizkit.models.networks.super_resolution.parts import bicubic
from vizkit.models.networks.super_resolution.texture import LARGEST_BLOCK, match
from vizkit.models.networks.super_resolution.ttsr import TTSR
from vizkit.models.super_resolution import open_enlarger
from vizkit.models.super_resolution.opening import BUNDLED

PAIRS = 500
BATCH = 20
QUERIES, KEYS, VALUES = 40 * 40, 160 * 160, 288


@dataclass(frozen=True)
class Level(Quality):
    """`gain`: the mean over pictures of PSNR minus that of the same picture without a reference, in dB."""

    gain: Interval


def run() -> None:
    memory()
    models = [open_enlarger(f"bundled:{name}").model for name in ("insects_ttsr", "insects_sr")]
    begin = time.monotonic()
    levels = by_level(models[0], models[1], PAIRS)
    (BUNDLED / "levels.json").write_text(
        json.dumps({"pairs": PAIRS, "levels": {name: asdict(level) for name, level in levels.items()}}, indent=1) + "\n"
    )
    for name, level in levels.items():
        print(
            f"{name:10} {level.psnr:6.2f} dB  SSIM {level.ssim:.4f}  {level.gain.value:+.3f} dB "
            f"({level.gain.low:+.3f} to {level.gain.high:+.3f}) above no reference"
        )
    print(f"{PAIRS} pairs in {time.monotonic() - begin:.0f} s")


def memory() -> None:
    """The most memory of matching 40 × 40 places with 160 × 160, in blocks and in one."""
    query, key = torch.randn(1, VALUES // 9, 40, 40), torch.randn(1, VALUES // 9, 160, 160)
    for title, largest in (("in blocks", LARGEST_BLOCK), ("whole", QUERIES * KEYS)):
        before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
        match(query, key, largest)
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(
            f"relevance of {QUERIES:,} places with {KEYS:,} {title}: {more:.0f} MiB more, "
            f"{time.monotonic() - begin:.1f} s"
        )


@torch.inference_mode()
def by_level(
    with_reference: TTSR, without: TTSR, count: int, *, seed: int = 0, tell: Callable[[int, int], None] | None = None
) -> dict[str, Level]:
    """Over `count` pairs of unseen scenes: "bicubic", "without" a reference, and every level of likeness."""
    pairs, device = DrawnPairs("test", count, seed), next(with_reference.parameters()).device
    scenes = [pairs.scene(index) for index in range(count)]
    results: dict[str, list[Float[Tensor, "2 _picture"]]] = {}

    def note(name: str, pixels: Tensor, truth: Tensor) -> None:
        results.setdefault(name, []).append(torch.stack([of(pixels.cpu(), truth.cpu()) for of in (psnr, ssim)]))

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


if __name__ == "__main__":
    run()
