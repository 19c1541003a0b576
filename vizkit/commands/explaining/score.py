"""Which map to trust, measured on many images.

Ctrl-C or `kill` ends it; what was scored until then is written.
"""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts.types import PositiveInt

from vizkit.analysis.attribution.methods import METHODS
from vizkit.commands.explaining.maps import Layer, Methods, chosen
from vizkit.commands.options import AS_IT_IS, HERE, Cluster, Models, Opening, Some, Split, Threads, writes
from vizkit.commands.output import markdown, progress, typed, write_output
from vizkit.training.interrupting import terminable
from vizkit.writing import csv_rows

if TYPE_CHECKING:
    from vizkit.analysis.trust.table import Row
    from vizkit.datasets.image_set import ImageSet
    from vizkit.models import Loaded


Measures = list[Literal["truth", "deletion", "road", "randomisation", "infidelity", "sensitivity"]]


@dataclass(frozen=True)
class Scored:
    """One model: its rows, how many of `asked` images were scored, why some are left out of the rows and why some
    methods do not apply.
    """

    model: str
    rows: "list[Row]"
    images: int
    asked: int
    seconds: float
    not_applicable: dict[str, str]
    left_out: str = ""


def score(
    *,
    model: Models,
    data: str = "insects",
    split: Split = "test",
    images: Some = 200,
    seed: int | None = None,
    method: Methods = None,
    layer: Layer = "",
    measure: Measures | None = None,
    steps: PositiveInt = 28,
    fill: Literal["blur", "mean"] = "blur",
    threads: Threads = 0,
    cluster: Cluster = HERE,
    opening: Opening = AS_IT_IS,
    output: Annotated[Path | None, writes(".md", ".csv", ".json")] = None,
) -> None:
    """Which explanation to trust, measured on many images.

    vizkit score --model bundled:insects_vit --model bundled:insects_swin --images 200 -o trust.md

    vizkit score --model runs/mine --on ray -o trust.md

    Args:
        data: Insects, digits, a folder …
        seed: Of drawn or divided data; where it is left out, one that no model has seen.
        measure: Repeatable; the truth, where it is known, and deletion.
        steps: Of the deletion and insertion curves.
        fill: What stands in for a patch.
        output: A table to write.
    """
    import torch

    from vizkit.scoring import FRESH_SEED, pictures

    if threads:
        torch.set_num_threads(threads)
    drawn = FRESH_SEED if seed is None else seed
    about = f"The images are {data}, {split}, seed {drawn}"
    about += ": no model that ships with vizkit has seen them." if seed is None else "."
    methods = chosen([name.replace("-", "_") for name in method or ["all"]])
    asked: dict[str, Any] = {"measures": measure or ["truth", "deletion"], "steps": steps, "fill": fill}
    results: list[Scored] = []
    stopped = False
    with terminable(), cluster.used():  # `kill` too leaves what was scored
        for name in model:
            loaded = opening.load(name, several=True)
            scored, stopped = _score_model(loaded, pictures(loaded, data, images, split, drawn), methods, layer, asked)
            if scored.images:
                results.append(scored)
                if output:
                    kind = output.suffix.lower()
                    write_output(output, page(about, results, stopped) if kind == ".md" else TABLES[kind](results))
            if stopped:
                break
    if not (output and results):
        print("\n\n".join(map(_markdown, results)) or "Nothing was scored.")
    else:
        print(f"{output}: {', '.join(f'{result.model} on {result.images} images' for result in results)}")
    if stopped:
        raise KeyboardInterrupt


def _score_model(
    loaded: "Loaded", images: "ImageSet", selected: list[str], layer: str, asked: dict[str, Any]
) -> tuple[Scored, bool]:
    """What was scored, and whether the user stopped it; what was scored before is found again. `asked`: of
    `score_case`."""
    from vizkit.analysis.attribution.explaining import applicable, why_not
    from vizkit.evaluation.maps import scored, tally_of
    from vizkit.scoring import case_of, scorable

    scorable(loaded)
    begin, stopped = time.perf_counter(), False
    first = case_of(loaded, images, 0, layer=layer).trace
    reasons = {method: said for method, said in why_not(first).items() if method in selected}
    methods = [method for method in applicable(first) if method in selected]
    if not methods:
        reason = next(iter(reasons.values()), "")
        raise ValueError(f"None of these methods applies to {loaded.name}. {reason}".strip())
    kept = scored(loaded, images, methods, layer, asked)
    try:
        with progress("image", loaded.name) as tell:
            kept.fill(tell=tell)
    except KeyboardInterrupt:
        stopped = True
    tally, seconds = tally_of(kept.rows()), time.perf_counter() - begin
    return Scored(loaded.name, tally.rows(), tally.images, len(images), seconds, reasons, tally.said()), stopped


