"""What recording costs: a recorded forward pass against the plain fused one, interleaved; and with features too."""

import statistics
import time

import torch

from vizkit.models.forward import run as run_model
from vizkit.models.recording import Keep, Recorder

ROUNDS = 11
CASES = (
    ("vit_base_patch16_224", 224, "every head", Keep()),
    ("vit_base_patch16_224", 224, "one row", Keep(rows=(0,))),
    ("vit_base_patch14_dinov2", 518, "one row", Keep(rows=(0,))),
    ("swin_tiny_patch4_window7_224", 224, "every head", Keep()),
)


def run() -> None:
    print(f"\n{'model':30} {'pixels':>6}  {'kept':12} {'plain ms':>9} {'recorded':>9} {'+ features':>10}")
    for name, pixels, what, keep in CASES:
        plain_ms, recorded, with_features = compare(name, pixels, keep)
        print(f"{name:30} {pixels:6}  {what:12} {plain_ms:9.1f} {recorded:8.3f}× {with_features:9.3f}×", flush=True)


def compare(name: str, pixels: int, keep: Keep) -> tuple[float, float, float]:
    """(plain ms, and the medians of the ratios of neighbouring runs: recorded, recorded with features)."""
    import timm

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = timm.create_model(name, pretrained=False).eval().requires_grad_(False).to(device)
    image = torch.randn(1, 3, pixels, pixels, device=device)

    def recorded(features: bool) -> None:
        with Recorder(model, keep):
            run_model(model, image, features)

    ways = (lambda: model(image), lambda: recorded(False), lambda: recorded(True))
    with torch.no_grad():
        for warm in ways:
            warm()
        rounds = [[clock(way) for way in ways] for _ in range(ROUNDS)]
    medians = [statistics.median(times[way] / times[0] for times in rounds) for way in (1, 2)]
    return statistics.median(times[0] for times in rounds) * 1e3, medians[0], medians[1]


def clock(work) -> float:
    start = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start
