"""What is kept of each picture, and reading it back: Parquet, as pandas, DuckDB and pyarrow open it. No torch here.

Maps lie between 0 and 1, as uint8 or float16, in a list of rows · columns; value = low + (high − low) · map, where
uint8 is first divided by 255.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow
from jaxtyping import Float32
from pyarrow import dataset, parquet

from vizkit.explanations.place import Address, Place, RunError, place_of, read_text

MANIFEST = "_manifest.json"  # readers of a folder of Parquet pass over names that begin with _ or .
MOST_UNPACKED = 4 << 30  # bytes that are read at once
Kind = Literal["uint8", "float16"]
Maps = Float32[np.ndarray, "picture row column"]
PATCH_FEATURES = "patch_features"  # a column, see `vectors`
PICTURE = pyarrow.schema(
    {
        "key": pyarrow.string(),
        "sha256": pyarrow.binary(32),
        "label": pyarrow.string(),
        "width_px": pyarrow.int32(),
        "height_px": pyarrow.int32(),
        "error": pyarrow.string(),
    }
)


def refuse_large(name: str, groups: Iterable[parquet.RowGroupMetaData], columns: Collection[str | None]) -> None:
    """RunError for what would fill the memory, by what a file says of itself before any of it is read: 4 bytes a
    value at least, for equal ones take none in a file. `columns` of these `groups` are read at once."""
    every = (group.column(at) for group in groups for at in range(group.num_columns))
    read = [each for each in every if each.path_in_schema.partition(".")[0] in columns]
    unpacked = sum(max(each.total_uncompressed_size, 4 * each.num_values) for each in read)
    if unpacked > MOST_UNPACKED:
        raise RunError(
            f"{name} would take {unpacked / 2**30:,.1f} GiB of memory at once, and {MOST_UNPACKED >> 30} are the most; "
            "divide it."
        )


def map_fields(method: str, shape: Sequence[int], kind: Kind) -> list[pyarrow.Field]:
    """Three columns of a method; the shape and the kind stand in the first one's metadata."""
    values = pyarrow.uint8() if kind == "uint8" else pyarrow.float16()
    told = {"shape": json.dumps([*shape])}
    return [
        pyarrow.field(f"map_{method}", pyarrow.list_(values, shape[0] * shape[1]), metadata=told),
        pyarrow.field(f"low_{method}", pyarrow.float32()),
        pyarrow.field(f"high_{method}", pyarrow.float32()),
    ]


def encoded(method: str, maps: Maps, kind: Kind) -> dict[str, pyarrow.Array]:
    """The three columns; a map that is NaN is none."""
    flat, missing = maps.reshape(len(maps), -1).astype(np.float32), np.asarray(np.isnan(maps).any((1, 2)))
    low, high = flat.min(1), flat.max(1)
    span = np.where(high > low, high - low, 1)[:, None]
    shares = np.where(missing[:, None], 0, (flat - low[:, None]) / span)
    values = np.rint(shares * 255).astype(np.uint8) if kind == "uint8" else shares.astype(np.float16)
    lists = fixed(values, pyarrow.array(missing))
    ends = (pyarrow.array(end, pyarrow.float32(), mask=missing) for end in (low, high))
    return dict(zip((f"map_{method}", f"low_{method}", f"high_{method}"), (lists, *ends), strict=True))


def fixed(rows: np.ndarray, missing: pyarrow.Array | None = None) -> pyarrow.FixedSizeListArray:
    """A list for each row, all of one length."""
    return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.ravel()), rows[0].size, mask=missing)


def decoded(table: pyarrow.Table, method: str) -> Maps:
    """NaN where there is no map."""
    field = table.schema.field(f"map_{method}")
    shape = json.loads(field.metadata[b"shape"])
    column = table[field.name].combine_chunks()
    there = np.asarray(column.is_valid())
    maps = np.full((len(there), shape[0] * shape[1]), np.nan, np.float32)
    values = column.flatten().to_numpy(zero_copy_only=False).astype(np.float32).reshape(-1, maps.shape[1])
    low, high = (table[f"{end}_{method}"].to_numpy()[there][:, None] for end in ("low", "high"))
    maps[there] = low + (high - low) * (values / 255 if field.type.value_type == pyarrow.uint8() else values)
    return maps.reshape(-1, *shape)


