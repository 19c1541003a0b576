"""What a reference is worth by its likeness, over unseen pairs; and what relevance needs in memory, by block.

`python -m benchmarks super_resolution` writes levels.json beside the bundled models that enlarge; the page reads it.
"""

import json
import resource
import time
from dataclasses import asdict

PAIRS = 500
QUERIES, KEYS, VALUES = 40 * 40, 160 * 160, 288


def run() -> None:
    from vizkit.evaluation.super_resolution import by_level
    from vizkit.models.super_resolution import open_enlarger
    from vizkit.models.super_resolution.opening import BUNDLED

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
    import torch

    from vizkit.models.networks.super_resolution.texture import LARGEST_BLOCK, match

    query, key = torch.randn(1, VALUES // 9, 40, 40), torch.randn(1, VALUES // 9, 160, 160)
    for title, largest in (("in blocks", LARGEST_BLOCK), ("whole", QUERIES * KEYS)):
        before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
        match(query, key, largest)
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(
            f"relevance of {QUERIES:,} places with {KEYS:,} {title}: {more:.0f} MiB more, "
            f"{time.monotonic() - begin:.1f} s"
        )


if __name__ == "__main__":
    run()
