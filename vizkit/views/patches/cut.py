"""Cut: how a picture becomes tokens, step by step, with the model's own numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import ceil, gcd
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float

from vizkit.analysis.attention.attention_map import windows_of
from vizkit.analysis.attention.patches import cost, patchify
from vizkit.analysis.remarks import patches
from vizkit.analysis.remarks.remark import counted
from vizkit.figure.canvas.rows import sixteen_bits, step_of, text64
from vizkit.figure.charts import heat_map
from vizkit.figure.patches import MOST_APART, blue_to_red, colour_strips, pulled_apart, strip
from vizkit.geometry import id_at
from vizkit.image import data_url, prepare
from vizkit.models.probes.parts import PatchEmbedding, patch_embedding
from vizkit.models.probes.positions import learned_table
from vizkit.traces import NotApplicable, Tokens
from vizkit.views.blocks import Block, Canvas, Chart, Columns, Heading, Line, Numbers, Picture, Said, first_said
from vizkit.views.controls import number
from vizkit.views.patches.opening import asked
from vizkit.views.rules import whole
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

STEPS = 5.0
STOP = 0.25  # of a step, so that a hand can hold it on its way
WIDEST_PX = 2048  # a patch
SHOWN = 8  # numbers of a vector, in words
MOST_SENT = 300_000  # numbers of all patches, so that a click is answered in the browser; of more, the chosen one's
SHEET_SIDE = 200  # numbers of a matrix in a row and in a column of its picture
WITHOUT = "no learned position is added: biases, rotations or windows tell the places"


@dataclass(frozen=True)
class Cut(View):
    """The image in patches, and each patch as a row of numbers: what Dosovitskiy et al. 2020, eq. 1 says, done."""

    step: int | float = number(
        "Step", 1.0, STEPS, STEPS, "From the picture to the tokens of the sequence.", step=STOP, plays=True
    )
    patch: int = number(
        "Patch size", 0, WIDEST_PX, 0, "Side of a patch, in pixels; 0: the model's own.", key="patch_size", inside=True
    )

    overlays: ClassVar = False
    how: ClassVar = How(
        "The picture is the input of this model: resized, cropped, and cut into patches in reading order, numbered "
        "from 1. Click a patch: its pixels become one row of numbers, and a linear layer turns that row into the "
        "vector the transformer works with. Point at a number to read it. Below stand the rows of all patches. The "
        "slider cuts the same picture into others: so many patches, pairs and multiply–adds in one attention.",
        r"x_p \in \mathbb{R}^{N \times P^2 C}, \quad z_0 = [x_{\text{class}};\, x_p E] + E_{pos}, \quad N = HW / P^2",
        "which patches matter for the answer.",
        "Dosovitskiy et al. 2020, eq. 1",
    )

    def title(self, of: Subject) -> str:
        rows, columns = self.size(cut_of(of)).grid
        return f"Cut: {rows} × {columns} patches"

    def show(self, of: Subject) -> Iterator[Block]:
        cut, point = cut_of(of), asked(of)
        size, at = self.size(cut), ceil(self.step) - 1
        index = place_in(cut.own.grid, point)
        yield Line(cut.told(size)[at])
        same = of.kept(("cut for the browser", index), partial(for_browser, of, cut, index))
        data = {**same, "step": self.step, "size": cut.sizes.index(size)}
        still = tuple(self.on_paper(of, cut, size, point))
        tells = {"patch": (whole(0, WIDEST_PX), "patch")}
        yield Canvas("vizkit_cut", data, "Click a patch to read its numbers.", tells, still, of)
        windows = windows_of(of.seen, cut.tokens)
        yield Said(first_said(patches.tokens(cut.own.grid, len(cut.tokens.special), windows)))
        if cut.feature_map is not None:
            yield from hybrid(cut.feature_map)
        yield Numbers(partial(cut.numbers, index))

    def size(self, cut: "CutUp") -> "Size":
        return min(cut.sizes, key=lambda size: abs(size.patch - (self.patch or cut.own.patch)))

    def on_paper(self, of: Subject, cut: "CutUp", size: "Size", point: tuple[float, float]) -> Iterator[Block]:
        """The same, as far as the step has come."""
        seen, index, own = of.seen_rgb, place_in(size.grid, point), size == cut.own
        row, column = divmod(index, size.grid[1])
        cutting = self.step >= 2 or not own
        picture = Picture(pulled_apart(seen, size.grid, index) if cutting else seen, "The input of the model")
        part = seen[row * size.patch : (row + 1) * size.patch, column * size.patch : (column + 1) * size.patch]
        beside: list[Block] = [Heading(f"Patch {index + 1}: row {row + 1}, column {column + 1}")]
        beside.append(Picture(part.repeat(8, 0).repeat(8, 1), "The patch, enlarged", share=0.4))
        done = int(self.step) if own else 0
        beside += cut.strips(index)[: max(0, done - 2 + (done == STEPS))]
        yield Line(size.words)
        yield Columns(((picture,), tuple(beside)) if done > 2 or not own else ((picture,),))
        if not own:
            yield Line(cut.other)
        sheets = [each for each in cut.sheets() if done >= each.step]
        if sheets:
            yield Columns(tuple((each.picture(),) for each in sheets))


@dataclass(frozen=True)
class Size:
    """One way to cut: its patches, what is said of them, and how many numbers each has."""

    patch: int
    grid: tuple[int, int]
    words: str


@dataclass(frozen=True, eq=False)
class Sheet:
    """A matrix as it stands among the others: its `name`, what stands `before` it, and the `step` that makes it."""

    name: str
    before: str
    values: Float[np.ndarray, "row column"]
    limit: float
    step: int
    of: str = "patch"

    @property
    def size(self) -> str:
        return f"{self.values.shape[0]} × {self.values.shape[1]}"

    def thinned(self) -> Float[np.ndarray, "some_rows some_columns"]:
        """At most SHEET_SIDE × SHEET_SIDE of its numbers, −1 to 1."""
        rows, columns = (-(-count // SHEET_SIDE) for count in self.values.shape)
        return (self.values[::rows, ::columns] / (self.limit or 1.0)).clip(-1, 1)

    def for_browser(self) -> dict[str, Any]:
        some = self.thinned()
        values = text64((some * 127).round().astype(np.int8))
        words = {"name": self.name, "before": self.before, "size": self.size, "of": self.of}
        return words | {"values": values, "rows": some.shape[0], "columns": some.shape[1]}

    def picture(self) -> Picture:
        return Picture(blue_to_red(self.thinned(), 1.0), f"{self.name}, blue below zero, red above",
                       f"{self.before} {self.name}, {self.size}".strip())  # fmt: skip


@dataclass(frozen=True, eq=False)
class CutUp:
    """A picture as patches in reading order: their numbers, what the model embeds them as, and its positions there.
    `weight`: (number, dim), None where the patches are not embedded by one matrix."""

    tokens: Tokens
    sizes: tuple[Size, ...]
    own: Size
    channels: int
    pixels: Float[np.ndarray, "patch number"]
    embedded: Float[np.ndarray, "patch dim"]
    position: Float[np.ndarray, "patch dim"] | None
    weight: Float[np.ndarray, "number dim"] | None
    linear: str
    feature_map: torch.Tensor | None

    @property
    def other(self) -> str:
        side, count = self.own.patch, self.pixels.shape[1]
        return f" · this model cuts patches of {side} × {side} only: its embedding takes rows of {count} numbers"

    def told(self, size: Size) -> list[str]:
        """What each step does."""
        (rows, columns), side, dim = size.grid, size.patch, self.embedded.shape[1]
        cut = f"2 · cut into {rows} × {columns} = {rows * columns:,} patches of {side} × {side} pixels"
        height, width = rows * side, columns * side
        if size != self.own:
            return [cut] * int(STEPS)
        special = "".join(f" · [{name}] joins them" for name in self.tokens.special)
        return [
            f"1 · the input: {height} × {width} pixels, {self.channels} numbers each",
            cut,
            f"3 · each patch unrolled: a row of {side} × {side} × {self.channels} = {self.pixels.shape[1]:,} numbers",
            f"4 · each row {self.linear}: an embedding of {dim:,} numbers",
            f"5 · {WITHOUT if self.position is None else 'the learned position of its place added: a token'}{special}",
        ]

    def lanes(self) -> list[str]:
        return [f"{self.pixels.shape[1]} numbers", f"{self.linear} = embedding", "+ position", "= token"]

    def sheets(self) -> Iterator[Sheet]:
        """The matrices of eq. 1; those that are added have one scale."""
        token = None if self.position is None else self.embedded + self.position
        added = [each for each in (self.embedded, self.position, token) if each is not None]
        limit = max(float(np.abs(each).max()) for each in added)
        yield Sheet("patches", "", self.pixels, float(np.abs(self.pixels).max()), 3)
        if self.weight is not None:
            yield Sheet("W", "×", self.weight, float(np.abs(self.weight).max()), 4, "W")
        yield Sheet("embeddings", "=" if self.linear.endswith(("W", "b")) else "→", self.embedded, limit, 4)
        if self.position is not None and token is not None:
            yield Sheet("positions", "+", self.position, limit, 5)
            yield Sheet("tokens", "=", token, limit, 5)

    def vectors(self, index: int) -> dict[str, np.ndarray]:
        """Of one patch, from its embedding on."""
        vector = self.embedded[index]
        if self.position is None:
            return {"embedding": vector}
        return {"embedding": vector, "position": self.position[index], "token": vector + self.position[index]}

    def numbers(self, index: int) -> dict[str, np.ndarray]:
        return {"patch": self.pixels[index], **self.vectors(index)}

    def strips(self, index: int) -> list[Block]:
        """The numbers of one patch as strips; vectors that are added have one scale."""
        flat, vectors = self.pixels[index], self.vectors(index)
        limit = max(float(np.abs(each).max()) for each in vectors.values())
        bands = "red, green, blue" if self.channels == 3 else f"{self.channels} channels"
        drawn = [colour_strips(flat, self.channels), *(strip(each, limit=limit) for each in vectors.values())]
        ends = [float(np.abs(flat).max()), *[limit] * len(vectors)]
        words = [f"{self.lanes()[0]}: {bands}", *self.lanes()[1:]]
        return [
            Picture(each, f"{said}, blue below zero, red above", f"{said} · blue −{end:.2f} to red {end:.2f}: {first}")
            for each, said, end, first in zip(drawn, words, ends, map(listed, (flat, *vectors.values())), strict=False)
        ]


# ---- what a model makes of a picture ---------------------------------------------------------------------------------
def cut_of(of: Subject) -> CutUp:
    return of.kept("cut", partial(cut_up, of))


def cut_up(of: Subject) -> CutUp:
    tokens = first_tokens(of)
    pixels, patch = torch.from_numpy(prepare(of.rgb, of.loaded.preprocessing)[0]), round(tokens.stride)
    embedded: PatchEmbedding = of.kept("patch embedding", lambda: patch_embedding(of.loaded, of.pixels))
    flat, vectors = patchify(pixels, patch), embedded.vectors.flatten(0, 1)
    table = learned_table(of.loaded)
    weight = None if embedded.weight is None else embedded.weight.flatten(1).T
    sizes = tuple(sizes_of(of, tokens, (pixels.shape[1], pixels.shape[2]), vectors.shape[1]))
    return CutUp(
        tokens,
        sizes,
        next(size for size in sizes if size.patch == patch),
        len(pixels),
        flat.numpy(),
        vectors.numpy(),
        None if table is None or table.shape[:2] != tokens.grid else table.flatten(0, 1).numpy(),
        None if weight is None else weight.numpy(),
        "embedded" if weight is None else product(flat, weight, embedded.bias, vectors),
        embedded.feature_map,
    )


def product(flat: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, vectors: torch.Tensor) -> str:
    """How rows become vectors, computed again: some models normalise what W gives."""
    given = flat @ weight + (0 if bias is None else bias)
    plain = torch.allclose(given, vectors, rtol=1e-3, atol=1e-3 * float(vectors.abs().max()))
    return f"× W{' + b' if bias is not None else ''}{'' if plain else ', normalised'}"


def first_tokens(of: Subject) -> Tokens:
    tokens = next((layer.query for layer in of.layers if layer.query.grid), None)
    if tokens is None:
        raise NotApplicable(
            "A convolutional network slides over the image and cuts no patches; see its stages in Explore."
        )
    return tokens


def sizes_of(of: Subject, tokens: Tokens, size_hw: tuple[int, int], dim: int) -> Iterator[Size]:
    """Every patch that divides the input, with what attention among such patches costs in one layer of this width."""
    windows, own = windows_of(of.seen, tokens), round(tokens.stride)
    window = next(iter(windows)) if len(windows) == 1 else (0, 1)  # of several kinds nothing is said
    side = gcd(*size_hw)
    for patch in (each for each in range(1, side + 1) if side % each == 0):
        grid = size_hw[0] // patch, size_hw[1] // patch
        if max(grid) > MOST_APART and patch != own:
            continue
        words = f"{counted(grid[0] * grid[1], 'patch', 'patches')} of {patch} × {patch} px"
        if window is None or window[0] == window[1]:
            count = cost(size_hw, patch, dim, 1, None if window is None else min(*window, *grid))
            words += f": {counted(count.weight_bytes // 4, 'pair')}, {short(count.attention)} multiply–adds"
        yield Size(patch, grid, words)


def short(count: int) -> str:
    return f"{count / 1e9:.1f} G" if count >= 1e9 else f"{count / 1e6:.1f} M"


def place_in(grid: tuple[int, int], point: tuple[float, float]) -> int:
    return id_at(Tokens("patches", grid=grid), point) or 0


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
    }


def packed(values: np.ndarray) -> dict[str, Any]:
    """Rows of numbers in steps of 1/65535 of their range."""
    low, high = float(values.min()), float(values.max())
    text = text64(sixteen_bits(values, low, high))
    return {"values": text, "low": low, "step": step_of(low, high), "rows": len(values), "columns": values.shape[1]}


def hybrid(feature_map: torch.Tensor) -> Iterator[Block]:
    """What a hybrid embeds instead of pixels."""
    channels, rows, columns = feature_map.shape
    yield Line(f"This hybrid embeds no pixels: first a CNN makes {rows} × {columns} places of {channels} channels.")
    strength = feature_map.norm(dim=0).numpy()
    figure = heat_map(strength, "column", "row", "Length of the CNN's vectors", height=300, quantity="length")
    yield Chart(figure, "Length of the CNN's vector at every place")


def listed(values: np.ndarray) -> str:
    return ", ".join(f"{value:.2f}" for value in values[:SHOWN]) + " …"
