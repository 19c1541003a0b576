"""`vizkit explain photos/ -o maps/`: a map and its numbers for every picture of a folder, and one table of all.

The same command goes on where it was stopped: a picture is done when its .npz is there, which is written last.
"""

import csv
import io
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizkit import writing
from vizkit.commands.explaining.maps import chosen, explained, write_numbers, write_picture
from vizkit.commands.options import Opening, class_of, several_processes
from vizkit.commands.output import writing_to
from vizkit.heads import scorer

if TYPE_CHECKING:
    from vizkit.analysis.attribution.explaining import Explanation
    from vizkit.image import Box
    from vizkit.models import Loaded
    from vizkit.scoring import Question


COLUMNS = {
    "picture": str,
    "model": str,
    "class": str,
    "class_number": int,
    "probability": float,
    "logit": float,
    "against": str,
    "method": str,
    "lowest": float,
    "highest": float,
    "highest_x_px": float,
    "highest_y_px": float,
    "error": str,
}
"""Of the table: a line for each picture and method. The highest value's place is in pixels of the picture."""
SETTINGS = "explained.json"


def pictures_in(folder: Path, without: Path) -> list[str]:
    """Relative paths of all pictures below a folder, in natural order, but for hidden ones and those in `without`."""
    from vizkit.datasets.layout import is_junk, is_picture, natural

    names = []
    for inside, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not is_junk(name) and (Path(inside) / name).resolve() != without]
        names += [
            (Path(inside) / name).relative_to(folder).as_posix()
            for name in files
            if is_picture(name) and not is_junk(name)
        ]
    return sorted(names, key=natural)


def explain_folder(
    folder: Path,
    outputs: Sequence[Path],
    opening: Opening,
    model: str,
    names_of_methods: Sequence[str],
    layer: str,
    *classes: str | None,
) -> None:
    """Each of several processes explains its share of the pictures; the first writes the table. `classes`: the one
    explained, and the one that it is set against."""
    if len(outputs) != 1 or outputs[0].suffix:
        raise ValueError(f"The maps of {folder} need a folder: give its name, without an ending, after -o.")
    output = outputs[0]
    names = pictures_in(folder, output.resolve())
    if not names:
        raise ValueError(f"There are no pictures in {folder}.")
    accelerator = several_processes(opening.device)
    index, processes = (0, 1) if accelerator is None else (accelerator.process_index, accelerator.num_processes)
    loaded = opening.on(accelerator).load(model)
    methods = chosen(names_of_methods)
    try:
        with writing_to(output):
            _begin(output, loaded, methods, layer, *classes)
            for name in _progress(names[index::processes], loaded.name, quiet=index > 0):
                if not _numbers_of(output, name).is_file():
                    _explain(folder, output, name, loaded, methods, layer, *classes)
            if accelerator is not None:
                accelerator.wait_for_everyone()
            if index == 0:
                _finish(output, names)
    finally:
        if accelerator is not None:
            accelerator.end_training()


def _begin(
    output: Path, loaded: "Loaded", methods: list[str], layer: str, target: str | None, against: str | None
) -> None:
    """The folder says what its maps are of; with another model or other methods it is refused."""
    from vizkit.evaluation.answer_cache import weights_digest

    now = {
        "model": loaded.name,
        "weights": weights_digest(loaded.model),
        "size_hw": [*loaded.preprocessing.size_hw],
        "methods": methods,
        "target": target,
        "against": against,
    } | ({"layer": layer} if layer else {})
    output.mkdir(exist_ok=True)
    path = output / SETTINGS
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        writing.write(path, json.dumps(now, indent=1))
        return
    except ValueError:
        before = None
    if before != now:
        raise ValueError(f"{output} has maps of another model, method or class; give another folder.")


def _explain(
    folder: Path, output: Path, name: str, loaded: "Loaded", methods: list[str], layer: str, *classes: str | None
) -> None:
    """Write the map and the numbers of one picture; of one that cannot be opened or explained, only the reason."""
    import numpy as np

    import vizkit
    from vizkit.image import ImageError, seen_box
    from vizkit.scoring import Question

    numbers = _numbers_of(output, name)
    numbers.parent.mkdir(parents=True, exist_ok=True)
    try:
        image = vizkit.open_image(folder / name)
    except ImageError as error:
        rows = [{"picture": name, "model": loaded.name, "error": str(error)}]
        writing.write(numbers, lambda path: np.savez(path, meta=np.array(json.dumps({"rows": rows}))))
        return
    target, against = (class_of(loaded, label) for label in classes)
    question = Question.of(loaded, image, target, against, layer)
    explanations, reasons = explained(question, methods)
    box = seen_box((image.shape[0], image.shape[1]), loaded.preprocessing)
    rows = [{"picture": name} | row for row in _rows(question, loaded, explanations, reasons, box)]
    if explanations:
        writing.write(numbers.with_suffix(".png"), lambda path: write_picture(path, explanations, image, box))
    writing.write(numbers, lambda path: write_numbers(path, explanations, loaded, image, box, rows=rows))


def _numbers_of(output: Path, name: str) -> Path:
    """photo.jpg.npz: photo.png may lie beside photo.jpg."""
    return output / f"{name}.npz"


def _rows(
    question: "Question", loaded: "Loaded", explanations: "list[Explanation]", reasons: dict[str, str], box: "Box"
) -> Iterator[dict[str, Any]]:
    logits, target, against = question.trace.logits, question.subject.target, question.subject.against
    answer = {
        "model": loaded.name,
        "class": loaded.label(target),
        "class_number": target,
        "logit": float(scorer(logits, target)(logits)),
        "against": None if against is None else loaded.label(against),
    }
    if loaded.classifies:
        answer["probability"] = float(loaded.head.values(logits)[target])
    for explanation in explanations:
        heat = explanation.heat
        row, column = divmod(int(heat.argmax()), heat.shape[1])
        left, top, right, bottom = box
        yield answer | {
            "method": explanation.method,
            "lowest": float(heat.min()),
            "highest": float(heat.max()),
            "highest_x_px": left + (column + 0.5) * (right - left) / heat.shape[1],
            "highest_y_px": top + (row + 0.5) * (bottom - top) / heat.shape[0],
        }
    for method, reason in reasons.items():
        yield answer | {"method": method, "error": reason}


def _progress(names: list[str], label: str, quiet: bool) -> Iterator[str]:
    from tqdm import tqdm

    yield from tqdm(names, desc=label, unit="picture", disable=True if quiet else None, dynamic_ncols=True)


def _finish(output: Path, names: list[str]) -> None:
    """The table of everything that is done, as CSV and, where pyarrow is installed, as Parquet."""
    import numpy as np

    rows: list[dict[str, Any]] = []
    for name in names:
        with np.load(_numbers_of(output, name), allow_pickle=False) as file:
            rows += json.loads(file["meta"].item())["rows"]
    text = io.StringIO()
    table = csv.DictWriter(text, [*COLUMNS], restval="", lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    writing.write(output / "table.csv", text.getvalue())
    without = {row["picture"] for row in rows if row.get("error")}
    print(
        f"{output}: {len(names)} pictures" + (f", {len(without)} with an error that the table tells" if without else "")
    )
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        print("table.parquet is left out: pyarrow is not installed.")
        return
    kinds = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64()}
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    made = pyarrow.Table.from_pylist(rows, schema)
    writing.write(output / "table.parquet", lambda path: parquet.write_table(made, path))
