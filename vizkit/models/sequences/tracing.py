"""A text through a model of texts, recorded: the same Trace that images have.

Tokens are places on a line, `grid=(1, n)`. In cross-attention the queries are tokens of the target and the keys those
of the source (Vaswani et al. 2017, arXiv 1706.03762, § 3.2.3); additive attention is the same (Bahdanau et al. 2015).
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from vizkit.geometry import all_ids
from vizkit.models.families.translate import Translated, attention_of, finish, passed
from vizkit.models.networks.sequence_recurrent import AdditiveAttention
from vizkit.models.networks.vit_from_parts import MultiHeadSelfAttention
from vizkit.models.recording.counting import Counting
from vizkit.models.recording.layer_output import draw_of
from vizkit.models.recording.recorder import Call, Recorder
from vizkit.models.sequences.loaded import SequenceModel
from vizkit.traces import Attention, NotApplicable, Tokens, Trace

CROSS = frozenset({"attention", "cross", "encoder_attn", "EncDecAttention"})
"""How modules are called that look from the target at the source: our own, those of MarianMT and T5."""


def trace_pair(model: SequenceModel, source: Sequence[str], target: Sequence[str] = ()) -> Trace:
    """The source and the target so far, both in words, through a model that translates.

    The tokens "target" begin with [BEGIN]: token i of them is where word i of the target is predicted, so the logits
    are (len(target) + 1, word), the last row those of the word to come. `image_size` is (1, length of the source).
    Layers are in the order of the pass: the encoder's, then of each decoder layer masked self- and cross-attention.

    Raises TextError for unknown words or too many of them, NotApplicable for a model of another kind.
    """
    if not model.translates:
        raise NotApplicable(f"{model.name} reads one text and has no decoder.")
    return _traced(model, model.tensor(model.source_ids(source)), model.tensor(model.target_ids(target)))


def trace_text(model: SequenceModel, ids: Sequence[int]) -> Trace:
    """One text through a masked or causal model; the tokens are called "source", the logits are (token, word).

    Raises TextError as `trace_pair` does, NotApplicable for a model that needs a target, too.
    """
    if model.translates:
        raise NotApplicable(f"{model.name} translates: it needs a source and a target.")
    return _traced(model, model.tensor(ids))


def line(name: str, count: int) -> Tokens:
    """`count` tokens side by side."""
    return Tokens(name, (), (1, count), stride=1.0)


def is_cross(layer: Attention) -> bool:
    """Whether this layer looks from one text at another."""
    return layer.query.name != layer.key.name


def _traced(model: SequenceModel, *texts: Tensor) -> Trace:
    counting = Counting(*texts, single_keys=True)
    with torch.no_grad(), counting:
        plain = model.model(*texts)
    recorder = Recorder(model.model, single_keys=True, draw=draw_of(*texts))
    with torch.no_grad(), recorder:
        logits = model.model(*texts)[0].float()
    result = passed(model.model, logits, plain[0], recorder, counting)
    tokens = {name: line(name, text.shape[1]) for name, text in zip(("source", "target"), texts, strict=False)}
    attention = [_layer(call, tokens) for call in recorder.calls]
    return finish(model, texts[0], None, result, Translated(attention, [], _planned(model.model)))


def _layer(call: Call, tokens: dict[str, Tokens]) -> Attention:
    query, key = (tokens[name] for name in _sides(call.path, len(tokens) == 2))
    return attention_of(call, query, key, all_ids(len(query)), all_ids(len(key)))


def _sides(path: str, translates: bool) -> tuple[str, str]:
    """Which text asks and which one answers in the layer of this path."""
    parts = path.split(".")
    if translates and CROSS & set(parts):
        return "target", "source"
    return ("target", "target") if translates and "decoder" in parts else ("source", "source")


def _planned(model: nn.Module) -> int | None:
    """How many layers one of our networks has; None for anybody else's."""
    own = type(model).__module__.startswith("vizkit.")
    return sum(isinstance(m, MultiHeadSelfAttention | AdditiveAttention) for m in model.modules()) if own else None
