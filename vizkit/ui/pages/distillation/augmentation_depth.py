"""Stochastic depth in the view Augmentation: which blocks a training step goes past."""

import streamlit as st

from vizkit.figure.training.skipped_blocks import skipped_blocks
from vizkit.models import Loaded
from vizkit.models.probes.residual import branches
from vizkit.training.pictures.preview import chances, skipped
from vizkit.ui import reading
from vizkit.ui.pages.distillation.augmentation_fields import models_of, seeds
from vizkit.ui.plain import plain
from vizkit.ui.session.shown import keep_valid, marked, title
from vizkit.ui.widgets.chart import chart

IMAGES = 8  # of the batch that is drawn


def drop_path(sources: list[str]) -> None:
    models = models_of(sources)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = list(models)
        if len(names) > 1:
            keep_valid("focus", names)
            name = st.segmented_control("Model", names, default=names[0], required=True, key="focus",
                                        bind="query-params", format_func=marked)  # fmt: skip
        else:
            name = names[0] if names else None
        rate = float(st.slider("Drop path", 0.0, 0.9, 0.3, 0.05, key="drop_rate", bind="query-params", width=260,
                               help="Chance that the last block is skipped; DeiT-B and DeiT-S take 0.1."))  # fmt: skip
        seed = seeds("drop_draw", 1)[0]
    if name is None:
        st.info("Choose a model in the sidebar: its blocks are drawn here.", icon=":material/arrow_back:")
    else:
        reading.guarded(blocks, models[name], rate, seed)
    reading.how(
        "A square is a residual branch that works on a picture of the batch, a cross one that is skipped: the picture "
        "goes past it unchanged. Early blocks are rarely skipped, the last with the chance that you choose; when the "
        "model is used, nothing is.",
        r"x_{l+1} = x_l + \frac{b_l}{1-p_l}\, f_l(x_l), \quad b_l \sim \mathrm{Bernoulli}(1-p_l), \quad "
        r"p_l = p\,\frac{l-1}{L-1}",
        "which blocks the trained model could do without: every branch works when it is used.",
        "Huang et al. 2016, stochastic depth; timm's DropPath",
    )


def blocks(loaded: Loaded, rate: float, seed: int) -> None:
    counts = branches(loaded)
    by_block = chances(rate, len(counts))
    by_branch = [chance for chance, count in zip(by_block, counts, strict=True) for _ in range(count)]
    drawn = skipped(by_branch, IMAGES, seed)
    figure = skipped_blocks(drawn, counts, by_block)
    chart(figure, "drop_blocks", f"{int(drawn.sum())} of {drawn.size} branches skipped")
    st.caption(
        f"{plain(title(loaded.name))}: {len(counts)} blocks, {sum(counts)} branches. On average "
        f"**{sum(1 - chance for chance in by_branch):.1f} of {sum(counts)}** work in a training step; in this draw "
        f"{sum(counts) * IMAGES - int(drawn.sum())} of {sum(counts) * IMAGES} over {IMAGES} pictures. As a field of a "
        "recipe: `--drop-path`."
    )
