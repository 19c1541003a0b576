"""A picture through a DETR, recorded: the same Trace that classifiers have, of two sets of tokens.

"cells" are the places of the memory, on a grid. "queries" lie nowhere: they carry the box that each predicts in the
end. Layers come in the order of the pass: the encoder's, then of each decoder layer self- and cross-attention.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.geometry import all_ids, size_of
from vizkit.image import RGB, prepare
from vizkit.models.detection.opening import Detector
from vizkit.models.families.proven_places import proven
from vizkit.models.families.translate import Translated, attention_of, finish, passed
from vizkit.models.networks.detr import DETR, Answers
from vizkit.models.recording.counting import Counting
from vizkit.models.recording.layer_output import draw_of
from vizkit.models.recording.recorder import Call, Recorder
from vizkit.traces import Attention, Features, Tokens, Trace

Pixels = Float[Tensor, "1 channel _height _width"]


class Answer(NamedTuple):
    """One of the logits of the last layer: what a query says of a class."""

    query: int
    label: int


class Decoded(NamedTuple):
    """`layers`: the answers after each decoder layer; `memory`: (1, cell, dim); `grid`: its rows and columns."""

    layers: tuple[Answers, ...]
    memory: Float[Tensor, "1 _cell _dim"]
    grid: tuple[int, int]


def trace_picture(detector: Detector, rgb: RGB, target: Answer | None = None) -> Trace:
    """The logits are (query, label), the last label "no object"; `image_size` is that of the prepared picture.

    With a `target` every layer holds the gradient of this logit, and the trace's own target is the class. Raises
    ValueError for a query or a class that there is not.
    """
    return trace_layers(detector, rgb, target)[0]


def trace_layers(
    detector: Detector, rgb: RGB, target: Answer | None = None, *, self_attention: bool = True
) -> tuple[Trace, tuple[Answers, ...]]:
    """The trace, and the answers after each decoder layer, the last of which are the trace's. Without self-attention
    of the queries those layers are missing from the trace."""
    if target and not (0 <= target.query < detector.queries and 0 <= target.label < len(detector.labels)):
        raise ValueError(f"{detector.name} has {detector.queries} queries and {len(detector.labels)} classes.")
    pixels = pixels_of(detector, rgb)
    with torch.no_grad(), Counting(pixels, single_keys=True) as counting:
        plain = decode(detector.model, pixels, self_attention=self_attention)
    recorder = Recorder(detector.model, gradient=target is not None, single_keys=True, draw=draw_of(pixels))
    with torch.set_grad_enabled(target is not None), recorder:
        # Parameters carry no gradient, so the graph starts at the pixels.
        made = decode(detector.model, pixels.requires_grad_(target is not None), self_attention=self_attention)
    if target:
        recorder.take_gradients(made.layers[-1].logits[0, target.query, target.label])
    layers = tuple(Answers(*(each.detach() for each in answers)) for answers in made.layers)
    logits = layers[-1].logits[0].float()
    result = passed(detector.model, logits, plain.layers[-1].logits[0], recorder, counting)
    cells, queries = _tokens(made, size_of(pixels))
    attention = [_layer(call, cells, queries) for call in recorder.calls]
    features = [Features("memory", made.memory[0].detach().float(), cells)]
    planned = len(detector.model.encoder) + (1 + self_attention) * len(detector.model.decoder)
    label = target.label if target else None

    def several(given: Tensor) -> None:
        memory, place, _ = detector.model.encoded(given)
        detector.model.decoded(memory, place, self_attention=self_attention)

    known = detector.proven.setdefault(self_attention, {})
    places = proven(several, pixels.detach(), recorder.calls, attention, known, single_keys=True)
    named = _Named(detector.name, ())
    return finish(named, pixels, label, result, Translated(attention, features, planned), places), layers


def pixels_of(detector: Detector, rgb: RGB) -> Pixels:
    """The picture as the network wants it, where its weights are."""
    prepared, _ = prepare(rgb, detector.needs((rgb.shape[0], rgb.shape[1])))
    return torch.from_numpy(prepared)[None].to(detector.model.queries.weight.device)


def decode(model: DETR, pixels: Pixels, *, self_attention: bool = True) -> Decoded:
    memory, place, grid = model.encoded(pixels)
    return Decoded(tuple(model.decoded(memory, place, self_attention=self_attention)), memory, grid)


class _Named(NamedTuple):
    name: str
    notes: tuple[str, ...]


def _tokens(made: Decoded, size_hw: tuple[int, int]) -> tuple[Tokens, Tokens]:
    high, wide = (side / count for side, count in zip(size_hw, made.grid, strict=True))
    boxes = tuple((x, y, w, h) for x, y, w, h in made.layers[-1].boxes_cxcywh[0].tolist())
    cells = Tokens("cells", grid=made.grid, stride=wide, aspect=high / wide)
    return cells, Tokens("queries", free=len(boxes), boxes_cxcywh=boxes)


def _layer(call: Call, cells: Tokens, queries: Tokens) -> Attention:
    parts = call.path.split(".")
    query = queries if "decoder" in parts else cells
    key = cells if "cross" in parts else query
    return attention_of(call, query, key, all_ids(len(query)), all_ids(len(key)))
