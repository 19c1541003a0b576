"""What maps of many pictures cost beside the bare forward pass of the same batch, without reading and writing:

    python -m benchmarks explaining [--model vit_small_patch16_224 …] [--batch 16] [--device cuda] [--threads 1]

Ratios are medians of neighbouring runs in one process.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator

import torch

import vizkit
from vizkit.explanations.batched import Explainer
from vizkit.models import Loaded

METHODS = {"one pass": ("rollout",), "a gradient": ("generic_relevance",), "class activation": ("grad_cam",)}
MODELS = ("bundled:insects_vit", "vit_small_patch16_224", "swin_tiny_patch4_window7_224")


def seconds(work: Callable[[], object], device: torch.device) -> float:
    """Of one call, with what a GPU has still to do."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    began = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - began


def compared(loaded: Loaded, batch: int, rounds: int) -> Iterator[tuple[str, float, float]]:
    """(kind of method, pictures a second, how many times the bare forward it takes)."""
    needs = loaded.preprocessing
    pixels = torch.randn(batch, needs.channels, *needs.size_hw, dtype=loaded.dtype).to(loaded.device)

    def bare() -> None:
        with torch.no_grad():
            loaded.logits_of(loaded.model(pixels), len(pixels))

    for kind, methods in METHODS.items():
        explainer = Explainer(loaded, methods, pixels[:1])

        def whole(explainer: Explainer = explainer) -> None:
            explainer.of(pixels, lambda logits: logits.argmax(-1).tolist())

        for work in (whole, bare):
            work()
        pairs = [(seconds(bare, loaded.device), seconds(whole, loaded.device)) for _ in range(rounds)]
        per_s = batch / statistics.median(taken for _, taken in pairs)
        yield kind, per_s, statistics.median(taken / alone for alone, taken in pairs)


def run(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks explaining", description=__doc__)
    parser.add_argument("--model", nargs="+", default=MODELS)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0)
    given = parser.parse_args(arguments)
    if given.threads:
        torch.set_num_threads(given.threads)
    for name in given.model:
        loaded = vizkit.load(name, device=given.device, **({} if ":" in name else {"pretrained": False}))
        for kind, per_s, ratio in compared(loaded, given.batch, given.rounds):
            print(f"{name}, {kind}: {per_s:.1f} images/s, {ratio:.3f} × the bare forward", flush=True)
