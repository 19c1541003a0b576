"""The same picture in the same model after changes, and what of it stands beside the model as it is."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from vizkit.analysis.attention.attention_map import attention_map, layers
from vizkit.analysis.attribution.explaining import METHODS, explain, why_not
from vizkit.analysis.attribution.rollout import rollout_masses
from vizkit.analysis.attribution.subject import cells_of, on_cells
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.scales import SHARES, robust
from vizkit.from_json import ReportError
from vizkit.geometry import cell_of, id_at
from vizkit.image import RGB, seen
from vizkit.interventions import Changes
from vizkit.models import family
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Columns, Heading, Line, Map, Tile, Tiles
from vizkit.views.rows_of import layer_for_browser
from vizkit.views.subject import Subject, proven, sentences

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.attention.attention_map import Query
    from vizkit.traces import Tokens, Trace

    Shown = tuple[Rows, Tensor]  # all rows, and the places of the one that is shown

DIFFERENCE = "Difference"


@dataclass(frozen=True)
class Place:
    """Where the switches of a model are: its heads by layer; the grid that is painted on; how many tokens stand before
    its patches; and whether patches can be hidden, because all layers see the same ones."""

    heads: tuple[int, ...]
    grid: tuple[int, int]
    special: int
    hides: bool


def place(of: Subject) -> Place:
    learned = layers(of.seen)
    first = learned[0].key if learned else None
    grid = first.grid if first is not None and family(of.loaded.model).SAME_ROWS else None
    special = len(first.special) if first is not None else 0
    return Place(tuple(each.heads for each in learned), grid or cells_of(of.seen), special, grid is not None)


def trace_of(of: Subject, changes: Changes) -> "Trace":
    """With the gradients of the answer to the unchanged picture, so that its relevance can be compared. NotApplicable
    for changes that cannot be made here."""
    return of.kept(("changed", changes.texts), partial(_traced, of, changes))


def _traced(of: Subject, changes: Changes) -> "Trace":
    loaded = of.loaded
    target = loaded.head.target(of.seen.logits)
    with refused():
        trace = proven(changes.trace(loaded, of.rgb, of.other_picture, target=target))
    return replace(trace, notes=tuple(note for note in trace.notes if not note.startswith("Changed: ")))


def image_of(of: Subject, changes: Changes) -> RGB:
    """What the model sees after the changes of the image."""
    with refused():
        rgb = changes.given(of.loaded, of.rgb, of.other_picture)[1]
    return rgb if changes.pixels else seen(rgb, of.loaded.preprocessing)


@contextmanager
def refused() -> Iterator[None]:
    """A change that cannot be made has no meaning here."""
    try:
        with sentences():
            yield
    except ReportError as sentence:
        raise NotApplicable(str(sentence)) from None


def others(of: Sequence[Subject]) -> list[str]:
    """Other pictures at hand, by their names."""
    return [name for each in of[:1] for name in each.others]


# ---- before, after, difference ---------------------------------------------------------------------------------------
def compared(
    of: Subject,
    traces: "Sequence[Trace]",
    shown: "Callable[[Trace], Shown]",
    words: Sequence[str],
    quantity: str,
    instead: RGB | None = None,
) -> Blocks:
    """The map `shown` of two traces, called `words`, and their difference. `instead`: the changed picture, below the
    second."""
    both = [shown(trace) for trace in traces]
    parts = []
    for (rows, _), name, own in zip(both, words, (None, instead), strict=True):
        parts.append((Heading(name), Map(rows, of.asked, f"{name}, of", quantity, room=False, instead=own)))
    parts.append((Heading(DIFFERENCE), *difference(both[0][1], both[1][1])))
    yield Columns(tuple(parts))


def agreeing(error: float) -> str:
    """How far something agrees, in words."""
    return "exactly" if error == 0 else f"within {error:.0e}"


def difference(before: "Tensor", after: "Tensor") -> Blocks:
    moved = (on_cells(after, (before.shape[0], before.shape[1])) - before).float().numpy()
    yield Tiles(
        "",
        (Tile("", moved, scale=robust([moved], "%", signed=True)),),
        "What has become more (red) and less (blue)",
        tile_px=200,
    )
    yield Line("Red: more after the change; blue: less." if moved.any() else "Nothing has changed here.")


def of_layer(trace: "Trace", query: "Query", layer: int) -> "Shown":
    """`layer` from 1."""
    one = layers(trace)[layer - 1]
    return layer_for_browser(one, None, query), attention_map(one, query, None).places


def rolled(trace: "Trace", query: "Query") -> "Shown":
    tokens = rolled_from(trace)
    at = query if isinstance(query, str) else cell_of(tokens, id_at(tokens, query) or 0) or "cls"
    one = rollout_masses(trace, at)
    row = np.concatenate([np.array([one.special[name] for name in one.tokens.special]), one.grid.numpy().ravel()])
    special = one.tokens.special
    if isinstance(at, str):
        where, names = 0, (one.query,)
    else:
        where, names = len(tokens.special) + at[0] * (tokens.grid or (1, 1))[1] + at[1], tokens.special
    values = row.astype(np.float32)[None]
    return Rows(values, one.tokens.grid, tokens.grid, np.array([where]), None, names, special, verb="draws"), one.grid


def rolled_from(trace: "Trace") -> "Tokens":
    """The tokens whose rows a rollout gives: those of the last layer that has a grid."""
    every = layers(trace)
    return next((layer.query for layer in reversed(every) if layer.query.grid), every[-1].query)


def relevance(of: Subject, before: "Trace", after: "Trace") -> Blocks:
    """Of the answer before the changes, in both."""
    loaded = of.loaded
    missing = why_not(before)
    # Of a class, and from the trace alone: a changed model is not run again.
    usable = (name for name, method in METHODS.items() if method.needs == "target" and not method.shares)
    name = next((each for each in usable if each not in missing), None)
    if name is None:
        raise NotApplicable(next(iter(missing.values())))
    was, now = (explain(name, trace).heat for trace in (before, after))
    target = loaded.label(loaded.head.target(before.logits))
    moved, scale = (now - was).numpy(), replace(SHARES, unit="", equal=float(was.mean()))
    tiles = (
        Tile("Before", was.numpy(), scale=scale),
        Tile("After", now.numpy(), scale=scale),
        Tile("Difference", moved, scale=robust([moved], signed=True)),
    )
    yield Tiles(
        f"{METHODS[name].title} for {target}: before and after on one scale, their difference on its own, red: more",
        tiles,
        f"Evidence for {target} before and after",
        tile_px=300,
    )
