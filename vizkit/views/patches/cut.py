"""Cut: how an image becomes tokens, step by step, with the model's own numbers, and what they cost."""

from functools import partial
from math import ceil
from typing import Any

import numpy as np
import torch

from vizkit.analysis.remarks import patches
from vizkit.figure.canvas.rows import sixteen_bits, step_of, text64
from vizkit.figure.charts import heat_map
from vizkit.figure.patches import pulled_apart
from vizkit.image import data_url, zoomed
from vizkit.views.blocks import Block, Blocks, Canvas, Chart, Columns, Heading, Line, Numbers, Picture, Said
from vizkit.views.controls import number
from vizkit.views.patches.cut_rows import PATTERNS, STEPS, CutUp, Size, cut_of, named, place_in
from vizkit.views.patches.opening import asked
from vizkit.views.rules import whole
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

STOP = 0.25  # of a step, so that a hand can hold it on its way
WIDEST_PX = 2048  # a patch
MOST_SENT = 300_000  # numbers of all patches, so that a click is answered in the browser; of more, the chosen one's


class Cut(View):
    """From the image to the sequence of tokens: what Dosovitskiy et al. 2020, eq. 1 says, done."""

    step: int | float = number(
        "Step", 1.0, STEPS, 1.0, "From the image to the tokens of the sequence.", step=STOP, plays=True
    )
    patch: int = number(
        "Patch size", 0, WIDEST_PX, 0, "Side of a patch, in pixels; 0: the model's own.", key="patch_size", inside=True
    )

    overlays = False
    how = How(
        "The image is the input of this model: resized, cropped, and cut into patches in reading order, numbered "
        "from 1. Click a patch: its pixels become one row of numbers, and a linear layer turns that row into the "
        "vector the transformer works with. Point at a number to read it. Below stand the rows of all patches; the "
        f"{PATTERNS} main patterns of the columns of W, smooth colours, edges and waves of a model that has learned "
        "much, noise where little was learned; and last the sequence, with its class token as the first row. The "
        "slider cuts the same image into other patches.",
        r"x_p \in \mathbb{R}^{N \times P^2 C}, \quad z_0 = [x_{\text{class}};\, x_p E] + E_{pos}, \quad N = HW / P^2",
        "which patches matter for the answer.",
        "Dosovitskiy et al. 2020, eq. 1",
    )

    def title(self, of: Subject) -> str:
        rows, columns = self.size(cut_of(of)).grid
        return f"Cut: {rows} × {columns} patches"

    def show(self, of: Subject) -> Blocks:
        cut, point = cut_of(of), asked(of)
        size = self.size(cut)
        index = place_in(cut.own.grid, point)
        sequence = patches.sequence(size.grid, named(cut.tokens), cut.embedded.shape[1], size.costs)
        told = cut.told(self.step, sequence) if size == cut.own else sequence
        yield Said(told.partition(" · ")[2] if self.staged and size == cut.own else told)  # a stage has no steps
        same = of.kept(("cut for the browser", index), partial(for_browser, of, cut, index))
        data = {**same, "step": self.step, "size": cut.sizes.index(size)}
        if self.staged:  # nothing of other sizes, or of steps that are to come
            alone = {"patch": size.patch, "rows": size.grid[0], "columns": size.grid[1], "words": ""}
            lanes = [words if at < self.step - 2 else "" for at, words in enumerate(same["lanes"])]
            sheets = [each.for_browser() for each in cut.sheets() if each.step <= self.step]
            data |= {"sizes": [alone], "size": 0, "own": 0, "lanes": lanes, "sheets": sheets, "other": ""}
        still = tuple(self.on_paper(of, cut, size, point))
        tells = {"patch": (whole(0, WIDEST_PX), "patch")}
        yield Canvas("vizkit_cut", data, "Click a patch to read its numbers.", tells, still, of)
        if cut.feature_map is not None:
            yield from hybrid(cut.feature_map)
        yield Numbers(partial(cut.numbers, index))

    def size(self, cut: CutUp) -> Size:
        return min(cut.sizes, key=lambda size: abs(size.patch - (self.patch or cut.own.patch)))

    def on_paper(self, of: Subject, cut: CutUp, size: Size, point: tuple[float, float]) -> Blocks:
        """The same, as far as the step has come."""
        seen, index, own = of.seen_rgb, place_in(size.grid, point), size == cut.own
        row, column = divmod(index, size.grid[1])
        cutting = self.step >= 2 or not own
        picture = Picture(pulled_apart(seen, size.grid, index) if cutting else seen, "The input of the model")
        part = seen[row * size.patch : (row + 1) * size.patch, column * size.patch : (column + 1) * size.patch]
        beside: list[Block] = [Heading(f"Patch {index + 1}: row {row + 1}, column {column + 1}")]
        beside.append(Picture(zoomed(part, 8), "The patch, enlarged", share=0.4))
        done = ceil(self.step) if own else 0
        beside += cut.strips(index)[: done - 2 + (done == STEPS)] if done > 2 else []  # of other sizes there are none
        yield Line(size.words)
        yield Columns(((picture,), tuple(beside)) if done > 2 or not own else ((picture,),))
        if not own:
            yield Line(cut.other)
        if done > 2:
            yield Columns(tuple((each.picture(),) if done >= each.step else () for each in cut.sheets()))


def for_browser(of: Subject, cut: CutUp, index: int) -> dict[str, Any]:
    """What cut.js draws, at every step the same."""
    few = slice(None) if cut.pixels.size + cut.embedded.size <= MOST_SENT else slice(index, index + 1)
    return {
        "sizes": [
            {"patch": size.patch, "rows": size.grid[0], "columns": size.grid[1], "words": size.words}
            for size in cut.sizes
        ],
        "own": cut.sizes.index(cut.own),
        "channels": cut.channels,
        "cell": index,
        "seen": data_url(of.seen_rgb),
        "patches": packed(cut.pixels[few]),
        "embedding": packed(cut.embedded[few]),
        "position": None if cut.position is None else packed(cut.position[few]),
        "sheets": [sheet.for_browser() for sheet in cut.sheets()],
        "lanes": cut.lanes(),
        "other": cut.other,
        "special": " + ".join(named(cut.tokens)),
    }


def packed(values: np.ndarray) -> dict[str, Any]:
    """Rows of numbers in steps of 1/65535 of their range."""
    low, high = float(values.min()), float(values.max())
    text = text64(sixteen_bits(values, low, high))
    return {"values": text, "low": low, "step": step_of(low, high), "rows": len(values), "columns": values.shape[1]}


def hybrid(feature_map: torch.Tensor) -> Blocks:
    """What a hybrid embeds instead of pixels."""
    channels, rows, columns = feature_map.shape
    yield Line(f"This hybrid embeds no pixels: first a CNN makes {rows} × {columns} places of {channels} channels.")
    strength = feature_map.norm(dim=0).numpy()
    figure = heat_map(strength, "column", "row", "Length of the CNN's vectors", height=300, quantity="length")
    yield Chart(figure, "Length of the CNN's vector at every place")
