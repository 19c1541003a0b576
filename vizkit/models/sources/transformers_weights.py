"""The weights of a transformers folder: one safetensors file, several of which an index says which holds what, or the
pickle of earlier versions, read as plain tensors."""

import os
from collections import defaultdict
from pathlib import Path

from safetensors.torch import load_file
from torch import Tensor

from vizkit.models.sources.checkpoint import read_header, read_json, read_torch_file
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.sizing import Holding, refuse_over_budget
from vizkit.models.sources.weight_names import refuse_adapters

WEIGHTS = "model.safetensors"
INDEX = f"{WEIGHTS}.index.json"
EARLIER = "pytorch_model.bin"
MOST_FILES = 1000


def has_weights(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (WEIGHTS, INDEX, EARLIER))


def weights_of(folder: Path, title: str) -> dict[str, Tensor]:
    """All tensors by name. Raises ModelError as `held` does, and for more than the memory holds."""
    if _is_earlier(folder):
        return {name: tensor.contiguous() for name, tensor in read_torch_file(folder / EARLIER).state.items()}
    held(folder, title)
    files = _files(folder, title)
    refuse_over_budget(title, sum(path.stat().st_size for path in files))
    return {name: tensor for path in files for name, tensor in load_file(path).items()}


def held(folder: Path, title: str) -> Holding:
    """What the files hold, without reading their weights. Raises ModelError where they are not what the index says."""
    if _is_earlier(folder):
        holds = read_torch_file(folder / EARLIER).holds
        refuse_adapters(title, holds.shapes)
        return holds
    shapes, kinds = {}, {}
    for path, names in _files(folder, title).items():
        holds = read_header(path).holds
        if names is not None and names != set(holds.shapes):
            raise ModelError(f"{path.name} of {title} does not hold the tensors that its index names.")
        shapes |= holds.shapes
        kinds |= holds.kinds
    refuse_adapters(title, shapes)
    return Holding(shapes, kinds)


def _is_earlier(folder: Path) -> bool:
    return not any((folder / name).is_file() for name in (WEIGHTS, INDEX)) and (folder / EARLIER).is_file()


def _files(folder: Path, title: str) -> dict[Path, set[str] | None]:
    """The files with the names of their tensors, None where no index says them. None lies outside the folder."""
    if (folder / WEIGHTS).is_file():
        return {folder / WEIGHTS: None}
    places = read_json(folder / INDEX, title).get("weight_map")
    if not isinstance(places, dict) or not places or not all(isinstance(name, str) for name in places.values()):
        raise ModelError(f"The {INDEX} of {title} does not say where its weights are.")
    named: dict[str, set[str]] = defaultdict(set)
    for tensor, file in places.items():
        named[file].add(tensor)
    if len(named) > MOST_FILES:
        raise ModelError(f"The {INDEX} of {title} names more than {MOST_FILES} files.")
    for file in sorted(named):
        if Path(file).name != file or "\\" in file or not file.endswith(".safetensors"):
            raise ModelError(f"The {INDEX} of {title} names {file[:60]!r}, which is no safetensors file beside it.")
        if not os.path.isfile(folder / file):  # unlike Path's, False also for names that are too long
            raise ModelError(f"{title} lacks {file[:60]}, one of the files with its weights.")
    return {folder / file: named[file] for file in sorted(named)}
