"""A model ready to be looked at, and what is known about it: preprocessing, class names, licence, origin."""

import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vizkit.heads import (
    EMBEDDING,
    HEADS,
    ITSELF,
    ITSELF_IN_WORDS,
    LIKENESS,
    LIKENESS_IN_WORDS,
    REGRESSION,
    SOFTMAX,
    TINY,
    Head,
)
from vizkit.image import Preprocessing
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.sizing import bytes_of
from vizkit.traces import TraceError

Size = tuple[int, int]
NO_LICENCE = "none needed (random weights)"
_CARD_LICENCE = re.compile(r"\A---\n(?:.*\n)*?license:\s*(\S+)", re.MULTILINE)  # the front matter of a model card
_CARD_DATASETS = re.compile(r"\A---\n(?:.*\n)*?datasets?:((?:.*\n)(?:[ -].*\n)*)", re.MULTILINE)
_IMAGENET = re.compile(r"imagenet|ilsvrc|(?<![a-z0-9])in(1|12|21|22)k(?![a-z0-9])", re.IGNORECASE)
MOST_NAMED = 5


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
    a head, None where nobody knows; `probabilities`: whether the model itself has made probabilities of its logits.
    `text_tower`: the folder with the text tower of a model that takes its classes as words, see `zero_shot`. `own`: of
    a model without classes the embeddings of pictures, to which those of others are likened, see `likened`. `then`:
    of a run whose weights are those of a step, which step, and which weights. `run`: the folder that it was opened
    from, and `step`, where these are the weights of then.
    """

    name: str
    model: nn.Module
    device: torch.device
    preprocessing: Preprocessing
    labels: tuple[str, ...] = ()
    source: str = ""
    licence: str = "not stated"
    trained: bool = True
    grid: Size | None = None
    head: Head = None  # pyright: ignore[reportAssignmentType]  # left out, it is guessed below
    head_guessed: bool = False
    outputs: int | None = None
    probabilities: bool = False
    text_tower: Path | None = None
    own: Float[Tensor, "picture feature"] | None = None
    then: str = ""
    run: Path | None = None
    step: int | None = None
    compared: dict[tuple, tuple[bool, float]] = field(default_factory=dict)
    # Of these modules alone: `replace` begins anew.
    counted: dict[Size, Counted] = field(default_factory=dict, init=False)
    weights_bytes: dict[Size, int] = field(default_factory=dict, init=False)
    placed: dict[Size, Any] = field(default_factory=dict, init=False)
    places: dict[Size, tuple[Any, ...]] = field(default_factory=dict, init=False)
    proven: dict[tuple, Any] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if self.outputs is None:
            count = getattr(self.model, "num_classes", None)
            self.outputs = count if isinstance(count, int) else None
        if self.head is None:
            self.head, self.head_guessed = guessed_head(self.outputs, self.labels)

    def __repr__(self) -> str:
        """In one line: what it is, not its modules."""
        size = f"{self.parameters / 1e6:,.1f} M parameters, {' × '.join(map(str, self.preprocessing.size_hw))} pixels"
        answers = f"{len(self.labels):,} classes" if self.labels else self.head.gives
        return f"Loaded({self.name!r}, {type(self.model).__name__}: {size}, {answers}, on {self.device})"

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
        kinds, notes = ", ".join(f'"{name}"' for name in HEADS), []
        if self.head_guessed:
            notes.append(
                f"Nothing says what kind of head {self.name} has; {self.head.name} is a guess: give head= one of "
                f"{kinds} to load or wrap, or write it into its config.json."
            )
        if self.classifies and self.trained and self.outputs and self.outputs > 1 and not self.labels:
            notes.append(
                f"Nothing says what the {self.outputs:,} classes of {self.name} are called: give labels= to load or "
                "wrap (--labels on the command line), or write them into its config.json as label_names."
            )
        return tuple(notes)

    def label(self, index: int) -> str:
        """What an output is called: by its own name, else by its number."""
        if index == ITSELF:
            return ITSELF_IN_WORDS
        if index < len(self.labels) and self.head is not EMBEDDING:
            return self.labels[index]
        return self.head.output if self.outputs == 1 else f"{self.head.output} {index}"

    def number_of(self, target: "int | str | None") -> int | None:
        """An output by its number from 0, or by what it is called: its name, a part that no other name has, "class 3",
        or as lists tell two of one name apart, "crane (class 517)". Digits are a name where an output has it. None of
        None. ValueError where there is no such output, or several.
        """
        if target is None or not isinstance(target, str):
            return None if target is None else int(target)
        sought, labels = target.casefold().strip(), [label.casefold().strip() for label in self.labels]
        kind = self.head.output
        numbered = re.fullmatch(rf"((class|{kind}) )?(\d{{1,9}})", sought)
        near = [i for i, label in enumerate(labels) if sought in (label, f"{label} ({kind} {i})")]
        if not near and numbered:
            return int(numbered[3])  # the forward pass knows how many there are
        near = near or [i for i, label in enumerate(labels) if sought and sought in label]
        if len(near) == 1:
            return near[0]
        few = (near or range(len(labels)))[:MOST_NAMED]
        if not labels:
            raise ValueError(f"No {kind} of {self.name} has a name; give the number of one.")
        named = ", ".join(f"{self.labels[i]} ({kind} {i})" for i in few)
        if near:
            kinds = f"{kind}{'es' if kind[-1] == 's' else 's'} of {self.name}"
            raise ValueError(f"{len(near)} {kinds} have {target[:60]!r} in their name: {named}; give a number.")
        raise ValueError(f"{self.name} has no {kind} {target[:60]!r}; it has {named}.")

    def logits_of(self, out: Any, images: int = 1) -> Tensor:
        """What the model returned for so many images as logits, or values, (image, output), float32; as
        `outputs_of`. Of probabilities that it has made itself they are the logarithms, or those of the odds."""
        values = outputs_of(out, images)
        if self.own is not None:
            return parts_along(values, self.own.to(values))
        if not self.probabilities or not self.head.probable:
            return values
        values = values.clamp(min=torch.finfo(torch.float32).tiny)
        return values.log() if self.head.exclusive else values.logit(eps=torch.finfo(torch.float32).eps)


def copy_with(model: nn.Module, other: Callable[[Tensor], Tensor] = lambda tensor: tensor) -> Any:
    """A copy of the modules, with `other(tensor)` in the place of every parameter and buffer: usually the very same,
    so that it costs next to no memory."""
    return deepcopy(model, {id(tensor): other(tensor) for tensor in (*model.parameters(), *model.buffers())})


def model_of(given: object) -> Loaded:
    """What somebody gives for a model. Raises ModelError where it is none."""
    if isinstance(given, Loaded):
        return given
    raise ModelError("A model has to be what vizkit.load or vizkit.wrap gives.")


def likened(
    loaded: Loaded, own: Float[Tensor, " feature"], others: Mapping[str, Tensor] = MappingProxyType({})
) -> Loaded:
    """The same model without classes, with an answer: how like `own`, the embedding of one picture, another one is
    (`heads.LIKENESS`), and how like it is to those of `others`, by their names. What is known of the model is known of
    both."""
    same = copy(loaded)  # `replace` would forget it
    same.head, same.own, same.outputs = LIKENESS, torch.stack([own, *others.values()]), 1
    same.labels = (LIKENESS_IN_WORDS, *others)
    return same


def parts_along(
    outputs: Float[Tensor, "*image feature"], own: Float[Tensor, "picture feature"]
) -> Float[Tensor, "*image part"]:
    """How long an embedding is along the direction of each picture, and across that of the first: the cosine with one
    is its part by the length of the first and the last together. The cosine itself has no gradient at the first, where
    it is largest; the length along it has."""
    directions = own / own.norm(dim=-1, keepdim=True).clamp(min=TINY)
    along = (outputs[..., None, :] * directions).sum(-1)
    return torch.cat([along, (outputs - along[..., :1] * directions[0]).norm(dim=-1, keepdim=True)], -1)


def guessed_head(outputs: int | None, labels: Sequence[str]) -> tuple[Head, bool]:
    """(head, whether that is a guess) by the number of outputs, and their names, alone."""
    if outputs == 0:
        return EMBEDDING, False
    if outputs == 1:  # a softmax over one class would always say 1
        return REGRESSION, True
    return SOFTMAX, not (labels and imagenet_labels(outputs or 0))  # as many as ImageNet's, and they have names


def with_labels(loaded: Loaded, labels: Sequence[str]) -> Loaded:
    """The model with the names of its outputs that its owner gives, in their order. Raises ModelError."""
    if loaded.outputs not in (None, len(labels)):
        raise ModelError(f"{loaded.name} has {loaded.outputs:,} outputs, and these are {len(labels):,} names for them.")
    return replace(loaded, labels=tuple(map(str, labels)))


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
    size_hw: Size | None,
    source: str,
    *,
    trained: bool = True,
    card: Path | None = None,
    channels: int | None = None,
    told: Mapping[str, Any] = MappingProxyType({}),
    says: Sequence[str] | None = None,
) -> Loaded:
    """What timm knows about its model. `card`: where to look for a licence that the configuration does not state.
    `says`: what is known of its classes, where that is not the model's own configuration.

    `channels`: of the input, where the architecture's own are others; of one, mean and deviation are the average of
    the three, as timm makes them. `told`: what its training was told of pictures otherwise, in the words of timm's
    train.py.
    """
    import timm.data

    config: dict[str, Any] = dict(getattr(model, "pretrained_cfg", {}) or {})
    try:
        resolved = timm.data.resolve_model_data_config(model, dict(told) | ({"in_chans": channels} if channels else {}))
    except (AssertionError, TypeError, ValueError, LookupError):
        raise ModelError(f"What {name} says of its images makes no sense: {str(dict(told))[:120]}.") from None
    if size_hw:
        resolved["input_size"] = (resolved["input_size"][0], *size_hw)
        resolved["crop_mode"] = "squash" if size_hw[0] != size_hw[1] else resolved["crop_mode"]
    if channels is not None:
        resolved["input_size"] = (channels, *resolved["input_size"][1:])
        for key in {"mean", "std"} - {*told}:
            resolved[key] = (sum(resolved[key]) / len(resolved[key]),) * channels
    try:
        preprocessing = Preprocessing.from_config(resolved)
    except ValueError as error:
        reason = str(error)
        raise ModelError(f"The preprocessing of {name} makes no sense: {reason[:1].lower()}{reason[1:]}") from None
    licence = str(config.get("license") or licence_on(card) or "not stated")[:80] if trained else NO_LICENCE
    count = getattr(model, "num_classes", 0)
    labels = _labels_of(model, config) if says is None else imagenet_labels_where(count, *says)
    return Loaded(name, model, torch.device("cpu"), preprocessing, labels, source, licence, trained)


def licence_on(card: Path | None) -> str | None:
    match = _CARD_LICENCE.match("" if card is None else _start_of(card))
    return match[1] if match else None


def datasets_on(card: Path) -> str:
    """What a model card says that the model has learned from; "" where it says nothing."""
    match = _CARD_DATASETS.match(_start_of(card))
    return match[1] if match else ""


def _start_of(card: Path) -> str:
    return card.read_text(encoding="utf-8", errors="replace")[:10_000] if card.is_file() else ""


def _labels_of(model: nn.Module, config: dict[str, Any]) -> tuple[str, ...]:
    """Class names from the model's own configuration, else ImageNet's where it says that they are."""
    count = getattr(model, "num_classes", 0)
    names, descriptions = config.get("label_names"), config.get("label_descriptions") or {}
    if isinstance(names, list | tuple) and len(names) == count:
        lookup = descriptions if isinstance(descriptions, dict) else {}
        return tuple(str(lookup.get(str(name), name)) for name in names)
    return imagenet_labels_where(count, *(str(config.get(key)) for key in ("tag", "dataset", "hf_hub_id", "url")))


def imagenet_labels_where(count: int, *says: str) -> tuple[str, ...]:
    """`imagenet_labels` where one of these texts says ImageNet: others have 1,000 classes too."""
    return imagenet_labels(count) if any(map(_IMAGENET.search, says)) else ()


@cache
def imagenet_labels(count: int) -> tuple[str, ...]:
    """ImageNet's class names in the subset that has this many classes (1k, 12k, 21k, 22k), else none."""
    from timm.data import ImageNetInfo, infer_imagenet_subset

    subset = infer_imagenet_subset({"num_classes": count})
    return tuple(str(label) for label in ImageNetInfo(subset).label_descriptions()) if subset else ()


