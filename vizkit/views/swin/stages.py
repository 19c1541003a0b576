"""Stages: what a token and a window cover in every stage."""

from typing import Literal

from vizkit.analysis.remarks import swin
from vizkit.analysis.remarks.remark import counted
from vizkit.analysis.swin.shifted_windows import Layout, layout, pieces
from vizkit.figure.swin.windows import windows
from vizkit.geometry import cell_of
from vizkit.models.probes.swin_stages import Stage, hierarchy
from vizkit.views.blocks import Blocks, Heading, Map, Numbers, Said, Table, first_said, side_by_side
from vizkit.views.controls import choice
from vizkit.views.rows_of import grid_for_browser
from vizkit.views.subject import Subject
from vizkit.views.swin.place import token_at
from vizkit.views.view import How, View


class Stages(View):
    """What a token and a window cover in every stage."""

    lie: Literal["regular", "shifted"] = choice(
        "Windows",
        ("regular", "shifted"),
        "Blocks take turns: the first has regular windows, the second shifted ones, and so on.",
        key="swin_lie",
    )

    alone = True
    overlays = False
    how = How(
        "Every stage sees the whole image in fewer, larger tokens with more channels; its windows always have the same "
        "number of tokens, so they cover more and more of the image. The frame is the token under the cursor of all "
        "pages, the bright part what it can see in one block.",
        r"\tfrac{H}{4} \times \tfrac{W}{4} \times C \;\to\; \tfrac{H}{8} \times \tfrac{W}{8} \times 2C \;\to\; "
        r"\tfrac{H}{16} \times \tfrac{W}{16} \times 4C \;\to\; \tfrac{H}{32} \times \tfrac{W}{32} \times 8C",
        "what a token really knows: through several blocks it learns of places outside its window.",
        "Liu et al. 2021, § 3.1, fig. 3 and table 7",
    )

    def title(self, of: Subject) -> str:
        return f"Stages of a Swin, {self.lie} windows"

    def show(self, of: Subject) -> Blocks:
        stages = hierarchy(of.loaded)
        saved = swin.pairs_saved(self.placed(stages[0]), 1)
        yield Said(first_said(saved) or "In every stage 1 window holds the whole grid.")
        yield side_by_side(
            *((Heading(f"Stage {n}"), self.over_image(of, n, stage)) for n, stage in enumerate(stages, 1))
        )
        height, width = of.loaded.preprocessing.size_hw
        rows = tuple({"stage": str(number), **row_of(stage)} for number, stage in enumerate(stages, 1))
        yield Table(rows, "The stages", f"Pixels are those of the model's input, {width} × {height}.")
        yield Numbers(
            lambda: {
                "grid": [stage.grid for stage in stages],
                "channels": [stage.channels for stage in stages],
                "heads": [stage.heads for stage in stages],
                "blocks": [len(stage.blocks) for stage in stages],
                "token_px": [stage.tokens.stride for stage in stages],
                "window": [stage.blocks[0].window for stage in stages],
                "shift": [max(block.shift for block in stage.blocks) for stage in stages],
            }
        )

    def over_image(self, of: Subject, number: int, stage: Stage) -> Map:
        placed, (rows, columns) = self.placed(stage), stage.grid
        alone = ", so no shift" if self.lie == "shifted" and not any(placed.shift) else ""
        return Map(
            grid_for_browser(stage.tokens),
            of.asked,
            f"Click a token of stage {number} to see what is in its window, in",
            "",
            said=f"{rows} × {columns} tokens of {stage.tokens.stride:.0f} pixels in "
            f"{counted(placed.count, 'window')}{alone}.",
            instead=windows(of.seen_rgb, pieces(placed).numpy(), cell_of(stage.tokens, token_at(of, stage.tokens))),
        )

    def placed(self, stage: Stage) -> Layout:
        """The windows: where they are to be shifted, those of the first block that shifts, if any does."""
        shifts = [block.shift for block in stage.blocks if any(block.shift)] if self.lie == "shifted" else []
        return layout(stage.grid, stage.blocks[0].window, *shifts[:1], pad_first=stage.pad_first)


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
