"""Weights from a file that somebody hands us: opened without running code, without surprises in memory."""

import argparse
import json
import pickle
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from vizkit.models.hub import ModelError

MAX_BYTES = 8 * 2**30
MAX_CONFIG_BYTES = 16 * 2**20
MAX_ARGUMENT = 2**16  # of a number in a config: no width or depth of a model is larger, and more would fill the memory
SUFFIXES = (".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".tar")
AVERAGED = ("state_dict_ema", "model_ema")
NESTS = (*AVERAGED, "state_dict", "model", "model_state_dict", "module")
PREFIXES = re.compile(r"^(module\.|model\.|_orig_mod\.)+")  # of DistributedDataParallel, Lightning and torch.compile
_CODE = re.compile(r"GLOBAL ([\w.]+)")  # in torch's refusal: what the pickle would have called


class Checkpoint(NamedTuple):
    """`architecture` as the file names it, None where it does not; `averaged`: the weights are a moving average."""

    state: dict[str, torch.Tensor]
    architecture: str | None
    averaged: bool


class Header(NamedTuple):
    """Of a safetensors file: the shape of every tensor, and the notes of whoever wrote it."""

    shapes: dict[str, tuple[int, ...]]
    notes: dict[str, str]


def read_checkpoint(path: Path) -> Checkpoint:
    """The weights in a file; where it holds a moving average (EMA) too, that one, as timm evaluates it.

    Raises ModelError, which says in one sentence why the file is refused.
    """
    try:
        if not path.is_file():
            raise ModelError(f"There is no checkpoint {path.name}.")
        if path.suffix.lower() not in SUFFIXES:
            raise ModelError(f"{path.name} is no checkpoint: choose a .safetensors, .pt or .pth file.")
        if path.suffix.lower() == ".safetensors":
            header = read_header(path)
            from safetensors.torch import load_file

            return Checkpoint(renamed(load_file(path)), header.notes.get("architecture"), False)
        return from_torch_file(path)
    except OSError as error:
        raise ModelError(f"{path.name[:60]} cannot be read: {error.strerror or type(error).__name__}.") from None


def read_header(path: Path) -> Header:
    """What a safetensors file holds, without reading its weights. The header says how long the file has to be."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
            return Header(shapes, file.metadata() or {})
    except (SafetensorError, OSError):
        raise ModelError(f"{path.name} is not a whole safetensors file.") from None


def read_config(path: Path, owner: str) -> dict[str, Any]:
    """The config.json of a run folder: its "architecture" is a text, its numbers are such as a model can have."""
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise ValueError
        config = json.loads(path.read_bytes())
        if not isinstance(config["architecture"], str):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError, OSError):
        raise ModelError(f"The config.json of {owner} does not name a timm architecture.") from None
    about = config.get("pretrained_cfg", config)  # where the size of the input is, in timm's two layouts
    asked = [config.get("model_args"), about.get("input_size") if isinstance(about, Mapping) else None]
    if any(number > MAX_ARGUMENT for number in numbers(asked)):
        raise ModelError(f"The config.json of {owner} asks for a model with a size above {MAX_ARGUMENT}.")
    return config


def numbers(value: Any) -> list[int | float]:  # noqa: ANN401
    if isinstance(value, Mapping | list):
        parts = value.values() if isinstance(value, Mapping) else value
        return [number for part in parts for number in numbers(part)]
    return [value] if isinstance(value, int | float) else []


def from_torch_file(path: Path) -> Checkpoint:
    """A `torch.save` file, its pickle restricted to tensors and plain values (`weights_only`)."""
    refuse_swelling(path)
    # Training scripts store their options as a Namespace, which holds values and runs nothing. Once for the process:
    # torch's context manager for this is not safe between threads.
    torch.serialization.add_safe_globals([argparse.Namespace])
    broken = f"{path.name} is not a whole torch checkpoint of plain weights; save its state dict as safetensors."
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        code = _CODE.search(str(error))
        if code is None:
            raise ModelError(broken) from None
        raise ModelError(
            f"{path.name} holds {code[1]}, which could run code when opened, and is refused; "
            "save its state dict as safetensors."
        ) from None
    except Exception:  # hostile bytes make the reader raise anything
        raise ModelError(broken) from None
    if not isinstance(content, Mapping):
        raise ModelError(f"{path.name} holds no state dict.")
    architecture, averaged = named_architecture(content), False
    for _ in range(3):  # deeper only in a file that contains itself
        nest = next((name for name in NESTS if isinstance(content.get(name), Mapping)), "")
        averaged, content = averaged or nest in AVERAGED, content.get(nest, content)
    state = {str(name): value for name, value in content.items() if isinstance(value, torch.Tensor)}
    if not state:
        raise ModelError(f"{path.name} holds no tensors.")
    for name, value in state.items():
        plain = value.layout == torch.strided and value.device.type == "cpu" and not value.is_quantized
        # A small file can describe a huge view of a few bytes.
        if not plain or value.untyped_storage().nbytes() < value.numel() * value.element_size():
            raise ModelError(f"{path.name}: {name} claims more numbers than the file holds; it is refused.")
    return Checkpoint(renamed(state), architecture, averaged)


def refuse_swelling(path: Path) -> None:
    """torch stores tensors uncompressed: an archive that swells was made to fill the memory."""
    size = path.stat().st_size
    unpacked = size
    if zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(path) as archive:
                unpacked = sum(entry.file_size for entry in archive.infolist())
        except Exception:
            raise ModelError(f"{path.name} is not a whole torch checkpoint; save it again.") from None
    if unpacked > MAX_BYTES or unpacked > 4 * size + 2**20:
        raise ModelError(f"{path.name} would unpack to {unpacked / 2**20:.0f} MiB and is refused.")


def named_architecture(content: Mapping) -> str | None:
    """timm's training script writes "arch", others keep the options of their command line."""
    options = content.get("args")
    named = (content.get("arch"), content.get("architecture"), getattr(options, "model", None))
    return next((name for name in named if name and isinstance(name, str)), None)


def renamed(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {PREFIXES.sub("", name): value for name, value in state.items()}
