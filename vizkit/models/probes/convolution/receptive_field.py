"""The receptive field of every layer of a network, followed through the operations that it really runs.

One pass on tensors without content; every tensor on the way carries which pixels its places can see. Convolutions,
pools, padding and slices move and widen it, sums and concatenations join it (the largest path decides, a residual's
shortcut adds nothing), all else leaves it as it is. Where places are lost (a mean over the whole map, attention, a
linear layer on a flattened map) the whole image is seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from vizkit.geometry import size_of
from vizkit.models.probes.convolution.reach import Reach
from vizkit.models.probes.multiply_adds import follow_paths, run_hollow, shape_of
from vizkit.models.recording.forward import run
from vizkit.models.recording.stages import gives_features
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable

Pair = tuple[int, int]
Kind = Literal["convolution", "max pool", "mean pool"]
Moved = tuple[Kind, Pair, Pair, Pair, Pair]


@dataclass(frozen=True)
class Seen:
    """What the places of a map of `grid` (rows, columns) see. `whole`: somewhere on the way a number of the whole image
    came in, as in squeeze-and-excitation; `rows` and `columns` are then the field without it. `depth`: so many
    convolutions and pools follow one another on the longest way from the image."""

    grid: Pair
    rows: Reach
    columns: Reach
    whole: bool = False
    depth: int = 0

    def box(self, cell: Pair) -> tuple[int, int, int, int]:
        """(x0, y0, x1, y1) of the pixels that the unit at (row, column) sees; parts may lie outside the image."""
        (y0, y1), (x0, x1) = self.rows.pixels(cell[0]), self.columns.pixels(cell[1])
        return x0, y0, x1, y1

    def within(self, size_hw: Pair) -> "Seen":
        """Of an image of this size, whose last pixels a stride may leave over."""
        (rows, columns), (height, width) = self.grid, size_hw
        return replace(self, rows=self.rows.of(rows, height), columns=self.columns.of(columns, width))


@dataclass(frozen=True)
class Layer:
    """A convolution or a pool as it ran: `path` is its module, the pairs are (vertical, horizontal)."""

    path: str
    kind: Kind
    kernel: Pair
    stride: Pair
    padding: Pair
    dilation: Pair
    seen: Seen


@dataclass(frozen=True)
class Walk:
    """`layers` in the order of the pass; `stages`: what the features see that leave the network's stages, by the names
    of the trace."""

    size_hw: Pair
    layers: tuple[Layer, ...]
    stages: tuple[Seen | None, ...]

    @property
    def depth(self) -> int:
        """Convolutions and pools one after another, on the longest way: a shortcut beside them adds none."""
        return max((layer.seen.depth for layer in self.layers), default=0)


def walk(loaded: Loaded) -> Walk:
    """Of a model at its own input size. NotApplicable where no convolution sees the image in overlapping windows."""
    walked = walk_of(loaded.model, shape_of(loaded))
    last = walked.layers[-1].seen if walked.layers else None
    if last is None or (last.rows.size, last.columns.size) == (last.rows.jump, last.columns.jump):
        raise NotApplicable(f"{loaded.name} has no receptive fields to follow: its layers are not convolutions.")
    return walked


def walk_of(model: nn.Module, shape: Sequence[int]) -> Walk:
    """Of a pass of an input of this shape, (1, channel, height, width). The model stays untouched: a copy without
    weights runs."""
    following, maps = run_hollow(model, tuple(shape), _followed)
    return Walk((shape[-2], shape[-1]), tuple(following.layers), tuple(following.seen(each) for each in maps))


def _followed(model: nn.Module, pixels: Tensor) -> tuple["Following", list[Tensor]]:
    following = Following(model, pixels)
    with torch.no_grad(), following:
        _, maps, _, _ = run(model, pixels, gives_features(model))
    return following, maps


class Following(TorchDispatchMode):
    """Follows what the places of each tensor see while it is on. `model` gets hooks: give a copy."""

    def __init__(self, model: nn.Module, pixels: Tensor) -> None:
        super().__init__()
        self.layers: list[Layer] = []
        self.inside = follow_paths(model)
        self.size_hw = size_of(pixels)
        # By the tensor's own identity; it is held, so that no other gets its number.
        self._known: dict[int, tuple[Tensor, Seen | None]] = {}
        self._know(pixels, Seen(size_of(pixels), Reach(), Reach()))

    def seen(self, tensor: Tensor) -> Seen | None:
        """None: the whole image, or nothing of it."""
        return self._known.get(id(tensor), (None, None))[1]

    def _know(self, tensor: Tensor, seen: Seen | None) -> None:
        self._known[id(tensor)] = (tensor, seen)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        del types
        out = func(*args, **(kwargs or {}))
        given = [self._known[id(each)][1] for each in tree_leaves((args, kwargs)) if id(each) in self._known]
        if given:
            name = func.overloadpacket.__name__
            made = [each for each in tree_leaves(out) if isinstance(each, Tensor)]
            if name in WINDOWS:  # a pool of the largest also gives where they stood: one layer, of the same places
                after = self._after(name, args, given, made[0])
            for each in made:
                self._know(each, after if name in WINDOWS else self._after(name, args, given, each))
        return out

    def _after(self, name: str, args: tuple, given: list[Seen | None], out: Tensor) -> Seen | None:
        source = joined(given)
        if source is None:
            return None
        if name == "_adaptive_avg_pool2d" and loses_places(source.grid, size_of(out)):
            return None
        if name in WINDOWS:
            kind, kernel, stride, padding, dilation = WINDOWS[name](args, source, out)
            moved = moved_through(source, kernel, stride, padding, dilation, size_of(out))
            moved = moved.within(self.size_hw)
            if kind != "convolution" and (kernel, stride) == ((1, 1), (1, 1)):
                return moved
            moved = replace(moved, depth=moved.depth + 1)
            path = self.inside[-1] if self.inside else ""
            self.layers.append(Layer(path, kind, kernel, stride, padding, dilation, moved))
            return moved
        if name in CUTS:
            cut = CUTS[name](args, source, out)
            return cut if cut is None or name != "slice" else cut.within(self.size_hw)
        axes = axes_of(tuple(out.shape), source.grid)
        mixed = name in ("bmm", "mm") and sum(each is not None for each in given) > 1
        return None if mixed or axes is None or reduces(name, args, source.grid) else source


def joined(given: Sequence[Seen | None]) -> Seen | None:
    """What is seen by places that read all of these. Maps of other grids (a gate of one place) and numbers of the whole
    image only say that the whole image has a part in it."""
    maps = [seen for seen in given if seen is not None]
    if not maps:
        return None
    largest = max(maps, key=lambda seen: seen.grid)
    whole = len(maps) < len(given)
    for seen in maps:
        if seen.grid == largest.grid and seen.rows.jump == largest.rows.jump:
            rows, columns = largest.rows.beside(seen.rows), largest.columns.beside(seen.columns)
            depth = max(largest.depth, seen.depth)
            largest = Seen(seen.grid, rows, columns, largest.whole or seen.whole, depth)
        else:
            whole = True
    return replace(largest, whole=largest.whole or whole)


def moved_through(source: Seen, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, grid: Pair) -> Seen:
    down, across = zip(kernel, stride, padding, dilation, strict=True)
    return replace(source, grid=grid, rows=source.rows.through(*down), columns=source.columns.through(*across))


def axes_of(shape: tuple[int, ...], grid: Pair) -> tuple[int, ...] | None:
    """Where a tensor has its places: rows and columns side by side, the last ones if there are several, or both in one
    axis; None where it has none."""
    for axis in range(len(shape) - 2, -1, -1):
        if shape[axis : axis + 2] == grid:
            return axis, axis + 1
    return next(((axis,) for axis, side in enumerate(shape) if side == grid[0] * grid[1]), None)


def loses_places(before: Pair, after: Pair) -> bool:
    """Whether an adaptive pool gives a mean over the whole map, or more cells than the map has, as at the end of a VGG
    for small images: such windows take no even steps."""
    return after == (1, 1) != before or after[0] > before[0] or after[1] > before[1]


def reduces(name: str, args: tuple, grid: Pair) -> bool:
    """Whether an operation takes a mean, a sum or the like over places."""
    if name not in REDUCTIONS:
        return False
    shape = tuple(args[0].shape)
    axes = args[1] if len(args) > 1 and args[1] is not None else range(len(shape))
    reduced = {axis % len(shape) for axis in ((axes,) if isinstance(axes, int) else axes)}
    return any(axis in reduced and shape[axis] > 1 for axis in axes_of(shape, grid) or ())


# ---- what PyTorch calls its windows ----------------------------------------------------------------------------------
REDUCTIONS = ("mean", "sum", "amax", "max", "var", "var_mean", "std", "norm", "linalg_vector_norm")


def _pair(value: Any, usual: int = 0) -> Pair:
    """PyTorch's lists of one or two numbers; none is what is usual."""
    numbers = [value] if isinstance(value, int) else list(value or [usual])
    return int(numbers[0]), int(numbers[-1])


