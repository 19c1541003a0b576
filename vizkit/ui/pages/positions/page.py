"""The Positions page: how a transformer knows where a patch is."""

import numpy as np
import streamlit as st

from vizkit.image import Picture, prepare, unprepare
from vizkit.ui import reading
from vizkit.ui.plain import plain
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown, choose_view, focus_of, keep_valid, one_after_another, side_by_side, title
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.query_map import show_map

VIEWS = ("Sinusoids", "Learned", "Relative", "Shuffle")


def view(picture: Picture, sources: list[str]) -> None:
    chosen = choose_view("positions_view", VIEWS)
    if chosen == "Sinusoids":
        sinusoids()
    elif chosen == "Learned":
        learned(picture, sources)
    elif chosen == "Relative":
        found = one_after_another(picture, sources)
        if found:
            relative(found)
    else:
        shuffle(picture, sources)


# ---- sinusoids -------------------------------------------------------------------------------------------------------
@st.fragment
def sinusoids() -> None:
    from vizkit.analysis.attention.positions import by_distance, similarity, sinusoidal, sinusoidal_2d
    from vizkit.figure.charts import curves, heat_map

    with st.container(horizontal=True, vertical_alignment="bottom"):
        dim = st.select_slider(
            "Channels", [16, 32, 64, 128, 256], value=64, key="sin_dim", bind="query-params", width=220
        )
        count = st.select_slider(
            "Positions", [16, 49, 64, 100, 196], 64, key="sin_count", bind="query-params", width=220
        )
        position = int(st.slider("Position", 0, int(count) - 1, 10, key="sin_position", width=220))
    table = sinusoidal(int(count), int(dim))
    left, right = st.columns(2)
    with left:
        figure = heat_map(
            table.numpy(), "channel", "position", "One row is added to one patch", signed=True, square=False
        )
        chart(figure, "sin_table", "Table of positions and channels")
        row = {f"position {position}": (np.arange(int(dim)), table[position].numpy())}
        chart(curves(row, "channel", "value", "One row"), "sin_row", f"Row {position} of the table")
    with right:
        waves = {
            f"channel {c}": (np.arange(int(count)), table[:, c].numpy()) for c in (0, 1, int(dim) // 4, int(dim) // 2)
        }
        chart(
            curves(waves, "position", "value", "Some columns: fast waves first"),
            "sin_waves",
            "Four columns by position",
        )
        lines = {
            kind: (np.arange(int(count)), similarity(table, cosine=kind == "cosine")[position].numpy() / scale)
            for kind, scale in (("cosine", 1.0), ("dot product ÷ (channels ÷ 2)", int(dim) / 2))
        }
        chart(
            curves(lines, "position", "likeness", f"Like position {position}"),
            "sin_like",
            f"Likeness to position {position}",
        )
    side = max(2, round(int(count) ** 0.5))
    one, two = (
        by_distance(sinusoidal(side * side, int(dim)).view(side, side, int(dim))),
        by_distance(sinusoidal_2d((side, side), int(dim))),
    )
    lines = {
        "1-D, patches in a row": (one.distance.numpy(), one.mean.numpy()),
        "2-D, half row, half column": (two.distance.numpy(), two.mean.numpy()),
    }
    name = f"Likeness by distance on a {side} × {side} grid"
    chart(curves(lines, "distance in patches", "mean cosine", name), "sin_2d", name)
    reading.how(
        "Every position gets its own pattern of slow and fast waves; near positions are alike, far ones are not. With "
        "one index for all patches the end of a row is near the start of the next; two halves for row and column know "
        "the plane.",
        r"PE_{(p,2i)} = \sin(p / 10000^{2i/d}), \quad PE_{(p,2i+1)} = \cos(p / 10000^{2i/d})",
        "what a model makes of it: learned, 1-D and 2-D tables do about equally well in ViT, none is clearly worse.",
        "Vaswani et al. 2017, § 3.5; Dosovitskiy et al. 2020, appendix D.4",
    )


# ---- learned tables --------------------------------------------------------------------------------------------------
@st.fragment
def learned(picture: Picture, sources: list[str]) -> None:
    found = side_by_side(picture, sources)
    for index, (column, one) in enumerate(found):
        with column:
            reading.guarded(learned_one, index, one, picture)
    reading.how(
        "Each tile belongs to one patch and shows how alike its learned position is to all others. A trained model has "
        "found rows and columns by itself: a bright cross and a bright spot in every tile. Click a patch to enlarge "
        "its tile.",
        r"S_{ij} = \cos(e_i, e_j)",
        "what attention does with it; equal vectors only say that two places cannot be told apart by position.",
        "Dosovitskiy et al. 2020, fig. 7 centre",
    )


def learned_one(index: int, one: Shown, picture: Picture) -> None:
    from vizkit.analysis.attention.positions import by_distance, cosine_grid, pca_rgb
    from vizkit.figure.charts import curves
    from vizkit.figure.tiles import tiles
    from vizkit.models.probes.positions import kind, learned_table, resampled
    from vizkit.traces import NotApplicable, Tokens

    table = learned_table(one.loaded)
    if table is None:
        kinds = kind(one.loaded)
        raise NotApplicable(
            f"{title(one.source)} has no learned table"
            + ("." if kinds == ("none",) else f", but {' and '.join(kinds)}.")
        )
    rows, columns, channels = table.shape
    st.caption(f"{rows} × {columns} positions of {channels} channels")
    st.image(tiles(cosine_grid(table).numpy()), alt="Likeness of every position with every other", width="stretch")
    tokens = Tokens("positions", (), (rows, columns), stride=1.0)
    content = canvases.similarity_for_browser(table.flatten(0, 1), tokens, in_grid(one.query))
    show_map(f"position{index}_{one.source}", content, one, picture, "map only", "Likeness of positions in")
    colours = pca_rgb(table)
    doubled = pca_rgb(resampled(one.loaded, (2 * rows, 2 * columns)))
    left, right = st.columns(2)
    words = f"three main components ({float(colours.explained.sum()):.0%} of the variance)"
    left.image(enlarged(colours.rgb.numpy()), caption=words, alt=words, width="stretch")
    words = f"resampled to {2 * rows} × {2 * columns}"
    right.image(enlarged(doubled.rgb.numpy()), caption=words, alt=words, width="stretch")
    near = by_distance(table)
    lines = {"mean": (near.distance.numpy(), near.mean.numpy()), "highest": (near.distance.numpy(), near.high.numpy())}
    figure = curves(lines, "distance in patches", "cosine", "Likeness by distance")
    chart(figure, f"learned_{index}", "Cosine of learned positions by distance")


def in_grid(query: "str | tuple[float, float]") -> tuple[float, float]:
    return (0.5, 0.5) if isinstance(query, str) else query


def enlarged(rgb: np.ndarray, side_px: int = 280) -> np.ndarray:
    zoom = max(1, side_px // max(rgb.shape[:2]))
    return (rgb * 255).round().astype(np.uint8).repeat(zoom, 0).repeat(zoom, 1)


# ---- relative bias and rotation --------------------------------------------------------------------------------------
@st.fragment
def relative(found: list[Shown]) -> None:
    one = focus_of(found)
    reading.guarded(relative_one, one)
    reading.how(
        "The middle is the query; a cell says how much a key at that offset gains or loses before softmax (relative "
        "bias), or how much of a product of equal vectors is left after rotation (RoPE). The index table says which "
        "entry a pair of patches picks: pairs of one offset share one number.",
        r"\mathrm{softmax}\!\left(QK^\top/\sqrt{d} + B\right), \quad B_{ij} = \hat B[\,p_i - p_j\,]",
        "where a head really looks: content is added to it.",
        "Liu et al. 2021, eq. 4; Su et al. 2021",
    )


def relative_one(one: Shown) -> None:
    from vizkit.figure.charts import heat_map
    from vizkit.models.probes.positions import biased_layers, kind, relative_bias, rope_similarity
    from vizkit.traces import NotApplicable

    kinds = kind(one.loaded)
    if "rotary" in kinds:
        heads = rope_similarity(one.loaded)
        down, right = heads.shape[1] // 2, heads.shape[2] // 2
        head = int(st.number_input("Head", 1, len(heads), 1, key="rope_head", width=120)) if len(heads) > 1 else 1
        figure = heat_map(
            heads[head - 1].numpy(), "columns right", "rows down", "Likeness of rotations by offset", signed=True,
            x_names=names_of_offsets(right), y_names=names_of_offsets(down), limit=1.0, height=460,
        )  # fmt: skip
        chart(figure, "rope", "Likeness of rotations by offset")
    layers = biased_layers(one.loaded.model)
    if not layers and "rotary" not in kinds:
        raise NotApplicable(f"{title(one.source)} has no relative positions: {' and '.join(kinds)}.")
    if layers:
        keep_valid("bias_layer", range(1, len(layers) + 1))
        layer = int(
            st.slider("Layer", 1, max(2, len(layers)), 1, key="bias_layer", disabled=len(layers) < 2, width=320)
        )
        bias = relative_bias(one.loaded, min(layer, len(layers)) - 1)
        st.caption(f"`{bias.name}` · window {bias.window[0]} × {bias.window[1]} · {len(bias.by_offset)} heads")
        limit = float(bias.by_offset.abs().max()) or 1.0
        for start in range(0, len(bias.by_offset), 4):
            for column, head in zip(st.columns(4), range(start, min(start + 4, len(bias.by_offset))), strict=False):
                figure = heat_map(
                    bias.by_offset[head].numpy(), "columns right", "rows down", f"head {head + 1}", signed=True,
                    x_names=names_of_offsets(bias.window[1] - 1), y_names=names_of_offsets(bias.window[0] - 1),
                    limit=limit, height=250,
                )  # fmt: skip
                with column:
                    chart(figure, f"bias_{head}", f"Bias by offset, head {head}")
        digits = 0 if len(bias.index) <= 16 else None
        figure = heat_map(
            bias.index.numpy().astype(float), "key", "query", "Index table: which entry", digits=digits, height=460
        )
        chart(figure, "bias_index", "Which entry of the bias table each pair of places reads")


def names_of_offsets(reach: int) -> list[str]:
    return [f"{offset:+d}" if offset else "0" for offset in range(-reach, reach + 1)]


# ---- the experiment --------------------------------------------------------------------------------------------------
@st.fragment
def shuffle(picture: Picture, sources: list[str]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        seed = int(st.number_input("Another order", 1, 999, 1, key="shuffle_seed", width=140))
    found = side_by_side(picture, sources)
    for column, one in found:
        with column:
            reading.guarded(shuffle_one, one, picture, seed)
    reading.how(
        "The same patches in another order. With its positions the model sees another image; without them a plain ViT "
        "cannot tell the two apart: its predictions stay exactly the same, right or wrong.",
        r"\mathrm{Attention}(\Pi X) = \Pi\,\mathrm{Attention}(X)",
        "how well a model trained without positions would do: this one was trained with them.",
        "Dosovitskiy et al. 2020, appendix D.4",
    )


def shuffle_one(one: Shown, picture: Picture, seed: int) -> None:
    import torch

    from vizkit.analysis.attention.patches import grid_of, permutation
    from vizkit.analysis.attention.patches import shuffle as shuffled
    from vizkit.models.probes.positions import first_grid

    loaded, preprocessing = one.loaded, one.loaded.preprocessing
    rows, columns = first_grid(loaded, preprocessing.size_hw)
    pixels = prepare(picture.rgb, preprocessing)[0]
    patch = preprocessing.size_hw[0] // rows
    grid_of(preprocessing.size_hw, patch)
    image = shuffled(torch.from_numpy(pixels), patch, permutation(rows * columns, seed)).numpy()
    left, right = st.columns(2)
    left.image(unprepare(pixels, preprocessing), caption="in order", alt="The patches in order", width="stretch")
    right.image(unprepare(image, preprocessing), caption="shuffled", alt="The patches shuffled", width="stretch")
    for with_positions in (True, False):
        st.markdown("**with positions**" if with_positions else "**positions removed**")
        answers = [
            cached.shuffled_logits(one.source, picture.digest, preprocessing, s, with_positions, loaded, picture.rgb)
            for s in (None, seed)
        ]
        for where, logits in zip(st.columns(2), answers, strict=True):
            where.markdown("  \n".join(f"{plain(loaded.label(i))}: **{p:.0%}**" for i, p in best(logits)))
        st.caption(f"largest change of a logit: {float(np.abs(answers[0] - answers[1]).max()):.2g}")


def best(logits: np.ndarray, count: int = 3) -> list[tuple[int, float]]:
    import torch

    values, indices = torch.softmax(torch.from_numpy(logits), 0).topk(min(count, len(logits)))
    return list(zip(indices.tolist(), values.tolist(), strict=True))
