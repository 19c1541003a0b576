"""The boxes of a network as they are drawn: each block from the stem to the head, with its map of this very image."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

import numpy as np
from torch import Tensor

from vizkit.analysis.attention.attention_map import layers, received
from vizkit.analysis.attention.feature_strength import times_median
from vizkit.models.probes.flow import Step, strengths
from vizkit.traces import Attention, NotApplicable, Tokens, Trace
from vizkit.views.architecture.counted import steps_of
from vizkit.views.subject import Subject

Quantity = Literal["attention", "strength"]
NUMBERED = re.compile(r"(^|\.)(blocks|stages|layers|features|encoder)\.")


@dataclass(frozen=True, eq=False)
class Box:
    """`title`: for people. `grid`: rows and columns of the places of what leaves it, None where it has none; `places`:
    of its map, None where a map of this `quantity` says nothing of it: shares of the attention that each place
    receives, or how often the median length its vector is long. `layer`: the number of its attention layer from 0, None
    without one; `windows`: of every place the window in which it attends, None where all attend to all."""

    step: Step
    title: str
    quantity: Quantity
    places: np.ndarray | None
    grid: tuple[int, ...] | None = None
    layer: int | None = None
    windows: np.ndarray | None = None

    @property
    def numbered(self) -> bool:
        """Whether it is one of the blocks that are counted."""
        return self.title.startswith("block ")

    @property
    def merges(self) -> bool:
        """Whether it makes one token of several, as between the stages of a Swin."""
        return "downsample" in self.step.path or "Merging" in self.step.kind

    @property
    def shifted(self) -> bool:
        """Opposite corners are in one window where windows go round the edges."""
        return self.windows is not None and bool(self.windows[0, 0] == self.windows[-1, -1])


def boxes_of(of: Subject, quantity: Quantity) -> list[Box]:
    """In the order of the pass, without the head, and without what neither costs anything nor changes a shape. All maps
    of a model are of one quantity: of one without attention always "strength"."""
    return of.kept(("boxes", quantity), lambda: _boxes(of, quantity))


def _boxes(of: Subject, quantity: Quantity) -> list[Box]:
    steps, trace = steps_of(of), trace_of(of)
    answers = (trace.logits.numel(),)
    lengths = of.kept("strengths", lambda: strengths(of.loaded, of.pixels))
    main = {features.tokens.name for features in trace.features}
    learned = layers(trace)
    kind: Quantity = quantity if learned else "strength"
    found, numbered = list[Box](), 0
    for step in steps:
        idle = not step.multiply_adds and step.shapes_in == step.shapes_out
        if idle or step.shapes_out[-1:] in ((), (answers,)):
            continue
        inside = [at for at, each in enumerate(learned) if f"{each.name}.".startswith(f"{step.path}.")]
        layer = next((at for at in reversed(inside) if learned[at].query.name in main), next(iter(inside), None))
        strength = on_grid(lengths.get(step.path), trace)
        attended = received(learned[layer]) if layer is not None and kind == "attention" else None
        places = attended.numpy() if attended is not None else strength if kind == "strength" else None
        on = places if places is not None else strength
        windows = windows_of(learned[layer]) if layer is not None else None
        box = Box(step, step.path, kind, places, None if on is None else on.shape, layer, windows)
        counts = layer is not None or (not box.merges and NUMBERED.search(step.path) is not None)
        numbered += counts
        title = f"block {numbered}" if counts else "merging" if box.merges else "patches"
        found.append(replace(box, title=title) if counts or box.merges or "patch" in step.path else box)
    return found


def trace_of(of: Subject) -> Trace:
    """Of all tokens; where that is too much, of those that the cursor asks for."""
    try:
        return of.whole()
    except NotApplicable:
        return of.seen


def on_grid(lengths: Tensor | None, trace: Trace) -> np.ndarray | None:
    """Of tokens those with a place, where the recording knows a set of as many."""
    if lengths is None:
        return None
    if lengths.dim() == 2:
        return times_median(lengths).numpy()
    known: list[Tokens] = [each.tokens for each in trace.features] + [each.query for each in trace.attention]
    for tokens in known:
        places = prod(tokens.grid or (0,))
        if places and len(lengths) in (places, len(tokens)):
            return times_median(lengths[len(lengths) - places :].unflatten(0, tokens.grid or ())).numpy()
    return None


def windows_of(attention: Attention) -> np.ndarray | None:
    """Of every place of a layer that attends in windows the number of its window."""
    tokens, ids = attention.query, attention.query_ids
    if tokens.grid is None or len(ids) < 2:
        return None
    window = np.full(len(tokens) + 1, -1)
    window[ids.numpy()] = np.arange(len(ids))[:, None]  # padding is written to the spare place at the end
    first = len(tokens.special)
    return window[first : first + prod(tokens.grid)].reshape(tokens.grid)


def number_of(boxes: Sequence[Box], number: int | None) -> int:
    """From 0; the last where none is chosen."""
    return min(number or len(boxes), len(boxes)) - 1
