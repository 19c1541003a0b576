"""What is claimed of the bundled model that finds insects, over unseen scenes.

`python -m benchmarks detection [--plain RUN] [--scenes 1000]` writes measured.json beside it, and docs/detection.md.
Without the run of the plain network its curve stays the one of the earlier measured.json.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

NAME = "scenes_detr"
PAGE = Path(__file__).parents[1] / "docs/detection.md"
CURVE = ("epoch", "train_loss", "val_loss", "val_ap50", "val_ap", "val_accuracy", "seconds")


def run(argv: Sequence[str] = ()) -> None:
    import torch

    from benchmarks.bundled.scenes_measured import measure
    from vizkit.datasets.scenes.opening import open_boxes
    from vizkit.models.detection.opening import BUNDLED, open_detector

    parser = argparse.ArgumentParser(prog="python -m benchmarks detection")
    parser.add_argument("--scenes", type=int, default=1000)
    parser.add_argument("--plain", type=Path, help="the run folder of the recipe detr-plain, for its curve")
    parser.add_argument("--to", type=Path, default=BUNDLED / NAME, help="where measured.json goes")
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args(argv)
    begin = time.monotonic()
    detector = open_detector(f"bundled:{NAME}")
    scenes = open_boxes("scenes", "test", count=arguments.scenes, size_px=detector.preprocessing.size_hw[0])
    result = measure(detector, scenes, lambda done: print(f"\r{done} scenes", end="", flush=True))
    file = arguments.to / "measured.json"
    curves = json.loads(file.read_text())["curves"] if file.is_file() else {}
    curves |= {"detr-small": _curve(BUNDLED / NAME)}
    if arguments.plain:
        curves["detr-plain"] = _curve(arguments.plain)
    content = {"model": NAME, "parameters": detector.parameters, "labels": scenes.labels} | asdict(result)
    content |= {
        "curves": curves,
        "threads": torch.get_num_threads(),
        "minutes": round((time.monotonic() - begin) / 60, 1),
    }
    file.write_text(json.dumps(content, indent=1) + "\n")
    text = page(content)
    arguments.page.write_text(text)
    print(f"\n{text}")


def _curve(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [{name: each.get(name) for name in CURVE} for each in map(json.loads, lines)]


def page(content: dict[str, Any]) -> str:
    """docs/detection.md."""
    whole, alone = content["whole"], content["alone"]
    kinds = zip(content["labels"], content["things"], whole["precision"]["by_label"], strict=True)
    looking = [
        _row(
            f"{layer}" if layer < len(content["looking"]) else f"{layer}, the last",
            f"{each['ratio']:.1f}",
            f"{each['low']:.1f} to {each['high']:.1f}",
            f"{each['median']:.1f}",
        )
        for layer, each in enumerate(content["looking"], 1)
    ]
    return TEXT.format(
        scenes=content["scenes"],
        parameters=content["parameters"],
        insects=sum(content["things"]),
        minutes=content["minutes"],
        cores=_cores(content["threads"]),
        ap50=whole["precision"]["ap50"],
        ap=whole["precision"]["ap"],
        ap75=whole["precision"]["ap75"],
        faultless=whole["faultless"],
        kinds="\n".join(_row(name, f"{count:,}", f"{value:.3f}") for name, count, value in kinds),
        queries=content["looking"][-1]["queries"],
        looking="\n".join(looking),
        alone="\n".join(
            _row(
                title,
                f"{said['duplicates']:.2f}",
                f"{said['precision']['ap50']:.3f}",
                f"{said['precision']['ap']:.3f}",
                f"{said['faultless']:.1%}",
            )
            for title, said in (("as trained", whole), ("no self-attention", alone))
        ),
        differing=", ".join(f"{number} after layer {layer}" for layer, number in enumerate(content["differing"], 1)),
        curves="\n\n".join(_curve_table(name, lines) for name, lines in content["curves"].items()),
    )


def _cores(threads: int) -> str:
    return "one core" if threads == 1 else f"{threads} cores"


def _curve_table(name: str, lines: list[dict[str, Any]]) -> str:
    seconds, rows = 0.0, []
    for each in lines:
        seconds += each["seconds"] or 0
        rows.append(
            _row(
                str(each["epoch"]),
                f"{seconds / 60:.0f}",
                f"{each['train_loss']:.2f}",
                f"{each['val_ap50']:.3f}",
                f"{each['val_ap']:.3f}",
            )
        )
    head = [_row("epoch", "minutes so far", "training loss", "AP50", "AP"), "|---|---:|---:|---:|---:|"]
    return "\n".join([f"`{name}`", "", *head, *rows])


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


TEXT = """\
# Detection

`bundled:scenes_detr` is a DETR (Carion et al. 2020) of {parameters:,} parameters that finds twelve kinds of drawn water
insects. It learned from 12,000 drawn scenes: `python -m vizkit train --recipe detr-small -o runs/detr`. Its queries
look at places of their own (Meng et al. 2021), four groups of them learn side by side (Chen et al. 2022), and every
cell of the memory learns too (Zong et al. 2023); `detr-plain` is the same network without these three.

    python -m vizkit show boxes pond.jpg -o found.png     # or `detect pond.jpg -o found.json`: numbers
    python -m vizkit evaluate scenes --model bundled:scenes_detr
    python -m vizkit train --data FOLDER --recipe detr-small -o runs/mine     # FOLDER/annotations.json as in COCO

Own pictures come with boxes in COCO's format, a folder with `annotations.json` or one each in `train/`, `val/` and
`test/`; without these the file is divided by `--data-seed`, 80 : 10 : 10. What is wrong in it (a box outside its
picture, an unknown class …) is left out and said by `train` and `evaluate`. `--crop 0.5` trains on parts of pictures,
too; of a thing 30 % of its box have to lie in one. `--model` also takes a folder of transformers with a DETR.

The insects are drawn, not photographed: expect nothing on real animals. Everything below is measured by
`python -m benchmarks detection` on {scenes:,} scenes with {insects:,} insects that had no part in the training
({minutes} minutes on {cores}).

## How much is found

AP as COCO defines it, by torchmetrics: **AP50 {ap50:.3f}**, AP75 {ap75:.3f}, AP {ap:.3f}. In {faultless:.1%} of the
scenes every insect is found (score and IoU of .5 or more) and nothing else is said.

| kind | insects | AP50 |
|---|---:|---:|
{kinds}

## Where queries look

Cross-attention of a matched query, mean over heads: its weight per pixel on its own insect ÷ its weight per pixel on
the other insects of the scene, over the {queries:,} insects of scenes with two and more. The ratio is that of the two
means, with its 95 % interval over scenes (bootstrap); the median is that of single queries.

| decoder layer | ratio | 95 % interval | median |
|---|---:|---:|---:|
{looking}

## Queries that do not look at each other

The self-attention of the decoder is left out of all its layers; nothing is trained again. A duplicate is a box that
says again what a surer one of its class has said (IoU and score of .5 or more).

| | duplicates a scene | AP50 | AP | scenes without mistake |
|---|---:|---:|---:|---:|
{alone}

## Optimal and greedy assignment

Of {scenes:,} scenes, those in which the cheapest pair first costs more than the assignment of least cost: {differing}.
A network that has learned has one clear query for each thing; the view Queries opens on a scene where the two differ.

## How they learned

On 500 validation scenes after every epoch. The minutes are those of the machine at work, on which other things ran too.
Each rate falls to its lowest in its last epoch: where the baseline has fewer of them, compare it with as many.

{curves}
"""


if __name__ == "__main__":
    run()
