"""Which edits are made: in the session, in the link, with a way back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from vizkit.image import Picture
from vizkit.ui.session import cached
from vizkit.ui.session.address import drop, put
from vizkit.ui.session.remembered import remembered

if TYPE_CHECKING:
    import numpy as np

    from vizkit.models import Edit, Loaded
    from vizkit.traces import Trace
    from vizkit.ui.session.shown import Shown

NOW, PAST = "_edits", "_edits_past"
MOST = 2000  # edits of a link


def edits_of(heads: Sequence[int]) -> "tuple[Edit, ...]":
    """The edits of the session, else of the link, that a model with so many heads in its layers can follow."""
    from vizkit.models import EditError
    from vizkit.models.recording.edits import parse, refuse_impossible

    written = st.session_state.get(NOW)
    if written is None:
        written = tuple(st.query_params.get("edits", "").split(";")[:MOST])
    edits = []
    for text in filter(None, written):
        try:
            edit = parse(text)
            refuse_impossible([edit], [*heads])
        except EditError:
            continue  # of another model, or of a link that somebody wrote
        edits.append(edit)
    if edits:
        put("edits", ";".join(map(str, edits)))
    else:
        drop("edits")
    return tuple(edits)


def change(edits: "Sequence[Edit]") -> None:
    """Other edits from now on; the ones before can come back."""
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
        elif edit.kind == "heads" and edit.layer != ALL:
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


def changed_trace(shown: "Shown", picture: Picture, edits: "Sequence[Edit]") -> "Trace":
    """The same image through the same model with the edits. Raises EditError where one cannot be made."""
    texts = tuple(map(str, edits))
    return _changed(shown.source, picture.digest, shown.loaded.preprocessing, texts, shown.loaded, picture.rgb)


@remembered
def _changed(
    source: str, digest: str, preprocessing: object, edits: tuple[str, ...], _loaded: "Loaded", _rgb: "np.ndarray"
) -> "Trace":
    from vizkit.models import trace

    with cached.device_lock():
        return trace(_loaded, _rgb, edits=edits)
