"""The shift of one block, step by step: on the image with the model's weights, and small enough to be counted."""

import streamlit as st
import torch
from torch import Tensor

from vizkit.analysis.attention.attention_map import find_query, fused, layers
from vizkit.analysis.remarks import swin
from vizkit.analysis.swin.shifted_windows import Layout, allowed, cut, evenly, layout, members, strangers, window_of
from vizkit.geometry import name_of, out_of_box, pixel_box
from vizkit.image import Picture
from vizkit.models.probes.swin_stages import own_mask
from vizkit.traces import PADDING, Attention
from vizkit.ui import reading
from vizkit.ui.canvas import linked
from vizkit.ui.pages.swin import canvas
from vizkit.ui.pages.swin.place import Place, choose_place
from vizkit.ui.session.address import put
from vizkit.ui.session.shown import CENTRE, Shown, cursor
from vizkit.ui.views import Page
from vizkit.ui.widgets.remark import remark
from vizkit.views.rules import tuple_of, whole

GRIDS = ("this image", "8 × 8, to be counted")
SMALL = ((8, 8), (4, 4), (2, 2))  # grid, window, shift of the teaching example: every number fits on its tile
CORNER = 0  # the token that travels furthest


def view(page: Page) -> None:
    shown = page.focus
    with st.container(horizontal=True, vertical_alignment="bottom"):
        grid = st.segmented_control(
            "Example", GRIDS, default=GRIDS[0], required=True, key="shift_grid", bind="query-params",
            label_visibility="collapsed",
        )  # fmt: skip
        place = choose_place(shown, "block") if grid == GRIDS[0] else None
    if place is None:
        by_hand()
    else:
        on_image(shown, page.picture, place)
    reading.how(
        "Six steps of one block; click a token at any step to follow its window. A colour with a number is a region: "
        "tokens that were neighbours before the roll. In a window with several regions, a hatched pair is masked: the "
        "two stand side by side only because the grid was rolled.",
        r"\hat z^{l} = \text{W-MSA}(\mathrm{LN}(z^{l-1})) + z^{l-1}, \quad "
        r"\hat z^{l+1} = \text{SW-MSA}(\mathrm{LN}(z^{l})) + z^{l}, \quad s = \lfloor M/2 \rfloor, \quad "
        r"\mathrm{softmax}(S + B + M)",
        "the output of the block: values, the projection and the MLP come after the weights.",
        "Liu et al. 2021, § 3.2, fig. 2 and fig. 4",
    )


# ---- the model's own -------------------------------------------------------------------------------------------------
def on_image(shown: Shown, picture: Picture, place: Place) -> None:
    windows = layout(place.grid, place.window, place.shift, pad_first=place.pad_first)
    attention = layers(shown.trace)[place.layer]
    token = _chosen_token(shown, attention, windows)
    window, position = window_of(windows, token)
    weights = fused(attention, None)[window]
    content = canvas.block_for_browser(windows, token, weights)
    content |= canvas.on_picture(picture, shown.box_xyxy, place.grid)

    def picked(chosen: int) -> None:
        point = _point_of(shown, picture, place, chosen)
        st.session_state["at"], st.session_state["query"] = point, "patch"

    left, right = st.columns([3, 2])
    with left:
        words = _step_sentences(windows, place, window, position, weights, f"mean of {attention.heads} heads")
        canvas.play("shift_image", content, words, f"The shift of {place.path} on the image", picked)
        remark(swin.crossing(attention, windows), swin.pairs_saved(windows, place.stage + 1))
    with right:
        facts(windows, window, position)
        proof(shown, place, windows)


def _chosen_token(shown: Shown, attention: Attention, windows: Layout) -> int:
    """The token under the cursor. Before anybody clicked: the first of the last window, where regions meet."""
    corner = int(cut(windows.ids, windows.window)[-1, 0])
    if cursor() == CENTRE and any(windows.shift) and corner >= 0:
        return corner
    return find_query(attention, shown.query)[0]


def _point_of(shown: Shown, picture: Picture, place: Place, token_id: int) -> tuple[float, float]:
    """The middle of a token in fractions of the picture: where the page's one cursor goes."""
    size_hw = shown.trace.image_size
    box = pixel_box(place.tokens, token_id, size_hw)
    assert box is not None
    middle = ((box[0] + box[2]) / 2 / size_hw[1], (box[1] + box[3]) / 2 / size_hw[0])
    return out_of_box(middle, shown.box_xyxy, picture.rgb.shape[:2])


def _step_sentences(
    windows: Layout, place: Place, window: int, position: int, weights: Tensor, whose: str
) -> list[str]:
    """The six sentences beside the canvas."""
    ids, may_meet = cut(windows.ids, windows.window)[window].tolist(), allowed(windows, window)
    names = [name_of(place.tokens, token) if token != PADDING else "padding" for token in ids]
    best = int(weights[position].argmax())
    most = f"{names[position]} attends most, {float(weights[position, best]):.1%}, to "
    most += "itself" if best == position else names[best]
    return _six_sentences(
        windows, window, int(may_meet.sum()), f"Softmax turns scores into weights ({whose}): {most}.", names[position]
    )


