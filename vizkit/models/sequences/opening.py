"""Models of texts as our training writes them: those that ship with vizkit, and run folders."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import torch
from safetensors.torch import load_file
from torch import nn

from vizkit.models.networks.sequence_models import NETWORKS, build
from vizkit.models.sequences.from_library import from_library
from vizkit.models.sequences.loaded import SequenceModel, Task
from vizkit.models.sources.checkpoint import read_header, read_json, refuse_sizes
from vizkit.models.sources.from_transformers import is_transformers
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.sizing import bytes_of, refuse_missing_numbers, refuse_over_budget, sketch
from vizkit.vocabulary import Vocabulary

__all__ = ["BUNDLED", "bundled_sequences", "is_sequence_folder", "open_sequence", "whole"]

BUNDLED = Path(__file__).parents[2] / "bundled" / "sequences"
MOST_WORDS, LONGEST_WORD = 100_000, 60


def bundled_sequences() -> list[str]:
    """The models of texts that ship with vizkit."""
    return sorted(file.parent.name for file in BUNDLED.glob("*/config.json"))


def is_sequence_folder(folder: Path) -> bool:
    """Whether a run folder holds a model of texts."""
    try:
        return read_json(folder / "config.json", folder.name).get("architecture") in NETWORKS
    except ModelError:
        return False


def open_sequence(source: str | Path, *, device: str | torch.device = "cpu") -> SequenceModel:
    """A model by "bundled:<name>", by its run folder, or MarianMT, T5, BERT or GPT-2 by a folder of transformers.

    Raises ModelError with one sentence for the user.
    """
    kind, _, rest = str(source).partition(":")
    if kind == "bundled":
        if rest not in bundled_sequences():
            known = ", ".join(bundled_sequences()) or "none"
            raise ModelError(f"There is no bundled model of texts {rest[:60]!r}; there are {known}.")
        model = _from_folder(BUNDLED / rest, rest, "bundled with vizkit", torch.device(device))
        aligned = _facts(BUNDLED / rest / "alignment.json")  # written by benchmarks/alignment.py
        return replace(model, facts={**model.facts, "alignment": aligned}) if aligned else model
    folder = Path(source)
    title = folder.name[:60]
    if is_transformers(folder):
        return whole(from_library(folder, title, torch.device(device)))
    if not all(_is_file(folder / name) for name in ("config.json", "model.safetensors")):
        raise ModelError(f"{title} is no run folder: config.json and model.safetensors are needed.")
    return _from_folder(folder, title, "run folder", torch.device(device))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # too long for a name, not readable
        return False


def _from_folder(folder: Path, title: str, source: str, device: torch.device) -> SequenceModel:
    config = read_json(folder / "config.json", title)
    task: Any = config.get("task")
    if task not in get_args(Task):
        raise ModelError(f"The config.json of {title} names no task; there are {', '.join(get_args(Task))}.")
    vocabulary = _vocabulary(config, title)
    model = _built(config, len(vocabulary), folder / "model.safetensors", title)
    return whole(
        SequenceModel(
            title,
            model,
            vocabulary,
            task,
            str(config.get("data", ""))[:60],
            device,
            source,
            str(config.get("license") or "not stated")[:80],
            _facts(folder / "result.json"),
            _max_length(model),
        )
    )


def whole(model: SequenceModel) -> SequenceModel:
    """Ready to be looked at; ModelError for weights that are no numbers."""
    refuse_missing_numbers(model.name, model.model)
    model.model.eval().requires_grad_(False).to(model.device)
    return model


def _vocabulary(config: Mapping[str, Any], title: str) -> Vocabulary:
    words = config.get("vocabulary")
    if isinstance(words, list) and len(words) <= MOST_WORDS:
        words = tuple(word for word in words if isinstance(word, str) and 0 < len(word) <= LONGEST_WORD)
        try:
            if len(words) == len(config["vocabulary"]):
                return Vocabulary(words)
        except ValueError:
            pass
    raise ModelError(f"The config.json of {title} holds no vocabulary of different words that begins as ours do.")


def _built(config: Mapping[str, Any], words: int, file: Path, title: str) -> nn.Module:
    """The network with its weights. Made without numbers first: a small file cannot ask for a large one."""
    name, sizes = config.get("architecture"), config.get("sizes", {})
    if name not in NETWORKS or not isinstance(sizes, dict):
        raise ModelError(f"The config.json of {title} names no network of texts; there are {', '.join(NETWORKS)}.")
    refuse_sizes(title, sizes)
    planned = sketch(title, lambda: build(name, words, sizes))
    if planned is None:
        raise ModelError(f"The config.json of {title} gives sizes that no {name} can have.")
    refuse_over_budget(title, bytes_of(planned))
    shapes = {key: tuple(tensor.shape) for key, tensor in planned.state_dict().items()}
    if read_header(file).holds.shapes != shapes:
        raise ModelError(f"The weights of {title} are of another network than its config.json says.")
    model = build(name, words, sizes)
    model.load_state_dict(load_file(file))
    return model


def _max_length(model: Any) -> int | None:  # noqa: ANN401
    return model.sizes.get("max_length")


def _facts(path: Path) -> dict[str, Any]:
    """A file beside the weights that holds what was measured; nothing where it cannot be read."""
    try:
        facts = json.loads(path.read_bytes()[: 2**20])
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}
