"""Shift: one block step by step, on the image with the model's weights, or small enough to be counted."""

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from vizkit.analysis.attention.attention_map import fused
from vizkit.analysis.remarks import swin
from vizkit.analysis.swin.shifted_windows import (
    Layout,
    allowed,
    cut,
    evenly,
    layout,
    members,
    pieces,
    strangers,
    window_of,
)
from vizkit.figure.canvas.rows import Rows, sixteen_bits, step_of, text64
from vizkit.figure.palette import REGIONS
from vizkit.figure.scales import SHARES
from vizkit.figure.swin.windows import windows as drawn
from vizkit.geometry import name_of
from vizkit.models.probes.swin_stages import own_mask
from vizkit.percent import in_percent
from vizkit.traces import PADDING, Tokens
from vizkit.views.blocks import (
    Block,
    Blocks,
    Canvas,
    Line,
    Map,
    Numbers,
    Picture,
    Said,
    Table,
    first_said,
    side_by_side,
)
from vizkit.views.controls import choice, layer, number
from vizkit.views.rules import whole
from vizkit.views.subject import Subject
from vizkit.views.swin.place import SHIFTS, Place, place, token_at
from vizkit.views.view import How, View

STEPS = ("Grid", "Roll", "Windows", "Mask", "Attention", "Roll back")
HERE, SMALL = "this image", "8 × 8, to be counted"
SMALL_GRID = ((8, 8), (4, 4), (2, 2))  # grid, window, shift of the teaching example: every number fits on its tile


class Shift(View):
    """Roll, windows, mask, attention, roll back: one block step by step."""

    example: Literal["this image", "8 × 8, to be counted"] = choice(
        "Tokens of", (HERE, SMALL), "This image with the model's weights, or few enough to count.", key="shift_grid"
    )
    block: int | None = layer(
        "Block",
        "Counted through all stages; every second one shifts, where there is more than one window.",
        default=SHIFTS,
        plays=True,
        key="swin_block",
        when=lambda view: view.example == HERE,
    )
    step: int = number("Step", 1, len(STEPS), 1, ", ".join(STEPS) + ".", inside=True, key="shift_step")

    alone = True
    overlays = False
    how = How(
        "Six steps of one block, which play once by themselves; click a token at any step to follow its window. A "
        "colour with a number is a region: tokens that were neighbours before the roll. In a window with "
        "several regions, a hatched pair is masked: the two stand side by side only because the grid was rolled.",
        r"\hat z^{l} = \text{W-MSA}(\mathrm{LN}(z^{l-1})) + z^{l-1}, \quad "
        r"\hat z^{l+1} = \text{SW-MSA}(\mathrm{LN}(z^{l})) + z^{l}, \quad s = \lfloor M/2 \rfloor, \quad "
        r"\mathrm{softmax}(S + B + M)",
        "the output of the block: values, the projection and the MLP come after the weights.",
        "Liu et al. 2021, § 3.2, fig. 2 and fig. 4",
    )

    def title(self, of: Subject) -> str:
        return (
            "The shift of 8 × 8 tokens"
            if self.example == SMALL
            else f"The shift of block {place(of, self.block).index + 1}"
        )

    def show(self, of: Subject) -> Blocks:
        here = place(of, self.block)
        if self.example == SMALL:
            here, windows = None, layout(*SMALL_GRID)
        else:
            windows = here.windows()
        token = token_at(of, on(windows))
        window, position = window_of(windows, token)
        may_meet = allowed(windows, window)
        attention = None if here is None else of.layers[here.index]
        weights = evenly(may_meet) if attention is None else fused(attention, None)[window]
        words = sentences(windows, window, position, weights, 0 if attention is None else attention.heads)
        if attention is None or here is None:
            yield Said(
                f"{int(may_meet.sum()):,} of {len(may_meet)}² = {may_meet.numel():,} pairs of this window may see each "
                f"other; rolling saves cutting {len(pieces(windows).unique())} uneven windows: there are "
                f"{windows.count} as before."
            )
            line = "An example of our own, with no model: windows of 4 × 4 tokens, shifted by 2."
        else:
            yield Said(
                first_said(
                    swin.crossing(attention, windows, token), swin.pairs_saved(windows, f"stage {here.stage + 1}")
                )
                or "1 window holds the whole grid: nothing is cut, so nothing has to shift."
            )
            line = here.words()
        yield Canvas(
            "vizkit_windows",
            for_browser(windows, token, weights, words, self.step, countable=here is None)
            | {"plays": self.step == 1 and not self.staged},
            f"{self.title(of)}. Use the arrow keys to choose a token.",
            {"step": (whole(1, len(STEPS)), "step")},
            on_paper(of, windows, token, weights, words, countable=here is None),
            of,
        )
        yield Line(line)
        yield side_by_side(facts(windows, window, position), self.proof(of, here, windows))
        yield Numbers(
            lambda: {
                "rolled_ids": windows.ids,
                "regions": windows.regions,
                "allowed": may_meet,
                "weights": weights,
                "window": window + 1,
            }
        )

    def proof(self, of: Subject, here: Place | None, windows: Layout) -> Blocks:
        """The drawn mask beside the model's own, and whom it lets meet across the edges of the image."""
        own = None if here is None else own_mask(of.loaded, here.block.path)
        if own is not None:
            made = torch.stack([allowed(windows, window) for window in range(windows.count)])
            same = "" if torch.equal(made, own.cpu()) else "not "
            yield Line(f"Checked: the mask is {same}the model's own attn_mask in all {windows.count} windows.")
        met = sum(strangers(windows, window) for window in range(windows.count))
        if met:
            yield Line(
                f"{met:,} pairs of tokens see each other across the edges of the image. timm rolls first and pads "
                "then, so its mask, which is cut for the padded grid, misses the line where the edges meet; the "
                "published code for detection pads first."
            )


