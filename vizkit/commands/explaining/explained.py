"""What `explain` wrote of many images: a table, or one row in words and as maps over its image."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from vizkit.commands.explaining.maps import write_picture
from vizkit.commands.options import writes
from vizkit.commands.output import told, write_output, writing_to
from vizkit.percent import in_percent
from vizkit.writing import csv_rows, write

if TYPE_CHECKING:
    from vizkit.explanations.table import Explanations
    from vizkit.explanations.vectors import Alike

FRAME = "#ffb000"

SHOWN, LINES, ALIKE = 5, 20, 11


def explained(
    maps: str,
    key: str | None = None,
    /,
    *,
    less: str | None = None,
    alike: tuple[float, float] | None = None,
    output: Annotated[Path | None, writes(".png", ".csv")] = None,
) -> None:
    """What explain wrote of many images: all, one, or how far two runs agree.

    vizkit explained maps/ -o table.csv

    vizkit explained maps/ cats/1.jpg -o one.png

    vizkit explained maps/ --less before/

    vizkit explained maps/ cats/1.jpg --alike 0.4 0.6 -o alike.png

    Args:
        maps: The folder, or the address, that explain wrote.
        key: The image, as the column key has it; a table of all where it is left out.
        less: Another such folder, of the same images: its map is taken away; without a key, how alike all are.
        alike: Across and down, in shares of what the model sees of the image: the most similar patches of all others.
        output: OUT.png, the maps over the image, which is read where it lay; of all OUT.csv.
    """
    from vizkit.explanations import written

    results, other = written.checked(maps), None if less is None else written.checked(less)
    if alike is not None and (key is None or other is not None):
        raise ValueError("--alike asks for a patch of one image: give its key, and no --less.")
    if output is not None and (output.suffix.lower() == ".csv") == (key is not None or other is not None):
        raise ValueError("A table is one of all: OUT.csv without a key; a figure is one of a key: OUT.png.")
    if key is None and other is not None:
        for method in written.shared(results, other):
            said, first = written.agreement(results, other, method)
            print(said)
            if first:
                listed = (f"{_plain(place)} ({alike:.2f})" for place, alike in first[:SHOWN])
                print(f"  least alike: {', '.join(listed)}")
        return
    if key is None:
        rows = written.rows_of(results)
        _table(map(_line, rows[:LINES]))
        if output is not None:
            write_output(output, csv_rows(rows))
        print(output or f"{len(rows):,} images; -o table.csv writes all of each.")
        return
    if alike is not None:
        return _alike(results, key, alike, output)
    row = results.row(key)
    print("\n".join(_said(row, written.named(row, results.manifest["labels"]))))
    if output is None:
        return
    if other is None:
        every = [(method, row[f"map_{method}"], about["signed"]) for method, about in results.manifest["maps"].items()]
    else:
        theirs = other.row(key)
        every = [(method, _less(row, theirs, f"map_{method}"), True) for method in written.shared(results, other)]
    drawn = [one for one in every if one[1] is not None]
    if not drawn:
        raise ValueError(f"{key} has no map: {row['error'] or row['no_map'] or 'the other run has none.'}")
    from vizkit.image import seen_box

    source = written.source_of(results)
    rgb = written.rgb_as_explained(source, written.items_of(source, {key}).get(key), row["sha256"])
    with writing_to(output):
        write_picture(output, drawn, rgb, seen_box((rgb.shape[0], rgb.shape[1]), written.needs_of(results)))
    print(output)


def _alike(results: "Explanations", key: str, at: tuple[float, float], output: Path | None) -> None:
    from vizkit.explanations.vectors import PatchIndex, said

    index = PatchIndex.of(results)
    asking = index.patch(key, *at)
    found = index.most_alike(asking, ALIKE)
    print(said(asking, found))
    _table([each._asdict() | {"cosine": f"{each.cosine:.3f}"} for each in found])
    if output is not None:
        with writing_to(output):
            _write_alike(output, results, [asking, *found], index.grid)
        print(output)


def _write_alike(output: Path, results: "Explanations", patches: "list[Alike]", grid: tuple[int, int]) -> None:
    """What the model saw of each image, its patch in a frame."""
    from PIL import Image

    from vizkit.explanations import written
    from vizkit.figure.sheet import outlined, sheet

    drawn = []
    for patch, rgb in zip(patches, written.images_as_seen(results, [each.key for each in patches]), strict=True):
        height, width = (side // count for side, count in zip(rgb.shape, grid, strict=False))
        box = patch.row * rgb.shape[0] // grid[0], patch.column * rgb.shape[1] // grid[1], height, width
        drawn.append(outlined(rgb, [box], [FRAME]))
    titles = ["asked", *(f"{each.cosine:.2f} · {each.key}" for each in patches[1:])]
    write(output, Image.fromarray(sheet(drawn, titles)).save)


def _less(row: dict[str, Any], theirs: dict[str, Any], name: str) -> Any:
    return None if row[name] is None or theirs[name] is None else row[name] - theirs[name]


def _line(row: dict[str, Any]) -> dict[str, object]:
    """What fits into a terminal."""
    answer = None if row["answer"] is None else f"{row['answer']} {row['answer_name']}".rstrip()
    sure = None if row["probability"] is None else in_percent(row["probability"])
    reason = (row["error"] or row["no_map"] or "")[:60]
    return {"key": row["key"], "label": row["label"], "answer": answer, "probability": sure, "no map": reason}


def _said(row: dict[str, Any], names: dict[str, str]) -> list[str]:
    """A line for each number and sentence of a row; a class by its name."""
    lines = []
    for name, value in row.items():
        if value is not None and not name.startswith(("map_", "low_", "high_")):
            words = value.hex() if isinstance(value, bytes) else value
            lines.append(_plain(f"{name}: {words} {names.get(f'{name}_name', '')}".rstrip()))
    return lines


def _table(rows: Iterable[dict[str, Any]]) -> None:
    print("\n".join(map(_plain, told(rows).splitlines())))


def _plain(text: str) -> str:
    """Names of strangers say nothing that a terminal obeys."""
    return "".join(letter if letter.isprintable() else "�" for letter in text)
