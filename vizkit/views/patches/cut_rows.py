"""A picture as the rows that a transformer reads: the numbers of its patches, their embeddings, positions and tokens;
and what patches of other sizes would cost."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import gcd
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from vizkit.analysis.attention.attention_map import windows_of
from vizkit.analysis.attention.patches import cost, patchify
from vizkit.analysis.remarks.remark import counted, joined
from vizkit.figure.canvas.rows import text64
from vizkit.figure.patches import MOST_APART, blue_to_red, colour_strips, strip
from vizkit.geometry import id_at
from vizkit.image import prepare
from vizkit.models.probes.parts import PatchEmbedding, patch_embedding
from vizkit.models.probes.positions import learned_table
from vizkit.traces import NotApplicable, Tokens
from vizkit.views.blocks import Block, Picture
from vizkit.views.subject import Subject

SHOWN = 8  # numbers of a vector, in words
WITHOUT = "no learned position is added: biases, rotations or windows tell the places"
SHEET_SIDE = 200  # numbers of a matrix in a row and in a column of its picture


@dataclass(frozen=True)
class Size:
    """One way to cut: the side of a patch in pixels, how many there are, and what is said of them."""

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
        words = f"{self.before} {self.name}, {self.size}".strip()
        return Picture(blue_to_red(self.thinned(), 1.0), f"{self.name}, blue below zero, red above", words)


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
        return f"this model cuts patches of {side} × {side} only: its embedding takes rows of {count} numbers"

    @property
    def exact(self) -> bool:
        """Whether the embedding is what W and b give."""
        return self.linear in ("× W", "× W + b")

    def told(self, size: Size) -> list[str]:
        """What each step does."""
        (rows, columns), side, dim = size.grid, size.patch, self.embedded.shape[1]
        cut = f"2 · cut into {rows} × {columns} = {rows * columns:,} patches of {side} × {side} pixels"
        height, width = rows * side, columns * side
        if size != self.own:
            return [cut] * 5
        special = [f"[{name}]" for name in self.tokens.special]
        joins = f" · {joined(special)} {'joins' if len(special) == 1 else 'join'} them" if special else ""
        return [
            f"1 · the input: {height} × {width} pixels, {self.channels} numbers each",
            cut,
            f"3 · each patch unrolled: a row of {side} × {side} × {self.channels} = {self.pixels.shape[1]:,} numbers",
            f"4 · each row {self.linear}: an embedding of {dim:,} numbers",
            f"5 · {WITHOUT if self.position is None else 'the learned position of its place added: a token'}{joins}",
        ]

    def lanes(self) -> list[str]:
        return [
            f"{self.pixels.shape[1]} numbers",
            f"{self.linear} = embedding" if self.exact else self.linear,
            "+ position",
            "= token",
        ]

    def vectors(self, at: int | slice) -> dict[str, np.ndarray]:
        """Of one patch, or of several, from the embedding on."""
        if self.position is None:
            return {"embedding": self.embedded[at]}
        position, token = self.position[at], self.embedded[at] + self.position[at]
        return {"embedding": self.embedded[at], "position": position, "token": token}

    def numbers(self, index: int) -> dict[str, np.ndarray]:
        return {"patch": self.pixels[index], **self.vectors(index)}

    def sheets(self) -> Iterator[Sheet]:
        """The matrices of eq. 1; those that are added have one scale."""
        yield Sheet("patches", "", self.pixels, largest(self.pixels), 3)
        if self.weight is not None:
            yield Sheet("W", "×", self.weight, largest(self.weight), 4, "W")
        rows = self.vectors(slice(None))
        signs = ("=" if self.exact else "→", "+", "=")
        for (name, values), before, step in zip(rows.items(), signs, (4, 5, 5), strict=False):
            yield Sheet(f"{name}s", before, values, largest(*rows.values()), step)

    def strips(self, index: int) -> list[Block]:
        """The numbers of one patch as strips, of which those that are added have one scale."""
        flat, vectors = self.pixels[index], self.vectors(index).values()
        bands = "red, green, blue" if self.channels == 3 else f"{self.channels} channels"
        words, end = [f"{self.lanes()[0]}: {bands}", *self.lanes()[1:]], largest(*vectors)
        rows = [(colour_strips(flat, self.channels), largest(flat), flat)]
        rows += [(strip(each, limit=end), end, each) for each in vectors]
        return [
            Picture(drawn, f"{said} in colours", f"{said} · blue −{end:.2f} to red {end:.2f}: {listed(values)}")
            for said, (drawn, end, values) in zip(words, rows, strict=False)
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
            inside = None if window is None else min(*window, *grid)
            count = cost(size_hw, patch, dim, 1, inside, special=len(tokens.special))
            words += f": {counted(count.pairs, 'pair')}, {short(count.attention)} multiply–adds"
        yield Size(patch, grid, words)


def short(count: int) -> str:
    return f"{count / 1e9:.1f} G" if count >= 1e9 else f"{count / 1e6:.1f} M"


def place_in(grid: tuple[int, int], point: tuple[float, float]) -> int:
    return id_at(Tokens("patches", grid=grid), point) or 0


def largest(*arrays: np.ndarray) -> float:
    return max(float(np.abs(each).max()) for each in arrays)


def listed(values: np.ndarray) -> str:
    return ", ".join(f"{value:.2f}".replace("-", "−") for value in values[:SHOWN]) + " …"
