"""Whether tokens lie where a trace says: small squares of a picture are changed, and the tokens that change with them
have to be those whose places they are, among queries, keys and values of every layer. Once for a model, of a picture
of noise; but where a model decides by the picture, such as which tokens it leaves out, of the very picture, changed
so faintly that it decides the same.

Attention is taken away (`recording.unmixed`): otherwise every token of the second layer has heard of the square. What
convolutions and norms of the whole picture spread is told from it by where the change is largest; where it has no such
peaks nothing is said.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from vizkit.models.recording.plan import NOW
from vizkit.models.recording.recorder import Call
from vizkit.models.recording.unmixed import Unmixed
from vizkit.traces import Attention, Tokens

Grid = tuple[int, int]

SQUARES = ((0.8, 0.1), (0.4, 0.55))  # (down, right) in shares of the picture: no turn or reflection keeps both
SMALL = 1e-4  # of the largest number: less is rounding
ALONE = 1e-2  # of the largest change: what stays below does not count where one token stands out
REACH_CELLS = 2.5  # how far a convolution's kernel may move the peak
NEXT_CELLS = 0.99  # a square near the border of a larger cell may be seen by its neighbour alone
MET = 0.05  # of the largest change of the values: so much at least changes that of the key that changes most
WIDE_CELLS = 3.0  # a change that lies farther around has no peak
FAINT = {4: 0.005, 8: 0.005}  # of the noise, by the bytes of a number; more where that would be rounding


class Places(NamedTuple):
    """`error_cells`: how far from its place the farthest change was found, 0 where all are where they should be; None:
    nothing was measured. `found` of `claimed` layers that say where their tokens lie were measured; `elsewhere`: on
    another picture."""

    error_cells: float | None
    found: int
    claimed: int
    elsewhere: bool = False


Heard = dict[int, dict[str, Tensor]]
"""Of each layer, by "query", "key" and "value": how much each vector changes, (…, token)."""


def proven(
    model: Callable[[Tensor], object],
    pixels: Tensor,
    calls: Sequence[Call],
    attention: Sequence[Attention],
    known: dict[tuple, Heard | Places],
    *,
    single_keys: bool = False,
    decides: bool = False,
) -> Places:
    """Of the layers of a trace of `pixels`, (1, channel, height, width); `attention`: those of `calls` that are kept,
    and whatever is not learned. `known` remembers, for a model: one pass of two pictures for each size. `decides`:
    whether another picture proves nothing of this one."""
    layers = [at for at, call in enumerate(calls) if call.weights is not None]
    learned = [layer for layer in attention if layer.learned]
    grids = {t.grid for layer in learned for t in (layer.query, layer.key) if t.grid is not None and t.image == 0}
    if not grids or len(layers) != len(learned):
        return Places(None, 0, 0)
    finest = max(grids, key=lambda grid: grid[0] * grid[1])
    size = (pixels.shape[-2], pixels.shape[-1], finest)
    if decides:
        heard = {} if NOW.get() is not None else _heard(model, pixels, finest, single_keys, own=True)
        return _judged(heard, layers, learned, finest)
    judged = (*size, tuple((layer.name, layer.query_ids.shape, layer.key_ids.shape) for layer in learned))
    if judged not in known:
        if NOW.get() is not None:  # edits change what is heard, and not where it lies
            return Places(None, 0, 0)
        if size not in known:
            known[size] = _heard(model, pixels, finest, single_keys)
        made = _judged(known[size], layers, learned, finest)  # pyright: ignore[reportArgumentType]
        known[judged] = made._replace(elsewhere=True)
    return known[judged]  # pyright: ignore[reportReturnType]


class _Changes(Unmixed):
    """Of two pictures, how far the vectors of one are from those of the other."""

    def __init__(self, single_keys: bool) -> None:
        super().__init__(single_keys=single_keys)
        self.heard: Heard = {}

    def asked(self, layer: int, queries: Tensor | None, keys: Tensor | None) -> None:
        self._hear(layer, "query", queries)
        self._hear(layer, "key", keys)

    def given(self, layer: int, values: Tensor) -> None:
        self._hear(layer, "value", values)

    def _hear(self, layer: int, side: str, vectors: Tensor | None) -> None:
        if vectors is None or vectors.shape[0] % 2 or vectors.dim() < 3:
            return
        plain, changed = vectors.detach().unflatten(0, (2, -1)).float().unbind()
        off = (changed - plain).abs().amax(-1)
        off[off <= SMALL * plain.abs().max()] = 0
        self.heard.setdefault(layer, {})[side] = off.cpu()


def _heard(
    model: Callable[[Tensor], object], pixels: Tensor, grid: Grid, single_keys: bool, *, own: bool = False
) -> Heard:
    """Nothing of a model that refuses several pictures at once. `own`: of this picture itself."""
    draw = torch.Generator().manual_seed(0)
    plain, noise = (torch.randn(pixels.shape[1:], generator=draw) for _ in range(2))
    if own:
        plain = pixels[0].detach().float().cpu()
        noise = plain + FAINT.get(pixels.element_size(), 0.2) * noise
    changed = plain.clone()
    for square in SQUARES:
        (top, bottom), (left, right) = (
            (round(at * side / count), round((at + 1) * side / count))
            for at, side, count in zip(_cell(square, grid), pixels.shape[-2:], grid, strict=True)
        )
        changed[:, top:bottom, left:right] = noise[:, top:bottom, left:right]
    changes = _Changes(single_keys)
    try:
        with torch.no_grad(), changes:
            model(torch.stack([plain, changed]).to(pixels))
    except Exception:  # a stranger's model has its own way to refuse
        return {}
    return changes.heard


def _cell(square: tuple[float, float], grid: Grid) -> Grid:
    return int(square[0] * grid[0]), int(square[1] * grid[1])


def _judged(heard: Heard, layers: Sequence[int], learned: Sequence[Attention], finest: Grid) -> Places:
    errors, found, claimed = [], 0, 0
    for at, layer in zip(layers, learned, strict=True):
        own = [*_errors(heard.get(at, {}), layer, finest)]
        placed = layer.query.grid is not None or layer.key.grid is not None
        claimed, found = claimed + placed, found + (placed and bool(own))
        errors += own
    return Places(max(errors) if errors else None, found, claimed)


def _errors(heard: dict[str, Tensor], layer: Attention, finest: Grid) -> Iterator[float]:
    """Of each side of a layer, and of its values beside its keys, how far off they lie where something can be said."""
    sides = {"query": (layer.query_ids, layer.query), "key": (layer.key_ids, layer.key)}
    sides["value"] = sides["key"]
    by_side = {side: _by_group(heard.get(side), len(ids)) for side, (ids, _) in sides.items()}
    for side, (ids, tokens) in sides.items():  # of some rows alone, those that change may be missing
        off = by_side[side]
        if off is not None and off.shape == ids.shape and tokens.grid is not None and tokens.image == 0:
            yield from _off_cells(off, ids, tokens, finest)
    key, value = by_side["key"], by_side["value"]
    if key is not None and value is not None and key.shape == value.shape and _stands_out(key) and _stands_out(value):
        together = (value[key >= key.max() / 2] > MET * value.max()).float().mean() >= 0.5
        yield 0.0 if together else float((key.argmax() - value.argmax()).abs())


def _stands_out(change: Tensor) -> bool:
    """Whether a few places change more than all the others."""
    return bool(change.max() > 0) and 4 * int((change >= change.max() / 2).sum()) <= change.numel()


def _by_group(off: Tensor | None, groups: int) -> Tensor | None:
    """(…, token) as (group, token): the largest of the heads; None where groups are not found."""
    if off is None:
        return None
    lead = off.shape[:-1]
    if groups == 1:
        return off.flatten(0, -2).amax(0, keepdim=True)
    axis = next((axis for axis, side in enumerate(lead) if side == groups), None)
    if axis is not None:
        return off.movedim(axis, 0).reshape(groups, -1, off.shape[-1]).amax(1)
    return off.reshape(groups, -1, off.shape[-1]).amax(1) if lead[0] % groups == 0 else None


def _off_cells(change: Tensor, ids: Tensor, tokens: Tokens, finest: Grid) -> Iterator[float]:
    """Of each square, how many cells of its own grid the change near it, (group, token), lies away from it; 0 where
    that is within what can be told. Nothing of what has no peak."""
    assert tokens.grid is not None
    first, grid = len(tokens.special), tokens.grid
    every = torch.zeros(len(tokens) + 1)
    every.scatter_reduce_(0, (ids % len(every)).flatten(), change.flatten(), "amax")
    cells = every[first : first + grid[0] * grid[1]].view(grid)
    if min(grid) < 2 or not _stands_out(cells):
        return
    middles = torch.stack(torch.meshgrid(*(torch.arange(side) + 0.5 for side in grid), indexing="ij"), -1)
    squares = [
        torch.tensor(
            [(cell + 0.5) / count * own for cell, count, own in zip(_cell(one, finest), finest, grid, strict=True)]
        )
        for one in SQUARES
    ]
    nearest = torch.stack([(middles - square).square().sum(-1) for square in squares]).argmin(0)
    for index, square in enumerate(squares):
        near = torch.where(nearest == index, cells, 0)
        if near.max() <= ALONE * cells.max():  # nothing here has changed, but something elsewhere
            yield float((middles[cells == cells.max()][0] - square).abs().max())
            continue
        peak = (near / near.max()) ** 4  # the fourth power looks at the peak
        centre = (peak[..., None] * middles).sum((0, 1)) / peak.sum()
        alone = int((near > ALONE * near.max()).sum()) == 1
        if alone or bool(((middles[near >= near.max() / 2] - centre).abs() <= WIDE_CELLS).all()):
            error = float((centre - square).abs().max())
            yield error if error > (NEXT_CELLS if alone else REACH_CELLS) else 0.0
