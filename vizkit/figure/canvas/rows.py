"""What a card's canvas draws: rows of a matrix (query, key), packed for the browser."""

import base64
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from vizkit.figure.scales import SHARES, Places, Scale
from vizkit.image import Box

Grid = tuple[int, int]
STEPS = 65535


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows over keys, in the layer's own groups, and where queries and keys lie: special tokens first, then a grid.

    Ids count the tokens from 0 and are those of one group, in order, where none are given. `bounds`: of the values,
    where they do not go from 0 up. `kind`: what a row is, if not attention; a length is no share. `verb`: what a query
    does to its keys.
    """

    values: Float[np.ndarray, "*group query key"]
    key_grid: Grid | None
    query_grid: Grid | None = None
    query_ids: Int[np.ndarray, "*group query"] | None = None
    key_ids: Int[np.ndarray, "*group key"] | None = None
    query_special: tuple[str, ...] = ()
    key_special: tuple[str, ...] = ()
    bounds: tuple[float, float] | None = None
    scale: Scale = SHARES
    kind: Literal["", "features", "similarity", "pick", "length"] = ""
    verb: str = ""
    query_regions: Int[np.ndarray, "*group query"] | None = None
    key_regions: Int[np.ndarray, "*group key"] | None = None
    second_grid: Grid | None = None

    def query_id(self, query: str | tuple[float, float], point: tuple[float, float] = (0.5, 0.5)) -> int:
        """The token that is asked: a special one by its name, or that at a point in fractions (x, y) of what the model
        saw; `point` for a special one that asks nowhere here, and where that has no row either, the first that has. As
        look.js finds it."""
        asked = np.arange(self.values.shape[-2]) if self.query_ids is None else self.query_ids.ravel()
        if query in self.query_special and (special := self.query_special.index(str(query))) in asked:
            return special
        if self.query_grid is None:
            return int(asked[0])
        (rows, columns), (x, y) = self.query_grid, point if isinstance(query, str) else query
        row, column = (min(max(int(at), 0), count - 1) for at, count in ((y * rows, rows), (x * columns, columns)))
        found = len(self.query_special) + row * columns + column
        return found if found in asked else int(asked[0])

    def _of(self, query_id: int) -> tuple[Float[np.ndarray, " key"], Int[np.ndarray, " key"]]:
        """(this query's row as it is kept, the ids of its keys)."""
        *_, queries, keys = self.values.shape
        asked = np.arange(queries) if self.query_ids is None else self.query_ids.ravel()
        place = int(np.flatnonzero(asked == query_id)[0])
        ids = np.arange(keys) if self.key_ids is None else self.key_ids.reshape(-1, keys)[place // queries]
        return self.values.reshape(-1, keys)[place], ids

    def row_of(self, query_id: int) -> tuple[Places, dict[str, float]]:
        """(what every place gets of this query's row, and each special token by name)."""
        values, ids = self._of(query_id)
        first, (rows, columns) = len(self.key_special), self.key_grid or (0, 0)
        row = np.zeros(first + rows * columns)
        np.add.at(row, ids[ids >= 0], values[ids >= 0])
        return row[first:].reshape(rows, columns), dict(zip(self.key_special, row[:first].tolist(), strict=True))

    def scale_of(self, query_id: int) -> Scale:
        """The scale of this query's row: an equal share is among the places of its group, and its own place is left
        out."""
        first, (_, ids) = len(self.key_special), self._of(query_id)
        own = query_id - len(self.query_special) if self.query_grid == self.key_grid else -1
        return self.scale.of(self.row_of(query_id)[0], int((ids >= first).sum()), own if own >= 0 else None)

    def cell_box(self, query_id: int) -> Box | None:
        """Where the query lies, in fractions (x0, y0, x1, y1) of what the model saw; None for one without a place."""
        at = query_id - len(self.query_special)
        if at < 0 or self.query_grid is None:
            return None
        return cell_box(divmod(at, self.query_grid[1]), self.query_grid)

    def pack(self) -> dict[str, Any]:
        """As look.js reads it."""
        *_, queries, keys = self.values.shape
        low, high = self.bounds or (0.0, float(self.values.max(initial=0)))
        regions = {"query_regions": self.query_regions, "key_regions": self.key_regions}
        return {
            "weights": text64(sixteen_bits(self.values, low, high)),
            "step": step_of(low, high),
            "offset": low,
            "queries": queries,
            "keys": keys,
            "query_ids": text64(np.arange(queries) if self.query_ids is None else self.query_ids, "<i4"),
            "key_ids": text64(np.arange(keys) if self.key_ids is None else self.key_ids, "<i4"),
            **{name: text64(region, "<i4") for name, region in regions.items() if region is not None},
            "query_grid": self.query_grid,
            "key_grid": self.key_grid,
            "second_grid": self.second_grid,
            "query_special": self.query_special,
            "key_special": self.key_special,
            "scale": self.scale.packed(),
            "kind": self.kind,
            "verb": self.verb,
        }


def cell_box(cell: tuple[int, int], grid: Grid) -> Box:
    """Where a cell (row, column) lies, in fractions (x0, y0, x1, y1) of the grid."""
    (row, column), (rows, columns) = cell, grid
    return column / columns, row / rows, (column + 1) / columns, (row + 1) / rows


def sixteen_bits(values: Float[np.ndarray, "*any"], low: float, high: float) -> np.ndarray:
    """`low` to `high` as 0 to 65535, little-endian; a step is `step_of`."""
    return ((values - low) / step_of(low, high)).round().clip(0, STEPS).astype("<u2")


def step_of(low: float, high: float) -> float:
    return ((high - low) or 1.0) / STEPS


def text64(array: Any, kind: str | None = None) -> str:
    """The numbers of an array or a tensor, as they are or of another `kind`, such as "<f4"."""
    return base64.b64encode(np.ascontiguousarray(array, kind).tobytes()).decode()