def _six_sentences(windows: Layout, window: int, pairs: int, attention: str, name: str) -> list[str]:
    (rows, columns), (down, right), (tall, wide) = windows.grid, windows.shift, windows.window
    area, shifted = tall * wide, any(windows.shift)
    empty = windows.ids.numel() - rows * columns
    when = "First {} empty places (hatched) were" if windows.pad_first else "Then {} empty places (hatched) are"
    padding = f" {when.format(empty)} added, so that windows divide the grid." if empty else ""
    grid = f"{rows} × {columns} tokens; tokens between thick lines may see each other. "
    if shifted:
        grid += f"They are windows of {tall} × {wide}, moved {down} down and {right} right from where the block before "
        grid += "had them, so that at the edges pieces are left that fill no window."
        roll = f"The grid is rolled {down} up and {right} to the left; what leaves on one side comes in on the other "
        roll += f"(coloured).{padding}"
        mask = f"{pairs:,} of {area**2:,} pairs are of one region. All others, hatched, get −100 added to their score."
    else:
        grid += f"This block does not shift: these are windows of {tall} × {wide}."
        why = "one window holds the whole grid" if windows.count == 1 else "only even blocks shift"
        roll = f"Nothing to roll: {why}.{padding}"
        mask = "No mask: all pairs may see each other."
    cut = f"Cut into {windows.count} windows of {tall} × {wide} = {area} tokens, all processed in the same way. "
    cut += "A number is a region: tokens that belong together in the image." if shifted else ""
    return [
        grid,
        roll,
        cut,
        f"Window {window + 1}: each of its {area} tokens is a query (row) and a key (column). {mask}",
        attention + (" After −100 softmax leaves e⁻¹⁰⁰, nothing." if shifted else ""),
        f"Rolled back, every token is where it was. Bright: where {name} attends; it sees nothing outside its region"
        + (", and nothing of the hatched ones." if shifted else "."),
    ]


def facts(windows: Layout, window: int, position: int) -> None:
    """The chosen window, counted; bold: the region of the chosen token."""
    st.markdown(f"**Window {window + 1} of {windows.count}, counted**")
    shifted = any(windows.shift)
    own = int(cut(windows.regions, windows.window)[window, position])
    st.table(
        [
            {
                "region": "all" if not shifted else f"**{n}**" if n == own else str(n),
                "places": str(k),
                "of them padding": str(empty),
                "pairs": f"{k * k:,}",
            }
            for n, k, empty in members(windows, window)
        ]
    )
    may_meet = allowed(windows, window)
    share = float(may_meet.float().mean())
    st.caption(
        f"{int(may_meet.sum()):,} of {len(may_meet)}² = {may_meet.numel():,} pairs may see each other: {share:.0%}"
    )
    met = strangers(windows, window)
    if met:
        st.caption(
            f":material/warning: {met} pairs of this window see each other across the edges of the image. timm rolls "
            "first and pads then, so its mask, which is cut for the padded grid, misses the line where the edges meet; "
            "the published code for detection pads first."
        )


def proof(shown: Shown, place: Place, windows: Layout) -> None:
    """The drawn mask beside the model's own."""
    own = own_mask(shown.loaded, place.path)
    if own is None:
        return
    drawn = torch.stack([allowed(windows, window) for window in range(windows.count)])
    if torch.equal(drawn, own.cpu()):
        st.caption(f":green[:material/verified: the mask is the model's own attn_mask in all {windows.count} windows]")
    else:
        st.caption(":red[:material/error: the mask is not the model's own attn_mask]")


# ---- small enough to be counted --------------------------------------------------------------------------------------
def _token_now(count: int) -> int:
    """The token of the example that was clicked last, else that of the link, from 0."""
    if "_shift_token" in st.session_state:
        put("shift_token", str(st.session_state["_shift_token"] + 1))
    (number,) = linked("shift_token", tuple_of(whole(1, count))) or (CORNER + 1,)
    return number - 1


def by_hand() -> None:
    windows = layout(*SMALL)
    token = _token_now(windows.ids.numel())
    window, position = window_of(windows, token)
    may_meet = allowed(windows, window)
    weights = evenly(may_meet)

    def picked(chosen: int) -> None:
        st.session_state["_shift_token"] = chosen

    left, right = st.columns([3, 2])
    with left:
        content = canvas.block_for_browser(windows, token, weights, countable=True) | canvas.NO_PICTURE
        seen = int(may_meet[position].sum())
        even = f"If all contents were equal, softmax would give equal weights: 1/{seen} for each key that may be seen."
        canvas.play(
            "shift_small",
            content,
            _six_sentences(windows, window, int(may_meet.sum()), even, f"token {token + 1}"),
            "The shift of 8 × 8 tokens",
            picked,
        )
    with right:
        facts(windows, window, position)
        st.caption("An example of our own, with no model: windows of 4 × 4 tokens, shifted by 2.")
