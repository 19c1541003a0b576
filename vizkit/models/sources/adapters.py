"""LoRA: what an adapter of the peft library adds to the weights of its base, W + α/r · B A (Hu et al. 2021), so that
nothing but the merged model is ever shown. Adapters of other kinds are refused by their name."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor

from vizkit.models.sources.checkpoint import read_header, read_json, read_torch_file
from vizkit.models.sources.creating import load_weights
from vizkit.models.sources.following import weight_named
from vizkit.models.sources.from_transformers import made_by_library
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.loaded import Loaded
from vizkit.models.sources.sizing import refuse_over_budget
from vizkit.models.sources.transformers_weights import WEIGHTS, held, weights_of
from vizkit.models.sources.weight_names import is_adapter

CONFIG = "adapter_config.json"
FILES = ("adapter_model.safetensors", "adapter_model.bin")
MERGED = "merge it first, with merge_and_unload of the peft library, and save that"
# Options by which W + α/r · B A is the whole of it; others that are set are refused.
EXACT = {"alpha_pattern", "auto_mapping", "base_model_name_or_path", "bias", "ensure_weight_tying", "eva_config"}
EXACT |= {"exclude_modules", "fan_in_fan_out", "inference_mode", "init_lora_weights", "layers_pattern", "lora_alpha"}
EXACT |= {"layers_to_transform", "lora_bias", "lora_dropout", "megatron_core", "modules_to_save", "peft_type", "r"}
EXACT |= {"peft_version", "qalora_group_size", "rank_pattern", "revision", "runtime_config", "target_modules"}
EXACT |= {"task_type", "use_rslora"}
BEGINNINGS = (True, False, "gaussian", "orthogonal", "eva")  # others begin with a base that is changed too
PATTERN = re.compile(r"[\w.\\^$|()-]*")  # without repetition, which could take for ever
PARTS = re.compile(r"\.lora_(A|B)(?:\.(?!weight$|bias$)[^.]+)?\.(weight|bias)$")


def is_folder(path: Path) -> bool:
    """Whether a folder is an adapter's; beside a whole model only its weights count, not what says how it was made."""
    whole = (path / "config.json").is_file() and not any((path / name).is_file() for name in FILES)
    return (path / CONFIG).is_file() and not whole


class Adapter(NamedTuple):
    """`factors`: by the name of a module A (rank, …), B (…, rank) and, where there is one, the bias of B; `others`:
    tensors that take the place of the base's, such as another head; `config`: adapter_config.json."""

    title: str
    factors: dict[str, dict[str, Tensor]]
    others: dict[str, Tensor]
    config: dict[str, Any]

    @property
    def said(self) -> str:
        ranks = sorted({pair["A"].shape[0] for pair in self.factors.values()})
        return f"with the adapter {self.title} merged (LoRA of rank {', '.join(map(str, ranks))})"

    def scale(self, module: str, rank: int) -> float:
        """α/r, or α/√r where the ranks are stabilised (Kalajdzievski 2023)."""
        patterns = self.config.get("alpha_pattern") or {}
        alpha: Any = next(
            (value for key, value in patterns.items() if re.match(rf"(.*\.)?({key})$", module)),
            self.config.get("lora_alpha"),
        )
        return alpha / (math.sqrt(rank) if self.config.get("use_rslora") else rank)


def read_adapter(folder: Path, title: str, weights: Mapping[str, Tensor] | None = None) -> Adapter:
    """The adapter of a folder. `weights`: of a file beside its config that holds base and adapter together."""
    config = read_json(folder / CONFIG, title)
    kind = str(config.get("peft_type") or "unknown")[:40]
    if kind != "LORA":
        raise ModelError(f"{title} is an adapter of the kind {kind}: {MERGED}.")
    for name, value in config.items():
        if value and name not in EXACT:
            raise ModelError(f"{title} is an adapter with {name[:40]}, which is not LoRA alone: {MERGED}.")
    patterns = config.get("alpha_pattern") or {}
    numbers = [config.get("lora_alpha"), *(patterns.values() if isinstance(patterns, dict) else [None])]
    if config.get("init_lora_weights", True) not in BEGINNINGS:
        raise ModelError(f"{title} is an adapter whose base was changed at its beginning: {MERGED}.")
    if not all(isinstance(number, int | float) for number in numbers) or not all(map(PATTERN.fullmatch, patterns)):
        raise ModelError(f"{title} is an adapter whose {CONFIG} does not say its alpha in numbers: {MERGED}.")
    if weights is None:
        file = next((folder / name for name in FILES if (folder / name).is_file()), None)
        if file is None:
            raise ModelError(f"{title} is an adapter without its weights: {FILES[0]} is needed.")
        weights = _read(file)
    factors, others = dict[str, dict[str, Tensor]](), dict[str, Tensor]()
    for name, value in weights.items():
        name = name.removeprefix("base_model.model.")
        if (part := PARTS.search(name)) is not None:
            key = part[1] if part[2] == "weight" else f"{part[1]} bias"
            if key in factors.setdefault(name[: part.start()], {}):
                raise ModelError(f"{title} holds several adapters: {MERGED}.")
            factors[name[: part.start()]][key] = value.float()
        elif is_adapter([re.sub(r"\.(modules_to_save|original_module|base_layer)(?=\.)", "", name)]):
            raise ModelError(f"{title} is an adapter with {name[-60:]}, which is not LoRA alone: {MERGED}.")
        elif ".original_module." not in name:
            others[re.sub(r"\.modules_to_save(\.[^.]+)?(?=\.)|\.base_layer(?=\.)", "", name)] = value
    if not factors or not all({"A", "B"} <= pair.keys() for pair in factors.values()):
        raise ModelError(f"{title} is an adapter in which A or B are missing: {MERGED}.")
    return Adapter(title, factors, others, config)


