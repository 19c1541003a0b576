"""Cost: what patch size and image size cost, as the numbers of one layer and as curves against the image's side."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from vizkit.analysis.attention.patches import Cost as Counts
from vizkit.analysis.attention.patches import cost
from vizkit.analysis.remarks import patches
from vizkit.analysis.swin.cost_curves import cost_curves
from vizkit.figure.charts import curves
from vizkit.views.blocks import Block, Chart, Line, Metrics, Numbers, Said, first_said
from vizkit.views.controls import choice, number
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

DIMS = {"Tiny": (192, 3), "Small": (384, 6), "Base": (768, 12), "Large": (1024, 16), "Huge": (1280, 16)}


@dataclass(frozen=True)
class Cost(View):
    """What patch size and image size cost."""

    size: int = number("Image size", 16, 2048, 224, "Side of the image, in pixels.", key="cost_size")
    patch: int = number("Patch size", 1, 128, 16, "Side of a patch, in pixels.", key="cost_patch")
    width: Literal["Tiny", "Small", "Base", "Large", "Huge"] = choice(
        "Width", tuple(DIMS), "Channels and heads of a ViT.", default="Base", key="cost_width"
    )

    overlays: ClassVar = False
    how: ClassVar = How(
        "Halving the patch gives four times the tokens and sixteen times the pairs. In windows of fixed size pairs "
        "grow with the number of tokens only. The MLP is four times as wide as a token, as in a ViT.",
        r"\underbrace{4hwC^2 + 2(hw)^2C}_{\text{attention, global}} \quad\text{or}\quad "
        r"\underbrace{4hwC^2 + 2M^2hwC}_{\text{in windows}} \quad\text{and}\quad \underbrace{8hwC^2}_{\text{MLP}}",
        "special tokens, norms and biases, or what your hardware makes of it.",
        "Liu et al. 2021, eq. 1 and 2",
    )

    def title(self, of: Subject) -> str:
        return "Cost of one layer"

    def show(self, of: Subject) -> Iterator[Block]:
        dim, heads = DIMS[self.width]
        counts = cost((self.size, self.size), self.patch, dim, heads)
        yield Said(first_said(patches.quadratic(counts.tokens, dim)))
        yield Metrics(
            (
                ("Patches", f"{counts.tokens:,}", ""),
                ("Numbers in a patch", f"{counts.flattened:,}", ""),
                (
                    "Multiply–adds of one layer",
                    f"{counts.layer / 1e9:.2f} G",
                    f"attention {counts.attention / 1e9:.2f} G · MLP {counts.mlp / 1e9:.2f} G",
                ),
                ("Attention weights of one layer", f"{counts.weight_bytes / 2**20:,.1f} MiB", ""),
            )
        )
        lines = cost_curves(dim, heads) | {"chosen": (np.array([self.size]), np.array([counts.layer]))}
        figure = curves(lines, "image side (px)", "multiply–adds", "One layer, attention and MLP", log=True)
        figure.update_traces(mode="markers", marker_size=12, selector={"name": "chosen"})
        yield Chart(figure, "Multiply–adds of one layer against the side of the image, global and in windows")
        yield Line(f"Width {self.width}: {dim} channels, {heads} heads")
        yield Numbers(partial(numbers, counts, lines))


def numbers(counts: Counts, lines: dict[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, np.ndarray]:
    arrays = {f"{name} {axis}": values for name, line in lines.items() for axis, values in zip("xy", line, strict=True)}
    return arrays | {
        "tokens": np.array(counts.tokens),
        "attention": np.array(counts.attention),
        "mlp": np.array(counts.mlp),
    }
