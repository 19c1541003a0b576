"""Weights to disk, whole or not at all: the best epoch in timm's layout, and the state from which a run goes on."""

import copy
import os
import platform
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from timm.models import save_for_hf
from torch import nn

from vizkit.training.recipe import RecipeError
from vizkit.training.run_folder import RunFolder

_PACKAGES = ("torch", "torchvision", "timm", "accelerate", "numpy", "opencv-python-headless", "scikit-learn")


def save_best(run: RunFolder, model: nn.Module, labels: tuple[str, ...]) -> None:
    """config.json and model.safetensors: `timm.create_model("local-dir:<folder>", pretrained=True)` opens them."""
    if not all(value.is_contiguous() for value in model.state_dict().values()):  # channels last: safetensors refuses
        model = copy.deepcopy(model).to(memory_format=torch.contiguous_format)
    with tempfile.TemporaryDirectory(dir=run.path, prefix=".best-") as unfinished:
        save_for_hf(model, unfinished, model_config={"label_names": list(labels)}, safe_serialization=True)
        for file in ("config.json", "model.safetensors"):
            Path(unfinished, file).chmod(0o644)  # safetensors closes its files to others
            os.replace(Path(unfinished, file), run.path / file)


def load_best(run: RunFolder, model: nn.Module) -> None:
    """Put the best epoch's weights into the model, on its device."""
    model.load_state_dict(safetensors.torch.load_file(run.path / "model.safetensors"))


def save_state(run: RunFolder, epochs: int, model: nn.Module, optimizer: Any, ema: Any, scaler: Any) -> None:  # noqa: ANN401
    """Everything that the epoch after `epochs` finished ones depends on, besides the recipe and the metrics."""
    parts = {"model": model, "optimizer": optimizer, "ema": ema, "scaler": scaler}
    state = {name: part.state_dict() for name, part in parts.items() if part is not None}
    unfinished = run.unfinished("last.pt")
    torch.save({"epochs": epochs, **state}, unfinished)
    os.replace(unfinished, run.path / "last.pt")


def load_state(run: RunFolder, model: nn.Module, optimizer: Any, ema: Any, scaler: Any) -> int:  # noqa: ANN401
    """Put a saved state into the parts; gives the number of epochs that are finished, 0 when nothing is saved."""
    if not (run.path / "last.pt").is_file():
        return 0
    state = torch.load(run.path / "last.pt", map_location="cpu", weights_only=True)
    for name, part in {"model": model, "optimizer": optimizer, "ema": ema, "scaler": scaler}.items():
        if part is not None:
            part.load_state_dict(state[name])
    return state["epochs"]


def board(run: RunFolder) -> Any:  # noqa: ANN401
    """A TensorBoard writer of event files in the run's folder."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise RecipeError("TensorBoard is not installed; run pip install tensorboard.") from None
    return SummaryWriter(str(run.path / "tensorboard"))


def versions(device: torch.device, processes: int) -> dict[str, Any]:
    """What ran this, for versions.json."""
    found: dict[str, Any] = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    return found | {"device": name, "threads": torch.get_num_threads(), "processes": processes}
