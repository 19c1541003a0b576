"""What recording costs: `vizkit.trace()`, preprocessing and check included, and the bare recorder, against the plain
fused forward pass; and rollout as of many pictures, beside the usual hooks without fused attention. One thread on the
CPU, and its processor time: what else runs on the machine disturbs that least."""

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks import finished
from vizkit.explanations.batched import Explainer
from vizkit.interventions import Changes
from vizkit.models import Keep, Loaded, load, pixels_of, trace
from vizkit.models.recording.recorder import Recorder
from vizkit.models.recording.weights import mean_over_heads

ROUNDS = 21
PICTURE_HW = (480, 640)
CASES = (
    ("vit_base_patch16_224", "every head", Keep()),
    ("vit_base_patch16_224", "one row", Keep(rows=(0,))),
    ("vit_base_patch14_dinov2", "one row", Keep(rows=(0,))),
    ("swin_tiny_patch4_window7_224", "every head", Keep()),
)

ROLLED = (
    ("vit_small_patch16_224", 224),
    ("vit_small_patch14_dinov2", 252),
    ("vit_small_patch14_dinov2", 518),
    ("vit_base_patch16_224", 224),
)
LAYERS = ((6, 197), (6, 325), (12, 197), (6, 1370))  # heads, tokens
SWITCHES = ("heads:3.5=0", "uniform:3", "temperature:3=2", "blind:all=17,18", "pixels:14x14:erase=17,18")


def run() -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    print(f"\n{ROUNDS} interleaved rounds, one thread; ratios of neighbouring runs: median (middle half)")
    print(
        f"{'model':30} {'pixels':>6}  {'kept':10} {'plain ms':>9} {'plain again':>20} {'recorder':>20} {'trace()':>20}"
    )
    try:
        for name, what, keep in CASES:
            loaded = load(name, pretrained=False)
            plain_ms, *ratios = compare(loaded, keep)
            found = " ".join(f"{middle:6.3f} ({low:.3f}–{high:.3f})" for low, middle, high in ratios)
            print(f"{name:30} {loaded.preprocessing.size_hw[0]:6}  {what:10} {plain_ms:9.1f} {found}", flush=True)
        print("\nrollout, against the plain fused pass: ours, and by hooks without fused attention")
        for name, size_px in ROLLED:
            ours, hooks = rolled(name, size_px)
            print(f"{name:30} {size_px:6}  {ours:6.3f} {hooks:6.3f}", flush=True)
        print("\nmean of heads and output of one layer, against the fused kernel: as recorded, and by hooks")
        for heads, tokens in LAYERS:
            ours, hooks = one_layer(heads, tokens)
            print(f"{heads:3} heads of {tokens:5} tokens {ours:6.3f} {hooks:6.3f}", flush=True)
        print("\na switch of Intervene on ViT-B/16, trace() and preprocessing included, against the plain pass")
        for text, ratio in switched().items():
            print(f"{text:30} {ratio:6.3f}", flush=True)
    finally:
        torch.set_num_threads(threads)


def rolled(name: str, size_px: int, count: int = ROUNDS) -> tuple[float, float]:
    """Medians of the ratios of neighbouring runs to the plain pass: of our rollout, and of one by hooks."""
    loaded = load(name, pretrained=False, image_size=(size_px, size_px))
    written = load(name, pretrained=False, image_size=(size_px, size_px)).model
    for block in written.blocks:  # pyright: ignore[reportGeneralTypeIssues]
        block.attn.fused_attn = False
    pixels = torch.randn(1, 3, size_px, size_px)
    explainer = Explainer(loaded, ("rollout",), pixels)

    def plain() -> None:
        with torch.no_grad():
            loaded.model(pixels)

    def by_hooks() -> None:
        means: list[torch.Tensor] = []
        dropouts = [block.attn.attn_drop for block in written.blocks]  # pyright: ignore[reportGeneralTypeIssues]
        hooks = [each.register_forward_hook(lambda _, __, out: means.append(out.mean(1)[0])) for each in dropouts]
        with torch.no_grad():
            written(pixels)
        row = torch.zeros(len(means[0]))
        row[0] = 1.0
        for mean in reversed(means):
            row = (row + row @ mean) / 2
        for hook in hooks:
            hook.remove()

    ways = (plain, lambda: explainer.of(pixels, lambda logits: logits.argmax(-1).tolist()), by_hooks)
    for warm in (*ways, *ways):
        warm()
    rounds = [[clock(way, loaded.device) for way in ways] for _ in range(count)]
    ours, hooks = (statistics.median(times[way] / times[0] for times in rounds) for way in (1, 2))
    return ours, hooks


