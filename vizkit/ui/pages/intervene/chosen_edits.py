"""Which changes are made: in the session, in the link, with a way back."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from vizkit.analysis.comparison.pixel_edits import Kind, PixelEdit
from vizkit.image import RGB, Picture, digest_of, seen
from vizkit.interventions import Changes
from vizkit.ui.session import cached
from vizkit.ui.session.address import drop, put
from vizkit.ui.session.remembered import remembered
from vizkit.ui.sidebar.inputs import picture_named

if TYPE_CHECKING:
    from vizkit.models import Edit, Loaded
    from vizkit.traces import Trace
    from vizkit.ui.session.shown import Shown

NOW, PAST = "_edits", "_edits_past"
MOST = 2000  # edits of a link


def changes_of(heads: Sequence[int]) -> Changes:
    """The changes of the session, else of the link, that a model with so many heads in its layers can follow."""
    written = st.session_state.get(NOW)
    if written is None:
        written = tuple(st.query_params.get("edits", "").split(";")[:MOST])
    changes = of_texts(written, heads)
    if changes:
        put("edits", ";".join(changes.texts))
    else:
        drop("edits")
    return changes


def of_texts(texts: Sequence[str], heads: Sequence[int]) -> Changes:
    """Those that can be followed; others are of another model, or of a link that somebody wrote."""
    from vizkit.models.recording.edits import refuse_impossible

    known = Changes()
    for text in filter(None, texts):
        with contextlib.suppress(ValueError):
            more = Changes.parse([text])
            refuse_impossible(more.model, [*heads])
            known = Changes(known.pixels + more.pixels, known.model + more.model)
    return known


def change(edits: "Sequence[Edit | PixelEdit]") -> None:
    """Other changes from now on; the ones before can come back."""
    past = st.session_state.setdefault(PAST, [])
    past.append(st.session_state.get(NOW) or tuple(st.query_params.get("edits", "").split(";")))
    del past[:-50]
    st.session_state[NOW] = tuple(map(str, edits))


def undo() -> None:
    if past := st.session_state.get(PAST):
        st.session_state[NOW] = past.pop()


def can_undo() -> bool:
    return bool(st.session_state.get(PAST))


@dataclass(frozen=True)
class Hidden:
    """Of all edits those that the switches show: cells of the grid that nobody sees, and (layer, head) that add
    nothing, from 0; `rest` is everything else."""

    cells: tuple[int, ...]
    off: tuple[tuple[int, int], ...]
    rest: "tuple[Edit, ...]"


def hidden_of(edits: "Sequence[Edit]", heads: Sequence[int], special: int) -> Hidden:
    """`special`: how many tokens stand before those of the patches."""
    from vizkit.models.recording.edits import ALL

    cells: list[int] = []
    off: list[tuple[int, int]] = []
    rest = []
    for edit in edits:
        if edit.kind == "blind" and edit.layer == ALL:
            cells += [token - special for token in edit.tokens if token >= special]
        elif edit.kind == "heads" and not edit.how and edit.layer != ALL:
            off += [(edit.layer, head) for head in ([edit.head] if edit.head is not None else range(heads[edit.layer]))]
        else:
            rest.append(edit)
    return Hidden(tuple(sorted(set(cells))), tuple(sorted(set(off))), tuple(rest))


def edits_from(hidden: Hidden, heads: Sequence[int], special: int) -> "tuple[Edit, ...]":
    """The shortest edits that say the same."""
    from vizkit.models.recording.edits import ALL, Edit

    edits = [Edit("blind", ALL, tokens=tuple(cell + special for cell in hidden.cells))] if hidden.cells else []
    for layer, count in enumerate(heads):
        own = [head for at, head in hidden.off if at == layer]
        edits += [Edit("heads", layer)] if len(own) == count else [Edit("heads", layer, head) for head in own]
    return (*edits, *hidden.rest)


# ---- the image with its changes, and what a model makes of it --------------------------------------------------------
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


def edited_image(shown: "Shown", picture: Picture, changes: Changes) -> RGB:
    """What the model sees after the changes of the image."""
    rgb = changes.given(shown.loaded, picture.rgb, picture_named)[1]
    return rgb if changes.pixels else seen(rgb, shown.loaded.preprocessing)


def changed_trace(shown: "Shown", picture: Picture, changes: Changes, target: int | None = None) -> "Trace":
    """The image through the model with all changes. Raises EditError or PixelError where one cannot be made.

    `target`: the class whose gradients are recorded too."""
    digest = digest_of(edited_image(shown, picture, changes)) if changes.pixels else ""
    preprocessing = shown.loaded.preprocessing
    return _changed(
        shown.source, picture.digest, digest, preprocessing, changes.texts, target, shown.loaded, picture.rgb
    )


@remembered
def _changed(
    source: str, digest: str, edited: str, preprocessing: object, changes: tuple[str, ...], target: int | None,
    _loaded: "Loaded", _rgb: RGB,
) -> "Trace":  # fmt: skip
    with cached.device_lock():
        return Changes.parse(changes).trace(_loaded, _rgb, picture_named, target=target)