def _read(file: Path) -> dict[str, Tensor]:
    if file.suffix != ".safetensors":
        return read_torch_file(file).state
    read_header(file)
    refuse_over_budget(file.name, file.stat().st_size)
    return load_file(file)


def base_of(adapter: Adapter, folder: Path, architecture: str | None) -> str:
    """What `load` opens as the base: what is named there, the model beside the adapter, or the hub's that the adapter
    names; never a path of this machine that a file names."""
    if architecture:
        return architecture
    if (folder / "config.json").is_file():
        return str(folder)
    named = str(adapter.config.get("base_model_name_or_path") or "")
    if re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", named) and not Path(named).exists():
        return f"hf-hub:{named}"
    of = f"of {Path(named).name[:60]}, which lies elsewhere" if named else "and does not name its base"
    raise ModelError(f"{adapter.title} is an adapter {of}: give the base as architecture=, a name or its folder.")


def merged(state: Mapping[str, Tensor], adapter: Adapter) -> dict[str, Tensor]:
    """The weights of the base with the adapter in them, as `merge_and_unload` of peft gives them. Raises ModelError."""
    result = dict(state) | {name: value.float() for name, value in adapter.others.items()}
    for module, pair in adapter.factors.items():
        weight, scale = result.get(f"{module}.weight"), adapter.scale(module, pair["A"].shape[0])
        if weight is None:
            raise ModelError(f"{adapter.title} is an adapter of another base, which lacks {module[-80:]}.")
        change = _product(pair["A"], pair["B"], weight.dim()) * scale
        if change.shape != weight.shape and change.dim() == 2:  # GPT-2's layers keep their weights transposed
            change = change.T
        if change.shape != weight.shape:
            raise ModelError(
                f"{adapter.title} is an adapter of another base: {module[-80:]} is {tuple(weight.shape)} there, and "
                f"{tuple(change.shape)} here."
            )
        result[f"{module}.weight"] = weight.float() + change
        if (more := pair.get("B bias")) is not None:
            result[f"{module}.bias"] = result[f"{module}.bias"].float() + more * scale
    return result


def _product(first: Tensor, second: Tensor, axes: int) -> Tensor:
    """B A, of convolutions too: of 1 × 1 as matrices, of others as a convolution, as peft rounds."""
    if first.dim() != second.dim() or first.dim() != axes or first.shape[0] != second.shape[1] or axes not in (2, 4):
        return first
    if axes == 2:
        return second @ first
    if first.shape[2:] == (1, 1):
        return (second[:, :, 0, 0] @ first[:, :, 0, 0])[:, :, None, None]
    return F.conv2d(first.transpose(0, 1), second).transpose(0, 1)


def merged_into(loaded: Loaded, adapter: Adapter) -> Loaded:
    """timm's model with the adapter, and with its head where it brings another one."""
    model: Any = loaded.model
    state = merged(model.state_dict(), adapter)
    head = weight_named(model, "classifier", "head")
    if head in adapter.others:
        if len(state[head]) != loaded.outputs:
            model.reset_classifier(len(state[head]))
        own = loaded.preprocessing, (), loaded.source, loaded.licence  # a head of other classes, guessed anew
        loaded = Loaded(loaded.name, model, loaded.device, *own)
    load_weights(model, adapter.title, loaded.name, state)
    return replace(loaded, name=adapter.title, source=f"{loaded.source}, {adapter.said}")


def merged_folder(base: Path, folder: Path, adapter: Adapter, place: Path) -> None:
    """Write into `place` what transformers would save of its model in `base` with the adapter merged."""
    title = adapter.title
    config, state = read_json(base / "config.json", title), weights_of(base, title)
    head = next((n for n in ("classifier.weight", "cls_classifier.weight") if n in adapter.others), None)
    if head is not None:
        named = (adapter.config.get("auto_mapping") or {}).get("base_model_class")
        own = (config.get("architectures") or [""])[0]
        config["architectures"] = [named or re.sub(r"(Model|ForPreTraining)$", "ForImageClassification", own)]
        if len(config.get("id2label") or ()) != len(adapter.others[head]):
            names = {str(i): f"LABEL_{i}" for i in range(len(adapter.others[head]))}
            config |= {"id2label": names, "label2id": {name: int(i) for i, name in names.items()}}
            config.pop("num_labels", None)
    # A base without a head calls its weights without the name of the model inside.
    inner = next(iter(adapter.factors)).partition(".")[0]
    if not any(name.startswith(f"{inner}.") for name in state):
        state = {f"{inner}.{name}": value for name, value in state.items()}
    (place / "config.json").write_text(json.dumps(config))
    for each in ("preprocessor_config.json", "README.md"):
        source = next((at / each for at in (folder, base) if (at / each).is_file()), None)
        if source is not None:
            (place / each).write_bytes(source.read_bytes())
    if all(f"{module}.weight" in state for module in adapter.factors):
        _save(merged(state, adapter), place)
        return
    # Since its fifth version the library calls modules otherwise than files, and adapters go by its modules.
    _save(state | {name: value for name, value in adapter.others.items() if name in state or head}, place)
    model, _ = made_by_library(place, title, config, held(place, title))
    load_weights(model, title, "its base", merged(model.state_dict(), adapter))
    (place / WEIGHTS).unlink()
    model.save_pretrained(place)


def _save(state: Mapping[str, Tensor], place: Path) -> None:
    save_file({name: value.contiguous().clone() for name, value in state.items()}, place / WEIGHTS, {"format": "pt"})
