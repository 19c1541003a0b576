"""Weights from a file that somebody hands us: opened without running code, without surprises in memory."""

import re
import zipfile
from pathlib import Path
from typing import Any

from vizkit.models.hub import ModelError

MAX_BYTES = 8 * 2**30
SUFFIXES = (".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".tar")
NESTS = ("model_ema", "state_dict_ema", "model", "state_dict", "model_state_dict", "module")
PREFIXES = re.compile(r"^(module\.|model\.|_orig_mod\.)+")


def read_checkpoint(path: Path) -> tuple[dict[str, Any], str | None]:
    """(state dict, architecture if the file names one). ModelError says in one sentence why a file is refused."""
    if not path.is_file():
        raise ModelError(f"There is no checkpoint {path.name}.")
    if path.suffix not in SUFFIXES:
        raise ModelError(f"{path.name} is no checkpoint: choose a .safetensors, .pt or .pth file.")
    if path.suffix == ".safetensors":
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            return load_file(path), None
        except (SafetensorError, OSError):
            raise ModelError(f"{path.name} is not a whole safetensors file.") from None
    return from_torch_file(path)


def from_torch_file(path: Path) -> tuple[dict[str, Any], str | None]:
    """A `torch.save` file, its pickle restricted to tensors and plain values (`weights_only`)."""
    import pickle

    import torch

    if not zipfile.is_zipfile(path):
        raise ModelError(f"{path.name} is not a whole torch checkpoint; save it again, best as safetensors.")
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > MAX_BYTES or unpacked > 4 * path.stat().st_size + 2**20:
        # torch stores tensors uncompressed; a file that swells was made to fill the memory.
        raise ModelError(f"{path.name} would unpack to {unpacked / 2**20:.0f} MiB and is refused.")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise ModelError(f"{path.name} would run code when opened and is refused; save it as safetensors.") from None
    except (RuntimeError, EOFError, KeyError, ValueError, OSError):
        raise ModelError(f"{path.name} is not a whole torch checkpoint; save it again, best as safetensors.") from None
    architecture = content.get("arch") or content.get("architecture") if isinstance(content, dict) else None
    for nest in NESTS:
        if isinstance(content, dict) and isinstance(content.get(nest), dict):
            content = content[nest]
            break
    if not isinstance(content, dict):
        raise ModelError(f"{path.name} holds no state dict.")
    state = {PREFIXES.sub("", str(name)): value for name, value in content.items() if isinstance(value, torch.Tensor)}
    for name, value in state.items():
        # A small file can describe a huge view of a few bytes.
        if value.untyped_storage().nbytes() < value.numel() * value.element_size():
            raise ModelError(f"{path.name}: {name} claims more numbers than the file holds; it is refused.")
    if not state:
        raise ModelError(f"{path.name} holds no tensors.")
    return state, architecture if isinstance(architecture, str) else None
