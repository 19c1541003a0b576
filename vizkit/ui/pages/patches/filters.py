"""The view Filters: which patterns the patch embedding responds to."""

import streamlit as st

from vizkit.analysis.attention.patches import filters
from vizkit.analysis.remarks import patches
from vizkit.figure.charts import bars
from vizkit.figure.patches import filter_tiles
from vizkit.traces import NotApplicable
from vizkit.ui import reading
from vizkit.ui.session import cached
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark


def view(page: Page) -> None:
    shown = page.focus
    weight = cached.patch_embedding(shown.source, page.picture, shown.loaded).weight
    if weight is None:
        raise NotApplicable("This model embeds the feature map of a CNN: its filters have no colours to show.")
    principal = filters(weight)
    left, right = st.columns([3, 2])
    with left:
        st.markdown(f"**First {len(principal.components)} principal components of {len(weight)} filters**")
        st.image(filter_tiles(principal.components.numpy()), alt="Principal components of the patch filters", width=530)
        st.markdown("**The filters themselves** (the first 28)")
        st.image(filter_tiles(weight[:28].numpy()), alt="Patch-embedding filters", width=530)
    with right:
        names = [str(i + 1) for i in range(min(14, len(principal.explained)))]
        figure = bars(names, principal.explained[:14].tolist(), "share of the variance", "Explained by component")
        chart(figure, "filters_explained", "Share of the variance that each component explains")
        remark(patches.components(principal.explained))
    reading.how(
        "Each tile is one pattern that the patch embedding responds to. A trained model shows smooth colours, edges "
        "and waves, few of which explain most of the variance; an untrained one shows noise.",
        None, "what later layers make of these responses.", "Dosovitskiy et al. 2020, fig. 7 left",
    )  # fmt: skip
