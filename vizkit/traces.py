"""What one forward pass left behind, in one structure for every family of models.

Attention weights stay in the groups in which the layer computed them (a group is a window, a patch of inner tokens, or
the whole image), and two integer maps say which token every row and column is. So ViT, Swin's rolled windows, TNT's
inner and outer attention, cross-attention and attention pooling need one structure and one set of analyses.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property, wraps
from types import NoneType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from vizkit.check import LOGIT_TOLERANCE, OUTPUT_TOLERANCE, ROW_SUM_TOLERANCE, Check, tolerance

__all__ = [
    "LOGIT_TOLERANCE",
    "OUTPUT_TOLERANCE",
    "PADDING",
    "Attention",
    "Check",
    "Features",
    "Map",
    "NotApplicable",
    "OneLine",
    "Tokens",
    "Trace",
    "TraceError",
    "computed_there",
    "dense",
    "fetched",
    "kept_on",
    "query_row",
    "refusals",
    "refuse",
    "row_sum_error",
    "row_times",
    "tolerance",
]

LONGEST, FEW = 170, 2  # characters of a record in one line; values that are shown of several
Map = Float[Tensor, "row column"]
"""A number for every place of a grid."""
PADDING = -1
"""The id of a place that is no token: Swin pads grids that its window does not divide."""


class NotApplicable(ValueError):  # noqa: N818  (not an error of the program: a sentence for the page)
    """A view has no meaning for this model; the message is one sentence for the user."""


@contextmanager
def not_applicable(*errors: type[Exception]) -> Iterator[None]:
    """NotApplicable, with the sentence of one of these errors in its place."""
    try:
        yield
    except errors as error:
        raise NotApplicable(str(error)) from None


Refusal = tuple[Bool[Tensor, ""], str]
_REFUSALS: ContextVar[list[Refusal] | None] = ContextVar("refusals", default=None)


def refuse(wrong: Bool[Tensor, ""], sentence: str) -> None:
    """NotApplicable with this sentence where `wrong` is true: what its numbers alone tell of a map."""
    if (kept := _REFUSALS.get()) is not None:
        kept.append((wrong, sentence))
    elif bool(wrong):
        raise NotApplicable(sentence)


@contextmanager
def refusals() -> Iterator[list[Refusal]]:
    """What `refuse` would say, in order and without an end: of many images at once (`torch.vmap`) no single one can
    stop the work for the others."""
    kept: list[Refusal] = []
    token = _REFUSALS.set(kept)
    try:
        yield kept
    finally:
        _REFUSALS.reset(token)


class TraceError(ValueError):
    """A recording is empty or contradicts itself; no figure may be drawn from it."""


class OneLine:
    """A record that a console shows in one line: its fields that are not as usual, arrays by their shapes, several
    records by their number."""

    def __repr__(self) -> str:
        own = getattr(self, "there", self)  # whose shapes can be said without fetching anything
        values = ((each, getattr(own, each.name)) for each in fields(self) if each.repr)  # pyright: ignore[reportArgumentType]
        shown = ((each, value) for each, value in values if value is not each.default and value is not None)
        line = ", ".join(f"{each.name}={_short(value)}" for each, value in shown)
        return f"{type(self).__name__}({line if len(line) <= LONGEST else f'{line[:LONGEST]}…'})"


def _short(value: object) -> str:
    shape = getattr(value, "shape", None)
    if shape is not None:
        return f"[{' × '.join(map(str, shape))}]"
    if is_dataclass(value):
        return type(value).__name__
    if isinstance(value, tuple | list | dict | set) and len(value) > FEW:
        return f"{len(value)} of them"
    return " ".join(repr(value).split())


R = TypeVar("R", bound=OneLine)
P = ParamSpec("P")
T = TypeVar("T")


class Kept(OneLine):
    """A record whose tensors may stay on the device that computed them, see `kept_on`: each is fetched when it is first
    read. `there`: the record with its tensors where they were computed, itself where that is the CPU."""

    @property
    def there(self: R) -> R:
        return self.__dict__.get("_there", self)

    if not TYPE_CHECKING:  # which would believe every name

        def __getattr__(self, name: str) -> Any:
            there = self.__dict__.get("_there")
            if there is None:
                raise AttributeError(f"{type(self).__name__} has no {name}.")
            return self.__dict__.setdefault(name, fetched(getattr(there, name)))


def kept_on(device: torch.device, record: R) -> R:
    """The record for those who read it on the CPU, with what lies on the device still there."""
    if device.type == "cpu":
        return record
    here, there = copy(record), copy(record)
    tensors = {name: own for name, own in vars(record).items() if isinstance(own, Tensor)}
    for name, tensor in tensors.items():
        alone = tensor.untyped_storage().nbytes() <= 2 * tensor.nbytes  # else it would keep all of a larger one
        there.__dict__[name] = tensor.to(device) if alone else tensor.to(device, copy=True)
        if tensor.device.type != "cpu":
            del here.__dict__[name]
    here.__dict__["_there"] = there
    return here


def fetched(value: T) -> T:
    """On the CPU, of a GPU by CUDA through pinned memory; records and lists with all that they hold."""
    made: Any = value
    if isinstance(value, Tensor):
        made = value.to("cpu", non_blocking=value.is_cuda)
        if value.is_cuda:
            torch.cuda.current_stream(value.device).synchronize()
    elif isinstance(value, list):
        made = [*map(fetched, value)]
    elif is_dataclass(value) and not isinstance(value, type):
        parts = ((each.name, getattr(value, each.name)) for each in fields(value))
        changed = {name: here for name, part in parts if (here := fetched(part)) is not part}
        made = replace(value, **changed) if changed else value
    return made


def computed_there(compute: Callable[P, T]) -> Callable[P, T]:
    """A function of a record, or of a whole trace, that runs where the numbers lie: what it gives is fetched."""

    @wraps(compute)
    def computed(*given: P.args, **named: P.kwargs) -> T:
        lie = [getattr(each, "there", each) for each in given]
        if all(there is each for there, each in zip(lie, given, strict=True)):
            return compute(*given, **named)
        return fetched(compute(*lie, **named))  # pyright: ignore[reportCallIssue]

    return computed


@dataclass(frozen=True)
class Tokens:
    """One set of tokens in the order of their ids: `special` by name, then the `grid` row by row, then `free` slots.

    `stride` is the distance between neighbours in a row of the grid in input pixels, 0 when the tokens have no place;
    rows lie `aspect` times as far apart: 1 but where a token stands for a rectangle. `image`: which image they lie
    on: 0 is the model's input, 1 the second image of a network that is given a reference.

    `boxes_cxcywh`: of free slots that lie nowhere but say where something is, as DETR's queries do: the middle, width
    and height that each predicts, as shares of the image. One for each slot, or none at all.
    """

    name: str
    special: tuple[str, ...] = ()
    grid: tuple[int, int] | None = None
    free: int = 0
    stride: float = 0.0
    aspect: float = 1.0
    image: int = 0
    boxes_cxcywh: tuple[tuple[float, float, float, float], ...] = ()

    def __post_init__(self) -> None:
        if self.boxes_cxcywh and len(self.boxes_cxcywh) != self.free:
            raise TraceError(f"{self.name}: {len(self.boxes_cxcywh)} boxes for {self.free} tokens without a place.")
        if not all(0 <= share <= 1 for box in self.boxes_cxcywh for share in box):  # so written, it refuses NaN too
            raise TraceError(f"{self.name}: a box is no share of the image.")

    def __len__(self) -> int:
        rows, columns = self.grid or (0, 0)
        return len(self.special) + rows * columns + self.free


@dataclass(frozen=True, repr=False)
class Attention(Kept):
    """Weights of one layer after softmax: `weights[g, h, i, j]` is the weight of head h from token `query_ids[g, i]` to
    token `key_ids[g, j]`. Rows sum to one. `learned=False` marks fixed pooling such as Swin's patch merging.

    `heads` is the number of heads the layer has, also when the recording kept only their mean. With a target,
    `gradient` is ∂logit/∂weights, and `score_gradient` the mean over heads and queries of relu(∂s/∂weights), s being
    the target's logit read off right after this layer's block.
    """

    name: str
    weights: Float[Tensor, "group head query key"]
    query: Tokens
    key: Tokens
    query_ids: Int[Tensor, "group query"]
    key_ids: Int[Tensor, "group key"]
    learned: bool = True
    gradient: Float[Tensor, "group head query key"] | None = field(default_factory=NoneType)
    heads: int = 0
    score_gradient: Float[Tensor, "group key"] | None = field(default_factory=NoneType)

    def __post_init__(self) -> None:
        groups, heads, queries, keys = self.weights.shape
        for kind, ids, count, tokens in (
            ("query", self.query_ids, queries, self.query),
            ("key", self.key_ids, keys, self.key),
        ):
            if tuple(ids.shape) != (groups, count):
                raise TraceError(f"{self.name}: {kind} ids are {tuple(ids.shape)}, expected {(groups, count)}.")
            if not ids.numel():
                raise TraceError(f"{self.name}: there is no {kind}; weights are {tuple(self.weights.shape)}.")
            low, high = (int(end) for end in ids.aminmax())
            if low < PADDING or high >= len(tokens):
                raise TraceError(f"{self.name}: {kind} ids go {low} to {high}, but {tokens.name} has {len(tokens)}.")
        ids_used = self.query_ids[self.query_ids != PADDING]
        if len(ids_used.unique()) != len(ids_used):
            raise TraceError(f"{self.name}: a query of {self.query.name} stands in two groups.")
        if self.gradient is not None and self.gradient.shape != self.weights.shape:
            raise TraceError(f"{self.name}: gradient {tuple(self.gradient.shape)} against {tuple(self.weights.shape)}.")
        if self.score_gradient is not None and self.score_gradient.shape != self.key_ids.shape:
            raise TraceError(f"{self.name}: a score's gradient {tuple(self.score_gradient.shape)} for {keys} keys.")
        if not self.heads:
            object.__setattr__(self, "heads", heads)

    @cached_property
    def in_order(self) -> bool:
        """Whether every token, in the order of the ids, looks at every token, in that order."""
        return all(
            ids.shape == (1, len(tokens)) and bool((ids[0].cpu() == torch.arange(len(tokens))).all())
            for ids, tokens in ((self.query_ids, self.query), (self.key_ids, self.key))
        )

    @property
    def shape(self) -> torch.Size:
        """Of the weights, which are not fetched for it."""
        return self.there.weights.shape

    @property
    def in_one_image(self) -> bool:
        """Whether queries and keys lie in the same image: only then is there a distance between them."""
        return self.query.grid is not None and self.key.grid is not None and self.query.image == self.key.image


@dataclass(frozen=True, repr=False)
class Features(Kept):
    """The token vectors that leave a block, in the order of the ids of `tokens`.

    `gradient` is that of the target's logit with respect to `values`, in logits per unit of the feature.
    """

    name: str
    values: Float[Tensor, "token channel"]
    tokens: Tokens
    gradient: Float[Tensor, "token channel"] | None = field(default_factory=NoneType)

    def __post_init__(self) -> None:
        if self.gradient is not None and self.gradient.shape != self.values.shape:
            raise TraceError(f"{self.name}: gradient {tuple(self.gradient.shape)} against {tuple(self.values.shape)}.")


@dataclass(frozen=True, repr=False)
class Trace(OneLine):
    """One image through one model. `image_size` is (height, width) of the model's input in pixels.

    Or one text: a line of n tokens is an image of 1 × n, and every token of it has logits of its own. Or two images,
    one of which is enlarged with the texture of the other: the "logits" are red, green and blue of every pixel, row by
    row, and tokens say by `image` which of the two they lie on.

    `cam_features`: with a target only, the features that class activation maps are made of, with their gradient, the
    latest first: what the head receives, then what the last attention layer receives. `layer_features`: the same at any
    layer, the first first: what an attention layer receives, by the layer's name; of a CNN what leaves a stage.
    `linear`: how many layers attend without a softmax, so that no weights say where they look.
    """

    model: str
    image_size: tuple[int, int]
    logits: Float[Tensor, "*token label"]
    attention: tuple[Attention, ...]
    features: tuple[Features, ...]
    check: Check
    target: int | None = None
    notes: tuple[str, ...] = field(default=())
    cam_features: tuple[Features, ...] = ()
    linear: int = 0
    layer_features: tuple[Features, ...] = ()

    @property
    def there(self) -> "Trace":
        """With every tensor where it was computed, see `Kept`; itself where that is the CPU."""
        own = {kind: getattr(self, kind) for kind in ("attention", "features", "cam_features", "layer_features")}
        if all(each.there is each for records in own.values() for each in records):
            return self
        return replace(self, **{kind: tuple(each.there for each in records) for kind, records in own.items()})

    @property
    def no_attention(self) -> str:
        """Why there is no attention to look at, where there is none: a sentence without its full stop."""
        if self.linear:
            return "The attention of this model has no softmax, so no weights say where it looks"
        return "This model has no attention layers"

    def __post_init__(self) -> None:
        if not bool(torch.isfinite(self.logits).all()):
            raise TraceError(f"{self.model} gives logits that are not numbers; its weights are broken.")
        recorded, expected = self.check.layers_found, self.check.layers_expected
        if expected not in (None, recorded):
            raise TraceError(f"{self.model}: {recorded} of {expected} attention layers were recorded.")
        if not self.check.row_sum_error <= ROW_SUM_TOLERANCE:  # so written, it refuses NaN too
            raise TraceError(f"{self.model}: a row of attention misses one by {self.check.row_sum_error:.1e}.")


def row_sum_error(attention: tuple[Attention, ...] | list[Attention]) -> float:
    """Largest distance of a row's sum from one, over all layers; NaN where a weight is NaN."""
    errors = [(a.weights.float().sum(-1) - 1).abs().max().cpu() for a in attention]
    return float(torch.stack(errors).max()) if errors else 0.0