def _convolution(args: tuple, source: Seen, out: Tensor) -> Moved:
    if args[6]:
        raise NotApplicable("A transposed convolution enlarges its map; its receptive field is not followed.")
    kernel = args[1].shape[-2], args[1].shape[-1]
    return "convolution", kernel, _pair(args[3]), _pair(args[4]), _pair(args[5])


def _max_pool(args: tuple, source: Seen, out: Tensor) -> Moved:
    kernel, stride, padding, dilation = (*args[1:5], *([], 0, 1)[len(args) - 2 :])  # those left out at the end
    return "max pool", _pair(kernel), _pair(stride or kernel), _pair(padding), _pair(dilation, 1)


def _mean_pool(args: tuple, source: Seen, out: Tensor) -> Moved:
    kernel = args[1]
    stride = args[2] if len(args) > 2 and args[2] else kernel
    return "mean pool", _pair(kernel), _pair(stride), _pair(args[3] if len(args) > 3 else 0), (1, 1)


def _adaptive_pool(args: tuple, source: Seen, out: Tensor) -> Moved:
    """Window i reads from ⌊i · side / cells⌋ to ⌈(i + 1) · side / cells⌉. All are taken to be as large as the one that
    needs most, in even steps: exact where the grid divides."""
    grid = size_of(out)
    stride = source.grid[0] // grid[0], source.grid[1] // grid[1]
    kernel = [
        max(-(-(i + 1) * side // cells) - i * step for i in range(cells))
        for side, cells, step in zip(source.grid, grid, stride, strict=True)
    ]
    return "mean pool", (kernel[0], kernel[1]), stride, (0, 0), (1, 1)


WINDOWS = {
    "convolution": _convolution,
    "max_pool2d_with_indices": _max_pool,
    "avg_pool2d": _mean_pool,
    "_adaptive_avg_pool2d": _adaptive_pool,
}


def _padded(args: tuple, source: Seen, out: Tensor) -> Seen:
    left, top = args[1][0], args[1][2] if len(args[1]) > 2 else 0
    return replace(source, grid=size_of(out), rows=source.rows.cut(-top), columns=source.columns.cut(-left))


def _sliced(args: tuple, source: Seen, out: Tensor) -> Seen | None:
    given: list[Any] = [*args]
    _, axis, start, _, step = given + [None, 0, 0, None, 1][len(given) :]  # those left out at the end
    places, axis = axes_of(tuple(args[0].shape), source.grid), axis % args[0].dim()
    if places is None or axis not in places:
        return source
    if len(places) == 1:
        return None
    rows = axis == places[0]
    cut = (source.rows if rows else source.columns).cut(start or 0, step)
    grid = (out.shape[places[0]], out.shape[places[1]])
    return replace(source, grid=grid, **({"rows": cut} if rows else {"columns": cut}))


CUTS = {
    "constant_pad_nd": _padded,
    "reflection_pad2d": _padded,
    "replication_pad2d": _padded,
    "slice": _sliced,
}
