"""The shift of one block, step by step: on the image with the model's weights, and small enough to be counted."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.image import Picture
from vizkit.ui import reading
from vizkit.ui.pages.swin import canvas
from vizkit.ui.pages.swin.place import Place, choose_place
from vizkit.ui.session.shown import CENTRE, Shown, cursor
from vizkit.ui.views import Page

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.swin.shifted_windows import Layout
    from vizkit.traces import Attention

GRIDS = ("this image", "8 × 8, to be counted")
SMALL = ((8, 8), (4, 4), (2, 2))  # grid, window, shift of the teaching example: every number fits on its tile
CORNER = 0  # the token that travels furthest


def view(page: Page) -> None:
    one = page.one
    grid = st.segmented_control(
        "Example", GRIDS, default=GRIDS[0], required=True, key="shift_grid", bind="query-params",
        label_visibility="collapsed",
    )  # fmt: skip
    if grid == GRIDS[1]:
        by_hand()
    else:
        on_image(one, page.picture)
    reading.how(
        "Six steps of one block; click a token at any step to follow its window. A colour with a number is a region: "
        "tokens that were neighbours before the roll. In a window with several regions, a hatched pair is masked: the "
        "two stand side by side only because the grid was rolled.",
        r"\hat z^{l} = \text{W-MSA}(\mathrm{LN}(z^{l-1})) + z^{l-1}, \quad "
        r"\hat z^{l+1} = \text{SW-MSA}(\mathrm{LN}(z^{l})) + z^{l}, \quad s = \lfloor M/2 \rfloor, \quad "
        r"\mathrm{softmax}(S + B + M)",
        "what the block hands on: values, the projection and the MLP come after the weights.",
        "Liu et al. 2021, § 3.2, fig. 2 and fig. 4",
    )


# ---- the model's own -------------------------------------------------------------------------------------------------
def on_image(one: Shown, picture: Picture) -> None:
    from vizkit.analysis.attention.attention_map import fused, layers
    from vizkit.analysis.swin.shifted_windows import layout, window_of

    place = choose_place(one, "block")
    found = layout(place.grid, place.window, place.shift, pad_first=place.pad_first)
    attention = layers(one.trace)[place.layer]
    token = asked(one, attention, found)
    window, position = window_of(found, token)
    weights = fused(attention, None)[window]
    content = canvas.block_for_browser(found, token, weights)
    content |= canvas.on_picture(picture, one.box_xyxy, place.grid)

    def picked(chosen: int) -> None:
        point = point_of(one, picture, place, chosen)
        st.session_state["at"], st.session_state["query"] = point, "patch"

    left, right = st.columns([3, 2])
    with left:
        words = told(found, place, window, position, weights, f"mean of {attention.heads} heads")
        canvas.play("shift_image", content, words, f"The shift of {place.path} on the image", picked)
    with right:
        facts(found, window)
        proof(one, place, found)


def asked(one: Shown, attention: "Attention", found: "Layout") -> int:
    """The token under the cursor. Before anybody clicked: the first of the last window, where regions meet."""
    from vizkit.analysis.attention.attention_map import find_query
    from vizkit.analysis.swin.shifted_windows import cut

    corner = int(cut(found.ids, found.window)[-1, 0])
    if cursor() == CENTRE and any(found.shift) and corner >= 0:
        return corner
    return find_query(attention, one.query)[0]


def point_of(one: Shown, picture: Picture, place: "Place", token_id: int) -> tuple[float, float]:
    """The middle of a token in fractions of the picture: where the page's one cursor goes."""
    from vizkit.geometry import out_of_box, pixel_box

    size_hw = one.trace.image_size
    box = pixel_box(place.tokens, token_id, size_hw)
    assert box is not None
    middle = ((box[0] + box[2]) / 2 / size_hw[1], (box[1] + box[3]) / 2 / size_hw[0])
    return out_of_box(middle, one.box_xyxy, picture.rgb.shape[:2])


def told(found: "Layout", place: "Place", window: int, position: int, weights: "Tensor", whose: str) -> list[str]:
    """The six sentences beside the canvas."""
    from vizkit.analysis.swin.shifted_windows import allowed, cut
    from vizkit.geometry import name_of
    from vizkit.traces import PADDING

    ids, may_meet = cut(found.ids, found.window)[window].tolist(), allowed(found, window)
    names = [name_of(place.tokens, token) if token != PADDING else "padding" for token in ids]
    best = int(weights[position].argmax())
    pays = f"{names[position]} pays most, {float(weights[position, best]):.1%}, to "
    pays += "itself" if best == position else names[best]
    return six(
        found, window, int(may_meet.sum()), f"Softmax turns scores into weights ({whose}): {pays}.", names[position]
    )


