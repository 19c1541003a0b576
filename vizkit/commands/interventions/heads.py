"""`python -m vizkit heads`: what each head of a model does, and what its answers lose without it.

python -m vizkit heads bundled:insects_vit --data insects --images 200 --prune -o heads.json
accelerate launch --num_processes 2 -m vizkit heads runs/mine --data photos/ -o heads.json
"""

import argparse
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizkit.commands.model_options import add_device, add_pictures, several_processes
from vizkit.commands.output import refuse_output, write_output
from vizkit.writing import csv_of

if TYPE_CHECKING:
    from accelerate import Accelerator

    from vizkit.analysis.attention.head_atlas import HeadAtlas

__all__ = ["add"]

SHOWN = 10
KINDS = {"mean": ("mean",), "zero": ("zero",), "both": ("mean", "zero")}


def add(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    command = commands.add_parser("heads", help="what each head does, and what the answers of a model lose without it")
    command.add_argument("model", metavar="MODEL", help="bundled:NAME, a timm name, a run folder")
    add_pictures(command, 200, kind="test pictures")
    command.add_argument("--without", choices=[*KINDS], default="mean", help="a head gives its mean, or nothing (mean)")
    command.add_argument("--prune", action="store_true", help="accuracy with more and more heads taken away, too")
    add_device(command)
    command.add_argument("-o", "--output", type=Path, metavar="HEADS.json", help="all numbers, as JSON or CSV")
    command.set_defaults(run=_heads)


def _heads(arguments: argparse.Namespace) -> None:
    refuse_output(arguments.output, (".json", ".csv"))
    if arguments.images < 1:
        raise ValueError("--images is 1 or more.")
    from vizkit.analysis.attention.head_atlas import as_json
    from vizkit.analysis.attention.head_atlas import table as columns_of

    accelerator = several_processes(arguments)
    atlas = measured(arguments, accelerator)
    if accelerator is not None:
        accelerator.end_training()
        if not accelerator.is_main_process:
            return
    if not arguments.output:
        print("\n".join(table(atlas)))
        return
    about = {"model": arguments.model, "seed": arguments.seed, "torch": version("torch")}
    written = csv_of(columns_of(atlas)) if arguments.output.suffix.lower() == ".csv" else as_json(atlas, **about)
    write_output(arguments.output, written)
    print(f"{arguments.output}: {len(atlas.names)} heads, {atlas.images} pictures")


def measured(arguments: argparse.Namespace, accelerator: "Accelerator | None" = None) -> "HeadAtlas":
    from tqdm import tqdm

    import vizkit
    from vizkit.analysis.attention.head_atlas import HeadAtlas
    from vizkit.evaluation.inside.head_behaviour import behaviours_of
    from vizkit.evaluation.inside.head_importance import heads_of
    from vizkit.evaluation.inside.head_pruning import pruned

    loaded = vizkit.load(arguments.model, device=arguments.device)
    kinds, of = KINDS[arguments.without], (loaded, arguments.data, arguments.images)
    importance, pruning = {}, {}
    shared = {"seed": arguments.seed, "accelerator": accelerator}
    silent = None if accelerator is None or accelerator.is_main_process else True  # None: where nobody is watching
    total = 100 * (1 + len(kinds) * (1 + arguments.prune))
    with tqdm(total=total, unit="%", disable=silent, dynamic_ncols=True) as bar:

        def tell(share: float) -> None:
            start = 100 * (len(importance) + len(pruning))
            bar.update(start + 100 * share - bar.n)

        for kind in kinds:
            importance[kind] = heads_of(*of, ablation=kind, tell=tell, **shared)
            if arguments.prune:
                pruning[kind] = pruned(*of, importance[kind], ablation=kind, tell=tell, **shared)
        behaviours = behaviours_of(*of, tell=tell, **shared)
    first = importance[kinds[0]]
    return HeadAtlas(first.names, arguments.data, first.images, behaviours, importance, pruning)


def table(atlas: "HeadAtlas") -> list[str]:
    kind, result = next(iter(atlas.importance.items()))
    lines = [f"{'head':>6}  {'nats lost':>16}  {'flipped':>8}  {'estimate':>9}  {'patches far':>11}  {'entropy':>7}"]
    for i in result.order[:SHOWN]:
        layer, head = result.names[i]
        lost = f"{result.lost[i]:.3f} ± {result.half[i]:.3f}"
        name = f"{layer + 1}.{head + 1}"
        does = f"{atlas.behaviours['distance'][i]:>11.2f}  {atlas.behaviours['entropy'][i]:>7.2f}"
        lines.append(f"{name:>6}  {lost:>16}  {result.flipped[i]:>8.1%}  {result.estimate[i]:>9.3f}  {does}")
    lines += _pruned(atlas, kind)
    without = {"mean": "its mean", "zero": "nothing"}[kind]
    return [
        *lines,
        f"{result.images} pictures, a head gives {without}; rank correlation with the gradient's estimate "
        f"{result.correlation:.2f}",
    ]


def _pruned(atlas: "HeadAtlas", kind: str) -> list[str]:
    from vizkit.analysis.attention.pruning import band, still

    if (pruning := atlas.pruning.get(kind)) is None:
        return []
    kept = {name: still(pruning.counts, band(curves)[0], 0.9) for name, curves in pruning.own.items()}
    words = ", ".join(f"{name} {count}" for name, count in kept.items())
    return [f"heads of {pruning.heads} that can go while 90 % of the answers stay, by order: {words}"]
