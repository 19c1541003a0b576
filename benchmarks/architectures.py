"""Is it worth cutting the image twice, or dropping tokens on the way? Five models on digits, equal in all else.

    python -m benchmarks.architectures train runs/architectures     # 5 models × 3 seeds, two at a time
    VIZKIT_RUNS=runs/architectures python -m benchmarks architectures

The first command trains what is not there yet, the second reads the finished runs: accuracy from them, and everything
that depends on the machine measured anew. Width, depth, heads, data, epochs and optimiser are the same for all.
"""

import argparse
import itertools
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

VARIANTS = {
    "digits_vit_coarse": "plain ViT, patches of 8",
    "digits_vit_fine": "plain ViT, patches of 4",
    "digits_dual_half": "dual-scale, α = ½",
    "digits_dual": "dual-scale, α learned",
    "digits_gradual": "gradual reduction",
}
SEEDS = (0, 1, 2)
EPOCHS = 20
RECIPE = "--data digits --optimizer muon --lr 0.004 --flip 0 --turn-deg 15 --square-px 4 --batch 32 --warmup-epochs 1"
BATCH, ROUNDS = 32, 7


def train(folder: Path, epochs: int, at_once: int) -> None:
    """Every variant with every seed, one thread each; runs that are done are left alone."""
    commands = []
    for seed, model in itertools.product(SEEDS, VARIANTS):
        run = folder / f"{model}-{seed}"
        if not (run / "result.json").is_file():
            where = (
                f"--resume {run}" if (run / "last.pt").is_file() else f"-o {run} --model {model} --seed {seed} {RECIPE}"
            )
            epochs_given = "" if "--resume" in where else f"--epochs {epochs}"
            commands.append(f"-m vizkit train {where} {epochs_given} --device cpu --threads 1 --quiet")
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(at_once) as pool:
        for command in pool.map(followed, commands):
            print(command, flush=True)


def followed(command: str) -> str:
    done = subprocess.run([sys.executable, *shlex.split(command)], capture_output=True, text=True)
    return f"python {command}: {(done.stdout or done.stderr).strip().splitlines()[-1]}"


def finished(root: Path) -> dict[str, list]:
    """The run folders of every variant that have a result. Exits where they are no fair comparison."""
    from vizkit.training.run_folder import runs

    found = {name: [] for name in VARIANTS}
    shared = {}
    for run in sorted(runs(root), key=lambda run: run.recipe.seed):
        if run.recipe.model in VARIANTS and run.read("result.json"):
            rest = {name: value for name, value in asdict(run.recipe).items() if name not in ("model", "seed")}
            shared = shared or rest
            if rest != shared:
                differ = [name for name in rest if rest[name] != shared[name]]
                sys.exit(f"{run.name} is no fair comparison: its {', '.join(differ)} differ from those of other runs.")
            found[run.recipe.model].append(run)
    return found


def kept_bytes(model, pixels) -> int:
    """What a training step holds from the forward to the backward pass, without the weights."""
    import torch

    held, weights = {}, {p.untyped_storage().data_ptr() for p in model.parameters()}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            held[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = model(pixels).square().sum()
    return sum(held.values()) if loss is not None else 0


def multiply_adds(model, pixels) -> float:
    """Of one image, by torch's own counter, which counts a multiplication and an addition as two."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(pixels[:1])
    return counter.get_total_flops() / 2


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

    from vizkit.training.architectures import ours
    from vizkit.training.run_folder import runs_root

    found = finished(runs_root())
    if not any(found.values()):
        print("\nNo finished runs in VIZKIT_RUNS; train them: python -m benchmarks.architectures train FOLDER")
        return
    torch.set_num_threads(1)
    models = {name: ours(name, 0, {"num_classes": 10}).train() for name in VARIANTS}
    pixels = torch.randn(BATCH, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    measured = speeds(models, pixels)
    fine = measured["digits_vit_fine"]
    print(
        f"\n| digits at 32², {BATCH} images a batch | parameters | M multiply–adds | test accuracy, % | by seed "
        "| answering, img/s | × fine | learning, img/s | × fine | kept for backward, MB | α |\n" + "|---" * 11 + "|"
    )
    for name, runs in found.items():
        model, (answers, learns) = models[name], measured[name]
        accuracies = [100 * run.read("result.json")["test_accuracy"] for run in runs]
        mean = f"{statistics.mean(accuracies):.1f}" if runs else "–"
        deviation = f" ± {statistics.stdev(accuracies):.1f}" if len(runs) > 1 else ""
        cells = (
            VARIANTS[name],
            f"{sum(p.numel() for p in model.parameters()):,}",
            f"{multiply_adds(model, pixels) / 1e6:.2f}",
            mean + deviation,
            " ".join(f"{each:.1f}" for each in accuracies),
            f"{answers:.0f}",
            f"{answers / fine[0]:.2f}",
            f"{learns:.0f}",
            f"{learns / fine[1]:.2f}",
            f"{kept_bytes(model, pixels) / 2**20:.1f}",
            ", ".join(alpha_of(run) for run in runs) or "–",
        )
        print("| " + " | ".join(cells) + " |")
    epochs = {run.recipe.epochs for runs in found.values() for run in runs}
    print(f"\nEpochs: {', '.join(map(str, epochs))}. Test images: 359, so one image is 0.28 %.")


def alpha_of(run) -> str:
    """Where a run's α ended, for the models that have one."""
    import vizkit

    balance = getattr(vizkit.load(run.path, device="cpu").model, "balance", None)
    return "–" if balance is None else f"{float(balance()):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.architectures", description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("train",))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--at-once", type=int, default=2)
    given = parser.parse_args()
    train(given.folder, given.epochs, given.at_once)


if __name__ == "__main__":
    main()
