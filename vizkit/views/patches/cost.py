"""Cost: what patch size and image size cost, as the numbers of one layer and as curves against the image's side."""

from functools import partial
from typing import Literal

import numpy as np

from vizkit.analysis.attention.attention_map import windows_of
from vizkit.analysis.attention.patches import Cost as Counts
from vizkit.analysis.attention.patches import cost
from vizkit.analysis.remarks import patches
from vizkit.analysis.remarks.remark import counted
from vizkit.analysis.swin.cost_curves import cost_curves
from vizkit.figure.attention.layer_cost import layer_cost
from vizkit.figure.patches import square_in_patches
from vizkit.views.blocks import Block, Blocks, Chart, Columns, Line, Metrics, Numbers, Picture, Said
from vizkit.views.controls import choice, number
from vizkit.views.patches.cut_rows import cut_of, first_tokens
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

DIMS = {"Tiny": (192, 3), "Small": (384, 6), "Base": (768, 12), "Large": (1024, 16), "Huge": (1280, 16)}
OWN = "This model"


class Cost(View):
    """What patch size and image size cost, on this picture."""

    size: int = number("Image size", 0, 2048, 0, "Side of the image, in pixels; 0: the model's own.", key="cost_size")
    patch: int = number("Patch size", 0, 128, 0, "Side of a patch, in pixels; 0: the model's own.", key="cost_patch")
    width: Literal["This model", "Tiny", "Small", "Base", "Large", "Huge"] = choice(
        "Width", (OWN, *DIMS), "Channels and heads: of this model's first layer, or of a ViT.", key="cost_width"
    )

    overlays = False
    how = How(
        "Halving the patch gives four times the tokens and sixteen times the pairs. In windows of fixed size, here "
        "7 × 7, pairs grow with the number of tokens only. The MLP is four times as wide as a token, as in a ViT.",
        r"\underbrace{4hwC^2 + 2(hw)^2C}_{\text{attention, global}} \quad\text{or}\quad "
        r"\underbrace{4hwC^2 + 2M^2hwC}_{\text{in windows}} \quad\text{and}\quad \underbrace{8hwC^2}_{\text{MLP}}",
        "norms and biases, or what your hardware makes of it.",
        "Liu et al. 2021, eq. 1 and 2",
    )

    def title(self, of: Subject) -> str:
        return f"Cost of one layer: patches of {self.side_px(of)} pixels"

    def leads(self, block: Block) -> bool:
        return isinstance(block, Chart)

    def side_px(self, of: Subject) -> int:
        return self.patch or round(first_tokens(of).stride)

    def counts(self, of: Subject) -> Counts:
        """Of the model's own attention, in windows where it has them, with its special tokens; or of a plain ViT's."""
        own, tokens, patch = self.width == OWN, first_tokens(of), self.side_px(of)
        size = max(1, round((self.size or of.seen.image_size[0]) / patch)) * patch
        dim, heads = (width_of(of), of.layers[0].heads) if own else DIMS[self.width]
        special = len(tokens.special) if own else 0
        return cost((size, size), patch, dim, heads, window_of(of) if own else None, special=special)

    def show(self, of: Subject) -> Blocks:
        counts, patch = self.counts(of), self.side_px(of)
        own, asked = self.width == OWN, self.size or of.seen.image_size[0]
        dim, heads = (width_of(of), of.layers[0].heads) if own else DIMS[self.width]
        rows, columns = counts.grid
        size = rows * patch
        rounded = "" if size == asked else f", the multiple of {patch} that is nearest to {asked}"
        name = of.name if own else f"width {self.width}"
        words = Line(f"{size} × {size} pixels{rounded} · {name}: {dim} channels, {heads} heads")
        more = counts.tokens - rows * columns
        tokens = (
            ("Patches", f"{rows * columns:,}", f"{rows} × {columns}"),
            ("Tokens", f"{counts.tokens:,}", f"{counted(more, 'special token')} among them" if more else ""),
            ("Numbers in a patch", f"{counts.flattened:,}", f"{patch} × {patch} × 3"),
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
        said = Said(patches.compared(counts.compared, dim, counts.compared < counts.tokens))
        lines = cost_curves(dim, heads) | {"chosen": (np.array([size]), np.array([counts.layer]))}
        chart = Chart(layer_cost(lines), "Multiply–adds of one layer by the side of the image, global and in windows")
        yield Columns(((cut, words), (said, Metrics(tokens), Metrics(layer), chart)), (2, 3))
        yield Numbers(partial(numbers, counts, lines))


def width_of(of: Subject) -> int:
    """Numbers in a token of the first layer."""
    return cut_of(of).embedded.shape[1]


def window_of(of: Subject) -> int | None:
    """Side of the windows in which the model attends at its first grid; None where every token attends to all."""
    windows = windows_of(of.seen, first_tokens(of)) - {None}
    return max(max(window) for window in windows if window) if windows else None


def numbers(counts: Counts, lines: dict[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, np.ndarray]:
    arrays = {f"{name} {axis}": values for name, line in lines.items() for axis, values in zip("xy", line, strict=True)}
    return arrays | {
        "tokens": np.array(counts.tokens),
        "attention": np.array(counts.attention),
        "mlp": np.array(counts.mlp),
    }
