"""Weights from a file that somebody hands us: opened without running code, without surprises in memory."""

import argparse
import json
import pickle
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import _weights_only_unpickler

from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.sizing import Holding, refuse_over_budget, shapes_of
from vizkit.models.sources.weight_names import NESTS, network_of, renamed, said_of
from vizkit.writing import NO_FILE, is_regular, read_bytes

MAX_BYTES = 8 * 2**30
MAX_CONFIG_BYTES = 4 * 2**20  # names of 20,000 classes take 2 MiB; nothing else runs in Python while json reads it
MAX_HEADER_BYTES = 2 * 2**20  # of a safetensors file: 20,000 tensors
MAX_DEPTH = 20  # of what lies in one another in a config
MAX_ARGUMENT = 2**16  # of a number in a config: no width of a model is larger
MAX_NUMBERS = 1000  # in the arguments of a model
# Of arguments by a part of their name: constructors run through these, also where no weight is made.
MAX_OF = {"window": 32, "depth": 1000, "layers": 1000, "blocks": 1000}
MAX_LAYERS, LAYERS = 128, ("depth", "layer", "blocks")  # in all, by a part of their name; the deepest have some 60
SUFFIXES = (".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".tar")
# What timm's train.py was told, and keeps beside the weights, of the model and of its pictures.
TOLD = {"gp": str, "in_chans": int}
TOLD |= {"mean": list | tuple, "std": list | tuple, "crop_pct": float, "crop_mode": str, "interpolation": str}
TOLD |= {"img_size": int, "input_size": list | tuple}
DEEPEST = 3  # nests in one another; deeper only in a file that contains itself
_KINDS = {"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"}  # torch's words for safetensors'
_CODE = re.compile(r"GLOBAL ([\w.]+)")  # in torch's refusal: what the pickle would have called


class Checkpoint(NamedTuple):
    """`architecture` as the file names it, None where it does not; `part`: which of several networks this is ("moving
    average", "teacher", "student"), "" where there is no choice; `told`: the options of its training, see `TOLD`."""

    state: dict[str, torch.Tensor]
    architecture: str | None
    part: str
    told: Mapping[str, Any] = MappingProxyType({})

    @property
    def holds(self) -> Holding:
        kinds = {name: str(value.dtype).removeprefix("torch.") for name, value in self.state.items()}
        return Holding(shapes_of(self.state), kinds)


class Header(NamedTuple):
    """Of a safetensors file: what it holds, and the notes of whoever wrote it."""

    holds: Holding
    notes: dict[str, str]


def read_checkpoint(path: Path, part: str | None = None) -> Checkpoint:
    """The weights of one network in a file, as `network_of` chooses it.

    Raises ModelError, which says in one sentence why the file is refused, and PartError where `part` has to be given.
    """
    try:
        if not is_regular(path):
            raise ModelError(f"{path.name} is no checkpoint: {'it is a folder' if path.is_dir() else NO_FILE}.")
        if not path.is_file():
            raise ModelError(f"There is no checkpoint {path.name}.")
        if path.suffix.lower() not in SUFFIXES:
            raise ModelError(f"{path.name} is no checkpoint: choose a .safetensors, .pt or .pth file.")
        nest, nests, told = "", (), {}
        if path.suffix.lower() == ".safetensors":
            header = read_header(path)
            refuse_over_budget(path.name, path.stat().st_size)
            from safetensors.torch import load_file

            state, architecture = load_file(path), header.notes.get("architecture")
        else:
            content = _unpickled(path)
            state, nest, nests = _state_in(content, part)
            architecture, told = _named_architecture(content), _told(content)
            part = None if nest and nest == part else part
        if nests:
            state, nest = network_of(path.name, state, part, nests)
            part = None if part in nests else part
        state, inner = network_of(path.name, state, part)
        _refuse_state(path.name, state)
        return Checkpoint(renamed(state), architecture, ", ".join(filter(None, (nest, inner))), told)
    except OSError as error:
        raise ModelError(f"{path.name[:60]} cannot be read: {error.strerror or type(error).__name__}.") from None


def read_header(path: Path) -> Header:
    """What a safetensors file holds, without reading its weights. The header says how long the file has to be."""
    from safetensors import SafetensorError, safe_open

    try:
        with path.open("rb") as start:
            if MAX_HEADER_BYTES < int.from_bytes(start.read(8), "little") < path.stat().st_size:
                raise ModelError(f"{path.name} claims more tensors than any model has; it is refused.")
        with safe_open(path, framework="pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            shapes = {name: tuple(part.get_shape()) for name, part in slices.items()}
            kinds = {name: _kind(str(part.get_dtype())) for name, part in slices.items()}
            return Header(Holding(shapes, kinds), file.metadata() or {})
    except (SafetensorError, OSError):
        raise ModelError(f"{path.name} is not a whole safetensors file.") from None


def _kind(dtype: str) -> str:
    return _KINDS.get(dtype, dtype.lower())


def read_config(path: Path, owner: str) -> dict[str, Any]:
    """The config.json of a run folder: its "architecture" is a text, its numbers are such as a model can have."""
    config = read_json(path, owner)
    if not isinstance(config.get("architecture"), str):
        raise ModelError(f"The config.json of {owner} does not name a timm architecture.")
    about = config.get("pretrained_cfg", config)  # where the size of the input is, in timm's two layouts
    size = about.get("input_size") if isinstance(about, Mapping) else None
    refuse_sizes(owner, {"model_args": config.get("model_args"), "size": [size, config.get("opens_at")]})
    return config


def read_json(path: Path, owner: str) -> dict[str, Any]:
    try:
        if not is_regular(path):
            raise ModelError(f"The {path.name} of {owner} cannot be read: {NO_FILE}.")
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise ModelError(f"The {path.name} of {owner} takes more than {MAX_CONFIG_BYTES >> 20} MiB; it is refused.")
        config = json.loads(read_bytes(path))
        if not isinstance(config, dict) or _is_deep(config):
            raise ValueError
    except ModelError:
        raise
    except (ValueError, RecursionError, OSError):
        raise ModelError(f"The {path.name} of {owner} is damaged; get it again.") from None
    return config


def _is_deep(config: dict[str, Any]) -> bool:
    """Whether so much lies in one another that walking through it meets the limit of recursion."""
    level: list[Any] = [config]
    for _ in range(MAX_DEPTH):
        parts = (part for each in level for part in (each.values() if isinstance(each, dict) else each))
        level = [part for part in parts if isinstance(part, dict | list)]
    return bool(level)


def refuse_sizes(owner: str, config: Mapping[str, Any]) -> None:
    """Numbers that no model has."""
    sizes = _numbers(config)
    if len(sizes) > MAX_NUMBERS:
        raise ModelError(f"The config.json of {owner} asks for a model with more than {MAX_NUMBERS} sizes.")
    for name, number in sizes:
        most = next((limit for part, limit in MAX_OF.items() if part in name), MAX_ARGUMENT)
        if number > most:
            raise ModelError(f"The config.json of {owner} asks for a model with a size above {most}.")
    refuse_layers(owner, config)


def refuse_layers(owner: str, config: Mapping[str, Any]) -> None:
    """More layers than any model has, whose constructor would run for seconds before a budget of bytes is met."""
    if sum(n for name, n in _numbers(config) if n > 0 and any(part in name for part in LAYERS)) > MAX_LAYERS:
        raise ModelError(f"The config.json of {owner} asks for a model with more than {MAX_LAYERS} layers.")


def _numbers(value: Any, name: str = "") -> list[tuple[str, int | float]]:
    """All numbers in a configuration, each with the name of the entry that it belongs to."""
    if isinstance(value, Mapping):
        return [number for key, part in value.items() for number in _numbers(part, str(key))]
    if isinstance(value, list):
        return [number for part in value for number in _numbers(part, name)]
    return [(name, value)] if isinstance(value, int | float) else []


def read_torch_file(path: Path) -> Checkpoint:
    """A `torch.save` file of one network, with its own names."""
    content = _unpickled(path)
    state, _, _ = _state_in(content, None)
    _refuse_state(path.name, state)
    return Checkpoint(state, _named_architecture(content), "")


def _unpickled(path: Path) -> Mapping[Any, Any]:
    """What `torch.save` wrote, its pickle restricted to tensors and plain values (`weights_only`)."""
    mapped = _refuse_swelling(path)
    # Training scripts store their options as a Namespace, which holds values and runs nothing. Once for the process:
    # torch's context manager for this is not safe between threads.
    torch.serialization.add_safe_globals([argparse.Namespace])
    # A pickle of a hundred bytes would make it write as many zeros as fill the memory.
    _weights_only_unpickler._get_allowed_globals().pop("builtins.bytearray", None)
    broken = f"{path.name} is not a whole torch checkpoint of plain weights; save its state dict as safetensors."
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
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
    if not any(_tensors(content)):
        raise ModelError(f"{path.name} holds no tensors.")
    return content


def _state_in(content: Mapping[Any, Any], part: str | None) -> tuple[dict[str, torch.Tensor], str, list[str]]:
    """(tensors by name, what to call their nest, the nests among which one has to be chosen, by which the names then
    begin)."""
    said = ""
    for _ in range(DEEPEST):
        nests = [name for name in NESTS if isinstance(content.get(name), Mapping)] or _others(content)
        if part is not None and isinstance(content.get(part), Mapping):
            return dict(_tensors(content[part])), said_of(part, True), []
        if not nests:
            break
        if len(nests) > 1:
            return {f"{nest}.{name}": value for nest in nests for name, value in _tensors(content[nest])}, said, nests
        said, content = said or said_of(nests[0]), content[nests[0]]
    return dict(_tensors(content)), said, []


def _others(content: Mapping[Any, Any]) -> list[str]:
    """Nests by other names than the usual ones, where there are no weights beside them."""
    if any(isinstance(value, torch.Tensor) for value in content.values()):
        return []
    nests = {name: value for name, value in content.items() if isinstance(name, str) and isinstance(value, Mapping)}
    return [name for name, value in nests.items() if not name.startswith("opt") and any(_tensors(value))]


def _tensors(content: Mapping[Any, Any], depth: int = DEEPEST, seen: set[int] | None = None) -> Any:
    """(name, tensor) of all that lie in one another, by names with dots; the state of an optimizer goes by numbers."""
    seen = set() if seen is None else seen  # each once: a small file can hold the same nest a million times
    seen.add(id(content))
    for name, value in content.items():
        if isinstance(value, torch.Tensor):
            yield str(name), value
        elif depth and isinstance(value, Mapping) and isinstance(name, str) and id(value) not in seen:
            yield from ((f"{name}.{inner}", tensor) for inner, tensor in _tensors(value, depth - 1, seen))


def _refuse_state(title: str, state: Mapping[str, torch.Tensor]) -> None:
    """Numbers that are not in the file, or more than a model may have."""
    for name, value in state.items():
        plain = value.layout == torch.strided and value.device.type == "cpu" and not value.is_quantized
        # A small file can describe a huge view of a few bytes.
        if not plain or value.untyped_storage().nbytes() < value.numel() * value.element_size():
            raise ModelError(f"{title}: {name} claims more numbers than the file holds; it is refused.")
    refuse_over_budget(title, sum(value.numel() * value.element_size() for value in state.values()))


def _refuse_swelling(path: Path) -> bool:
    """Refuse what would fill the memory when it is opened; returns whether the tensors can stay in the file until they
    are used. torch stores them uncompressed: an archive that swells was made to do harm."""
    size, mapped = path.stat().st_size, False
    unpacked = size
    if zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(path) as archive:
                entries = archive.infolist()
                unpacked = sum(entry.file_size for entry in entries)
                mapped = all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
        except Exception:
            raise ModelError(f"{path.name} is not a whole torch checkpoint; save it again.") from None
    if unpacked > MAX_BYTES or unpacked > 4 * size + 2**20:
        raise ModelError(f"{path.name} would unpack to {unpacked / 2**20:.0f} MiB and is refused.")
    if not mapped:
        refuse_over_budget(path.name, unpacked)
    return mapped


def _named_architecture(content: Mapping) -> str | None:
    """timm's training script writes "arch", others keep the options of their command line."""
    options = content.get("args")
    named = (content.get("arch"), content.get("architecture"), getattr(options, "model", None))
    return next((name for name in named if name and isinstance(name, str)), None)


def _told(content: Mapping) -> dict[str, Any]:
    options = content.get("args")
    options = vars(options) if isinstance(options, argparse.Namespace) else options
    if not isinstance(options, Mapping):
        return {}
    found = {name: options.get(name) for name, kind in TOLD.items() if isinstance(options.get(name), kind)}
    return {name: value for name, value in found.items() if value}
