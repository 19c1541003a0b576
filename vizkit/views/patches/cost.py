"""Cost: what patch size and image size cost, as the numbers of one layer and as curves against the image's side."""

from functools import partial
from typing import Literal

import numpy as np

from vizkit.analysis.attention.patches import Cost as Counts
from vizkit.analysis.attention.patches import cost
from vizkit.analysis.remarks import patches
from vizkit.analysis.swin.cost_curves import cost_curves
from vizkit.figure.attention.layer_cost import layer_cost
from vizkit.figure.patches import square_in_patches
from vizkit.views.blocks import Blocks, Chart, Columns, Line, Metrics, Numbers, Picture, Said, first_said
from vizkit.views.controls import choice, number
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

DIMS = {"Tiny": (192, 3), "Small": (384, 6), "Base": (768, 12), "Large": (1024, 16), "Huge": (1280, 16)}


class Cost(View):
    """What patch size and image size cost, on this picture."""

    size: int = number("Image size", 16, 2048, 224, "Side of the image, in pixels.", key="cost_size")
    patch: int = number("Patch size", 1, 128, 16, "Side of a patch, in pixels.", key="cost_patch")
    width: Literal["Tiny", "Small", "Base", "Large", "Huge"] = choice(
        "Width", tuple(DIMS), "Channels and heads of a ViT.", default="Base", key="cost_width"
    )

    overlays = False
    how = How(
        "Halving the patch gives four times the tokens and sixteen times the pairs. In windows of fixed size, here "
        "7 × 7, pairs grow with the number of tokens only. The MLP is four times as wide as a token, as in a ViT.",
        r"\underbrace{4hwC^2 + 2(hw)^2C}_{\text{attention, global}} \quad\text{or}\quad "
        r"\underbrace{4hwC^2 + 2M^2hwC}_{\text{in windows}} \quad\text{and}\quad \underbrace{8hwC^2}_{\text{MLP}}",
        "special tokens, norms and biases, or what your hardware makes of it.",
        "Liu et al. 2021, eq. 1 and 2",
    )

    def title(self, of: Subject) -> str:
        return f"Cost of one layer: patches of {self.patch} pixels"

    def show(self, of: Subject) -> Blocks:
        dim, heads = DIMS[self.width]
        size = max(1, round(self.size / self.patch)) * self.patch
        counts = cost((size, size), self.patch, dim, heads)
        rows, columns = counts.grid
        rounded = "" if size == self.size else f", the multiple of {self.patch} that is nearest to {self.size}"
        words = Line(f"{size} × {size} pixels{rounded} · width {self.width}: {dim} channels, {heads} heads")
        tokens = (
            ("Patches", f"{counts.tokens:,}", f"{rows} × {columns}"),
            ("Numbers in a patch", f"{counts.flattened:,}", f"{self.patch} × {self.patch} × 3"),
        )
        layer = (
            (
                "Multiply–adds of one layer",
                f"{counts.layer / 1e9:.2f} G",
                f"attention {counts.attention / 1e9:.2f} G · MLP {counts.mlp / 1e9:.2f} G",
            ),
            ("Attention weights of one layer", f"{counts.weight_bytes / 2**20:,.1f} MiB", f"{heads} heads, float32"),
        )
        cut = Picture(square_in_patches(of.rgb, size, counts.grid), f"The picture in {rows} × {columns} patches")
        said = Said(first_said(patches.quadratic(counts.tokens, dim)))
        lines = cost_curves(dim, heads) | {"chosen": (np.array([size]), np.array([counts.layer]))}
        chart = Chart(layer_cost(lines), "Multiply–adds of one layer by the side of the image, global and in windows")
        yield Columns(((cut, words), (said, Metrics(tokens), Metrics(layer), chart)), (2, 3))
        yield Numbers(partial(numbers, counts, lines))


def numbers(counts: Counts, lines: dict[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, np.ndarray]:
    arrays = {f"{name} {axis}": values for name, line in lines.items() for axis, values in zip("xy", line, strict=True)}
    return arrays | {
        "tokens": np.array(counts.tokens),
        "attention": np.array(counts.attention),
        "mlp": np.array(counts.mlp),
    }
