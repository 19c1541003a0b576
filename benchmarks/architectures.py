"""Is it worth cutting the image twice, or dropping tokens on the way? Five models, equal in all else.

    python -m benchmarks.architectures train runs/architectures                  # digits: 5 models × 3 seeds
    python -m benchmarks.architectures train runs/architectures --data insects   # 64², one seed, an hour
    VIZKIT_RUNS=runs/architectures python -m benchmarks architectures

The first commands train what is not there yet, the last reads the finished runs: accuracy from them, and everything
that depends on the machine measured anew. The models and recipes: vizkit/training/experiments/architectures.py.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from vizkit.training.experiments.architectures import SIZES, VARIANTS, Size, Worth, plan, worths
from vizkit.training.runs.folder import RunFolder, runs, runs_root

SEEDS = {"digits": (0, 1, 2), "insects": (0,)}
BATCH, ROUNDS = 32, 7


def train(folder: Path, size: Size, seeds: tuple[int, ...], at_once: int) -> None:
    """Every variant with every seed, one thread each; runs that are done are left alone, others go on."""
    waiting = []
    for name, recipe in plan(size, seeds).items():
        run = RunFolder(folder / name)
        if not run.read("result.json"):
            if not (run.path / "recipe.json").is_file():
                run.create(recipe)
            waiting.append(run)
    with ThreadPoolExecutor(at_once) as pool:
        for words in pool.map(followed, waiting):
            print(words, flush=True)


def followed(run: RunFolder) -> str:
    options = ["--resume", str(run.path), "--device", "cpu", "--threads", "1", "--quiet"]
    done = subprocess.run([sys.executable, "-m", "vizkit", "train", *options], capture_output=True, text=True)
    return f"{run.name}: {(done.stdout or done.stderr).strip().splitlines()[-1]}"


def clock(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def speeds(models: dict, pixels) -> dict[str, tuple[float, float]]:
    """Images a second (answering, learning) of each model; rounds go through all models by turns."""
    import torch

    def answer(model) -> None:
        with torch.no_grad():
            model(pixels)

    def learn(model) -> None:
        model(pixels).square().sum().backward()

    times = {name: ([], []) for name in models}
    for turn in range(ROUNDS + 1):
        for name, model in models.items():
            pair = (clock(lambda m=model: answer(m)), clock(lambda m=model: learn(m)))
            if turn:  # the first warms up
                for kept, seconds in zip(times[name], pair, strict=True):
                    kept.append(seconds)
    return {name: tuple(len(pixels) / statistics.median(each) for each in pair) for name, pair in times.items()}


def run() -> None:
    import torch

    torch.set_num_threads(1)
    found = [(size, rows) for size in SIZES.values() if (rows := worths(size, runs(runs_root())))]
    if not found:
        print("\nNo finished runs in VIZKIT_RUNS; train them: python -m benchmarks.architectures train FOLDER")
    for size, rows in found:
        table(size, {row.variant: row for row in rows})


def table(size: Size, rows: dict[str, Worth]) -> None:
    import torch

    from vizkit.models.probes.cost import kept_learning
    from vizkit.models.probes.multiply_adds import work_of
    from vizkit.training.architectures import ours

    models = {each: ours(size.model(each), size.side_px, {"num_classes": size.classes}).train() for each in VARIANTS}
    pixels = torch.randn(BATCH, 3, size.side_px, size.side_px, generator=torch.Generator().manual_seed(0))
    measured = speeds(models, pixels)
    fine = measured["vit_fine"]
    print(
        f"\n| {size.title} | parameters | M multiply–adds | test accuracy, % | by seed | answering, img/s | × fine "
        "| learning, img/s | × fine | kept for backward, MB | α |\n" + "|---" * 11 + "|"
    )
    for variant, model in models.items():
        answers, learns = measured[variant]
        work = work_of(model, (1, *pixels.shape[1:])).total[""]
        cells = (
            VARIANTS[variant],
            f"{sum(p.numel() for p in model.parameters()):,}",
            f"{work / 1e6:.2f}",
            *accuracy(rows.get(variant)),
            f"{answers:.0f}",
            f"{answers / fine[0]:.2f}",
            f"{learns:.0f}",
            f"{learns / fine[1]:.2f}",
            f"{kept_learning(model, pixels) / 2**20:.1f}",
            alphas(rows.get(variant)),
        )
        print("| " + " | ".join(cells) + " |")
    some = next(iter(rows.values())).runs[0]
    images = some.read("result.json")["test_images"]
    print(f"\nEpochs: {some.recipe.epochs}. Test images: {images:,}, so one image is {100 / images:.2f} %.")


def accuracy(worth: Worth | None) -> tuple[str, str]:
    """Mean and deviation, and every seed, in percent."""
    if worth is None:
        return "not trained", "–"
    deviation = "" if worth.deviation is None else f" ± {100 * worth.deviation:.1f}"
    return f"{100 * worth.mean:.1f}{deviation}", " ".join(f"{100 * each:.1f}" for each in worth.tests)


def alphas(worth: Worth | None) -> str:
    """Where each run's α ended, for the models that have one."""
    import vizkit

    models = [vizkit.load(run.path, device="cpu").model for run in worth.runs] if worth else []
    found = [f"{float(model.balance()):.2f}" for model in models if hasattr(model, "balance")]  # pyright: ignore[reportCallIssue]
    return ", ".join(found) or "–"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.architectures", description=str(__doc__).split("\n")[0])
    parser.add_argument("what", choices=("train",))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", choices=tuple(SIZES), default="digits")
    parser.add_argument("--seeds", type=int, nargs="+", help="0 1 2 for digits, 0 for insects")
    parser.add_argument("--at-once", type=int, default=2)
    given = parser.parse_args()
    train(given.folder, SIZES[given.data], tuple(given.seeds or SEEDS[given.data]), given.at_once)


if __name__ == "__main__":
    main()