def one_layer(heads: int, tokens: int, count: int = 2 * ROUNDS) -> tuple[float, float]:
    """As `rolled`, of one attention layer with heads of 64 channels, to where they lie side by side."""
    given = torch.randn(1, tokens, 3, heads, 64).permute(2, 0, 3, 1, 4)  # as timm's layers lay it
    query, key, value = given.unbind(0)

    def side_by_side(out: torch.Tensor | None) -> None:
        assert out is not None
        out.transpose(1, 2).reshape(1, tokens, heads * 64)

    def by_hooks() -> None:
        weights = ((query / 8) @ key.mT).softmax(-1)
        weights.mean(1)
        side_by_side(weights @ value)

    ways = (
        lambda: side_by_side(F.scaled_dot_product_attention(query, key, value)),
        lambda: side_by_side(mean_over_heads(query, key, value, {}, slice(0, tokens, tokens // 4))[1]),
        by_hooks,
    )
    for warm in (*ways, *ways):
        warm()
    rounds = [[clock(way, query.device) for way in ways] for _ in range(count)]
    ours, hooks = (statistics.median(times[way] / times[0] for times in rounds) for way in (1, 2))
    return ours, hooks


def switched() -> dict[str, float]:
    """By change the median ratio of its trace to the plain pass, of neighbouring runs."""
    loaded = load(CASES[0][0], pretrained=False)
    image = np.random.default_rng(0).integers(0, 256, (*PICTURE_HW, 3), dtype=np.uint8)
    pixels = pixels_of(loaded, image).to(loaded.device)

    def plain() -> None:
        with torch.no_grad():
            loaded.model(pixels)

    ways = [plain, *(partial(Changes.parse([text]).trace, loaded, image) for text in SWITCHES)]
    for warm in ways:
        warm()
    rounds = [[clock(way, loaded.device) for way in ways] for _ in range(ROUNDS)]
    return {text: statistics.median(times[1 + at] / times[0] for times in rounds) for at, text in enumerate(SWITCHES)}


def compare(loaded: Loaded, keep: Keep, count: int = ROUNDS) -> tuple[float, list[float], list[float], list[float]]:
    """Of `count` rounds (plain ms, and the quartiles of the ratios to it: a second plain pass, the bare recorder, the
    whole trace)."""
    image = np.random.default_rng(0).integers(0, 256, (*PICTURE_HW, 3), dtype=np.uint8)
    pixels = pixels_of(loaded, image).to(loaded.device)

    def plain() -> None:
        with torch.no_grad():
            loaded.model(pixels)

    def recorded() -> None:
        with torch.no_grad(), Recorder(loaded.model, keep):
            loaded.model(pixels)

    ways = (plain, plain, recorded, lambda: trace(loaded, image, keep=keep))
    for warm in (*ways, *ways):  # the first trace compares logits, once for this size
        warm()
    rounds = [[clock(way, loaded.device) for way in ways] for _ in range(count)]
    ratios = [statistics.quantiles((times[way] / times[0] for times in rounds), n=4) for way in (1, 2, 3)]
    return statistics.median(times[0] for times in rounds) * 1e3, *ratios  # pyright: ignore[reportReturnType]


def clock(work: Callable[[], object], device: torch.device) -> float:
    """Seconds: of this thread's processor time, or, on a GPU, of the wall."""
    now = time.thread_time if device.type == "cpu" else time.perf_counter
    finished(device)
    start = now()
    work()
    finished(device)
    return now() - start
