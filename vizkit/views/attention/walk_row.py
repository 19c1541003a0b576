"""One query in one head of one layer: every number of its walk, and how the script that plays it is sent them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.attention_map import Query
from vizkit.analysis.attention.walkthrough import Steps as Computed
from vizkit.analysis.attention.walkthrough import beside, largest_difference, layer_output, single_head
from vizkit.analysis.attention.walkthrough import steps as steps_of
from vizkit.figure.canvas.rows import text64
from vizkit.figure.scales import SHARES
from vizkit.geometry import middle_of, name_of
from vizkit.models.probes.parts import Parts, attention_parts
from vizkit.traces import Attention
from vizkit.views.subject import Subject

Experiment = Literal["", "unscaled", "single"]
MASKED = -50  # Swin adds −100 to pairs of two regions, decoders −∞


@dataclass(frozen=True, eq=False)
class Head:
    """One head of a layer, or the experiment in its place: softmax(scale · query keyᵀ + bias) value for every query."""

    index: int
    query: Float[Tensor, "query d_k"]
    key: Float[Tensor, "key d_k"]
    value: Float[Tensor, "key width"]
    scale: float
    bias: Float[Tensor, "query key"] | None
    weights: Float[Tensor, "query key"]
    mixed: Float[Tensor, "query width"]
    experiment: Experiment = ""


def parts_of(of: Subject, index: int, token: int | None) -> Parts:
    """A layer, from 0, taken apart: the window of this token. Where there is one window all tokens have the same, so
    that another query or head costs no pass of the model."""
    windows = len(of.layers[index].query_ids)
    key = "parts", index, token if windows > 1 else None
    return of.kept(key, lambda: attention_parts(of.loaded, of.pixels, index, token_id=token))


def head_of(parts: Parts, index: int, experiment: Experiment = "") -> Head:
    """The head as the model computed it; without ÷ √d; or all heads as a single one."""
    bias = parts.bias
    if experiment == "single":
        query, key, value = (beside(vectors)[0] for vectors in (parts.query, parts.key, parts.value))
        steps = single_head(parts.query, parts.key, parts.value, bias)
        bias = None if bias is None else bias.mean(0)
        return Head(0, query, key, value, query.shape[-1] ** -0.5, bias, steps.weights[0], steps.mixed[0], experiment)
    bias = None if bias is None else bias[index]
    vectors = parts.query[index], parts.key[index], parts.value[index]
    if experiment:
        query, key, value = (vector[None] for vector in vectors)
        steps = steps_of(query, key, value, 1.0, None if bias is None else bias[None])
        return Head(index, *vectors, 1.0, bias, steps.weights[0], steps.mixed[0], experiment)
    return Head(index, *vectors, float(parts.scale[index]), bias, parts.weights[index], parts.mixed[index])


@dataclass(frozen=True, eq=False)
class Row:
    """The row of the query at `position` of a layer in pieces. `layer` counts from 0."""

    parts: Parts
    head: Head
    position: int
    layer: int

    @property
    def query_id(self) -> int:
        return int(self.parts.query_ids[self.position])

    @property
    def query_name(self) -> str:
        return name_of(self.parts.tokens, self.query_id)

    @property
    def is_patch(self) -> bool:
        return self.query_id >= len(self.parts.tokens.special)

    @property
    def asked(self) -> Query:
        tokens = self.parts.tokens
        return middle_of(tokens, self.query_id) if self.is_patch else tokens.special[self.query_id]

    @property
    def past(self) -> str:
        """What goes past the layer: "h" where the layer gets it normalised, else the same x."""
        stream, arriving = self.parts.stream, self.parts.arriving
        if stream is None or arriving is None or stream.before.shape[-1] != arriving.shape[-1]:
            return "x"
        return "x" if alike(stream.before[self.position], arriving[self.position]) else "h"

    def key_name(self, place: int) -> str:
        token = int(self.parts.key_ids[place])
        return "padding" if token < 0 else name_of(self.parts.key_tokens, token)

    @cached_property
    def computed(self) -> Computed:
        """Every step of this row, (1, 1, key); `mixed` is (1, 1, width)."""
        head, at = self.head, slice(self.position, self.position + 1)
        bias = None if head.bias is None else head.bias[None, at]
        return steps_of(head.query[None, at], head.key[None], head.value[None], head.scale, bias)

    @property
    def weights(self) -> Float[Tensor, " key"]:
        return self.computed.weights[0, 0]

    @cached_property
    def masked(self) -> list[bool]:
        bias = self.head.bias
        return [False] * len(self.weights) if bias is None else (bias[self.position] <= MASKED).tolist()

    def place_of(self, key: int) -> int:
        """Where key number `key`, from 1, stands in the row; of 0, and of one that this query does not see, the largest
        weight on another token."""
        found = (self.parts.key_ids == key - 1).nonzero().flatten().tolist() if key else []
        own = self.parts.key_ids == self.query_id if self.parts.tokens == self.parts.key_tokens else False
        others = self.weights.masked_fill(torch.as_tensor(own), -1.0)
        return found[0] if found else int(others.argmax())

    @property
    def after_head(self) -> dict[str, Float[Tensor, " channel"]]:
        """What comes after the head, by name; of an experiment nothing, for the rest was not trained for it."""
        parts, at = self.parts, self.position
        if self.head.experiment:
            return {}
        found = {"joined": parts.concatenated[at], "projected": parts.projected[at]}
        found |= {} if parts.plain else {"entering": parts.entering[at]}
        if parts.stream is not None:
            found |= {name: getattr(parts.stream, name)[at] for name in ("before", "branch", "after")}
        return found

    @property
    def between(self) -> Literal["", "scaled", "normalised"]:
        """What is done to the layer's output before it is added to what went past: of all tokens the same factor for
        each channel, or something of its own for each token."""
        stream, projected = self.parts.stream, self.parts.projected
        if self.head.experiment or stream is None or alike(stream.branch[self.position], projected[self.position]):
            return ""
        factor = (stream.branch * projected).sum(0) / projected.square().sum(0).clamp(min=1e-30)
        return "scaled" if alike(stream.branch, projected * factor) else "normalised"


def alike(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=1e-3, atol=1e-4)


def for_browser(row: Row) -> dict[str, Any]:
    """In float32; of an experiment without what comes after the head."""
    parts, head, at = row.parts, row.head, row.position
    vectors = {
        "query": head.query[at],
        "key": head.key,
        "value": head.value,
        "bias": None if head.bias is None else head.bias[at],
        "weights": head.weights[at],
        "mixed": head.mixed[at],
        "arriving": None if parts.arriving is None else parts.arriving[at],
        **row.after_head,
    }
    tokens = parts.tokens
    return {
        **{name: None if vector is None else text64(vector, "<f4") for name, vector in vectors.items()},
        "scale": head.scale,
        "shares": SHARES.packed(),
        "head": head.index,
        "experiment": head.experiment,
        "heads": len(parts.weights),
        "layer": row.layer,
        "query_id": row.query_id,
        "query_name": row.query_name,
        "query_special": "" if row.is_patch else tokens.special[row.query_id],
        "past": row.past,
        "query_specials": len(tokens.special),
        "query_grid": tokens.grid,
        "key_ids": text64(parts.key_ids, "<i4"),
        "key_grid": parts.key_tokens.grid,
        "key_special": parts.key_tokens.special,
        "same": tokens == parts.key_tokens,
    }


def differences(recorded: Attention, row: Row) -> tuple[float, float | None]:
    """(of this head's weights from the trace's, of the layer's rebuilt output from its own, as a share of its largest
    number; None where the layer changes the heads' outputs before it projects them)."""
    parts, at = row.parts, slice(row.position, row.position + 1)
    bias = None if parts.bias is None else parts.bias[:, at]
    again = steps_of(parts.query[:, at], parts.key, parts.value, parts.scale, bias)
    group, place = (recorded.query_ids == row.query_id).nonzero()[0].tolist()
    traced = recorded.weights[group, row.head.index, place].float().cpu()
    own = parts.projected[at]
    rebuilt = layer_output(again.mixed, parts.out_weight, parts.out_bias) if parts.plain else None
    off = None if rebuilt is None else largest_difference(rebuilt, own) / (float(own.abs().max()) or 1.0)
    return largest_difference(again.weights[row.head.index, 0], traced), off