# ---- files -----------------------------------------------------------------------------------------------------------
def _as_json(results: list[Scored]) -> str:
    return json.dumps([asdict(result) for result in results], ensure_ascii=False, indent=1)


def _as_csv(results: list[Scored]) -> str:
    """One line for each figure of each method of each model."""

    def digits(number: float | None, count: int = 6) -> str | None:
        return None if number is None else f"{number:.{count}f}"

    every = ((result, row, *each) for result in results for row in result.rows for each in row.figures.items())
    return csv_rows(
        {
            "model": result.model,
            "method": row.method,
            "figure": name,
            "mean": digits(value.mean),
            "spread": digits(value.spread),
            "images": value.images,
            "chance": digits(value.chance),
            "above_chance": digits(value.above_chance),
            "mean_rank": digits(row.rank, 3),
        }
        for result, row, name, value in every
    )


TABLES = {".csv": _as_csv, ".json": _as_json}


def page(about: str, results: list[Scored], stopped: bool) -> str:
    from vizkit.analysis.trust.table import CHANCE, FIGURES
    from vizkit.saving import installed

    figures = {name for result in results for row in result.rows for name in row.figures}
    methods = {row.method for result in results for row in result.rows} - {CHANCE}
    lines = [
        "# Which map to trust",
        "",
        f"Made by `{typed()}`, with {', '.join(f'{name} {installed(name)}' for name in ('torch', 'timm', 'captum'))}.",
        about,
        "" if not stopped else "\nIt was stopped before the end.\n",
        "Explained is the class that the model itself gives an image, right or wrong. Each figure is the mean over",
        "the images ± their standard deviation, in brackets its difference to chance: a random order of the patches,",
        "a point put anywhere (the share of the image at which it would count), an even map. Methods are ordered by",
        "the mean of their places over the figures; the best of each column is bold where it is better than chance.",
        "",
        *("\n".join((_markdown(result), "")) for result in results),
        "## What the figures say, and what not",
        "",
        *(f"- **{figure.title}**: {figure.caveat}" for name, figure in FIGURES.items() if name in figures),
        "",
        "## What the methods ask, and what they miss",
        "",
        *(f"- **{m.title}**: {m.words()} {m.source}." for name, m in METHODS.items() if name in methods),
        "",
    ]
    return "\n".join(lines)


def _markdown(result: Scored) -> str:
    """The table of one model, with the sentence for every method that does not apply."""
    from vizkit.analysis.trust.table import FIGURES

    names = [name for name in FIGURES if any(name in row.figures for row in result.rows)]
    arrows = {True: " ↑", False: " ↓", None: ""}
    heads = [f"{FIGURES[name].title}{arrows[FIGURES[name].larger_is_better]}" for name in names]
    done = f"{result.images} images" + (f" of {result.asked}" if result.images < result.asked else "")
    lines = [f"## {result.model}", "", f"{done}, {result.seconds / 60:.0f} min.", ""]
    rows = [
        [
            row.title + (f" (nothing on {row.nothing})" if row.nothing else ""),
            *(cell(row, name, best(result.rows, name)) for name in names),
            "" if row.rank is None else f"{row.rank:.1f}",
        ]
        for row in result.rows
    ]
    lines.append(markdown(["method", *heads, "mean place"], rows))
    lines += ["", *filter(None, [result.left_out])]
    lines += [*(f"{METHODS[name].title}: {reason}" for name, reason in result.not_applicable.items())]
    return "\n".join(lines).rstrip()


def best(rows: "list[Row]", name: str) -> float | None:
    """The best mean of a figure over the ranked methods; None where it has no better side or none beats chance."""
    from vizkit.analysis.trust.table import FIGURES

    larger = FIGURES[name].larger_is_better
    there = [row.figures[name] for row in rows if name in row.figures and row.rank is not None]
    if larger is None or not there:
        return None
    first = (max if larger else min)(there, key=lambda one: one.mean)
    gain = first.above_chance
    return first.mean if gain is None or (gain > 0 if larger else gain < 0) else None


def cell(row: "Row", name: str, best: float | None) -> str:
    """Shares of images have no spread worth a word."""
    from vizkit.analysis.trust.table import SAME, signed

    if name not in row.figures:
        return "–"
    value = row.figures[name]
    share = name.startswith("pointing")
    text = f"{value.mean:.2f}" if share else f"{value.mean:.3f} ± {value.spread:.3f}"
    text = f"**{text}**" if row.rank is not None and best is not None and abs(value.mean - best) <= SAME else text
    if value.above_chance is None:
        return text
    return f"{text} ({signed(value.above_chance, 2 if share else 3)})"
