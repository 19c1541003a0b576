"""What a GPU does otherwise than a CPU, in one command, into docs/gpu.md: `make gpu`, or

    python -m benchmarks gpu [--device cuda:1] [--speed]

Tests, proofs in three precisions, ratios, pinned loading, two models at once, and memory that does not suffice. The
page is written when all of it has been measured. `--speed`: only how fast it is, in ten minutes, printed. `--device cpu
--small` measures nothing worth knowing, by the same code.
"""

import argparse
import contextlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import vizkit
from benchmarks import recording as recordings
from vizkit.analysis.attention.attention_map import all_heads
from vizkit.analysis.attribution.rollout import rollout
from vizkit.datasets.opening import open_set
from vizkit.evaluation.answers import evaluate
from vizkit.evaluation.classes import EvaluationError
from vizkit.models import Keep
from vizkit.models.probes.budget import keep_within, weights_bytes
from vizkit.traces import TraceError
from vizkit.writing import write

PAGE = Path(__file__).parents[1] / "docs/gpu.md"
PRECISIONS = ("fp32", "bf16", "fp16")
OTHERS = ("deit3_small_patch16_224", "eva02_small_patch14_224", "beit_base_patch16_224", "convnext_tiny", "resnet50")
SWITCHED = ("heads:2.1=0", "uniform:2")
Row = tuple[str, str, str]  # what, what was measured, the goal


