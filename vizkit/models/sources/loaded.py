"""A model ready to be looked at, and what is known about it: preprocessing, class names, licence, origin."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from vizkit.heads import EMBEDDING, HEADS, ITSELF, ITSELF_IN_WORDS, REGRESSION, SOFTMAX, Head
from vizkit.image import Preprocessing
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.sizing import bytes_of
from vizkit.traces import TraceError

NO_LICENCE = "none needed (random weights)"
_CARD_LICENCE = re.compile(r"\A---\n(?:.*\n)*?license:\s*(\S+)", re.MULTILINE)  # the front matter of a model card


class Counted(NamedTuple):
    """What `recording.counting` says of a plain pass: attention layers (None: unknown), linear ones, those that change
    their weights, and whether anything is decided by the image."""

    layers: int | None
    linear: int
    changed: int
    decides: bool


@dataclass(eq=False)
class Loaded:
    """A model ready to be looked at: in evaluation mode, without parameter gradients, on its device.

    `labels` are the class names in the order of the logits, empty when unknown. `compared` remembers, for each input
    size and kind of recording, whether `forward` believed the features, and how far the logits were apart; `counted`,
    for each input size; `weights_bytes` what `budget` counted; `placed` where the first tokens lie, see
    `families.measured`; `places` its attention layers, see `recording.editing`; `proven` what was heard and judged of
    the places of its tokens, see `families.proven_places`. `grid`: (rows, columns) of the patches,
    where the owner of the model has given it. `head`: what
    its outputs are, guessed from their number where it is left out; `outputs`: how many they are, 0 for a model without
    a head, None where nobody knows.
    `text_tower`: the folder with the text tower of a model that takes its classes as words, see `zero_shot`.
    """

    name: str
    model: nn.Module
    device: torch.device
    preprocessing: Preprocessing
    labels: tuple[str, ...] = ()
    source: str = ""
    licence: str = "not stated"
    trained: bool = True
    grid: tuple[int, int] | None = None
    head: Head = None  # pyright: ignore[reportAssignmentType]  # left out, it is guessed below
    head_guessed: bool = False
    outputs: int | None = None
    text_tower: Path | None = None
    compared: dict[tuple, tuple[bool, float]] = field(default_factory=dict)
    # Of these modules alone: `replace` begins anew.
    counted: dict[tuple[int, int], Counted] = field(default_factory=dict, init=False)
    weights_bytes: dict[tuple[int, int], int] = field(default_factory=dict, init=False)
    placed: dict[tuple[int, int], Any] = field(default_factory=dict, init=False)
    places: dict[tuple[int, int], tuple[Any, ...]] = field(default_factory=dict, init=False)
    proven: dict[tuple, Any] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if self.outputs is None:
            count = getattr(self.model, "num_classes", None)
            self.outputs = count if isinstance(count, int) else None
        if self.head is None:
            self.head, self.head_guessed = _guessed(self.outputs)

    @property
    def parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())

    @property
    def dtype(self) -> torch.dtype:
        """Of the numbers that the model takes: those of its first weights."""
        return next((each.dtype for each in self.model.parameters() if each.is_floating_point()), torch.float32)

    @property
    def bytes(self) -> int:
        """What the weights and tables of the model take in memory."""
        return bytes_of(self.model)

    @property
    def classifies(self) -> bool:
        """Whether the outputs are classes or labels with probabilities; others are values, or features."""
        return self.head.probable

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before its answers are believed, in sentences."""
        if not self.head_guessed:
            return ()
        kinds = ", ".join(f'"{name}"' for name in HEADS)
        return (
            f"Nothing says what kind of head {self.name} has; {self.head.name} is a guess: give head= one of {kinds} "
            "to load or wrap, or write it into its config.json.",
        )

    def label(self, index: int) -> str:
        """What an output is called: by its own name, else by its number."""
        if index == ITSELF:
            return ITSELF_IN_WORDS
        if index < len(self.labels) and self.head is not EMBEDDING:
            return self.labels[index]
        return self.head.output if self.outputs == 1 else f"{self.head.output} {index}"


def _guessed(outputs: int | None) -> tuple[Head, bool]:
    """(head, whether that is a guess) by the number of outputs alone."""
    from timm.data import infer_imagenet_subset

    if outputs == 0:
        return EMBEDDING, False
    if outputs == 1:  # a softmax over one class would always say 1
        return REGRESSION, True
    return SOFTMAX, not infer_imagenet_subset({"num_classes": outputs})


