"""The same image in the same model after changes, and what of it stands beside the model as it is."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from vizkit.analysis.attention.attention_map import attention_map, layers
from vizkit.analysis.attribution.explaining import METHODS, explain, why_not
from vizkit.analysis.attribution.rollout import rollout_masses
from vizkit.analysis.attribution.subject import cells_of, on_cells
from vizkit.figure.scales import SIGNED_SHARES, Scale
from vizkit.from_json import ReportError
from vizkit.geometry import cell_of, id_at
from vizkit.heads import LIKENESS
from vizkit.image import RGB, seen
from vizkit.interventions import Changes
from vizkit.models import family
from vizkit.traces import NotApplicable, not_applicable
from vizkit.views.blocks import Blocks, Tile, Tiles
from vizkit.views.subject import Subject, proven, sentences
from vizkit.views.view import View

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.attention.attention_map import Query
    from vizkit.models import Loaded
    from vizkit.traces import Trace


class Among(View):
    """Views that ask a model without classes for photographs too, so that it has more answers than one."""

    def meant(self, of: Subject) -> Subject:
        return of.among_photographs()


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
    """With the gradients of the answer to the unchanged image, so that its relevance can be compared. NotApplicable
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
    with not_applicable(ReportError), sentences():
        yield


def others(of: Sequence[Subject]) -> list[str]:
    """Other images at hand, by their names."""
    return [name for each in of[:1] for name in each.others]


def answer_in_words(loaded: "Loaded", logits: "Tensor") -> str:
    """The first answer; of a model without classes also the nearest other image."""
    named = [f"{loaded.label(at)}, {loaded.head.text(value)}" for at, value in loaded.head.top(logits, 2)]
    return "; nearest other image: ".join(named if loaded.head is LIKENESS else named[:1])


# ---- maps, before and after ------------------------------------------------------------------------------------------
def agreeing(error: float) -> str:
    """How far something agrees, in words."""
    return "exactly" if error == 0 else f"within {error:.0e}"


def asking(of: Subject) -> "tuple[Query, str]":
    """Whose attention is shown: that of the class token, which gives the answer; where there is none, or a lesson
    marks a patch, that of the marked patch."""
    return (of.asked, "the marked patch") if of.marked or "cls" not in of.special else ("cls", "the class token")


def attended(trace: "Trace", query: "Query", layer: int) -> "Tensor":
    """Where a query looks in a layer, from 1: the mean of its heads, (row, column)."""
    return attention_map(layers(trace)[layer - 1], query, None).places


def rolled(trace: "Trace", query: "Query") -> "Tensor":
    """Where a query looks through all layers, (row, column)."""
    every = layers(trace)
    tokens = next((layer.query for layer in reversed(every) if layer.query.grid), every[-1].query)
    at = query if isinstance(query, str) else cell_of(tokens, id_at(tokens, query) or 0) or "cls"
    return rollout_masses(trace, at).grid


def evidence(of: Subject, traces: "Sequence[Trace]") -> "tuple[str, Sequence[Tensor]]":
    """The method, and where the evidence is for the answer to the first, in all."""
    missing = why_not(traces[0])
    # Of a class, and from the trace alone: a changed model is not run again.
    usable = (name for name, method in METHODS.items() if method.needs == "target" and not method.shares)
    name = next((each for each in usable if each not in missing), None)
    if name is None:
        raise NotApplicable(next(iter(missing.values())))
    target = of.loaded.label(of.loaded.head.target(traces[0].logits))
    return f"{METHODS[name].title} for {target}", [explain(name, trace).heat for trace in traces]


def compared(
    title: str, maps: "Sequence[Tensor]", names: Sequence[str], scale: Scale, now: int = -1, **picks: Any
) -> Blocks:
    """Maps on one scale, of which the first is that of nothing changed, and what that of `now` has more and less."""
    before, *_ = maps
    equal = scale.of(before.float().numpy()).equal or 1.0
    moved = (on_cells(maps[now], (before.shape[0], before.shape[1])) - before).float().numpy() / equal
    tiles = [Tile(name, each.float().numpy(), scale=scale) for name, each in zip(names, maps, strict=True)]
    words = f"{title}, all on one scale"
    if maps[now] is not before:
        fixed, (one, other) = replace(SIGNED_SHARES, equal=1.0), (names[at].partition(": ")[0] for at in (now, 0))
        tiles.append(Tile(f"{other} → {one}: more (red), less (blue)", moved, scale=fixed))
        words += "; differences on one of their own, the same for all changes"
    yield Tiles(words, tuple(tiles), title, tile_px=150, **picks)
