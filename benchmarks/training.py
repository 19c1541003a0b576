"""What the training loop adds to a bare PyTorch loop over the same model and pictures; on a GPU, what bf16 gains."""

import statistics
import tempfile
import threading
import time
from pathlib import Path

ROUNDS = 5


def bare(loop, loader) -> float:
    """Seconds of one epoch, written as in a tutorial: normalise, forward, cross-entropy, backward, step."""
    import torch
    import torch.nn.functional as F

    mean, std = (torch.tensor(each, device=loop.device)[:, None, None] for each in (loop.needs.mean, loop.needs.std))
    loop.model.train()
    begin = time.perf_counter()
    for pictures, labels in loader:
        pixels = (pictures.to(loop.device).permute(0, 3, 1, 2).float() / 255 - mean) / std
        loss = F.cross_entropy(loop.model(pixels), labels.to(loop.device))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(loop.model.parameters(), 1.0)
        loop.optimizer.step()
        loop.optimizer.zero_grad()
    finished(loop.device)
    return time.perf_counter() - begin


def whole(loop, loader, batches) -> float:
    """Seconds of one epoch of vizkit's loop: schedule, augmentation, status and all."""
    begin = time.perf_counter()
    loop.one_epoch(loader, batches, [])
    finished(loop.device)
    return time.perf_counter() - begin


def finished(device) -> None:
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize()


def prepared(folder, model, images, precision="fp32"):
    from accelerate import Accelerator

    from vizkit.training.loop import Loop
    from vizkit.training.pictures.batches import Batches, loader
    from vizkit.training.recipe import Recipe
    from vizkit.training.runs.folder import RunFolder

    recipe = Recipe(data="digits" if model.startswith("digits") else "insects", model=model, images=images)
    recipe = recipe.but({"precision": precision, "warmup_epochs": 0.0})
    run = RunFolder(Path(folder, f"{model}-{precision}"))
    run.create(recipe)
    loop = Loop(run, recipe, Accelerator(mixed_precision={"fp32": "no"}.get(precision, precision)), 0, False)
    loop.stop_requested = threading.Event()
    batches = Batches(images, recipe)
    return loop, loader(loop.read("train"), batches, 0), batches


def run() -> None:
    import torch

    with tempfile.TemporaryDirectory() as folder:
        for model, images in (("small_vit", 256), ("small_cnn", 512), ("digits_vit", 1024)):
            loop, loader, batches = prepared(folder, model, images)
            whole(loop, loader, batches)  # warm
            pairs = [(bare(loop, loader), whole(loop, loader, batches)) for _ in range(ROUNDS)]
            ratio = statistics.median(plain / ours for plain, ours in pairs)
            speed = images / statistics.median(ours for _, ours in pairs)
            print(f"{model:12} {speed:7.0f} images/s, {ratio:.3f} × the throughput of a bare loop")
        if torch.cuda.is_available():
            times = {}
            for precision in ("fp32", "bf16"):
                loop, loader, batches = prepared(folder, "vit_small_patch16_224", 2048, precision)
                times[precision] = min(whole(loop, loader, batches) for _ in range(ROUNDS))
            print(f"vit_small_patch16_224 on the GPU: bf16 {times['fp32'] / times['bf16']:.2f} × the speed of fp32")
