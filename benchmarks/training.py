"""What the training loop adds to a bare PyTorch loop over the same model and pictures, epoch by epoch in turn. On the
CPU one thread, and its processor time: what else runs on the machine disturbs that least."""

import statistics
import tempfile
import threading
from pathlib import Path

from benchmarks.recording import clock

ROUNDS = 5


def bare(loop, loader) -> None:
    """One epoch, written as in a tutorial: normalise, forward, cross-entropy, backward, step."""
    import torch
    import torch.nn.functional as F

    mean, std = (torch.tensor(each, device=loop.device)[:, None, None] for each in (loop.needs.mean, loop.needs.std))
    loop.model.train()
    for pictures, labels in loader:
        pixels = (pictures.to(loop.device).permute(0, 3, 1, 2).float() / 255 - mean) / std
        with loop.accelerator.autocast():
            loss = F.cross_entropy(loop.model(pixels), labels.to(loop.device))
        loop.accelerator.backward(loss)
        loop.accelerator.clip_grad_norm_(loop.model.parameters(), 1.0)
        loop.optimizer.step()
        loop.optimizer.zero_grad()


def against_bare(folder, model, images, precision="fp32", rounds=ROUNDS, device="") -> tuple[float, float]:
    """(pictures a second, throughput as a share of that of the bare loop), medians. `device`: "cpu", or a GPU's."""
    loop, loader, batches = prepared(folder, model, images, precision, device)
    ways = lambda: bare(loop, loader), lambda: loop.one_epoch(loader, batches, [])  # schedule, status and all
    ways[1]()  # warm
    pairs = [[clock(way, loop.device) for way in ways] for _ in range(rounds)]
    return images / statistics.median(ours for _, ours in pairs), statistics.median(
        plain / ours for plain, ours in pairs
    )


def prepared(folder, model, images, precision="fp32", device=""):
    from vizkit.training.loop import Loop, accelerator_of
    from vizkit.training.pictures.batches import Batches, loader
    from vizkit.training.recipe import Recipe
    from vizkit.training.runs.folder import RunFolder

    recipe = Recipe(data="digits" if model.startswith("digits") else "insects", model=model, images=images)
    as_bare = {"warmup_epochs": 0.0, "flip": 0.0, "turn_deg": 0.0, "checkpoints": 0}  # these are few in a longer run
    recipe = recipe.but({"precision": precision, **as_bare})
    run = RunFolder(Path(folder, f"{model}-{precision}"))
    run.create(recipe)
    loop = Loop(run, recipe, accelerator_of(recipe, device), 0, False)
    loop.stop_requested = threading.Event()
    batches = Batches(images, recipe)
    return loop, loader(loop.read("train"), batches, 0, pin=loop.device.type == "cuda"), batches


def run() -> None:
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for model, images in (("small_vit", 256), ("small_cnn", 512), ("digits_vit", 1024)):
            speed, ratio = against_bare(folder, model, images)
            print(f"{model:12} {speed:7.0f} images/s of one thread, {ratio:.3f} × the throughput of a bare loop")
