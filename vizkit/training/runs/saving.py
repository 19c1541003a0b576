"""Weights to disk, whole or not at all: the best epoch in timm's layout, and the state from which a run goes on."""

import json
import platform
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from timm.models._hub import get_model_args, save_config_for_hf
from torch import Tensor, nn

from vizkit.models.sources.loaded import Loaded
from vizkit.shortage import memory_short
from vizkit.training.recipe import RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.training.tuning import refuse_foreign
from vizkit.work_folder import NOTES, WorkError, file_of
from vizkit.writing import write

_PACKAGES = ("torch", "torchvision", "timm", "accelerate", "numpy", "opencv-python-headless", "scikit-learn")


def save_best(
    run: RunFolder,
    model: nn.Module,
    labels: tuple[str, ...],
    head: str = "softmax",
    data: dict[str, Any] | None = None,
) -> None:
    """config.json and model.safetensors: `timm.create_model("local-dir:<folder>", pretrained=True)` opens them.

    `head`: what the outputs are, by its name in `vizkit.heads`; `data`: timm's words of its preprocessing, where that
    is not the model's own."""
    save_weights(run, model)
    more: dict[str, Any] = {"label_names": list(labels), "head": head}
    norm = get_model_args(model).get("norm_layer")
    if isinstance(norm, partial) and norm.func is nn.LayerNorm:  # as `creating.norm_of` reads it again
        more |= {"model_args": {"norm_layer": "layernorm"}, "norm_eps": norm.keywords["eps"]}

    def config(path: Path) -> None:
        save_config_for_hf(model, str(path), more, data_config=data)

    write(run.path / "config.json", config)


def save_opened(folder: Path, loaded: Loaded) -> None:
    """A model as it was opened, in timm's layout, with the preprocessing and the head that it was opened with.

    RecipeError where timm does not make it by a name and plain options, or its pictures are made by what no words of
    timm's say: no run folder could open it again.
    """
    needs = loaded.preprocessing
    if needs.crop_mode == "own" or needs.channel_order != "RGB":
        raise RecipeError(
            f"{loaded.name} sees images as only its own image processor makes them, which no run folder can hold; it "
            "can be looked at, not trained."
        )
    data = {key: getattr(needs, key) for key in ("mean", "std", "crop_pct", "crop_mode", "interpolation")}
    data["input_size"] = (needs.channels, *needs.size_hw)
    if not hasattr(loaded.model, "pretrained_cfg"):
        refuse_foreign(loaded.name)
    try:
        save_best(RunFolder(folder), loaded.model, loaded.labels, loaded.head.name, data)
    except (AttributeError, ValueError, RuntimeError):
        raise RecipeError(
            f"{loaded.name} was opened with parts that no run folder can hold; it can be looked at, not trained."
        ) from None


def save_weights(run: RunFolder, model: nn.Module) -> None:
    """model.safetensors alone."""
    _write_tensors(run.path / "model.safetensors", {name: value for name, value in _own(model)}, {"format": "pt"})


def save_checkpoint(run: RunFolder, model: nn.Module, step: int, epoch: int, weights: str) -> None:
    """The weights after `step` steps and `epoch` finished epochs, in half precision but for what that cannot hold.
    `weights`: whose they are, EMA or LIVE of `vizkit.work_folder`."""
    # In one note: safetensors writes several in any order, and a run gives the same bytes each time.
    notes = {NOTES: json.dumps({"step": step, "epoch": epoch, "weights": weights})}
    file = file_of(run.path, step)
    file.parent.mkdir(exist_ok=True)
    _write_tensors(file, {name: _halved(value) for name, value in _own(model)}, notes)


def _own(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Its state; of two names of one tensor (a token that has its usual name too) safetensors takes one."""
    state = model.state_dict(keep_vars=True)
    names = {id(value): name for name, value in reversed(state.items())}.values()
    return ((name, value.detach()) for name, value in state.items() if name in names)


def _halved(value: Tensor) -> Tensor:
    half = value.half() if value.is_floating_point() else value
    return half if half.isfinite().all() else value


def _write_tensors(file: Path, tensors: Mapping[str, Tensor], notes: dict[str, str]) -> None:
    whole = {name: value.contiguous() for name, value in tensors.items()}  # channels last: safetensors refuses

    def weights(path: Path) -> None:
        safetensors.torch.save_file(whole, path, notes)
        path.chmod(0o644)  # safetensors closes its files to others

    write(file, weights)


def load_best(run: RunFolder, model: nn.Module) -> None:
    """Put the best epoch's weights into the model, on its device. WorkError where they cannot be read."""
    with _readable(run, "model.safetensors"):
        model.load_state_dict(safetensors.torch.load_file(run.path / "model.safetensors"))


def save_state(run: RunFolder, epochs: int, parts: Mapping[str, Any], data: Mapping[str, str]) -> None:
    """Everything that the epoch after `epochs` finished ones depends on, besides the recipe and the metrics.

    `parts`: what has a state, by name; None is left out. `data`: the digest of each split.
    """
    state = {name: part.state_dict() for name, part in parts.items() if part is not None}
    write(run.path / "last.pt", lambda path: torch.save({"epochs": epochs, "data": dict(data), **state}, path))


def load_state(run: RunFolder, parts: Mapping[str, Any], data: Mapping[str, str]) -> int:
    """Put a saved state into the parts; gives the number of epochs that are finished, 0 when nothing is saved.

    WorkError where the state cannot be read, is missing, or is of other pictures than `data`; {} does not compare them.
    """
    file = run.path / "last.pt"
    if not file.is_file():
        if len(run.metrics()) > 1:  # one line is written before the first state
            raise WorkError(f"last.pt of {run.name} is missing: put it back, or start a new run from its weights.")
        return 0
    with _readable(run, "last.pt"):
        with zipfile.ZipFile(file) as packed:
            if damaged := packed.testzip():
                raise ValueError(damaged)
        state = dict(torch.load(file, map_location="cpu", weights_only=True))
        known = dict(state.get("data", {}))
    if changed := [split for split in data if known.get(split, data[split]) != data[split]]:
        raise WorkError(
            f"The images of {run.recipe.data} ({', '.join(changed)}) have changed since {run.name} began: put them "
            "back, or resume it on the command line with --changed-data."
        )
    with _readable(run, "last.pt"):
        for name, part in parts.items():
            if part is not None:
                part.load_state_dict(state[name])
        return int(state["epochs"])


@contextmanager
def _readable(run: RunFolder, file: str) -> Iterator[None]:
    """Whatever is wrong with a file of weights becomes a WorkError, a shortage of memory apart."""
    try:
        yield
    except Exception as error:
        if memory_short(error):
            raise
        raise WorkError(
            f"{file} of {run.name} is damaged or of another recipe: put a whole copy back, or start a new run."
        ) from error


def board(run: RunFolder) -> Any:
    """A TensorBoard writer of event files in the run's folder."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise RecipeError("TensorBoard is not installed; run pip install tensorboard.") from None
    return SummaryWriter(str(run.path / "tensorboard"))


def versions(device: torch.device, processes: int) -> dict[str, Any]:
    """What ran this, for versions.json."""
    installed: dict[str, Any] = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            installed[package] = "not installed"
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    return installed | {"device": name, "threads": torch.get_num_threads(), "processes": processes}
