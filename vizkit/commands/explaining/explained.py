"""What `explain` wrote of many images: a table, or one row in words and as maps over its image."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from vizkit.analysis.attribution.methods import METHODS
from vizkit.commands.explaining.maps import write_picture
from vizkit.commands.options import writes
from vizkit.commands.output import told, write_output, writing_to
from vizkit.from_json import hints_of, read, read_fields
from vizkit.image import Preprocessing
from vizkit.percent import in_percent
from vizkit.writing import csv_rows

if TYPE_CHECKING:
    from vizkit.analysis.attribution.explaining import Explanation
    from vizkit.explanations.table import Explanations
    from vizkit.image import RGB


SHOWN, LINES = 5, 20
CLASSES, WORDS = ("truth", "answer", "explained"), ("key", "label", "error", "no_map")  # columns that are read by name


@dataclass(frozen=True)
class MapKind:
    shape: tuple[int, int]
    signed: bool


@dataclass(frozen=True)
class About:
    """What is read of a manifest as it is."""

    source: str
    patches: tuple[int, int] | None
    against: int | None


def explained(
    maps: Path,
    key: str | None = None,
    /,
    *,
    less: Path | None = None,
    output: Annotated[Path | None, writes(".png", ".csv")] = None,
) -> None:
    """What explain wrote of many images: all, one, or how far two runs agree.

    vizkit explained maps/ -o table.csv

    vizkit explained maps/ cats/1.jpg -o one.png

    vizkit explained maps/ --less before/

    Args:
        maps: The folder that explain wrote.
        key: The image, as the column key has it; a table of all where it is left out.
        less: Another such folder, of the same images: its map is taken away; without a key, how alike all are.
        output: OUT.png, the maps over the image, which is read where it lay; of all OUT.csv.
    """
    results, other = _opened(maps), None if less is None else _opened(less)
    if output is not None and (output.suffix.lower() == ".csv") == (key is not None or other is not None):
        raise ValueError("A table is one of all: OUT.csv without a key; a figure is one of a key: OUT.png.")
    if key is None and other is not None:
        print("\n".join(line for method in _shared(results, other) for line in _alike(results, other, method)))
        return
    if key is None:
        rows = _named(results)
        print("\n".join(map(_plain, told(map(_line, rows[:LINES])).splitlines())))
        if output is not None:
            write_output(output, csv_rows(rows))
        print(output or f"{len(rows):,} images; -o table.csv writes all of each.")
        return
    row = _row(results, maps, key)
    print("\n".join(_said(row, results.manifest["labels"])))
    if output is None:
        return
    manifest: dict[str, Any] = results.manifest
    if other is not None:
        manifest = manifest | {
            "maps": {name: manifest["maps"][name] | {"signed": True} for name in _shared(results, other)}
        }
        theirs = _row(other, less, key)
        for name in (f"map_{method}" for method in manifest["maps"]):
            row[name] = None if row[name] is None or theirs[name] is None else row[name] - theirs[name]
    drawn = _explanations(row, manifest)
    if not drawn:
        raise ValueError(f"{key} has no map: {row['error'] or row['no_map'] or 'the other run has none.'}")
    from vizkit.image import seen_box

    rgb = _picture(manifest["source"], key)
    with writing_to(output):
        write_picture(output, drawn, rgb, seen_box((rgb.shape[0], rgb.shape[1]), _needs(manifest)))
    print(output)


def _opened(folder: Path) -> "Explanations":
    """ValueError for one whose manifest or columns are not those that `explain` writes."""
    import pyarrow

    from vizkit.explanations.table import map_fields, opened

    results = opened(folder)
    try:
        told, schema = results.manifest, results.dataset.schema
        read(About, {name: told[name] for name in hints_of(About)})
        _needs(told)
        columns = [pyarrow.field(name, pyarrow.int32()) for name in CLASSES]
        columns += [pyarrow.field(name, pyarrow.string()) for name in WORDS]
        columns.append(pyarrow.field("probability", pyarrow.float32()))
        for method, about in told["maps"].items():
            values, *ends = map_fields(method, read(MapKind, about).shape, "uint8")
            there, columns = schema.field(values.name), columns + ends
            if there.metadata != values.metadata or there.type.list_size != values.type.list_size:
                raise TypeError
            if there.type.value_type not in (pyarrow.uint8(), pyarrow.float16()):
                raise TypeError
        known = [*told["maps"]] == [each for each in results.methods if each in METHODS]
        labels = isinstance(told["labels"], list) and all(isinstance(label, str) for label in told["labels"])
        if not (known and labels and all(schema.field(each.name).equals(each) for each in columns)):
            raise TypeError
        if results.dataset.to_table([each.name for each in columns])["key"].null_count:
            raise TypeError
    except (ValueError, LookupError, TypeError, AttributeError, OSError, pyarrow.ArrowException):
        raise ValueError(f"{folder} was not written by vizkit explain, or is damaged.") from None
    return results


def _named(results: "Explanations") -> list[dict[str, Any]]:
    """Every row without its maps, the names of classes beside their numbers."""
    left_out, labels = ("map_", "low_", "high_", "sha256", "rollout_special"), results.manifest["labels"]
    names = [name for name in results.dataset.schema.names if not name.startswith(left_out)]
    columns = results.dataset.to_table(names).to_pydict()
    for name in CLASSES:
        columns[f"{name}_name"] = [_name_of(number, labels) for number in columns[name]]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _name_of(number: int | None, labels: list[str]) -> str:
    return labels[number] if number is not None and 0 <= number < len(labels) else ""


def _line(row: dict[str, Any]) -> dict[str, object]:
    """What fits into a terminal."""
    answer = None if row["answer"] is None else f"{row['answer']} {row['answer_name']}".rstrip()
    sure = None if row["probability"] is None else in_percent(row["probability"])
    reason = (row["error"] or row["no_map"] or "")[:60]
    return {"key": row["key"], "label": row["label"], "answer": answer, "probability": sure, "no map": reason}


def _needs(manifest: dict[str, Any]) -> Preprocessing:
    from vizkit.models.sources.transformers_processor import OwnProcessor

    words = dict(manifest["preprocessing"])
    own = words.pop("processor", None)
    words = read_fields(Preprocessing, words)
    return Preprocessing(**words, processor=OwnProcessor(**own) if own else None)


def _row(results: "Explanations", folder: Path | None, key: str) -> dict[str, Any]:
    try:
        return results.row(key)
    except KeyError:
        raise ValueError(f"{folder} has no image {key[:100]!r}.") from None


def _shared(one: "Explanations", other: "Explanations") -> list[str]:
    """Methods of both, with maps of one size."""
    theirs = other.manifest["maps"]
    shared = [
        name
        for name, about in one.manifest["maps"].items()
        if name in theirs and theirs[name]["shape"] == about["shape"]
    ]
    if not shared:
        raise ValueError("The two runs have no method in common with maps of one size.")
    return shared


def _alike(one: "Explanations", other: "Explanations", method: str) -> list[str]:
    import numpy as np

    from vizkit.explanations.table import alike

    keys, shared = alike(one, other, method)
    known = np.flatnonzero(~np.isnan(shared))
    if not len(known):
        return [f"{METHODS[method].title}: no image has a map in both."]
    low, middle, high = np.quantile(shared[known], (0.25, 0.5, 0.75))
    first = [f"{_plain(keys[row])} ({shared[row]:.2f})" for row in known[np.argsort(shared[known])][:SHOWN]]
    return [
        f"{METHODS[method].title}: {len(known):,} images, rank correlation of their maps {middle:.2f} "
        f"({low:.2f} to {high:.2f}, the middle half).",
        f"  least alike: {', '.join(first)}",
    ]


def _said(row: dict[str, Any], labels: list[str]) -> "list[str]":
    """A line for each number and sentence of a row; a class by its name."""
    names = {name: _name_of(row[name], labels) for name in CLASSES}
    plain = {name: value for name, value in row.items() if not name.startswith(("map_", "low_", "high_"))}
    words = {name: value.hex() if isinstance(value, bytes) else value for name, value in plain.items()}
    lines = [f"{name}: {value} {names.get(name, '')}".rstrip() for name, value in words.items() if value is not None]
    return [*map(_plain, lines)]


def _plain(text: str) -> str:
    """Names of strangers say nothing that a terminal obeys."""
    return "".join(letter if letter.isprintable() else "�" for letter in text)


def _explanations(row: dict[str, Any], manifest: dict[str, Any]) -> "list[Explanation]":
    import torch

    from vizkit.analysis.attribution.explaining import Explanation

    size_hw, cells = _tuple(manifest["preprocessing"]["size_hw"]), _tuple(manifest["patches"])
    goal, rival = row["explained"], manifest["against"]
    heats, kinds = {method: row[f"map_{method}"] for method in manifest["maps"]}, manifest["maps"]
    return [
        Explanation(method, torch.from_numpy(heat), kinds[method]["signed"], size_hw, cells or heat.shape, goal, rival)
        for method, heat in heats.items()
        if heat is not None
    ]


def _picture(source: str, key: str) -> "RGB":
    """Where the run read it. Raises DatasetError, a ValueError, where it is no longer there."""
    from vizkit.datasets.image_set import DatasetError
    from vizkit.explanations.source import open_source
    from vizkit.image import open_image

    opened = open_source(source)
    items = (item for part in range(len(opened.counts)) for item in opened.items(part))
    found = next((item for item in items if item.key == key), None)
    if found is None:
        raise DatasetError(f"{source} no longer has the image {key[:100]!r}.")
    content = opened.read(found.where)
    return open_image(content) if isinstance(content, bytes) else content


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
