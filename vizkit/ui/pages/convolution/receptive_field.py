"""The view Receptive field: what a unit can see, what it mostly uses, and the same of transformers on one axis."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.analysis.convolution.ancestors import ANCESTORS
from vizkit.analysis.convolution.field_size import MOST, side_holding
from vizkit.analysis.remarks import convolution
from vizkit.figure.convolution.fields import by_depth, on_image
from vizkit.models.probes.convolution.field_table import formula, rows_of
from vizkit.report.kinds import Field
from vizkit.ui import export, reading
from vizkit.ui.pages.convolution import fields_of
from vizkit.ui.session import saved
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from vizkit.models.probes.convolution.effective_field import EffectiveField
    from vizkit.models.probes.convolution.receptive_field import Seen, Walk

OVER = ("samples", "this picture")


def view(page: Page) -> None:
    shown = page.focus
    names = [features.name for features in shown.trace.features]
    keep_valid("field_stage", names)
    with st.container(horizontal=True):
        stage = st.segmented_control("Unit in the middle of", names, default=names[-1], required=True,
                                     key="field_stage", bind="query-params")  # fmt: skip
        over = st.segmented_control("Effect", OVER, default=OVER[0], required=True, key="field_over",
                                    bind="query-params", help="Of the pixels of samples that the model knows, a mean; "
                                    "or of your picture alone.")  # fmt: skip
    own = page.picture if over == OVER[1] else None
    with st.spinner("The effect of every pixel"):
        walked, effective = fields_of.walked(shown), fields_of.effective(shown, own)
    index = names.index(stage or names[-1])
    seen, field = walked.stages[index], effective[index]
    left, right = st.columns([2, 3])
    with left:
        side = picture(page, walked, seen, field)
        if seen is not None:
            remark(convolution.field_used(names[index], seen.rows.size, side, min(walked.size_hw), MOST))
            st.caption(f"Field {seen.rows.size} px · neighbours see pixels {seen.rows.jump} px apart · "
                       f"{fields_of.last_layer(walked, seen)}")  # fmt: skip
    with right:
        lines = [*fields_of.of_cnn(shown, walked, effective), *fields_of.of_transformers(page, own)]
        figure = by_depth(lines)
        chart(figure, "field_by_depth", "How far units can see and how far they look, by depth of the network")
    layer_by_layer(walked)
    ancestors()
    numbers = {name: each.share.numpy() for name, each in zip(names, effective, strict=True)}
    shows = Field(index + 1, () if own else tuple(fields_of.samples_for(shown.source)))
    title = "How far units can see and how far they look"
    items = {"On the image": saved.item_of(shown, shows), "By depth": saved.charts_of(title, (), figure)}
    save("field", items, saved.inputs_of(shown, page.picture),
         {"Numbers of all maps (NPZ)": lambda: export.npz_of(**numbers)})  # fmt: skip
    reading.how(
        "The white frame is all that can change the unit, the colours how much each pixel does, the blue frame the "
        "smallest square around the middle that holds 68 % of it. In the chart, where 50 % of the side is the edge of "
        "each model's own input, dotted lines say how far a layer can see, solid ones how far the square reaches, "
        "dashed ones the mean attention distance of a transformer, whose first layer can already see everything in its "
        "window.",
        r"r_l = r_{l-1} + d\,(f_l - 1)\, j_{l-1}, \quad j_l = s_l\, j_{l-1}, \qquad "
        r"e(p) = \sum_c \bigl| \partial \textstyle\sum_k F_k / \partial x_c(p) \bigr|",
        "what the unit looks for there. Attention distance and gradient are two measures of where a layer looks, not "
        "the same one.",
        "Araujo et al. 2019; Luo et al. 2016, § 2; Dosovitskiy et al. 2020, fig. 7 right",
    )


def picture(page: Page, walked: "Walk", seen: "Seen | None", field: "EffectiveField") -> float:
    """Draws the field on the chosen picture; gives the side of the square that holds most of it."""
    shown = page.focus
    side = side_holding(field.share, field.centre_yx, MOST)
    (y, x), half = field.centre_yx, side / 2
    x0, y0, x1, y1 = seen.box(field.cell) if seen is not None else (0, 0, 0, 0)
    box = (float(x0), float(y0), float(x1), float(y1)) if seen is not None else None
    drawn = on_image(
        page.picture.rgb, field.share.numpy(), shown.box_xyxy, box, (x - half, y - half, x + half, y + half)
    )
    st.image(drawn, alt="What the unit can see and which pixels change it most", width="stretch")
    if seen is not None and seen.whole:
        st.caption(":material/info: A mean over the whole map comes in as well, so every pixel changes it a little.")
    return side


def ancestors() -> None:
    with st.expander("Before transformers: what each network brought", icon=":material/account_tree:"):
        rows = [
            {"network": each.title, "year": str(each.year), "layers": str(each.layers),
             "parameters": f"{each.parameters:,}", "field, px": f"{each.field_px:,}", "new": each.brought,
             "source": each.source}
            for each in ANCESTORS
        ]  # fmt: skip
        st.dataframe(rows, hide_index=True, key="ancestors_table")


def layer_by_layer(walked: "Walk") -> None:
    with st.expander(f"Layer by layer: {len(walked.layers)} convolutions and pools", icon=":material/table_rows:"):
        rows = [{**row, "formula": formula(layer)} for row, layer in zip(rows_of(walked), walked.layers, strict=True)]
        st.dataframe([{name: str(value) for name, value in row.items() if name != "whole_image"} for row in rows],
                     hide_index=True, key="field_table")  # fmt: skip
