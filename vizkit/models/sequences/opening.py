"""Models of texts as our training writes them: those that ship with vizkit, and run folders."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import torch
from torch import nn

from vizkit.models.networks.sequence_models import NETWORKS, build
from vizkit.models.sequences.from_library import from_library
from vizkit.models.sequences.loaded import SequenceModel, Task
from vizkit.models.sources.checkpoint import read_json
from vizkit.models.sources.from_transformers import is_transformers
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.loading import bundled_names
from vizkit.models.trained_folder import folder_of, licence_of, network_of
from vizkit.vocabulary import Vocabulary
from vizkit.writing import read_bytes

BUNDLED = Path(__file__).parents[2] / "bundled" / "sequences"
MOST_WORDS, LONGEST_WORD = 100_000, 60


def bundled_sequences() -> list[str]:
    """The models of texts that ship with vizkit."""
    return bundled_names(BUNDLED)


def open_sequence(source: str | Path, *, device: str | torch.device = "cpu") -> SequenceModel:
    """A model by "bundled:<name>", by its run folder, or MarianMT, T5, BERT or GPT-2 by a folder of transformers.

    Raises ModelError with one sentence for the user.
    """
    place, bundled = torch.device(device), str(source).startswith("bundled:")
    if not bundled and is_transformers(Path(source)):
        return from_library(Path(source), Path(source).name[:60], place)
    folder, title = folder_of(source, BUNDLED, " of texts")
    model = _from_folder(folder, title, "bundled with vizkit" if bundled else "run folder", place)
    aligned = _facts(folder / "alignment.json") if bundled else {}  # written by benchmarks/bundled/alignment.py
    return replace(model, facts={**model.facts, "alignment": aligned}) if aligned else model


def _from_folder(folder: Path, title: str, source: str, device: torch.device) -> SequenceModel:
    config = read_json(folder / "config.json", title)
    task: Any = config.get("task")
    if task not in get_args(Task):
        raise ModelError(f"The config.json of {title} names no task; there are {', '.join(get_args(Task))}.")
    vocabulary = _vocabulary(config, title)
    data = str(config.get("data", ""))[:60]

    def made(name: str, sizes: dict[str, Any]) -> nn.Module:
        return build(name, len(vocabulary), sizes)

    model: Any = network_of(folder, title, config, NETWORKS, made, "network of texts").to(device)
    facts, longest = _facts(folder / "result.json"), model.sizes.get("max_length")
    return SequenceModel(title, model, vocabulary, task, data, device, source, licence_of(config), facts, longest)


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


def _facts(path: Path) -> dict[str, Any]:
    """A file beside the weights that holds what was measured; nothing where it cannot be read."""
    try:
        facts = json.loads(read_bytes(path, 2**20))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}
