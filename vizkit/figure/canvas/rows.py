"""What a card's canvas draws: rows of a matrix (query, key), packed for the browser."""

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

SHORT = Path(__file__).parent / "short.js"
"""JavaScript before that of every canvas that writes numbers."""
Grid = tuple[int, int]
STEPS = 65535


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows over keys, in the layer's own groups, and where queries and keys lie: special tokens first, then a grid.

    Ids count the tokens from 0 and are those of one group, in order, where none are given. `bounds`: of the values,
    where they do not go from 0 up. `low`, `top`: values of the darkest and the brightest colour, 0: the row's own
    largest. `kind`: what a row is, if not attention. `verb`: what a query does to its keys.
    """

    values: Float[np.ndarray, "*group query key"]
    key_grid: Grid | None
    query_grid: Grid | None = None
    query_ids: Int[np.ndarray, "*group query"] | None = None
    key_ids: Int[np.ndarray, "*group key"] | None = None
    query_special: tuple[str, ...] = ()
    key_special: tuple[str, ...] = ()
    bounds: tuple[float, float] | None = None
    low: float = 0.0
    top: float = 0.0
    kind: Literal["", "features", "similarity", "pick"] = ""
    verb: str = ""
    query_regions: Int[np.ndarray, "*group query"] | None = None
    key_regions: Int[np.ndarray, "*group key"] | None = None
    second_grid: Grid | None = None

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
            "query_ids": text64(integers(np.arange(queries) if self.query_ids is None else self.query_ids)),
            "key_ids": text64(integers(np.arange(keys) if self.key_ids is None else self.key_ids)),
            **{name: text64(integers(region)) for name, region in regions.items() if region is not None},
            "query_grid": self.query_grid,
            "key_grid": self.key_grid,
            "second_grid": self.second_grid,
            "query_special": self.query_special,
            "key_special": self.key_special,
            "low": self.low,
            "top": self.top,
            "kind": self.kind,
            "verb": self.verb,
        }


def sixteen_bits(values: Float[np.ndarray, "*any"], low: float, high: float) -> np.ndarray:
    """`low` to `high` as 0 to 65535, little-endian; a step is `step_of`."""
    return ((values - low) / step_of(low, high)).round().clip(0, STEPS).astype("<u2")


def step_of(low: float, high: float) -> float:
    return ((high - low) or 1.0) / STEPS


def integers(array: np.ndarray) -> np.ndarray:
    return array.astype("<i4")


def text64(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
