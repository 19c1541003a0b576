"""Global against window attention, measured: one layer of Swin-T's first stage at growing images.

`python -m benchmarks windows` also writes what it measured to vizkit/bundled/attention_times.json, which the Cost view
of the Swin page shows until somebody measures there.
"""

import json
from dataclasses import asdict
from pathlib import Path

from vizkit.analysis.swin.cost_curves import exponent
from vizkit.models.probes.attention_timing import Layer, Timed, machine, time_layer

LAYER, WINDOW = Layer(4, 96, 3), 7
SIZES_PX = (224, 320, 448, 640, 768, 1024)
LEAST_TOKENS = 6000  # below, the projections and fixed costs hide the growth
FILE = Path(__file__).parents[1] / "vizkit" / "bundled" / "attention_times.json"


def run() -> None:
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    found: list[Timed] = []
    print(f"\n{'image':>7} {'tokens':>7} {'windows ms':>11} {'global ms':>11}")
    for size in SIZES_PX:
        pair = [time_layer(LAYER, size, window, device) for window in (WINDOW, None)]
        print(
            f"{size:>6}² {pair[0].tokens:>7} {1e3 * pair[0].seconds:>11.1f} {1e3 * pair[1].seconds:>11.1f}", flush=True
        )
        found += pair
    for window, name in ((WINDOW, "windows"), (None, "global")):
        large = [one for one in found if one.window == window and one.tokens >= LEAST_TOKENS]
        fit = exponent([one.tokens for one in large], [one.seconds for one in large])
        print(f"{name}: time grows as tokens^{fit:.2f}")
    kept = {"machine": machine(), "layer": asdict(LAYER), "times": [asdict(one) for one in found]}
    FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"written to {FILE.relative_to(Path.cwd()) if FILE.is_relative_to(Path.cwd()) else FILE.name}")