def on(windows: Layout) -> Tokens:
    return Tokens("tokens", grid=windows.grid, stride=1.0)


# ---- the script's ----------------------------------------------------------------------------------------------------
def for_browser(
    windows: Layout, token: int, weights: Tensor, words: list[str], step: int, *, countable: bool
) -> dict[str, Any]:
    """The rolled grid, and 16-bit weights (query, key) of the window that holds the token. `countable`: numbers are
    written on everything, and there is no image."""
    largest = float(weights.max())
    return {
        "grid": windows.grid,
        "size": tuple(windows.ids.shape),
        "window": windows.window,
        "shift": windows.shift,
        "pad_first": windows.pad_first,
        "ids": text64(windows.ids, "<i4"),
        "regions": text64(windows.regions, "u1"),
        "region_colours": REGIONS,
        "token": token,
        "weights": text64(sixteen_bits(weights.numpy(), 0.0, largest)),
        "unit": step_of(0.0, largest),
        "scale": SHARES.of(weights[0].numpy()).packed(),
        "numbers": countable,
        "steps": list(zip(STEPS, words, strict=True)),
        "step": step,
        "hint": "Click a token; its window is the chosen one.",
    }


def on_paper(
    of: Subject, windows: Layout, token: int, weights: Tensor, words: list[str], *, countable: bool
) -> tuple[Block, ...]:
    """The windows over the image, beside the attention of the token, and the six sentences."""
    window, position = window_of(windows, token)
    seen = np.full((256, 256, 3), 200, np.uint8) if countable else of.seen_rgb
    picture = Picture(drawn(seen, pieces(windows).numpy(), divmod(token, windows.grid[1])), "The shifted windows")
    ids = cut(windows.ids, windows.window)[window].numpy()[None]
    rows = Rows(weights[position][None, None].numpy(), windows.grid, windows.grid, np.array([[token]]), ids)
    x, y = ((token % windows.grid[1] + 0.5) / windows.grid[1], (token // windows.grid[1] + 0.5) / windows.grid[0])
    attends = Map(rows, (x, y), "Attention of", "share of the token's attention")
    shown = (picture,) if countable else (side_by_side(picture, attends),)
    return *shown, *(Line(f"{n}  {name}. {each}") for n, (name, each) in enumerate(zip(STEPS, words, strict=True), 1))


# ---- words -----------------------------------------------------------------------------------------------------------
def sentences(windows: Layout, window: int, position: int, weights: Tensor, heads: int) -> list[str]:
    """One for each step. `heads`: of a model, 0 where all contents are taken as equal."""
    (rows, columns), (down, right), (tall, wide) = windows.grid, windows.shift, windows.window
    area, shifted, may_meet = tall * wide, any(windows.shift), allowed(windows, window)
    ids = cut(windows.ids, windows.window)[window].tolist()
    names = ["padding" if token == PADDING else called(windows, token, heads) for token in ids]
    best, seen = int(weights[position].argmax()), int(may_meet[position].sum())
    if heads:
        whom = "itself" if best == position else names[best]
        weighed = f"Softmax turns scores into weights (mean of {heads} heads): {names[position]} attends most, "
        weighed += f"{in_percent(float(weights[position, best]))}, to {whom}."
    else:
        weighed = f"If all contents were equal, softmax would give equal weights: 1/{seen} for each key that may be "
        weighed += "seen."
    empty = windows.ids.numel() - rows * columns
    when = "First {} empty places (hatched) were" if windows.pad_first else "Then {} empty places (hatched) are"
    padding = f" {when.format(empty)} added, so that windows divide the grid." if empty else ""
    grid = f"{rows} × {columns} tokens; tokens between thick lines may see each other. "
    if shifted:
        grid += f"They are windows of {tall} × {wide}, moved {down} down and {right} right from where the block before "
        grid += "had them (dashed), so that at the edges pieces are left that fill no window."
        roll = f"The grid is rolled {down} up and {right} to the left; what leaves on one side comes in on the other "
        roll += f"(coloured).{padding}"
        mask = f"{int(may_meet.sum()):,} of {area**2:,} pairs are of one region. All others, hatched, get −100 added "
        mask += "to their score."
    else:
        grid += f"This block does not shift: these are windows of {tall} × {wide}."
        why = "one window holds the whole grid" if windows.count == 1 else "only even blocks shift"
        roll = f"Nothing to roll: {why}.{padding}"
        mask = "No mask: all pairs may see each other."
    split = f"Cut into {windows.count} windows of {tall} × {wide} = {area} tokens, all processed in the same way. "
    split += "A number is a region: tokens that belong together in the image." if shifted else ""
    back = (
        f"Rolled back, every token is where it was. Bright: where {names[position]} attends; it sees nothing outside "
    )
    return [
        grid,
        roll,
        split,
        f"Window {window + 1}: each of its {area} tokens is a query (row) and a key (column). {mask}",
        weighed + (" After −100 softmax leaves e⁻¹⁰⁰, nothing." if shifted else ""),
        back + ("its region, and nothing of the hatched ones." if shifted else "its window."),
    ]


def called(windows: Layout, token: int, heads: int) -> str:
    return name_of(on(windows), token) if heads else f"token {token + 1}"


def facts(windows: Layout, window: int, position: int) -> Blocks:
    """The chosen window, counted."""
    shifted, may_meet = any(windows.shift), allowed(windows, window)
    own = int(cut(windows.regions, windows.window)[window, position])
    rows = tuple(
        {
            "region": "all" if not shifted else f"{n}, of the token" if n == own else str(n),
            "places": str(k),
            "of them padding": str(empty),
            "pairs": f"{k * k:,}",
        }
        for n, k, empty in members(windows, window)
    )
    share = f"{int(may_meet.sum()):,} of {len(may_meet)}² = {may_meet.numel():,} pairs may see each other: "
    share += in_percent(float(may_meet.float().mean()))
    yield Table(rows, "The regions of the window", f"Window {window + 1} of {windows.count}. {share}")