def with_head(loaded: Loaded, stated: object) -> Loaded:
    """The model with the head that its owner, or its configuration, states by name. Raises ModelError."""
    if not (isinstance(stated, str) and stated in HEADS):
        raise ModelError(f"{loaded.name} cannot have the head {str(stated)[:40]!r}; there are {', '.join(HEADS)}.")
    head = HEADS[stated]
    if head.exclusive and loaded.outputs == 1:
        raise ModelError(
            f"{loaded.name} has one output, over which a softmax is always 1; say regression, sigmoid or embedding."
        )
    return replace(loaded, head=head, head_guessed=False)


def described(
    name: str,
    model: nn.Module,
    size_hw: tuple[int, int] | None,
    source: str,
    *,
    trained: bool = True,
    card: Path | None = None,
    channels: int | None = None,
) -> Loaded:
    """What timm knows about its model. `card`: where to look for a licence that the configuration does not state.

    `channels`: of the input, where the architecture's own are others; of one, mean and deviation are the average of
    the three, as timm makes them.
    """
    import timm.data

    config: dict[str, Any] = dict(getattr(model, "pretrained_cfg", {}) or {})
    resolved = timm.data.resolve_model_data_config(model)
    if size_hw:
        resolved["input_size"] = (resolved["input_size"][0], *size_hw)
        resolved["crop_mode"] = "squash" if size_hw[0] != size_hw[1] else resolved["crop_mode"]
    if channels is not None:
        resolved["input_size"] = (channels, *resolved["input_size"][1:])
        for key in ("mean", "std"):
            resolved[key] = (sum(resolved[key]) / len(resolved[key]),) * channels
    try:
        preprocessing = Preprocessing.from_config(resolved)
    except ValueError as error:
        reason = str(error)
        raise ModelError(f"The preprocessing of {name} makes no sense: {reason[:1].lower()}{reason[1:]}") from None
    licence = str(config.get("license") or licence_on(card) or "not stated")[:80] if trained else NO_LICENCE
    return Loaded(name, model, torch.device("cpu"), preprocessing, _labels_of(model, config), source, licence, trained)


def licence_on(card: Path | None) -> str | None:
    if card is None or not card.is_file():
        return None
    match = _CARD_LICENCE.match(card.read_text(encoding="utf-8", errors="replace")[:10_000])
    return match[1] if match else None


def _labels_of(model: nn.Module, config: dict[str, Any]) -> tuple[str, ...]:
    """Class names from the model's own configuration, else ImageNet's when the number of classes is one of its sets."""
    count = getattr(model, "num_classes", 0)
    names, descriptions = config.get("label_names"), config.get("label_descriptions") or {}
    if isinstance(names, list | tuple) and len(names) == count:
        lookup = descriptions if isinstance(descriptions, dict) else {}
        return tuple(str(lookup.get(str(name), name)) for name in names)
    return imagenet_labels(count)


@cache
def imagenet_labels(count: int) -> tuple[str, ...]:
    """ImageNet's class names in the subset that has this many classes (1k, 12k, 21k, 22k), else none."""
    from timm.data import ImageNetInfo, infer_imagenet_subset

    subset = infer_imagenet_subset({"num_classes": count})
    return tuple(str(label) for label in ImageNetInfo(subset).label_descriptions()) if subset else ()


def logits_of(out: Any) -> Tensor:
    """The vector of logits of one image, (label,) float32; otherwise as `logits_of_images`."""
    logits = logits_of_images(out)
    return logits[0] if logits.dim() == 2 else logits


def logits_of_images(out: Any) -> Tensor:
    """What a model returned for a batch as (image, label), float32; models with two heads (distilled LeViT in training)
    give their mean.

    Other libraries' models return an object or a mapping: their `logits`, or the vector that stands for the image.
    TraceError where the model ends in a map.
    """
    for name in ("logits", "pooler_output", "image_embeds"):
        found = out.get(name) if isinstance(out, Mapping) else getattr(out, name, None)
        if isinstance(found, Tensor):
            out = found
            break
    if isinstance(out, tuple | list):
        vectors = [one for one in out if isinstance(one, Tensor) and one.dim() == 2]
        if not vectors:
            raise TraceError("This model returns no vector of logits or features for an image.")
        out = torch.stack(vectors).mean(0) if len({one.shape for one in vectors}) == 1 else vectors[0]
    if not isinstance(out, Tensor):
        raise TraceError(f"This model returns a {type(out).__name__}, in which no logits are found.")
    if out.dim() > 2:
        raise TraceError("This model ends in a map, not in class scores; vizkit shows classifiers and feature vectors.")
    return out.float()