def outputs_of(out: Any, images: int = 1) -> Tensor:
    """What a model returned for so many images as (image, output), float32; models with two heads (distilled LeViT in
    training) give their mean, and an axis of one that the model has left out stands again.

    Other libraries' models return an object or a mapping: their `logits`, or the vector that stands for the image.
    TraceError where the model ends in a map.
    """
    for name in ("logits", "pooler_output", "image_embeds"):
        found = out.get(name) if isinstance(out, Mapping) else getattr(out, name, None)
        if isinstance(found, Tensor):
            out = found
            break
    if isinstance(out, tuple | list):
        numbers = [one for one in out if isinstance(one, Tensor) and one.dim() < 3]
        vectors = [one for one in numbers if one.dim() == 2] or numbers
        if not vectors:
            raise TraceError("This model returns no vector of logits or features for an image.")
        out = torch.stack(vectors).mean(0) if len({one.shape for one in vectors}) == 1 else vectors[0]
    if not isinstance(out, Tensor):
        raise TraceError(f"This model returns a {type(out).__name__}, in which no logits are found.")
    if out.dim() > 2:
        raise TraceError("This model ends in a map, not in class scores; vizkit shows classifiers and feature vectors.")
    if out.numel() % images:
        raise TraceError(f"This model returns {out.numel()} numbers for {images} images, in which no logits are found.")
    return out.float().reshape(images, -1) if out.dim() < 2 else out.float()
