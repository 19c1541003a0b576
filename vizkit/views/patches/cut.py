"""Cut: how a picture becomes tokens, step by step, with the numbers of the patch under the cursor."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import torch

from vizkit.analysis.attention.attention_map import windows_of
from vizkit.analysis.attention.patches import patchify
from vizkit.analysis.remarks import patches
from vizkit.figure.charts import heat_map
from vizkit.figure.patches import colour_strips, pulled_apart, strip
from vizkit.geometry import id_of, name_of
from vizkit.image import prepare
from vizkit.models.probes.parts import PatchEmbedding, patch_embedding
from vizkit.models.probes.positions import learned_table
from vizkit.traces import NotApplicable, Tokens
from vizkit.views.blocks import Block, Chart, Columns, Heading, Line, Map, Numbers, Picture, first_said
from vizkit.views.controls import number
from vizkit.views.rows_of import grid_for_browser
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

STEPS = ("the input", "cut into patches", "a patch as numbers", "its embedding", "its position added")
SHOWN = 8  # numbers of a vector, in words


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
        special = "".join(f" [{name}]" for name in tokens.special)
        yield Line(
            f"step {self.step} of {len(STEPS)}, {STEPS[self.step - 1]} · {rows} × {columns} = {rows * columns} patches "
            f"of {patch} × {patch} × {len(pixels)} = {patch * patch * len(pixels)} numbers"
            + (f" · in front:{special}" if special else "")
        )
        yield Map(
            grid_for_browser(tokens),
            of.asked,
            "Click a patch to read its numbers. The input of",
            "",
            said=first_said(patches.tokens(tokens.grid, len(tokens.special), windows_of(of.seen, tokens))),
            picks="",
            instead=of.seen_rgb if self.step == 1 else pulled_apart(of.seen_rgb, tokens.grid),
        )
        cell = of.cell(tokens)
        assert cell is not None
        index = cell[0] * columns + cell[1]
        flat = patchify(torch.from_numpy(pixels), patch)[index].numpy()
        if self.step > 2:
            yield Heading(f"Patch {index + 1}: {name_of(tokens, id_of(tokens, cell))}")
            yield from as_numbers(of, flat, cell, patch, len(pixels))
        embedded: PatchEmbedding = of.kept("patch embedding", lambda: patch_embedding(of.loaded, of.pixels))
        vector = embedded.vectors[cell].numpy()
        table = learned_table(of.loaded)
        position = None if table is None or table.shape[:2] != tokens.grid else table[cell].numpy()
        if self.step > 3:
            yield row_of("The embedded patch", vector, "its embedding of {} numbers, before positions are added")
        if self.step > 4:
            yield from with_position(vector, position)
        if embedded.feature_map is not None:
            yield from hybrid(embedded.feature_map)
        yield Numbers(partial(numbers, flat, vector, position))


def first_tokens(of: Subject) -> Tokens:
    tokens = next((layer.query for layer in of.layers if layer.query.grid), None)
    if tokens is None:
        raise NotApplicable(
            "A convolutional network slides over the image and cuts no patches; see its stages in Explore."
        )
    return tokens


def as_numbers(of: Subject, flat: np.ndarray, cell: tuple[int, int], patch: int, colours: int) -> Iterator[Block]:
    """The patch large, and the same as the row of numbers that the model reads."""
    (row, column), seen = cell, of.seen_rgb
    part = seen[row * patch : (row + 1) * patch, column * patch : (column + 1) * patch]
    order = "red, green, blue" if colours == 3 else "colour by colour"
    words = f"its {len(flat)} numbers, {order}, each row by row: {listed(flat)}"
    large = Picture(part.repeat(max(1, 160 // patch), 0).repeat(max(1, 160 // patch), 1), "The patch, enlarged")
    strips = Picture(colour_strips(flat, colours), "The numbers of the patch, blue below zero, red above", words)
    yield Columns(((large,), (strips,)), (1, 3))


def row_of(alt: str, vector: np.ndarray, words: str) -> Picture:
    return Picture(
        strip(vector), f"{alt}, blue below zero, red above", f"{words.format(len(vector))}: {listed(vector)}"
    )


def with_position(vector: np.ndarray, position: np.ndarray | None) -> Iterator[Block]:
    if position is None:
        yield Line("This model adds no learned position here: it knows places by biases, rotations or its windows.")
        return
    yield row_of("The position", position, "the learned position of this place, {} numbers")
    yield row_of("The token", vector + position, "their sum, the token of {} numbers that enters the first layer")


def hybrid(feature_map: torch.Tensor) -> Iterator[Block]:
    """What a hybrid embeds instead of pixels."""
    channels, rows, columns = feature_map.shape
    yield Line(f"This hybrid embeds no pixels: first a CNN makes {rows} × {columns} places of {channels} channels.")
    strength = feature_map.norm(dim=0).numpy()
    figure = heat_map(strength, "column", "row", "Length of the CNN's vectors", height=300)
    yield Chart(figure, "Length of the CNN's vector at every place")


def listed(values: np.ndarray) -> str:
    return ", ".join(f"{value:.2f}" for value in values[:SHOWN]) + " …"


def numbers(flat: np.ndarray, vector: np.ndarray, position: np.ndarray | None) -> dict[str, np.ndarray]:
    arrays = {"patch": flat, "embedding": vector}
    return arrays if position is None else arrays | {"position": position, "token": vector + position}
