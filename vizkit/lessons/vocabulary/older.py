"""Windows that shift, convolutions, and networks that read word by word."""

import torch

from vizkit.analysis.convolution.field_size import side_holding
from vizkit.analysis.convolution.vanishing import Network, gradient_norms
from vizkit.analysis.swin.shifted_windows import allowed, window_of
from vizkit.datasets.sequences import gaps
from vizkit.geometry import middle_of, on_grid
from vizkit.lessons.vocabulary.asking import VOCABULARY as VOCABULARY
from vizkit.lessons.vocabulary.asking import (
    At,
    Number,
    Query,
    one_of,
    says,
    token_of,
    word,
)
from vizkit.models.probes.convolution import effective_field, shifting
from vizkit.models.probes.convolution import receptive_field as field_of
from vizkit.traces import Map, NotApplicable
from vizkit.views.convolution.receptive_field import point_of
from vizkit.views.sequences.known import BUNDLED
from vizkit.views.sequences.memory import strength_of
from vizkit.views.sequences.typed import opened
from vizkit.views.subject import Subject
from vizkit.views.swin.place import fields_of, place

says("window_side", "Side of a Swin's window, in tokens.", lambda of, block=1: place(of, block).block.window[0])
says("windows", "How many windows a block of a Swin has.", lambda of, block=1: place(of, block).windows().count)
says("shift_of", "By how many tokens a block's windows shift.", lambda of, block=2: place(of, block).block.shift[0])


@word
def seen_from(of: Subject, block: int = 2, query: Query = "patch") -> Map:
    """1 for every token that a token may look at in a block, else 0: its window, less what the mask takes out."""
    here = place(of, block)
    layout = here.windows()
    window, at = window_of(layout, token_of(of, here.of.tokens, query))
    return on_grid(
        allowed(layout, window)[at].float(), layout.ids[layout.windows == window], here.of.tokens
    ).nan_to_num()


@word
def reach(of: Subject, block: int | None = None, query: Query = "patch") -> float:
    """The share of the image that can reach a token of the last stage by the end of a block."""
    tokens = place(of, None).of.tokens
    fields = fields_of(of, middle_of(tokens, token_of(of, tokens, query)))
    return fields[place(of, block).index].share


says("convolutions", "Convolutions and pools on the longest way.", lambda of: field_of.walk(of.loaded).depth)


@word
def likeness_when_moved(of: Subject, pixels: int) -> float:
    """Cosine of the features when it moves right."""
    return float(shifting.answers_when_moved(of.loaded, of.pixels, [pixels]).cosine[0, 0])


@word
def field_side(of: Subject, stage: At = "last") -> int:
    """Side of the receptive field of a unit that leaves a stage, in pixels of the input, padding counted."""
    stages = field_of.walk(of.loaded).stages
    seen = stages[one_of(len(stages), stage, "stage")]
    return max(of.seen.image_size) if seen is None else seen.rows.size


@word
def used_side(of: Subject, stage: At = "last", share: Number = 0.68) -> float:
    """Side of the square that holds a share of what the pixels do to a unit of a stage, in pixels."""
    with torch.enable_grad():
        fields = effective_field.effective_fields(of.loaded, [of.pixels], point_xy=point_of(of))
    field = fields[one_of(len(fields), stage, "stage")]
    return side_holding(field.share, field.centre_yx, share)


@word
def gradient_left(of: Subject, depth: int, activation: str = "sigmoid", residual: bool | int = False) -> float:
    """The gradient at the first of `depth` equal layers with random weights, as a share of that at the last."""
    norms = gradient_norms(Network(depth=min(max(int(depth), 2), 60), activation=activation, residual=bool(residual)))
    return float(norms[0] / norms[-1])


@word
def remembered(of: Subject, network: str, letters: int = 4, gap: int = 16) -> float:
    """How much the first of some letters, read before a gap, matters to the answer of a bundled network that repeats
    them ("RNN", "LSTM", "LSTM + attention", "Transformer"): its gradient as a share of the largest."""
    if network not in BUNDLED or not (1 <= letters <= 8 and 0 <= gap <= 40):
        raise NotApplicable("A bundled network reads 1 to 8 letters and a gap of 0 to 40.")
    model, _ = opened(of, f"bundled:{BUNDLED[network].replace('dates', 'copy')}")
    return float(strength_of(model, gaps.source(tuple("cafebdhg"[:letters]), gap))[0])