def six(found: "Layout", window: int, pairs: int, attention: str, name: str) -> list[str]:
    (rows, columns), (down, right), (tall, wide) = found.grid, found.shift, found.window
    area, shifted = tall * wide, any(found.shift)
    empty = found.ids.numel() - rows * columns
    when = "First {} empty places (hatched) were" if found.pad_first else "Then {} empty places (hatched) are"
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
        why = "one window holds the whole grid" if found.count == 1 else "only even blocks shift"
        roll = f"Nothing to roll: {why}.{padding}"
        mask = "No mask: all pairs may see each other."
    cut = f"Cut into {found.count} windows of {tall} × {wide} = {area} tokens, all alike for the computer. "
    cut += "A number is a region: tokens that belong together in the image." if shifted else ""
    return [
        grid,
        roll,
        cut,
        f"Window {window + 1}: each of its {area} tokens asks (rows) and is seen (columns). {mask}",
        attention + (" After −100 softmax leaves e⁻¹⁰⁰, nothing." if shifted else ""),
        f"Rolled back, every token is where it was. Bright: where {name} looks; it sees nothing outside its piece"
        + (", and nothing of the hatched ones." if shifted else "."),
    ]


def facts(found: "Layout", window: int) -> None:
    """The chosen window, counted."""
    from vizkit.analysis.swin.shifted_windows import allowed, members, strangers

    st.markdown(f"**Window {window + 1} of {found.count}, counted**")
    shifted = any(found.shift)
    st.table(
        [
            {
                "region": str(n) if shifted else "all",
                "places": str(k),
                "of them padding": str(empty),
                "pairs": f"{k * k:,}",
            }
            for n, k, empty in members(found, window)
        ]
    )
    may_meet = allowed(found, window)
    share = float(may_meet.float().mean())
    st.caption(
        f"{int(may_meet.sum()):,} of {len(may_meet)}² = {may_meet.numel():,} pairs may see each other: {share:.0%}"
    )
    met = strangers(found, window)
    if met:
        st.caption(
            f":material/warning: {met} pairs of this window see each other across the edges of the image. timm rolls "
            "first and pads then, so its mask, which is cut for the padded grid, misses the line where the edges meet; "
            "the published code for detection pads first."
        )


def proof(one: Shown, place: "Place", found: "Layout") -> None:
    """The drawn mask beside the model's own."""
    import torch

    from vizkit.analysis.swin.shifted_windows import allowed
    from vizkit.models.probes.swin_stages import own_mask

    own = own_mask(one.loaded, place.path)
    if own is None:
        return
    drawn = torch.stack([allowed(found, window) for window in range(found.count)])
    if torch.equal(drawn, own.cpu()):
        st.caption(f":green[:material/verified: the mask is the model's own attn_mask in all {found.count} windows]")
    else:
        st.caption(":red[:material/error: the mask is not the model's own attn_mask]")


# ---- small enough to be counted --------------------------------------------------------------------------------------
def by_hand() -> None:
    from vizkit.analysis.swin.shifted_windows import allowed, evenly, layout, window_of

    found = layout(*SMALL)
    token = int(st.session_state.get("_shift_token", CORNER))
    window, position = window_of(found, token)
    may_meet = allowed(found, window)
    weights = evenly(may_meet)

    def picked(chosen: int) -> None:
        st.session_state["_shift_token"] = chosen

    left, right = st.columns([3, 2])
    with left:
        content = canvas.block_for_browser(found, token, weights, countable=True) | canvas.NO_PICTURE
        seen = int(may_meet[position].sum())
        even = f"Were all contents alike, softmax would share evenly: 1/{seen} for each that may be seen."
        canvas.play(
            "shift_small",
            content,
            six(found, window, int(may_meet.sum()), even, f"token {token + 1}"),
            "The shift of 8 × 8 tokens",
            picked,
        )
    with right:
        facts(found, window)
        st.caption("An example of our own, with no model: windows of 4 × 4 tokens, shifted by 2.")
