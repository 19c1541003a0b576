"""An image as the rows that a transformer reads: the numbers of its patches, their embeddings, positions and tokens;
and what patches of other sizes would cost."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from math import ceil, gcd
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from vizkit.analysis.attention.attention_map import windows_of
from vizkit.analysis.attention.patches import Cost, cost, main_patterns, patchify
from vizkit.analysis.remarks.remark import begun, counted
from vizkit.figure.canvas.rows import text64
from vizkit.figure.patches import MOST_APART, blue_to_red, colour_strips, filter_tiles, strip
from vizkit.figure.scales import Places
from vizkit.geometry import id_at
from vizkit.image import RGB, data_url, prepare
from vizkit.models.probes.parts import PatchEmbedding, attention_parts, patch_embedding
from vizkit.models.probes.positions import learned_table
from vizkit.traces import NotApplicable, Tokens
from vizkit.views.blocks import Block, Picture
from vizkit.views.subject import Subject

STEPS = 5.0
SHOWN = 8  # numbers of a vector, in words
WITHOUT = "no learned position is added: biases, rotations or windows tell the places"
SHEET_SIDE = 200  # numbers of a matrix in a row and in a column of its picture
PATTERNS, ACROSS = 28, 7  # of the columns of W, drawn as patches


@dataclass(frozen=True)
class Size:
    """One way to cut: the side of a patch in pixels, how many there are, and what is said of them. `costs`: of one
    layer, of such patches and of those of half the side; none where its layers compare in several ways."""

    patch: int
    grid: tuple[int, int]
    words: str
    costs: tuple[Cost, Cost] | None


@dataclass(frozen=True, eq=False)
class Sheet:
    """A matrix as it stands among the others: its `name`, what stands `before` it, and the `step` that makes it.
    `above`: rows of special tokens over those of patches. `tiles`: an image that is drawn instead of the numbers."""

    name: str
    before: str
    values: Places
    limit: float
    step: int
    of: str = "patch"
    above: Float[np.ndarray, "special column"] | None = None
    tiles: RGB | None = None

    @property
    def size(self) -> str:
        size = f"{self.values.shape[0] + (0 if self.above is None else len(self.above))} × {self.values.shape[1]}"
        return f"{size}, ±{self.limit:.2g}" if self.tiles is None else f"W is {size}"

    def thinned(self, values: Places) -> Float[np.ndarray, "some_rows some_columns"]:
        """At most SHEET_SIDE × SHEET_SIDE of these numbers, −1 to 1."""
        rows, columns = (-(-count // SHEET_SIDE) for count in values.shape)
        return (values[::rows, ::columns] / (self.limit or 1.0)).clip(-1, 1)

    def packed(self, values: Places) -> dict[str, Any]:
        some = self.thinned(values)
        text = text64((some * 127).round(), "i1")
        return {"values": text, "rows": some.shape[0], "columns": some.shape[1]}

    def for_browser(self) -> dict[str, Any]:
        words: dict[str, Any] = {"name": self.name, "before": self.before, "size": self.size, "of": self.of}
        words["above"] = None if self.above is None else self.packed(self.above)
        words["tiles"] = None if self.tiles is None else data_url(self.tiles)
        return words | self.packed(self.values)

    def picture(self) -> Picture:
        words = f"{self.before} {self.name}, {self.size}".strip()
        if self.tiles is not None:
            return Picture(self.tiles, f"{self.name}, each column as a patch", words)
        drawn = blue_to_red(self.thinned(self.values), 1.0)
        if self.above is not None:
            first = blue_to_red(self.thinned(self.above), 1.0).repeat(8, 0)
            drawn = np.concatenate([first, np.full((3, *drawn.shape[1:]), 255, np.uint8), drawn])
        return Picture(drawn, f"{self.name}, blue below zero, red above", words)


@dataclass(frozen=True, eq=False)
class CutUp:
    """An image as patches in reading order: their numbers, what the model embeds them as, and its positions there.
    `weight`: of the embedding, None where the patches are not embedded by one matrix. `special`: what its first layer
    reads as special tokens, None where that is not known."""

    tokens: Tokens
    sizes: tuple[Size, ...]
    own: Size
    channels: int
    pixels: Float[np.ndarray, "patch number"]
    embedded: Float[np.ndarray, "patch dim"]
    position: Float[np.ndarray, "patch dim"] | None
    special: Float[np.ndarray, "special dim"] | None
    weight: Float[np.ndarray, "dim channel height width"] | None
    linear: str
    feature_map: torch.Tensor | None

    @property
    def other(self) -> str:
        side, count = self.own.patch, self.pixels.shape[1]
        return f"this model cuts patches of {side} × {side} only: its embedding takes rows of {count} numbers"

    @cached_property
    def patterns(self) -> Float[np.ndarray, "_ channel height width"]:
        """What the columns of W have in common, the most important first."""
        assert self.weight is not None
        return main_patterns(torch.from_numpy(self.weight), PATTERNS).numpy()

    @property
    def exact(self) -> bool:
        """Whether the embedding is what W and b give."""
        return self.linear in ("× W", "× W + b")

    def told(self, step: int | float, sequence: str) -> str:
        """What a step does; where the last has come to its end there is the `sequence`, of which this is said."""
        (rows, columns), side, dim = self.own.grid, self.own.patch, self.embedded.shape[1]
        without = f"{begun(WITHOUT)}. " if self.position is None else ""
        if step < STEPS and self.position is not None:
            sequence = f"To each of the {rows * columns:,} embeddings the vector of its place is added."
        steps = [
            f"1 · The input has {rows * side} × {columns * side} pixels, {self.channels} numbers each.",
            f"2 · It is cut into {rows} × {columns} = {rows * columns:,} patches of {side} × {side} pixels.",
            f"3 · Each patch becomes a row of {side} × {side} × {self.channels} = {self.pixels.shape[1]:,} numbers.",
            f"4 · Each row {self.linear} is an embedding of {dim:,} numbers.",
            f"5 · {without}{sequence}",
        ]
        return steps[ceil(step) - 1]

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

    def limit(self, name: str, rows: Mapping[str, np.ndarray]) -> float:
        """The end of the scale of these `vectors`."""
        return largest(*(values for other, values in rows.items() if (other == "position") == (name == "position")))

    def numbers(self, index: int) -> dict[str, np.ndarray]:
        arrays = {"patch": self.pixels[index], **self.vectors(index)}
        arrays |= {} if self.special is None else {"special": self.special}
        return arrays | ({} if self.weight is None else {"filters": self.weight})

    def sheets(self) -> Iterator[Sheet]:
        """The matrices of eq. 1. Embeddings and tokens have one scale; positions, often far smaller, their own."""
        yield Sheet("patches", "", self.pixels, largest(self.pixels), 3)
        if self.weight is not None:
            matrix = self.weight.reshape(len(self.weight), -1).T
            tiles = filter_tiles(self.patterns, across=ACROSS, tile=28)
            yield Sheet("W: its main patterns", "×", matrix, largest(matrix), 4, "W", tiles=tiles)
        rows = self.vectors(slice(None))
        signs = ("=" if self.exact else "→", "+", "=")
        for (name, values), before, step in zip(rows.items(), signs, (4, 5, 5), strict=False):
            above = self.special if name == "token" else None
            yield Sheet(f"{name}s", before, values, self.limit(name, rows), step, above=above)

    def strips(self, index: int) -> list[Block]:
        """The numbers of one patch as strips."""
        flat, vectors = self.pixels[index], self.vectors(index)
        bands = "red, green, blue" if self.channels == 3 else f"{self.channels} channels"
        words, limits = [f"{self.lanes()[0]}: {bands}", *self.lanes()[1:]], partial(self.limit, rows=vectors)
        rows = [(colour_strips(flat, self.channels), largest(flat), flat)]
        rows += [(strip(each, limit=limits(name)), limits(name), each) for name, each in vectors.items()]
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
    position = None if table is None or table.shape[:2] != tokens.grid else table.flatten(0, 1)
    weight = embedded.weight
    sizes = tuple(sizes_of(of, tokens, (pixels.shape[1], pixels.shape[2]), vectors.shape[1]))
    return CutUp(
        tokens,
        sizes,
        next(size for size in sizes if size.patch == patch),
        len(pixels),
        flat.numpy(),
        vectors.numpy(),
        None if position is None else position.numpy(),
        None if position is None else special_rows(of, tokens, vectors + position),
        None if weight is None else weight.numpy(),
        "embedded" if weight is None else product(flat, weight.flatten(1).T, embedded.bias, vectors),
        embedded.feature_map,
    )


def product(flat: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, vectors: torch.Tensor) -> str:
    """How rows become vectors, computed again: some models normalise what W gives."""
    given = flat @ weight + (0 if bias is None else bias)
    plain = torch.allclose(given, vectors, rtol=1e-3, atol=1e-3 * float(vectors.abs().max()))
    return f"× W{' + b' if bias is not None else ''}{'' if plain else ', normalised'}"


def special_rows(
    of: Subject, tokens: Tokens, patches: Float[torch.Tensor, "patch dim"]
) -> Float[np.ndarray, "special dim"] | None:
    """What stands in front of the patches where the first layer reads them, learned position included; None where it
    does not read just these rows."""
    try:
        stream = attention_parts(of.loaded, of.pixels, 0).stream
    except NotApplicable:
        return None
    first = len(tokens.special)
    if not first or stream is None or stream.before.shape != (first + len(patches), patches.shape[1]):
        return None
    near = torch.allclose(stream.before[first:], patches, rtol=1e-3, atol=1e-3 * float(patches.abs().max()))
    return stream.before[:first].numpy() if near else None


def named(tokens: Tokens) -> list[str]:
    return [f"[{name}]" for name in tokens.special]


def first_tokens(of: Subject) -> Tokens:
    tokens = next((layer.query for layer in of.layers if layer.query.grid), None)
    if tokens is None:
        raise NotApplicable(
            "A convolutional network slides over the image and cuts no patches; see its stages in Explore."
        )
    return tokens


def window_of(of: Subject) -> int | None:
    """Side of the windows in which the model attends at its first grid; None where every token attends to all."""
    windows = windows_of(of.seen, first_tokens(of)) - {None}
    return max(max(window) for window in windows if window) if windows else None


def sizes_of(of: Subject, tokens: Tokens, size_hw: tuple[int, int], dim: int) -> Iterator[Size]:
    """Every patch that divides the input, with what attention among such patches costs in one layer of this width."""
    windows, own, special = windows_of(of.seen, tokens), round(tokens.stride), named(tokens)
    window = next(iter(windows)) if len(windows) == 1 else (0, 1)  # of several kinds nothing is said
    side = gcd(*size_hw)
    for patch in (each for each in range(1, side + 1) if side % each == 0):
        grid = size_hw[0] // patch, size_hw[1] // patch
        if max(grid) > MOST_APART and patch != own:
            continue
        count = grid[0] * grid[1]
        words = f"{patch} × {patch} px: {' + '.join([counted(count, 'patch', 'patches'), *special])}"
        words += f" = {counted(count + len(special), 'token')}" if special else ""
        costs = None
        if window is None or window[0] == window[1]:
            # patches of half the side are as many as those of an image of twice the side
            now, half = (
                cost(
                    (zoom * size_hw[0], zoom * size_hw[1]),
                    patch,
                    dim,
                    None if window is None else min(*window, zoom * grid[0], zoom * grid[1]),
                    special=len(special),
                )
                for zoom in (1, 2)
            )
            costs = now, half
            inside = min(*window, *grid) if window else 0
            words += f", {counted(now.pairs, 'pair')}{f' in windows of {inside} × {inside}' if inside else ''}"
        yield Size(patch, grid, words, costs)


def place_in(grid: tuple[int, int], point: tuple[float, float]) -> int:
    return id_at(Tokens("patches", grid=grid), point) or 0


def largest(*arrays: np.ndarray) -> float:
    return max(float(np.abs(each).max()) for each in arrays)


def listed(values: np.ndarray) -> str:
    return ", ".join(f"{value:.2f}".replace("-", "−") for value in values[:SHOWN]) + " …"
