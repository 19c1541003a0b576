"""Changes as the switches of a page have them: which patches are hidden or painted, which heads are off, how hot a
layer is; and in words."""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vizkit.analysis.comparison.pixel_edits import Kind, PixelEdit
from vizkit.analysis.remarks.remark import counted, joined
from vizkit.interventions.changes import Changes
from vizkit.models.recording.edits import ALL, Edit, refuse_impossible

PAINTED = {"erase": "erased", "grey": "made grey", "blur": "blurred", "swap": "exchanged"}
POSITIONS = {"zero": "no positions", "scramble": "positions exchanged at random", "shift": "positions moved"}


def followed(texts: Iterable[str], heads: Sequence[int]) -> Changes:
    """Those that a model with so many heads in its layers can follow; others are of another model, or of a link that
    somebody wrote."""
    known = Changes()
    for text in filter(None, texts):
        with contextlib.suppress(ValueError):
            more = Changes.parse([text])
            refuse_impossible(more.model, [*heads])
            known = Changes(known.pixels + more.pixels, known.model + more.model)
    return known


@dataclass(frozen=True)
class Switched:
    """Of the changes of a model those that switches show: cells of the grid that nobody sees, (layer, head) that add
    nothing, and (layer, temperature), all from 0; `rest` is everything else."""

    cells: tuple[int, ...]
    off: tuple[tuple[int, int], ...]
    hot: tuple[tuple[int, float], ...]
    rest: tuple[Edit, ...] = ()


def switched(edits: Iterable[Edit], heads: Sequence[int], special: int) -> Switched:
    """`special`: how many tokens stand before those of the patches."""
    cells, off, hot = set[int](), set[tuple[int, int]](), dict[int, float]()
    rest = list[Edit]()
    for edit in edits:
        if edit.kind == "blind" and edit.layer == ALL:
            cells |= {token - special for token in edit.tokens if token >= special}
        elif edit.kind == "heads" and not edit.how and edit.layer != ALL:
            off |= {(edit.layer, at) for at in ([edit.head] if edit.head is not None else range(heads[edit.layer]))}
        elif edit.kind == "temperature" and edit.head is None and edit.layer != ALL:
            hot[edit.layer] = edit.value
        else:
            rest.append(edit)
    return Switched(tuple(sorted(cells)), tuple(sorted(off)), tuple(sorted(hot.items())), tuple(rest))


def edits_from(now: Switched, heads: Sequence[int], special: int) -> tuple[Edit, ...]:
    """The shortest edits that say the same."""
    edits = [Edit("blind", ALL, tokens=tuple(cell + special for cell in now.cells))] if now.cells else []
    for layer, count in enumerate(heads):
        own = [head for at, head in now.off if at == layer]
        edits += [Edit("heads", layer)] if len(own) == count else [Edit("heads", layer, head) for head in own]
    hot = [Edit("temperature", layer, None, value) for layer, value in now.hot if value != 1]
    return (*edits, *now.rest, *hot)


# ---- strokes of a brush ----------------------------------------------------------------------------------------------
def painted(edits: Sequence[PixelEdit], kind: str, grid: tuple[int, int], image: str) -> tuple[int, ...]:
    """The cells of the latest change where a stroke of this brush goes on with it; else none."""
    return edits[-1].cells if edits and _same_brush(edits[-1], kind, grid, image) else ()


def paint(
    edits: Sequence[PixelEdit], kind: Kind, grid: tuple[int, int], image: str, cells: Sequence[int]
) -> tuple[PixelEdit, ...]:
    """The changes after a stroke that leaves `cells` painted. Two cells that change places are one of their own."""
    going_on = kind != "swap" and edits and _same_brush(edits[-1], kind, grid, image)
    earlier = tuple(edits[:-1] if going_on else edits)
    return (*earlier, PixelEdit(kind, grid, tuple(cells), image)) if cells else earlier


def _same_brush(edit: PixelEdit, kind: str, grid: tuple[int, int], image: str) -> bool:
    return (edit.kind, edit.grid, edit.image) == (kind, grid, image)


# ---- words -----------------------------------------------------------------------------------------------------------
def in_words(changes: Changes, heads: Sequence[int], special: int) -> str:
    """Such as "5 patches hidden and head 3 of layer 5 off"; "" for none."""
    now, parts = switched(changes.model, heads, special), list[str]()
    for kind, words in PAINTED.items():
        if count := sum(len(edit.cells) for edit in changes.pixels if edit.kind == kind):
            parts.append(f"{counted(count, 'patch', 'patches')} {words}")
    for image in dict.fromkeys(edit.image for edit in changes.pixels if edit.kind == "paste"):
        count = sum(len(edit.cells) for edit in changes.pixels if edit.image == image)
        parts.append(f"{counted(count, 'patch', 'patches')} of {image} pasted")
    if now.cells:
        parts.append(f"{counted(len(now.cells), 'patch', 'patches')} hidden")
    parts += _off(now.off, heads)
    parts += [f"layer {layer + 1} at temperature {value:g}" for layer, value in now.hot]
    dropped = [edit for edit in now.rest if edit.kind == "drop"]
    parts += [f"{counted(len(edit.tokens), 'token')} taken out" for edit in dropped]
    parts += [POSITIONS[edit.how] for edit in now.rest if edit.kind == "positions"]
    if others := sum(edit.kind not in ("drop", "positions") for edit in now.rest):
        parts.append(counted(others, "change of the attention", "changes of the attention"))
    return joined(parts) if parts else ""


def _off(off: Sequence[tuple[int, int]], heads: Sequence[int]) -> list[str]:
    parts, single = list[str](), list[tuple[int, int]]()
    for layer in dict.fromkeys(layer for layer, _ in off):
        own = [head for at, head in off if at == layer]
        if 1 < len(own) == heads[layer]:
            parts.append(f"all heads of layer {layer + 1} off")
        else:
            single += [(layer, head) for head in own]
    if len(single) == 1:
        parts.append(f"head {single[0][1] + 1} of layer {single[0][0] + 1} off")
    elif single:
        parts.append(f"{len(single)} heads off")
    return parts