@dataclass(frozen=True, eq=False)
class Explanations:
    """What a run has written so far. `manifest`: how it was made."""

    path: Place
    manifest: dict[str, Any]

    @cached_property
    def dataset(self) -> dataset.Dataset:
        at = {"filesystem": self.path.fs} if isinstance(self.path, Address) else {}
        return dataset.dataset([getattr(part, "path", str(part)) for part in parts(self.path)], format="parquet", **at)

    @property
    def table(self) -> pyarrow.Table:
        return self.dataset.to_table()

    @property
    def methods(self) -> list[str]:
        return [name.removeprefix("map_") for name in self.dataset.schema.names if name.startswith("map_")]

    def maps(self, method: str) -> tuple[list[str], Maps]:
        """Keys and maps of all pictures, NaN where there is none."""
        table = self.dataset.to_table(["key", *(f"{part}_{method}" for part in ("map", "low", "high"))])
        return table["key"].to_pylist(), decoded(table, method)

    def row(self, key: str) -> dict[str, Any]:
        """One picture's, its maps as values. Raises ValueError."""
        columns = [name for name in self.dataset.schema.names if name != PATCH_FEATURES]
        table = self.dataset.to_table(columns, filter=dataset.field("key") == key)
        if not len(table):
            raise ValueError(f"{self.path} has no image {key[:100]!r}.")
        maps = {f"map_{method}": decoded(table, method)[0] for method in self.methods}
        drawn = {name: one if np.isfinite(one).all() else None for name, one in maps.items()}
        return table.slice(0, 1).to_pylist()[0] | drawn


def is_run(folder: str | Path) -> bool:
    """Whether a folder of this machine is called as what `vizkit explain` wrote."""
    return (Path(folder) / MANIFEST).is_file()


def parts(folder: Place) -> list[Place]:
    """The files of a run that are there, in order."""
    named = {each.name: each for each in folder.iterdir()}
    return [named[name] for name in sorted(named) if name.startswith("part-") and name.endswith(".parquet")]


def begun(folder: Place) -> dict[str, Any] | None:
    """The manifest of a run, None where none was begun. Raises RunError for one that is damaged."""
    try:
        settings = json.loads(read_text(folder / MANIFEST))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        raise RunError(f"{folder / MANIFEST} is damaged; give another folder.")
    return settings


def opened(folder: str | Path) -> Explanations:
    """The folder, or the address, that `vizkit explain` wrote. Raises ValueError where it is none."""
    place = place_of(str(folder))
    try:
        manifest = begun(place)
    except (OSError, ValueError):
        manifest = None
    if manifest is None:
        raise ValueError(f"{place} holds no explanations of many images.")
    if not parts(place):
        raise ValueError(f"Nothing is written in {place} yet.")
    return Explanations(place, manifest)


def difference(one: Explanations, other: Explanations, method: str) -> tuple[list[str], Maps]:
    """Maps of the first less those of the second, of the pictures that both have, in the order of the first."""
    keys, mine, theirs = _both(one, other, method)
    return keys, mine - theirs


def _both(one: Explanations, other: Explanations, method: str) -> tuple[list[str], Maps, Maps]:
    (keys, mine), (others, theirs) = one.maps(method), other.maps(method)
    places = {key: row for row, key in enumerate(others)}
    both = [(row, places[key]) for row, key in enumerate(keys) if key in places]
    if both and mine.shape[1:] != theirs.shape[1:]:
        raise ValueError(f"The maps have {mine.shape[1:]} and {theirs.shape[1:]} places, so they have no difference.")
    rows, columns = np.array(both, np.int64).reshape(-1, 2).T
    return [keys[row] for row in rows], mine[rows], theirs[columns]


def alike(one: Explanations, other: Explanations, method: str) -> tuple[list[str], Float32[np.ndarray, " picture"]]:
    """Of the pictures that both have a map of: the rank correlation (Spearman) of the two, NaN where one is even."""
    from scipy.stats import rankdata

    keys, *maps = _both(one, other, method)
    there = np.flatnonzero(np.isfinite(maps).all((0, 2, 3)))
    if not len(there):
        return [], np.zeros(0, np.float32)
    ranks = [rankdata(each[there].reshape(len(there), -1), axis=1) for each in maps]
    first, second = (each - each.mean(1, keepdims=True) for each in ranks)
    with np.errstate(invalid="ignore"):
        shared = (first * second).sum(1) / np.sqrt((first**2).sum(1) * (second**2).sum(1))
    return [keys[row] for row in there], shared.astype(np.float32)


def write(path: Path, batches: Any, schema: pyarrow.Schema) -> None:
    """A row group for each batch, so that no more than one is in memory."""
    with parquet.ParquetWriter(path, schema, compression="zstd") as file:
        for batch in batches:
            file.write_batch(batch)
