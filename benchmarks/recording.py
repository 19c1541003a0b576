"""What recording costs: time of a recorded forward pass against the plain fused one, interleaved, medians."""

import statistics
import time

import torch

from vizkit.models.forward import run as run_model
from vizkit.models.recording import Keep, Recorder

ROUNDS = 15
CASES = (
    ("vit_base_patch16_224", 224, "every head", Keep()),
    ("vit_base_patch16_224", 224, "one row", Keep(rows=(0,))),
    ("vit_base_patch14_dinov2", 518, "one row", Keep(rows=(0,))),
    ("swin_tiny_patch4_window7_224", 224, "every head", Keep()),
)


def run() -> None:
    print(f"\n{'model':30} {'pixels':>6}  {'kept':12} {'plain ms':>9} {'recorded ms':>12} {'ratio':>6}")
    for name, pixels, what, keep in CASES:
        plain, recorded, ratio = compare(name, pixels, keep)
        print(f"{name:30} {pixels:6}  {what:12} {plain:9.1f} {recorded:12.1f} {ratio:6.3f}", flush=True)


def compare(name: str, pixels: int, keep: Keep) -> tuple[float, float, float]:
    """(plain ms, recorded ms, median ratio of neighbouring runs). Features are taken on the way, as in a trace."""
    import timm

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = timm.create_model(name, pretrained=False).eval().requires_grad_(False).to(device)
    image = torch.randn(1, 3, pixels, pixels, device=device)

    def recorded() -> None:
        with Recorder(model, keep):
            run_model(model, image, True)

    with torch.no_grad():
        for warm in (lambda: model(image), recorded) * 2:
            warm()
        pairs = [(clock(lambda: model(image)), clock(recorded)) for _ in range(ROUNDS)]
    plain, with_recording = (statistics.median(times) * 1e3 for times in zip(*pairs, strict=True))
    return plain, with_recording, statistics.median(b / a for a, b in pairs)


def clock(work) -> float:
    start = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start