def dense(attention: Attention) -> Float[Tensor, "head query key"]:
    """The full matrix of every head. Pairs that the layer never compared are 0; what padding takes is missing."""
    heads, queries, keys = attention.weights.shape[1], len(attention.query), len(attention.key)
    # One spare row and column collect the padding and are cut off: PADDING = -1, modulo the count, is exactly them.
    place = (attention.query_ids % (queries + 1))[:, :, None] * (keys + 1) + (attention.key_ids % (keys + 1))[:, None]
    full = attention.weights.new_zeros(heads, (queries + 1) * (keys + 1))
    full.index_add_(1, place.flatten(), attention.weights.transpose(0, 1).flatten(1))
    return full.view(heads, queries + 1, keys + 1)[:, :queries, :keys]


@computed_there
def row_times(
    row: Float[Tensor, " query"],
    attention: Attention,
    head_weights: Float[Tensor, " head"] | None = None,
) -> Float[Tensor, " key"]:
    """`row @ A` without forming the full matrix, A being the mean over heads (or the sum weighted by `head_weights`).

    What goes to padding is lost, as in `dense`.
    """
    weights, keys = attention.weights.float(), len(attention.key)
    fused = weights.mean(1) if head_weights is None else torch.einsum("ghqk,h->gqk", weights, head_weights)
    row = row.float().to(weights.device)
    padded = torch.cat([row, row.new_zeros(1)])  # PADDING picks the zero at the end
    spread = torch.einsum("gq,gqk->gk", padded[attention.query_ids], fused)
    out = row.new_zeros(keys + 1)
    return out.index_add(0, attention.key_ids.flatten() % (keys + 1), spread.flatten())[:-1]


@computed_there
def query_row(attention: Attention, query_id: int) -> Float[Tensor, "head key"]:
    """The row of one query token in every head, over all keys; KeyError when the layer has no such query."""
    places = (attention.query_ids == query_id).nonzero().tolist()
    if query_id < 0 or not places:
        raise KeyError(query_id)
    ((group, position),) = places  # a query stands in one group only
    out = attention.weights.new_zeros(attention.weights.shape[1], len(attention.key) + 1, dtype=torch.float32)
    out.index_add_(1, attention.key_ids[group] % out.shape[1], attention.weights[group, :, position].float())
    return out[:, :-1]
