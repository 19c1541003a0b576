"""The hierarchy of a Swin on the image: what a token and a window cover in every stage."""

import streamlit as st

from vizkit.analysis.attention.attention_map import find_query, layers
from vizkit.analysis.remarks import swin
from vizkit.analysis.swin.shifted_windows import layout, pieces
from vizkit.figure.swin.windows import windows
from vizkit.geometry import cell_of
from vizkit.image import Picture, prepare, unprepare
from vizkit.models.probes.swin_stages import Stage, hierarchy
from vizkit.ui import reading
from vizkit.ui.session.shown import Shown
from vizkit.ui.views import Page
from vizkit.ui.widgets.remark import remark

LIE = ("regular", "shifted")


def view(page: Page) -> None:
    shown, picture = page.focus, page.picture
    stages = hierarchy(shown.loaded, shown.trace.image_size)
    lie = st.segmented_control(
        "Windows", LIE, default=LIE[0], required=True, key="swin_lie", bind="query-params",
        help="Blocks take turns: the first has regular windows, the second shifted ones, and so on.",
    )  # fmt: skip
    for column, stage in zip(st.columns(len(stages)), stages, strict=True):
        with column:
            _over_image(stage, shown, picture, lie == "shifted")
    first = stages[0]
    remark(swin.pairs_saved(layout(first.grid, first.blocks[0].window, pad_first=first.pad_first), 1))
    st.table([row_of(index, stage) for index, stage in enumerate(stages)])
    reading.how(
        "Every stage sees the whole image in fewer, larger tokens with more channels; its windows always have the same "
        "number of tokens, so they cover more and more of the image. The frame is the token under the cursor of all "
        "pages, the bright part what it can see in one block.",
        r"\tfrac{H}{4} \times \tfrac{W}{4} \times C \;\to\; \tfrac{H}{8} \times \tfrac{W}{8} \times 2C \;\to\; "
        r"\tfrac{H}{16} \times \tfrac{W}{16} \times 4C \;\to\; \tfrac{H}{32} \times \tfrac{W}{32} \times 8C",
        "what a token really knows: through several blocks it learns of places outside its window.",
        "Liu et al. 2021, § 3.1, fig. 3 and table 7",
    )


def _over_image(stage: Stage, shown: Shown, picture: Picture, shifted: bool) -> None:
    block = next((block for block in stage.blocks if any(block.shift)), None) if shifted else stage.blocks[0]
    placed = layout(stage.grid, stage.blocks[0].window, block.shift if block else (0, 0), pad_first=stage.pad_first)
    token, _ = find_query(layers(shown.trace)[stage.first_layer], shown.query)
    seen = unprepare(prepare(picture.rgb, shown.loaded.preprocessing)[0], shown.loaded.preprocessing)
    drawn = windows(seen, pieces(placed).numpy(), cell_of(stage.tokens, token))
    rows, columns = stage.grid
    alt = f"{rows} × {columns} tokens in {'shifted' if shifted else 'regular'} windows"
    st.image(drawn, alt=alt, width="stretch")
    st.caption(f"{rows} × {columns} tokens" + ("" if block else " · one window, no shift"))


def row_of(index: int, stage: Stage) -> dict[str, str]:
    (rows, columns), (tall, wide), side = stage.grid, stage.blocks[0].window, stage.tokens.stride
    placed = layout(stage.grid, (tall, wide))
    padded = (
        f" (padded to {placed.ids.shape[0]} × {placed.ids.shape[1]})" if placed.ids.numel() > rows * columns else ""
    )
    shifts = {block.shift for block in stage.blocks if any(block.shift)}
    return {
        "stage": str(index + 1),
        "tokens": f"{rows} × {columns} = {rows * columns:,}{padded}",
        "channels": str(stage.channels),
        "heads": str(stage.heads),
        "blocks": str(len(stage.blocks)),
        "token, px": f"{side:.0f} × {side:.0f}",
        "window, tokens": f"{tall} × {wide}",
        "window, px": f"{tall * side:.0f} × {wide * side:.0f}",
        "windows": str(placed.count),
        "shift": " and ".join(f"{down}, {right}" for down, right in sorted(shifts)) or "none",
    }
