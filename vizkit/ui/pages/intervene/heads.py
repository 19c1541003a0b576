"""The view Heads: what the answers lose without each head, over many pictures."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from vizkit.analysis.attention.head_importance import HeadImportance
from vizkit.analysis.remarks.interventions import of_heads
from vizkit.figure.charts import heat_map
from vizkit.models import EditError
from vizkit.traces import NotApplicable
from vizkit.ui import export, reading
from vizkit.ui.pages.intervene.chosen_edits import change
from vizkit.ui.session import cached, saved
from vizkit.ui.session.remembered import remembered, shelf
from vizkit.ui.session.shown import Shown
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from vizkit.models import Loaded

SHIPPED = Path(__file__).parents[3] / "bundled" / "experiments" / "heads"
FEW = 32  # pictures that are measured here: a minute for a small model
LISTED = 8
WHAT = {
    "lost": "what log p of the answer loses without the head, nats",
    "flipped": "share of pictures whose answer becomes another",
    "estimate": "the gradient's estimate |∂ log p / ∂ξ|, nats",
}


@dataclass(frozen=True)
class Measured:
    result: HeadImportance
    data: str


def view(page: Page) -> None:
    shown = page.focus
    measured = shipped(shown.name) or measured_here(shown)
    if measured is None:
        return
    result = measured.result
    what = st.segmented_control("Of every head", list(WHAT), default="lost", required=True, key="heads_what",
                                bind="query-params", format_func=NAMES.__getitem__) or "lost"  # fmt: skip
    left, right = st.columns([3, 2])
    figure = heat_map(result.grid(getattr(result, what)), "head", "layer", square=False, digits=2, height=420,
                      signed=what == "lost")  # fmt: skip
    layers, heads = result.grid(result.lost).shape
    figure.update_xaxes(tickvals=list(range(heads)), ticktext=_counted(heads))
    figure.update_yaxes(tickvals=list(range(layers)), ticktext=_counted(layers))
    with left:
        chart(figure, "heads_map", f"{WHAT[what]}, by layer and head")
        st.caption(f"{WHAT[what]}; mean of {result.images} test pictures of {measured.data}.")
    with right:
        st.markdown("**The most important**")
        for i in result.order[:LISTED]:
            layer, head = result.names[i]
            words = f"Layer {layer + 1}, head {head + 1}: {result.lost[i]:.2f} ± {result.half[i]:.2f} nats"
            st.button(words, key=f"heads_off_{layer}_{head}", on_click=_switch_off, args=(layer, head), width="stretch",
                      help="Switch it off on this picture, in Switches.")  # fmt: skip
    remark(of_heads(result.names, result.lost, result.half, result.correlation))
    lines = (f"{shown.name}; {result.images} test pictures of {measured.data}",)
    save("heads", {"": saved.charts_of(f"Heads: {WHAT[what]}", lines, figure)}, saved.NOTHING)
    arrays = {name: np.array(getattr(result, name)) for name in ("names", *WHAT, "half")}
    st.download_button("Numbers (NPZ)", lambda: export.npz_of(**arrays), f"{export.name_of_file(shown.name)}.npz",
                       "application/zip", key="heads_npz", icon=":material/download:", on_click="ignore")  # fmt: skip
    reading.how(
        "Every head in turn adds nothing, in all pictures; the number is what the model's own answer loses. Below zero "
        "the answer gets surer. The estimate needs one backward pass for all heads instead of one pass for each.",
        r"I_h = \mathbb{E}_x\left[\log p(x) - \log p(x; \xi_h = 0)\right], \quad "
        r"\hat I_h = \mathbb{E}_x \left| \frac{\partial \log p}{\partial \xi_h} \right|",
        "pairs of heads that do the same: either can go, not both.",
        "Michel et al. 2019; Voita et al. 2019",
    )


NAMES = {"lost": "lost without it", "flipped": "answers flipped", "estimate": "gradient's estimate"}


def _counted(count: int) -> list[str]:
    return [str(number + 1) for number in range(count)]


def _switch_off(layer: int, head: int) -> None:
    from vizkit.models import Edit

    change((Edit("heads", layer, head),))
    st.session_state["intervene_view"] = "Switches"


def shipped(name: str) -> Measured | None:
    """Of a model that comes with vizkit, as `python -m vizkit heads` measured it."""
    file = SHIPPED / f"{name.removeprefix('bundled:')}.json"
    if not name.startswith("bundled:") or not file.is_file():
        return None
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    names = tuple((int(layer), int(head)) for layer, head in content["names"])
    columns = (tuple(content[name]) for name in ("lost", "half", "flipped", "estimate"))
    return Measured(HeadImportance(names, content["images"], *columns), content["data"])


def measured_here(shown: Shown) -> Measured | None:
    """Of any other model, once it is asked for."""
    data = "digits" if shown.loaded.preprocessing.channels == 1 else "insects"
    key = (_measured.name, shown.source, data, FEW)
    if key not in shelf():
        st.caption(f"{FEW} pictures of {data} go through {shown.name} once for every head.")
        if not st.button(f"Measure on {FEW} pictures", key="heads_measure", type="primary"):
            return None
    try:
        return Measured(_measured(shown.source, data, FEW, shown.loaded), data)
    except EditError as sentence:
        raise NotApplicable(str(sentence)) from None


@remembered
def _measured(source: str, data: str, images: int, _loaded: "Loaded") -> HeadImportance:
    from vizkit.evaluation.inside.head_importance import heads_of

    bar = st.progress(0.0, "Heads are switched off one by one …")

    def tell(share: float) -> None:
        bar.progress(min(1.0, share))

    try:
        with cached.device_lock():
            return heads_of(_loaded, data, images, tell=tell)
    finally:
        bar.empty()
