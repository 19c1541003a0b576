"""What `vizkit explain` wrote, for others: checked before it is believed, compared, and with its pictures."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow

from vizkit.analysis.attribution.methods import METHODS
from vizkit.datasets.image_set import DatasetError
from vizkit.explanations.place import RunError
from vizkit.explanations.source import Item, Source, open_source, rgb_of, sha256_of
from vizkit.explanations.table import (
    PATCH_FEATURES,
    PICTURE,
    Explanations,
    Kind,
    alike,
    map_fields,
    opened,
    refuse_large,
)
from vizkit.from_json import read, read_fields
from vizkit.image import RGB, ImageError, Preprocessing, seen, side_of

CLASSES = ("truth", "answer", "explained")  # columns


def checked(folder: str | Path) -> Explanations:
    """ValueError for one whose manifest or columns are not those that `explain` writes."""
    results = opened(folder)
    try:
        told, schema = results.manifest, results.dataset.schema
        files = [part.metadata for part in results.dataset.get_fragments()]
        groups = [file.row_group(at) for file in files for at in range(file.num_row_groups)]
        refuse_large(str(folder), groups, {*schema.names} - {PATCH_FEATURES})
        for name in ("source", "model"):
            read(str, told[name])
        needs_of(results)
        plain = dict.fromkeys(CLASSES, pyarrow.int32()) | {"no_map": pyarrow.string(), "probability": pyarrow.float32()}
        columns, maps = [*PICTURE, *pyarrow.schema(plain)], list[pyarrow.Field]()
        for method, about in told["maps"].items():
            read(bool, about["signed"])
            shape = read(tuple[int, int], about["shape"])
            values, *ends = map_fields(method, shape, read(Kind, told["kind"]))
            maps.append(values)
            columns += ends
            if min(shape) < 1 or schema.field(values.name).metadata != values.metadata:
                raise TypeError
        known = [*told["maps"]] == [each for each in results.methods if each in METHODS]
        labels = isinstance(told["labels"], list) and all(isinstance(label, str) for label in told["labels"])
        typed = all(schema.field(each.name).equals(each) for each in columns + maps)
        if not (told["maps"] and known and labels and typed):
            raise TypeError
        rows = results.dataset.to_table([each.name for each in columns])
        classes = [number for name in CLASSES for number in rows[name].drop_null().unique().to_pylist()]
        strange = told["labels"] and any(not 0 <= number < len(told["labels"]) for number in classes)
        if rows["key"].null_count or strange or not np.isfinite(rows["probability"].drop_null().to_numpy()).all():
            raise TypeError
    except RunError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, OSError, pyarrow.ArrowException):
        raise ValueError(f"{folder} was not written by vizkit explain, or is damaged.") from None
    return results


def needs_of(results: Explanations) -> Preprocessing:
    """Of the model that was explained."""
    from vizkit.models.sources.transformers_processor import OwnProcessor

    words = dict(results.manifest["preprocessing"])
    own = words.pop("processor", None)
    return Preprocessing(**read_fields(Preprocessing, words), processor=OwnProcessor(**own) if own else None)


def shared(one: Explanations, other: Explanations) -> list[str]:
    """Methods of both, with maps of one size. Raises ValueError where there is none."""
    mine, theirs = one.manifest["maps"], other.manifest["maps"]
    both = [name for name in mine if theirs.get(name, {}).get("shape") == mine[name]["shape"]]
    if not both:
        raise ValueError("The two runs have no method in common with maps of one size.")
    return both


def named(row: Mapping[str, Any], labels: Sequence[str]) -> dict[str, str]:
    """What the classes of a row are called, "" where there is none."""
    called = dict(enumerate(labels))
    return {f"{name}_name": called.get(row[name], "") for name in CLASSES}


def rows_of(results: Explanations) -> list[dict[str, Any]]:
    """Every row without its maps, the names of classes beside their numbers."""
    left_out = ("map_", "low_", "high_", "sha256", "rollout_special", PATCH_FEATURES)
    names = [name for name in results.dataset.schema.names if not name.startswith(left_out)]
    return [row | named(row, results.manifest["labels"]) for row in results.dataset.to_table(names).to_pylist()]


def agreement(one: Explanations, other: Explanations, method: str) -> tuple[str, list[tuple[str, float]]]:
    """How alike the maps of two runs are, in a sentence; and by key, the least alike first."""
    keys, rank = alike(one, other, method)
    order = [row for row in np.argsort(rank, kind="stable").tolist() if np.isfinite(rank[row])]
    title = METHODS[method].title
    if not order:
        return f"{title}: no image has a map in both.", []
    low, middle, high = np.quantile(rank[order], (0.25, 0.5, 0.75))
    said = f"{title}: {len(order):,} images, rank correlation of their maps {middle:.2f} "
    return said + f"({low:.2f} to {high:.2f}, the middle half).", [(keys[row], float(rank[row])) for row in order]


# ---- its pictures ----------------------------------------------------------------------------------------------------
def source_of(results: Explanations, may: Callable[[str], bool] = lambda _: True) -> Source:
    """Where the run read its pictures: as it was told, or beside its own folder. `may`: whether a place may be opened.
    Raises DatasetError."""
    told = results.manifest["source"]
    near = [str(results.path.parent / told)] if isinstance(results.path, Path) else []
    found = next((each for each in (told, *near) if os.path.exists(each.partition("*")[0])), told)
    if not may(found):
        raise DatasetError("Where its images lie is not open here.")
    return open_source(found, results.manifest.get("split", ""), size_px=side_of(needs_of(results)))


def items_of(source: Source, keys: Collection[str]) -> dict[str, Item]:
    every = (item for part in range(len(source.counts)) for item in source.items(part))
    return {item.key: item for item in every if item.key in keys}


def rgb_as_explained(source: Source, item: Item | None, sha256: bytes | None) -> RGB:
    """Raises ImageError where it is no longer there, or no longer that which was explained."""
    content: bytes | RGB = b""
    with suppress(DatasetError):
        content = b"" if item is None else source.read(item.where)
    if not len(content):
        raise ImageError("The image is no longer where it was explained.")
    if sha256_of(content) != sha256:
        raise ImageError("The image has changed since it was explained.")
    return rgb_of(content)


def images_as_seen(
    results: Explanations, keys: Sequence[str], may: Callable[[str], bool] = lambda _: True
) -> Iterator[RGB]:
    """What the model saw of each. Raises DatasetError, OSError and ImageError where one cannot be reached."""
    source, needs = source_of(results, may), needs_of(results)
    items = items_of(source, keys)
    for key in keys:
        yield seen(rgb_as_explained(source, items.get(key), results.row(key)["sha256"]), needs)
