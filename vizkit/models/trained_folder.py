"""Networks as our training writes them: a folder with config.json and model.safetensors, bundled or of a run."""

import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from safetensors.torch import load_file
from torch import nn

from vizkit.models.sources.checkpoint import read_header, refuse_sizes
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.loading import bundled_folder
from vizkit.models.sources.sizing import planned, refuse_missing_numbers, shapes_of

Network = TypeVar("Network", bound=nn.Module)


def folder_of(source: str | Path, home: Path, kind: str) -> tuple[Path, str]:
    """The folder of "bundled:<name>", see `bundled_folder`, or of a run, and its title. Raises ModelError."""
    bundled, _, name = str(source).partition(":")
    if bundled == "bundled":
        return bundled_folder(name, home, kind), name
    folder = Path(source)
    title = folder.name[:60]
    if not all(os.path.isfile(folder / file) for file in ("config.json", "model.safetensors")):
        raise ModelError(f"{title} is no run folder: config.json and model.safetensors are needed.")
    return folder, title


def network_of(
    folder: Path,
    title: str,
    config: Mapping[str, Any],
    names: Collection[str],
    build: Callable[[str, dict], Network],
    what: str,
) -> Network:
    """The network that config.json describes, with the weights beside it, in evaluation mode, without gradients.

    `names`: those that `build(name, sizes)` knows; `what` they are, for the sentence, such as "network of texts". Made
    without numbers first: a small file cannot ask for a large network. Raises ModelError.
    """
    name, sizes = config.get("architecture"), config.get("sizes", {})
    if not isinstance(name, str) or name not in names or not isinstance(sizes, dict):
        raise ModelError(f"The config.json of {title} names no {what}; there are {', '.join(names)}.")
    refuse_sizes(title, sizes)
    drawn = planned(title, lambda: build(name, sizes))
    if drawn is None:
        raise ModelError(f"The config.json of {title} gives sizes that no {name} can have.")
    file = folder / "model.safetensors"
    if read_header(file).holds.shapes != shapes_of(drawn.state_dict()):
        raise ModelError(f"The weights of {title} are of another network than its config.json says.")
    model = build(name, sizes)
    model.load_state_dict(load_file(file))
    refuse_missing_numbers(title, model)
    return model.eval().requires_grad_(False)


def licence_of(config: Mapping[str, Any]) -> str:
    """What config.json says, at most 80 letters."""
    return str(config.get("license") or "not stated")[:80]