@dataclass(frozen=True)
class Measuring:
    """Where, and in what precisions; `small`: with models and sets that take no time."""

    device: str
    small: bool = False
    precisions: tuple[str, ...] = PRECISIONS

    def model(self, name: str, precision: str = "fp32"):
        options = {} if name.startswith("bundled:") else {"pretrained": False}
        loaded = vizkit.load(name, device=self.device, **options)
        loaded.model.to({"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision))
        return loaded

    @property
    def models(self) -> tuple[str, str]:
        """A transformer with global attention, and one with windows."""
        large = ("vit_base_patch16_224", "swin_tiny_patch4_window7_224")
        return ("bundled:digits_vit", "bundled:digits_swin") if self.small else large

    @property
    def rounds(self) -> int:
        return 2 if self.small else 21


def tests(here: Measuring) -> Iterator[Row]:
    if here.small:  # which is itself called by a test
        return
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "tests/devices"]
    done = subprocess.run(command, cwd=PAGE.parents[1], capture_output=True, text=True, check=False)
    yield "pytest -m gpu", done.stdout.strip().splitlines()[-1].strip("= "), "none failed"


def proofs(here: Measuring) -> Iterator[Row]:
    for name in here.models:
        for precision in here.precisions:
            loaded = here.model(name, precision)
            for edits in ((), *((each,) for each in SWITCHED)):
                made = vizkit.trace(loaded, picture(), target=None if edits else 1, edits=edits).check
                off = [("a row's sum", made.row_sum_error), ("a layer's output", made.output_error)]
                words = ", ".join(f"{what} off by {error:.1e}" for what, error in off if error is not None)
                what = f"{name}, {precision}, {edits[0] if edits else 'with gradients'}"
                yield what, made.failure or words, f"≤ {made.output_tolerance:.0e} of a layer's output"


@contextlib.contextmanager
def products(precision: str) -> Iterator[None]:
    """Products of float32 as `torch.set_float32_matmul_precision` calls it."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def lower(here: Measuring) -> Iterator[Row]:
    """Traces where torch's flags or autocast let factors of products be rounded."""
    kind = torch.device(here.device).type
    settings: dict[str, Callable[[], Any]] = {"TF32": contextlib.nullcontext}
    if torch.amp.is_autocast_available(kind):
        for name, dtype in (("bf16", torch.bfloat16), ("fp16", torch.float16)):
            settings[f"autocast to {name}"] = partial(torch.autocast, kind, dtype=dtype)
    for name in here.models if here.small else (*here.models, *OTHERS):
        for setting, entered in settings.items():
            loaded = here.model(name)
            with products("high" if setting == "TF32" else "highest"), entered():
                made = vizkit.trace(loaded, picture()).check
            off = [("a layer's output", made.output_error), ("logits", made.logit_error)]
            words = ", ".join(f"{what} off by {error:.1e}" for what, error in off if error is not None)
            allowed = f"≤ {made.output_tolerance:.0e} and {made.logit_tolerance:.0e}"
            yield f"{name}, {setting}", f"{made.failure or words} ({made.precision.name})", allowed


def recording(here: Measuring) -> Iterator[Row]:
    for name in here.models[: 1 if here.small else 2]:
        for precision in here.precisions:
            loaded = here.model(name, precision)
            for what, keep, goal in (("every head", Keep(), "≤ 1.05 ×"), ("one row", Keep(rows=(0,)), "≤ 1.02 ×")):
                _, again, alone, whole = recordings.compare(loaded, keep, here.rounds)
                words = (
                    f"{alone[1]:.3f} × ({alone[0]:.3f}–{alone[2]:.3f}); with preprocessing and proof {whole[1]:.3f} ×"
                )
                yield f"{name}, {precision}, {what}", f"{words}; plain again {again[1]:.3f} ×", goal


def evaluating(here: Measuring) -> Iterator[Row]:
    from benchmarks.evaluation import bare, photographs, whole
    from vizkit.evaluation.pictures import open_pictures
    from vizkit.explanations.reading import Prepared, loader, pixels_on
    from vizkit.explanations.source import of_set

    count, chunk = (24, 8) if here.small else (2048, 256)
    loaded = here.model(here.models[0])
    with tempfile.TemporaryDirectory() as home:
        images = (
            open_set("digits", "test", images=count) if here.small else open_pictures(photographs(Path(home), count))
        )
        pixels = torch.rand(chunk, 3, *loaded.preprocessing.size_hw).to(loaded.device)
        for workers in (0,) if here.small else (0, 8):
            pairs = [(bare(loaded, pixels, count)[0], whole(loaded, images, workers, chunk)[0]) for _ in range(3)]
            ratio = statistics.median(ours / alone for alone, ours in pairs)
            words = f"{ratio:.3f} × ({statistics.median(ours for _, ours in pairs):.0f} images/s)"
            yield f"evaluation / forward, {workers} processes read", words, "≥ 0.9 ×"
        source = of_set(images)
        items = [item for part in range(len(source.counts)) for item in source.items(part)]
        asked = [(0, items[first : first + chunk]) for first in range(0, len(items), chunk)]
        for pin in (False, True) if here.device.startswith("cuda") else (False,):
            begin = time.perf_counter()
            for read in loader(Prepared(source, loaded.preprocessing), asked, 0 if here.small else 8, pin=pin):
                pixels_on(loaded.device, read.seen, loaded.preprocessing).sum().item()
            speed = len(images) / (time.perf_counter() - begin)
            yield (
                f"read and copied there, {'pinned' if pin else 'as it is'}",
                f"{speed:.0f} images/s",
                "pinned no slower",
            )


def explaining(here: Measuring) -> Iterator[Row]:
    """Maps of many images in one pass, and what half precision makes of the maps of a trained model."""
    from benchmarks.explaining import compared
    from vizkit.explanations.batched import Explained, Explainer
    from vizkit.explanations.reading import pixels_on, stored_input

    for name in here.models:
        for precision in ("fp32", "tf32", *here.precisions[1:2]):
            with products("high" if precision == "tf32" else "highest"):
                kinds = compared(here.model(name, precision), 4 if here.small else 256, here.rounds // 2)
                for kind, per_s, ratio in kinds:
                    goal = "≤ 1.6 ×" if kind == "one pass" else "≤ 4 ×"
                    words = f"{ratio:.3f} × ({per_s:,.0f} images/s; the bare pass {ratio * per_s:,.0f})"
                    yield f"{name}, {precision}, {kind}", words, goal
    trained = "bundled:digits_vit" if here.small else "bundled:insects_vit"
    methods = ("rollout", "generic_relevance", "grad_cam")
    needs = here.model(trained).preprocessing
    seen = [stored_input(rgb, needs) for rgb, _ in open_set("insects", "test", images=4 if here.small else 64)]

    def explained(precision: str) -> Explained:
        loaded = here.model(trained, precision)
        pixels = pixels_on(loaded.device, torch.from_numpy(np.stack(seen)), needs).to(loaded.dtype)
        return Explainer(loaded, methods, pixels[:1]).of(pixels, lambda logits: logits.argmax(-1).tolist())

    exact = explained("fp32")
    for precision in here.precisions[1:2]:
        half = explained(precision)
        same = np.mean([a == b for a, b in zip(exact.targets, half.targets, strict=True)])
        yield f"{trained}, {precision}, same answers", f"{same:.1%} of {len(seen)}", "–"
        for method in methods:
            pairs = zip(exact.heats[method].flatten(1), half.heats[method].flatten(1), strict=True)
            alike = [float(torch.corrcoef(torch.stack(pair))[0, 1]) for pair in pairs]
            words = (
                f"correlation with those in fp32 {np.nanmedian(alike):.4f} (median), {np.nanmin(alike):.4f} (lowest)"
            )
            yield f"{trained}, {precision}, maps of {method}", words, "–"


def first_map(here: Measuring) -> Iterator[Row]:
    """A large picture with every head, until a map is there to be drawn, beside the model alone and beside fetching all
    weights."""
    loaded = here.model("bundled:digits_vit" if here.small else "vit_small_patch14_dinov2")
    pixels = vizkit.models.pixels_of(loaded, picture()).to(loaded.device)

    def plain() -> None:
        with torch.no_grad():
            loaded.model(pixels)

    for what, work in {
        "the model alone": plain,
        "a trace": lambda: vizkit.trace(loaded, picture()),
        "a trace and the maps of a query in all heads": lambda: all_heads(vizkit.trace(loaded, picture()), "cls"),
        "a trace and its rollout": lambda: rollout(vizkit.trace(loaded, picture())),
        "a trace and all its weights": lambda: [layer.weights for layer in vizkit.trace(loaded, picture()).attention],
    }.items():
        times = [recordings.clock(work, loaded.device) for _ in range(3 + here.rounds)][3:]
        goal = "–" if what in ("the model alone", "a trace and all its weights") else "≤ 60 ms"
        yield f"{loaded.name}, {what}", f"{statistics.median(times) * 1e3:.1f} ms", goal


def training(here: Measuring) -> Iterator[Row]:
    from benchmarks.training import against_bare

    model, images = ("digits_vit", 32) if here.small else ("vit_small_patch16_224", 2048)
    plain = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for precision in here.precisions:
            speed, ratio = against_bare(folder, model, images, precision, 1 if here.small else 5, here.device)
            plain = plain or speed
            words = f"{ratio:.3f} × ({speed:.0f} images/s, {speed / plain:.2f} × the speed of {here.precisions[0]})"
            yield f"{model}, {precision}, against a plain timm loop", words, "≥ 1 ×"


def together(here: Measuring) -> Iterator[Row]:
    """As two visitors of the pages: one lock, and each recording within its budget."""
    lock, errors = threading.Lock(), []
    models = [here.model(name) for name in here.models]
    budget = min(map(weights_bytes, models)) // 2
    keeps = [keep_within(loaded, "cls", budget) for loaded in models]
    alone = [vizkit.trace(loaded, picture(), keep=keep) for loaded, keep in zip(models, keeps, strict=True)]
    occupied = 0
    if here.device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats()
        occupied = torch.cuda.memory_allocated()

    def visit(loaded, keep, expected) -> None:
        for _ in range(here.rounds):
            with lock:
                made = vizkit.trace(loaded, picture(), keep=keep)
            errors.append(float((made.logits - expected.logits).abs().max()) if made.check.passed else float("nan"))

    run_at_once([lambda each=each: visit(*each) for each in zip(models, keeps, alone, strict=True)])
    words = f"{len(errors)} of {2 * here.rounds} traces, logits off by {np.max(errors, initial=0):.1e} at most"
    yield "two models, two threads, one lock", words, "the logits of one alone"
    if here.device.startswith("cuda"):
        most = torch.cuda.max_memory_allocated() - occupied
        yield "memory above the weights", f"{most / 2**20:.0f} MiB, budget of the weights {budget / 2**20:.0f} MiB", "–"


def run_at_once(works: Iterable[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def shortage(here: Measuring) -> Iterator[Row]:
    """A network that asks for 2⁶⁰ bytes, recorded and evaluated; then another one, as if nothing had happened."""

    class Greedy(torch.nn.Module):
        def forward(self, pixels):
            return torch.empty(2**60, dtype=torch.uint8, device=pixels.device)

    usual = here.model("bundled:digits_vit")
    greedy = replace(usual, name="greedy", model=Greedy())
    asked = {
        "recording": lambda: vizkit.trace(greedy, picture()),
        "evaluation": lambda: evaluate(greedy, open_set("digits", "test", images=4)),
    }
    if here.device.startswith("cuda"):
        asked["recording, nothing left beside the weights"] = lambda: limited(here)
    for what, ask in asked.items():
        try:
            ask()
            said = "nothing said"
        except (TraceError, EvaluationError) as error:
            said = str(error)
        yield f"out of memory, {what}", said, "one sentence"
    yield "the next trace", "passed" if vizkit.trace(usual, picture()).check.passed else "failed", "passed"


def limited(here: Measuring) -> None:
    """A trace where this process may take no more than it has, and what it has is taken, whatever was freed before."""
    large, total = here.model(here.models[0]), torch.cuda.get_device_properties(here.device).total_memory
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(torch.cuda.memory_reserved() / total)
    taken = []
    try:
        for size in (2**power for power in range(30, 8, -1)):
            with contextlib.suppress(torch.cuda.OutOfMemoryError):
                while True:
                    taken.append(torch.empty(size, dtype=torch.uint8, device=here.device))
        vizkit.trace(large, picture())
    finally:
        taken.clear()
        torch.cuda.set_per_process_memory_fraction(1.0)


SUBJECTS = {
    "Tests": tests,
    "Proofs": proofs,
    "Products of lower precision": lower,
    "Recording / the plain fused pass": recording,
    "Evaluation": evaluating,
    "Maps of many images / the bare forward pass": explaining,
    "One image": first_map,
    "Training": training,
    "Two models at once": together,
    "Memory that does not suffice": shortage,
}


SPEED = ("Recording / the plain fused pass", "Maps of many images / the bare forward pass", "One image", "Training")


def picture() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (480, 640, 3), dtype=np.uint8)


def measured(here: Measuring, titles: Iterable[str] = SUBJECTS) -> dict[str, list[Row]]:
    """By subject; each row is printed when it is known."""
    tables: dict[str, list[Row]] = {}
    for title in titles:
        tables[title] = []
        for row in SUBJECTS[title](here):
            print(f"{title}: {row[0]}: {row[1]} ({row[2]})", flush=True)
            tables[title].append(row)
    return tables


def page(tables: dict[str, list[Row]], machine: str) -> str:
    parts = [
        "# On a GPU\n",
        f"{machine}, {date.today():%d.%m.%Y}, by `make gpu`. Ratios are medians of neighbouring runs.\n",
    ]
    for title, rows in tables.items():
        lines = [" | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) for row in rows]
        parts += [f"## {title}\n", "| what | measured | goal |\n|---|---|---|", *(f"| {line} |" for line in lines), ""]
    return "\n".join(parts)


def run(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks gpu", description=__doc__)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, mps (cuda)")
    parser.add_argument("--small", action="store_true", help="with small models; no page is written")
    parser.add_argument("--speed", action="store_true", help="only how fast it is; no page is written")
    given = parser.parse_args(arguments)
    if given.device.startswith("cuda") and not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU here: nothing was measured, and docs/gpu.md stays as it is.")
    tables = measured(Measuring(given.device, given.small), SPEED if given.speed else SUBJECTS)
    if not given.small and not given.speed:
        name = torch.cuda.get_device_name(given.device) if given.device.startswith("cuda") else given.device
        write(PAGE, page(tables, f"{name} · torch {torch.__version__}"))
