"""Stages: what a token and a window cover in every stage."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from vizkit.analysis.remarks import swin
from vizkit.analysis.remarks.remark import counted
from vizkit.analysis.swin.shifted_windows import Layout, layout, pieces
from vizkit.figure.swin.windows import windows
from vizkit.geometry import cell_of
from vizkit.models.probes.swin_stages import Stage, hierarchy
from vizkit.views.blocks import Block, Columns, Heading, Map, Numbers, Said, Table, first_said
from vizkit.views.controls import choice
from vizkit.views.rows_of import grid_for_browser
from vizkit.views.subject import Subject
from vizkit.views.swin.place import token_at
from vizkit.views.view import How, View


@dataclass(frozen=True)
class Stages(View):
    """What a token and a window cover in every stage."""

    lie: Literal["regular", "shifted"] = choice(
        "Windows",
        ("regular", "shifted"),
        "Blocks take turns: the first has regular windows, the second shifted ones, and so on.",
        key="swin_lie",
    )

    alone: ClassVar = True
    overlays: ClassVar = False
    how: ClassVar = How(
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

    def show(self, of: Subject) -> Iterator[Block]:
        stages = hierarchy(of.loaded)
        yield Columns(tuple(tuple(self.over_image(of, number, each)) for number, each in enumerate(stages, 1)))
        first = stages[0]
        placed = layout(first.grid, first.blocks[0].window, pad_first=first.pad_first)
        yield Said(first_said(swin.pairs_saved(placed, 1)) or "One window holds the whole grid in every stage.")
        height, width = of.loaded.preprocessing.size_hw
        rows = tuple(row_of(number, stage) for number, stage in enumerate(stages, 1))
        yield Table(rows, "The stages", f"Pixels are those of the model's input, {width} × {height}.")
        yield Numbers(partial(numbers, stages))

    def over_image(self, of: Subject, number: int, stage: Stage) -> Iterator[Block]:
        placed, moved = self.placed(stage)
        rows, columns = stage.grid
        token = token_at(of, stage.tokens)
        alone = ", so no shift" if self.lie == "shifted" and not moved else ""
        yield Heading(f"Stage {number}")
        yield Map(
            grid_for_browser(stage.tokens),
            of.asked,
            f"Click a token of stage {number} to see what is in its window, in",
            "",
            said=f"{rows} × {columns} tokens of {stage.tokens.stride:.0f} pixels in "
            f"{counted(placed.count, 'window')}{alone}.",
            instead=windows(of.seen_rgb, pieces(placed).numpy(), cell_of(stage.tokens, token)),
        )

    def placed(self, stage: Stage) -> tuple[Layout, bool]:
        """The windows, and whether they are shifted: those of the first block that shifts, where any does."""
        shifting = next((block for block in stage.blocks if any(block.shift)), None) if self.lie == "shifted" else None
        shift = shifting.shift if shifting else (0, 0)
        return layout(stage.grid, stage.blocks[0].window, shift, pad_first=stage.pad_first), shifting is not None


def row_of(number: int, stage: Stage) -> dict[str, str]:
    (rows, columns), (tall, wide), side = stage.grid, stage.blocks[0].window, stage.tokens.stride
    placed = layout(stage.grid, (tall, wide))
    padded = (
        f" (padded to {placed.ids.shape[0]} × {placed.ids.shape[1]})" if placed.ids.numel() > rows * columns else ""
    )
    shifts = {block.shift for block in stage.blocks if any(block.shift)}
    return {
        "stage": str(number),
        "tokens": f"{rows} × {columns} = {rows * columns:,}{padded}",
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


def numbers(stages: tuple[Stage, ...]) -> dict[str, np.ndarray]:
    """A row for each stage; two numbers are (rows, columns)."""
    return {
        "grid": np.array([stage.grid for stage in stages]),
        "channels": np.array([stage.channels for stage in stages]),
        "heads": np.array([stage.heads for stage in stages]),
        "blocks": np.array([len(stage.blocks) for stage in stages]),
        "token_px": np.array([stage.tokens.stride for stage in stages]),
        "window": np.array([stage.blocks[0].window for stage in stages]),
        "shift": np.array([max(block.shift for block in stage.blocks) for stage in stages]),
    }
