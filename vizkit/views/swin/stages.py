"""Stages: what a token and a window cover in every stage, and what windows save as the image grows."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from vizkit.analysis.attention.patches import Cost
from vizkit.analysis.remarks import swin
from vizkit.analysis.remarks.remark import counted
from vizkit.analysis.swin.cost_curves import beside, exponent
from vizkit.analysis.swin.shifted_windows import Layout, layout, pieces
from vizkit.figure.swin.power_laws import power_laws
from vizkit.figure.swin.windows import windows
from vizkit.geometry import cell_of
from vizkit.models.probes.swin_stages import Stage, hierarchy
from vizkit.views.blocks import Block, Blocks, Chart, Heading, Line, Map, Numbers, Said, Table, first_said, side_by_side
from vizkit.views.controls import choice, number
from vizkit.views.rows_of import grid_for_browser
from vizkit.views.subject import Subject
from vizkit.views.swin.place import point, token_at
from vizkit.views.view import How, View

MOST_TIMES = 8


class Stages(View):
    """What a token and a window cover in every stage, and what windows save as the image grows."""

    lie: Literal["regular", "shifted"] = choice(
        "Windows",
        ("regular", "shifted"),
        "Blocks take turns: the first has regular windows, the second shifted ones, and so on.",
        key="swin_lie",
    )
    times: int = number("Image side ×", 1, MOST_TIMES, 1, "How many times the model's own.", key="cost_times")

    alone = True
    overlays = False
    how = How(
        "Every stage sees the whole image in fewer, larger tokens with more channels; its windows always have the same "
        "number of tokens, so they cover more and more of the image. The frame is the token under the cursor of all "
        "pages, the bright part what it can see in one block. Below: twice the side of the image is sixteen times the "
        "work where every token attends to all others, and four times the work in windows.",
        r"\begin{gathered} \tfrac{H}{4} \times \tfrac{W}{4} \times C \;\to\; \tfrac{H}{8} \times \tfrac{W}{8} \times "
        r"2C \;\to\; \tfrac{H}{16} \times \tfrac{W}{16} \times 4C \;\to\; \tfrac{H}{32} \times \tfrac{W}{32} \times "
        r"8C \\ 12hwC^2 + 2(hw)^2C \;\text{(global)}, \qquad 12hwC^2 + 2M^2hwC \;\text{(windows)} \end{gathered}",
        "what a token really knows: through several blocks it learns of places outside its window. The curves leave "
        "out the roll, the mask and the padding.",
        "Liu et al. 2021, § 3.1, fig. 3, eq. 1 and 2, table 7",
    )

    def title(self, of: Subject) -> str:
        return f"Stages of a Swin, {self.lie} windows"

    def show(self, of: Subject) -> Blocks:
        own = hierarchy(of.loaded)
        stages = [self.grown(stage) for stage in own]
        height, width = of.loaded.preprocessing.size_hw
        size, side = self.times * max(height, width), own[0].blocks[0].window[0]
        at = f"stage 1 at {self.times * width} × {self.times * height} pixels"
        saved = swin.pairs_saved(self.placed(stages[0]), at)
        yield Said(first_said(saved) or "In every stage 1 window holds the whole grid.")
        yield side_by_side(
            *((Heading(f"Stage {n}"), self.over_image(of, n, stage)) for n, stage in enumerate(stages, 1))
        )
        whole, cut, figure = self.growth(own[0], max(height, width))
        yield Line(
            f"At {size} × {size} pixels a layer of stage 1 takes {whole.layer / cut.layer:.1f} times as many "
            f"multiply–adds with global attention as in windows of {side} × {side}, its MLP included."
        )
        yield Chart(figure, "Multiply–adds of one layer against the side of the image")
        columns = [row_of(stage) for stage in own]
        rows = tuple(
            {"": what, **{f"stage {number}": each[what] for number, each in enumerate(columns, 1)}}
            for what in columns[0]
        )
        yield Table(rows, "The stages", f"Pixels are those of the model's input, {width} × {height}.")
        yield Numbers(
            lambda: {
                "grid": [stage.grid for stage in own],
                "channels": [stage.channels for stage in own],
                "heads": [stage.heads for stage in own],
                "blocks": [len(stage.blocks) for stage in own],
                "token_px": [stage.tokens.stride for stage in own],
                "window": [stage.blocks[0].window for stage in own],
                "shift": [max(block.shift for block in stage.blocks) for stage in own],
                "layer_multiply_adds_global_and_windows": [whole.layer, cut.layer],
            }
        )

    def leads(self, block: Block) -> bool:
        return isinstance(block, Chart) == (self.times > 1)

    def growth(self, stage: Stage, own_px: int) -> tuple[Cost, Cost, Any]:
        """One layer with global attention and in windows, at the chosen side of the image, and both against it."""
        stride, side = round(stage.tokens.stride), stage.blocks[0].window[0]
        sizes = [own_px * times for times in range(1, MOST_TIMES + 1)]
        costs = [beside(size, stride, stage.channels, side) for size in sizes]
        lines = {}
        for name, each in zip(("global", f"windows of {side}"), zip(*costs, strict=True), strict=True):
            counts = [float(cost.layer) for cost in each]
            lines[name] = (np.array(sizes), np.array(counts), exponent([cost.tokens for cost in each], counts))
        figure = power_laws(
            lines, "image side (px)", "multiply–adds", "One layer of stage 1", chosen=sizes[self.times - 1]
        )
        return *costs[self.times - 1], figure

    def over_image(self, of: Subject, number: int, stage: Stage) -> Map:
        placed, (rows, columns) = self.placed(stage), stage.grid
        alone = ", so no shift" if self.lie == "shifted" and not any(placed.shift) else ""
        cut = pieces(placed)
        held = counted(placed.count, "window")
        if (count := len(cut.unique())) > placed.count:
            held = f"{counted(count, 'piece')}, which the roll joins to {held}"
        return Map(
            grid_for_browser(stage.tokens),
            point(of),
            f"Click a token of stage {number} to see what is in its window, in",
            "",
            said=f"{rows} × {columns} tokens of {stage.tokens.stride:.0f} pixels in {held}{alone}.",
            instead=windows(of.seen_rgb, cut.numpy(), cell_of(stage.tokens, token_at(of, stage.tokens))),
        )

    def grown(self, stage: Stage) -> Stage:
        """On an image of so many times the side, where tokens and windows are what they were."""
        rows, columns = stage.grid
        return replace(stage, tokens=replace(stage.tokens, grid=(self.times * rows, self.times * columns)))

    def placed(self, stage: Stage) -> Layout:
        """The windows: where they are to be shifted, as the stage shifts them; on a larger image, which has more than
        one, by half of their side where there is a second block."""
        (tall, wide), shift = stage.blocks[0].window, (0, 0)
        if self.lie == "shifted":
            shift = max(block.shift for block in stage.blocks)
            shift = (tall // 2, wide // 2) if self.times > 1 and len(stage.blocks) > 1 else shift
        return layout(stage.grid, (tall, wide), shift, pad_first=stage.pad_first)


def row_of(stage: Stage) -> dict[str, str]:
    (rows, columns), (tall, wide), side = stage.grid, stage.blocks[0].window, stage.tokens.stride
    placed = layout(stage.grid, (tall, wide))
    down, across = placed.ids.shape
    shifts = {block.shift for block in stage.blocks if any(block.shift)}
    return {
        "tokens": f"{rows} × {columns} = {rows * columns:,}"
        + ("" if stage.grid == (down, across) else f" (padded to {down} × {across})"),
        "channels": str(stage.channels),
        "numbers in all": f"{rows * columns * stage.channels:,}",
        "heads": str(stage.heads),
        "blocks": str(len(stage.blocks)),
        "token, px": f"{side:.0f} × {side:.0f}",
        "window, tokens": f"{tall} × {wide}",
        "window, px": f"{tall * side:.0f} × {wide * side:.0f}",
        "windows": str(placed.count),
        "shift, tokens": " and ".join(f"{down}, {right}" for down, right in sorted(shifts)) or "none",
    }
