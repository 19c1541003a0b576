"""Cut: how a picture becomes tokens, step by step, with the numbers of the patch under the cursor."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch

from vizkit.analysis.attention.attention_map import windows_of
from vizkit.analysis.attention.patches import patchify
from vizkit.analysis.remarks import patches
from vizkit.figure.canvas.rows import sixteen_bits, step_of, text64
from vizkit.figure.charts import heat_map
from vizkit.figure.patches import colour_strips, pulled_apart, strip
from vizkit.image import data_url, prepare
from vizkit.models.probes.parts import PatchEmbedding, patch_embedding
from vizkit.models.probes.positions import learned_table
from vizkit.traces import NotApplicable, Tokens
from vizkit.views.blocks import Block, Canvas, Chart, Columns, Heading, Line, Numbers, Picture, Said, first_said
from vizkit.views.controls import number
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

STEPS = ("the input", "cut into patches", "a patch as numbers", "its embedding", "its position added")
SHOWN = 8  # numbers of a vector, in words
MOST_SENT = (
    300_000  # numbers of all patches, so that a click is answered in the browser; of more, those of the chosen one
)
W_SIDE = 64  # numbers of W in a row of its picture
WITHOUT = "This model adds no learned position here: it knows places by biases, rotations or its windows."


@dataclass(frozen=True)
class Cut(View):
    """The image in patches, and each patch as a row of numbers: what Dosovitskiy et al. 2020, eq. 1 says, done."""

    step: int = number("Step", 1, len(STEPS), len(STEPS), "From the picture to one token of the sequence.", plays=True)

    overlays: ClassVar = False
    how: ClassVar = How(
        "The picture is the input of this model: resized, cropped, and cut into patches in reading order, numbered "
        "from 1. Click a patch: its pixels become one row of numbers, and a linear layer turns that row into the "
        "vector the transformer works with.",
        r"x_p \in \mathbb{R}^{N \times P^2 C}, \quad z_0 = [x_{\text{class}};\, x_p E] + E_{pos}, \quad N = HW / P^2",
        "which patches matter for the answer.",
        "Dosovitskiy et al. 2020, eq. 1",
    )

    def title(self, of: Subject) -> str:
        rows, columns = first_tokens(of).grid or (0, 0)
        return f"Cut: {rows} × {columns} patches"

    def show(self, of: Subject) -> Iterator[Block]:
        tokens = first_tokens(of)
        assert tokens.grid is not None
        rows, columns = tokens.grid
        pixels, patch = prepare(of.rgb, of.loaded.preprocessing)[0], round(tokens.stride)
        special = "".join(f" + [{name}]" for name in tokens.special)
        yield Line(
            f"{STEPS[self.step - 1]} · {rows} × {columns} = {rows * columns} patches of {patch} × {patch} × "
            f"{len(pixels)} = {patch * patch * len(pixels)} numbers{special and f' ·{special}'}"
        )
        embedded: PatchEmbedding = of.kept("patch embedding", lambda: patch_embedding(of.loaded, of.pixels))
        table = learned_table(of.loaded)
        position = None if table is None or table.shape[:2] != tokens.grid else table.flatten(0, 1).numpy()
        cell = of.cell(tokens)
        assert cell is not None
        index = cell[0] * columns + cell[1]
        flat = patchify(torch.from_numpy(pixels), patch).numpy()
        vectors = embedded.vectors.flatten(0, 1).numpy()
        few = slice(None) if vectors.size + flat.size <= MOST_SENT else slice(index, index + 1)
        data = {
            "step": self.step,
            "rows": rows,
            "columns": columns,
            "channels": len(pixels),
            "patch": patch,
            "cell": index,
            "seen": data_url(of.seen_rgb),
            "patches": packed(flat[few]),
            "embedding": packed(vectors[few]),
            "position": None if position is None else packed(position[few]),
            "weights": None if embedded.weight is None else thinned(embedded.weight.flatten(1).numpy()),
            "bias": embedded.bias is not None,
            "without": WITHOUT,
        }
        chosen = flat[index], vectors[index], None if position is None else position[index]
        still = self.on_paper(of, tokens, index, *chosen)
        yield Canvas("vizkit_cut", data, "Click a patch to read its numbers.", still=tuple(still), of=of)
        yield Said(first_said(patches.tokens(tokens.grid, len(tokens.special), windows_of(of.seen, tokens))))
        if embedded.feature_map is not None:
            yield from hybrid(embedded.feature_map)
        yield Numbers(partial(numbers, *chosen))

    def on_paper(
        self, of: Subject, tokens: Tokens, index: int, flat: np.ndarray, vector: np.ndarray, position: np.ndarray | None
    ) -> Iterator[Block]:
        """The last frame of the same, with its numbers in words."""
        grid, patch = tokens.grid or (1, 1), round(tokens.stride)
        row, column = divmod(index, grid[1])
        seen = of.seen_rgb
        yield Picture(seen if self.step == 1 else pulled_apart(seen, grid, index), f"The input in {grid} patches")
        if self.step > 2:
            yield Heading(f"Patch {index + 1}: row {row + 1}, column {column + 1}")
            part = seen[row * patch : (row + 1) * patch, column * patch : (column + 1) * patch]
            colours = len(flat) // patch**2
            order = "red, green, blue" if colours == 3 else "colour by colour"
            words = f"its {len(flat)} numbers, {order}, each row by row: {listed(flat)}"
            strips = Picture(
                colour_strips(flat, colours), "The numbers of the patch, blue below zero, red above", words
            )
            yield Columns(((Picture(part.repeat(8, 0).repeat(8, 1), "The patch, enlarged"),), (strips,)), (1, 3))
        if self.step > 3:
            yield row_of("The embedded patch", vector, "its embedding of {} numbers, before positions are added")
        if self.step > 4 and position is not None:
            yield row_of("The position", position, "the learned position of this place, {} numbers")
            yield row_of(
                "The token", vector + position, "their sum, the token of {} numbers that enters the first layer"
            )
        elif self.step > 4:
            yield Line(WITHOUT)


def first_tokens(of: Subject) -> Tokens:
    tokens = next((layer.query for layer in of.layers if layer.query.grid), None)
    if tokens is None:
        raise NotApplicable(
            "A convolutional network slides over the image and cuts no patches; see its stages in Explore."
        )
    return tokens


def packed(values: np.ndarray) -> dict[str, Any]:
    """Rows of numbers in steps of 1/65535 of their range."""
    low, high = float(values.min()), float(values.max())
    text = text64(sixteen_bits(values, low, high))
    return {"values": text, "low": low, "step": step_of(low, high), "rows": len(values), "columns": values.shape[1]}


def thinned(weight: np.ndarray) -> dict[str, Any]:
    """W (dim, number) as a small picture: every so many of its numbers, −127 to 127."""
    some = weight[:: -(-weight.shape[0] // W_SIDE), :: -(-weight.shape[1] // W_SIDE)]
    values = (some / (np.abs(some).max() or 1.0) * 127).round().astype(np.int8)
    return {"values": text64(values), "rows": len(some), "columns": some.shape[1]}


def row_of(alt: str, vector: np.ndarray, words: str) -> Picture:
    return Picture(
        strip(vector), f"{alt}, blue below zero, red above", f"{words.format(len(vector))}: {listed(vector)}"
    )


def hybrid(feature_map: torch.Tensor) -> Iterator[Block]:
    """What a hybrid embeds instead of pixels."""
    channels, rows, columns = feature_map.shape
    yield Line(f"This hybrid embeds no pixels: first a CNN makes {rows} × {columns} places of {channels} channels.")
    strength = feature_map.norm(dim=0).numpy()
    figure = heat_map(strength, "column", "row", "Length of the CNN's vectors", height=300, quantity="length")
    yield Chart(figure, "Length of the CNN's vector at every place")


def listed(values: np.ndarray) -> str:
    return ", ".join(f"{value:.2f}" for value in values[:SHOWN]) + " …"


def numbers(flat: np.ndarray, vector: np.ndarray, position: np.ndarray | None) -> dict[str, np.ndarray]:
    arrays = {"patch": flat, "embedding": vector}
    return arrays if position is None else arrays | {"position": position, "token": vector + position}
