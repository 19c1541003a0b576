"""One row of what `explain` wrote of many pictures, in words and as maps over its picture."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from vizkit.commands.explaining.maps import write_picture
from vizkit.commands.options import writes
from vizkit.commands.output import writing_to

if TYPE_CHECKING:
    from vizkit.analysis.attribution.explaining import Explanation
    from vizkit.image import RGB


READ = {"source", "labels", "maps", "preprocessing", "patches", "against"}  # of the manifest


def explained(maps: Path, key: str, /, *, output: Annotated[Path | None, writes(".png")] = None) -> None:
    """A row that explain wrote of many pictures.

    vizkit explained maps/ cats/1.jpg -o one.png

    Args:
        maps: The folder that explain wrote.
        key: The picture, as the column key has it.
        output: OUT.png, the maps over the picture, which is read where it lay.
    """
    from vizkit.explanations.table import opened

    results = opened(maps)
    if not results.manifest.keys() >= READ:
        raise ValueError(f"{maps} was not written by vizkit explain.")
    try:
        row = results.row(key)
    except KeyError:
        raise ValueError(f"{maps} has no picture {key[:100]!r}.") from None
    print("\n".join(_said(row, results.manifest["labels"])))
    drawn = _explanations(row, results.manifest)
    if output is None:
        return
    if not drawn:
        raise ValueError(f"{key} has no map: {row['error'] or row['no_map']}")
    from vizkit.image import Preprocessing, seen_box

    rgb = _picture(results.manifest["source"], key)
    needs = Preprocessing(**{name: _tuple(value) for name, value in results.manifest["preprocessing"].items()})
    with writing_to(output):
        write_picture(output, drawn, rgb, seen_box((rgb.shape[0], rgb.shape[1]), needs))
    print(output)


def _said(row: dict[str, Any], labels: list[str]) -> "list[str]":
    """A line for each number and sentence of a row; a class by its name."""
    classes = ("truth", "answer", "explained")
    names = {
        name: labels[row[name]] if 0 <= row[name] < len(labels) else "" for name in classes if row[name] is not None
    }
    plain = {name: value for name, value in row.items() if not name.startswith(("map_", "low_", "high_"))}
    words = {name: value.hex() if isinstance(value, bytes) else value for name, value in plain.items()}
    lines = [f"{name}: {value} {names.get(name, '')}".rstrip() for name, value in words.items() if value is not None]
    return ["".join(letter if letter.isprintable() else "�" for letter in line) for line in lines]  # names of strangers


def _explanations(row: dict[str, Any], manifest: dict[str, Any]) -> "list[Explanation]":
    import torch

    from vizkit.analysis.attribution.explaining import Explanation

    size_hw, cells = _tuple(manifest["preprocessing"]["size_hw"]), _tuple(manifest["patches"])
    goal, rival = row["explained"], manifest["against"]
    heats = {method: row[f"map_{method}"] for method in manifest["maps"]}
    return [
        Explanation(method, torch.from_numpy(heat), manifest["maps"][method]["signed"], size_hw, cells, goal, rival)
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
        raise DatasetError(f"{source} no longer has the picture {key[:100]!r}.")
    content = opened.read(found.where)
    return open_image(content) if isinstance(content, bytes) else content


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
