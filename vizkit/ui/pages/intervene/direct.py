"""The view Direct attribution: the logit of a class, or the difference of two, as a sum of what layers add."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vizkit.analysis.remarks.interventions import of_contributions
from vizkit.figure.charts import curves, heat_map
from vizkit.figure.contributions import contributions
from vizkit.models import pixels_of
from vizkit.ui import reading
from vizkit.ui.export import npz_of
from vizkit.ui.session import cached, saved
from vizkit.ui.session.explained import Request
from vizkit.ui.session.shown import Shown
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.class_choice import choose, in_words, request_for
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save
from vizkit.ui.widgets.tiles import Tile, tiles

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    from vizkit.models.probes.lenses.direct_attribution import Contributions


def view(page: Page) -> None:
    shown = page.focus
    with st.container(horizontal=True, vertical_alignment="bottom"):
        request = request_for(shown, page.picture, choose([shown]))
    made = parts_of(request)
    st.markdown(in_words(request))
    left, right = st.columns(2)
    with left:
        attention, mlp = made.attention.numpy(), made.mlp.numpy()
        figure = contributions(made.embedding, attention, mlp, made.bias, made.logit, made.before)
        chart(figure, "direct_layers", "What embedding, attention and MLP of every layer add to the logit")
        text = reading.within("sum of all parts: the logit", made.error)
        st.caption(f":green[:material/verified: {text}]", help="The model's own logit, for this very picture.")
    with right:
        heads = heat_map(made.heads.numpy(), "head", "layer", "What each head adds", signed=True, square=False,
                         x_names=numbered(made.heads.shape[1]),
                         y_names=numbered(len(made.heads), made.before))  # fmt: skip
        heads.update_yaxes(type="category")  # two layers of a Swin are no numbers with halves between them
        chart(heads, "direct_heads", "What each head of each layer adds to the logit")
    loaded = shown.loaded
    against = "" if request.against is None else f" against {loaded.label(request.against)}"
    name = f"{loaded.label(request.target)}{against}"
    remark(of_contributions(name, made.heads, made.mlp, made.logit, made.before))
    if made.places is not None:
        carried(shown, page, made.places, made.before)
    keep(request, name, made, heads)
    reading.how(
        "What the head reads is the embedding plus all that heads and MLPs have added to it. With the scale of the "
        "last normalisation held still, the logit is the sum of what each part gives; the line is the sum so far. A "
        "head's part goes through its rows of $W_O$.",
        r"z_c = b + w_c^\top \Big(e + \sum_{l,h} a_{l,h} + \sum_l m_l\Big), \quad w_c = W_c \cdot \mathrm{LN}_{\sigma}",
        "what a part does through later layers, which read it too. What is added to all classes alike changes no "
        "answer: choose a class to compare with.",
        "Elhage et al. 2021; Gandelsman et al. 2024",
    )


def parts_of(request: Request) -> "Contributions":
    from vizkit.models.probes.lenses.direct_attribution import direct_attribution

    shown, picture = request.shown, request.picture

    def make() -> "Contributions":
        with cached.device_lock():
            pixels = pixels_of(shown.loaded, picture.rgb)
            return direct_attribution(shown.loaded, shown.trace, pixels, request.target, request.against)

    what = ("direct attribution", request.target, request.against)
    return cached.made(shown.source, picture, shown.loaded, what, make)


def carried(shown: Shown, page: Page, places: "Float[Tensor, 'layer row column']", before: int) -> None:
    """From which patches the heads carry what they add: of all layers together, and of each."""
    sums = [places.sum(0), *places]
    names = ["all layers", *(f"layer {number}" for number in numbered(len(places), before))]
    ends = [max(float(each.abs().max()), 1e-9) for each in sums]
    every = [Tile(name, each.numpy(), "", signed=True) for name, each in zip(names, sums, strict=True)]
    st.markdown("**From which patches heads carry it**")
    st.caption("Red speaks for the class, blue against it. What the class token itself holds is not drawn.")
    tiles("direct_places", every, shown, page.picture, "over image", [(-end, end) for end in ends],
          label=f"What heads carry from each patch in {shown.name}", tile_px=200)  # fmt: skip


def numbered(count: int, before: int = 0) -> list[str]:
    return [str(number) for number in range(before + 1, before + count + 1)]


def keep(request: Request, name: str, made: "Contributions", heads: object) -> None:
    layer = np.arange(1, len(made.mlp) + 1) + made.before
    attention, mlp = made.attention.numpy(), made.mlp.numpy()
    lines = curves({"attention": (layer, attention), "MLP": (layer, mlp)}, "layer", "added to the logit")
    ends = f"embedding {made.embedding:.4g}, biases {made.bias:.4g}, sum {made.logit:.4g}"
    words = f"{request.shown.name}; {name}: {ends}"
    item = saved.charts_of("Direct logit attribution", (words,), lines, heads)
    carried = {} if made.places is None else {"places": made.places.numpy()}
    numbers = partial(npz_of, heads=made.heads.numpy(), attention=attention, mlp=mlp, embedding=made.embedding,
                      bias=made.bias, logit=made.logit, **carried)  # fmt: skip
    save("direct", {"": item}, saved.NOTHING, {"All parts (NPZ)": numbers})
