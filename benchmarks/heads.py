"""What the atlas of heads costs beside the bare passes that it needs: a pass recorded and measured against a plain one
of a picture, and a batch with one head replaced by its mean against a plain one. One thread, its processor time."""

import statistics
import time
from collections.abc import Callable

import torch

from vizkit.evaluation.inside.heads import Behaviours, places_of
from vizkit.explanations.job import Seen
from vizkit.models import Loaded, load
from vizkit.models.probes.importance.heads import removed
from vizkit.models.probes.importance.means import head_means
from vizkit.models.recording.editing import Editing, Plan

MODELS = ("vit_base_patch16_224",)
ROUNDS, BATCH = 15, 4


def run() -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    print(f"\n{ROUNDS} interleaved rounds, one thread; bare pass / pass of the atlas: median (middle half)")
    try:
        for name in MODELS:
            loaded = load(name, pretrained=False)
            for words, ratios in compare(loaded).items():
                low, middle, high = statistics.quantiles(ratios, n=4)
                print(f"{name:24} {words:40} {middle:.3f} ({low:.3f}–{high:.3f})", flush=True)
    finally:
        torch.set_num_threads(threads)


def compare(loaded: Loaded) -> dict[str, list[float]]:
    """Of every round the time of the bare pass over that of the same pass with its measurement."""
    generator = torch.Generator().manual_seed(0)
    size = (loaded.preprocessing.channels, *loaded.preprocessing.size_hw)
    pixels = torch.randn(BATCH, *size, generator=generator).to(loaded.device)
    places = places_of(loaded)
    means = head_means(loaded, [pixels], places)
    middle, behaviours = len(places) // 2, Behaviours(loaded)

    @torch.no_grad()
    def plain(images: int) -> None:
        loaded.model(pixels[:images])

    @torch.no_grad()
    def without_a_head() -> None:
        with Editing(Plan((removed(middle, 0, means),), places, means=means)):
            loaded.model(pixels)

    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        f"behaviours, {BATCH} images": (lambda: plain(BATCH), lambda: behaviours.of(Seen(pixels, (), ()))),
        f"a head taken away, {BATCH} images": (lambda: plain(BATCH), without_a_head),
    }
    for ways in pairs.values():
        for way in (*ways, *ways):
            way()
    rounds = [{words: clock(bare) / clock(whole) for words, (bare, whole) in pairs.items()} for _ in range(ROUNDS)]
    return {words: [each[words] for each in rounds] for words in pairs}


def clock(way: Callable[[], object]) -> float:
    start = time.thread_time()
    way()
    return time.thread_time() - start
