"""The very first view, drawn from a recording while torch and the models are being loaded, and then compared with them.

Imports neither: that takes four of the five seconds that a visitor would wait for a picture.
"""

import base64
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from vizkit.datasets import samples
from vizkit.figure.canvas.rows import STEPS
from vizkit.ui.canvas import picture_url
from vizkit.ui.plain import plain
from vizkit.ui.session import chosen, model_names
from vizkit.ui.session.chosen import cursor
from vizkit.ui.session.columns import attempt, blocks
from vizkit.ui.session.warmup import ready, warm_up
from vizkit.ui.widgets.known import chip_of
from vizkit.views import ALIKE, bundled
from vizkit.views.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Mapping

RECORDING = Path(__file__).with_name("first.json.gz")  # `python -m tests.ui.widgets.test_first_view` makes it anew
MOST_STEPS = 3 / STEPS  # of the largest weight: kernels of other processors round otherwise
MOST_LEVELS = 3 / 255  # the same of colours
MOST_SHARE = 1e-3  # of an answer

Blocks = list[dict[str, Any]]
"""What stands first in the column of a model, as `hosts.stage` packs it; of its picture and its cursor nothing."""
FOLLOW = ("image", "point", "epoch", "step", "sentence", "sentences", "guide", "elsewhere")
"""What follows from the session, or from the weights."""


def applies() -> bool:
    """Whether the address asks for the view that was recorded, and the models are not there yet."""
    first = samples.names()[0]
    asks = set(st.query_params) <= {"at"} and st.session_state.get("query", "patch") == "patch"
    default = chosen.sources() == bundled.usual(first) and st.session_state.get("image") == first
    return asks and default and not ready()


def show() -> Callable[[], object] | None:
    """The recording; then, in its place, what the models give, which the page draws right after. It gives what is said
    below that, where they agree."""
    from vizkit.ui.widgets.stage import stage

    place, recorded, picture = st.empty(), load(), chosen.picture()
    mine = {"image": picture_url(picture.digest, picture.rgb), "point": cursor()}
    with place.container():
        with st.container(key="waiting"):  # as high as the controls that come in its place
            st.caption(":material/history: A recording of this view, while the models are being loaded.")
        for block, (source, parts) in zip(blocks(len(recorded)), recorded.items(), strict=True):
            with block:
                st.markdown(f"**{plain(model_names.title(source))}**")
                stage(f"first_{source}", as_book(parts, mine), "", {}, _clicked)
                st.markdown(chip_of(source))
    warm_up()  # only now: an import in another thread makes this one slow
    differing = _differing_now(recorded)
    place.empty()
    if not differing:
        return lambda: st.caption(":green[:material/verified: The recording shown at first agrees with the models.]")
    names = " and ".join(map(model_names.title, differing))
    st.caption(
        f":red[:material/error: What was shown while {plain(names)} was being loaded was not what the model "
        "computes here: the figure below is.]"
    )
    return None


def _clicked(point: tuple[float, float], field: str) -> None:
    st.session_state["at"], st.session_state[field] = point, "patch"


def as_book(parts: Blocks, facts: dict[str, Any]) -> dict[str, Any]:
    """As a stage is given one column that nothing turns, with the picture and the cursor of this session."""
    frame = [[_with(part, facts) for part in parts]]
    return {"titles": [""], "field": None, "frames": [frame], "pool": []}


def _with(part: Any, facts: dict[str, Any]) -> Any:
    """The same of every canvas that lies on the picture, those beside one another too."""
    if isinstance(part, list):
        return [_with(each, facts) for each in part]
    if not isinstance(part, dict):
        return part
    if "image" in part.get("data", ()):
        return {**part, "data": part["data"] | facts}
    return {name: _with(each, facts) for name, each in part.items()}


def _differing_now(recorded: dict[str, Blocks]) -> list[str]:
    """The models that give something else now. Of one that cannot be shown the page says why."""
    picture = chosen.picture()
    tried = {source: attempt(source, picture) for source in recorded}
    of = {source: each for source, each in tried.items() if isinstance(each, Subject)}
    return [source for source, parts in record(of).items() if differs(recorded[source], parts)]


def record(of: "Mapping[str, Subject]") -> dict[str, Blocks]:
    """What the page shows first of these models, beside one another."""
    from vizkit.hosts.stage import opening
    from vizkit.views.explore import Explore

    found = {}
    for source, each in of.items():
        each.beside = tuple(other for other in of.values() if other is not each)
        parts = json.loads(json.dumps(opening(Explore(ALIKE), each)))
        found[source] = [_with(part, {"image": "", "point": None}) for part in parts]
    return found


def differs(one: Any, other: Any) -> bool:
    """Whether a visitor would see anything else now."""
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return True
        for name, read, most in (("weights", _weights, MOST_STEPS), ("maps", _levels, MOST_LEVELS)):
            if name in one:
                mine, theirs = read(one), read(other)
                if mine.shape != theirs.shape or np.abs(mine - theirs).max() > most * theirs.max():
                    return True
        return any(differs(one[name], other[name]) for name in one if name not in ("weights", "maps", *FOLLOW))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) != len(other) or any(map(differs, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) > MOST_SHARE
    return one != other


def load() -> dict[str, Blocks]:
    with gzip.open(RECORDING, "rt", encoding="utf-8") as file:
        return json.load(file)


def _weights(rows: dict[str, Any]) -> np.ndarray:
    """The weights behind the sixteen bits that the canvas is sent."""
    return np.frombuffer(base64.b64decode(rows["weights"]), "<u2") * rows["step"] + rows["offset"]


def _levels(heads: dict[str, Any]) -> np.ndarray:
    """The numbers of the colours of all heads."""
    return np.frombuffer(base64.b64decode(heads["maps"]), "u1").astype(int)
