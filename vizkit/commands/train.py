"""`python -m vizkit train`: a recipe by name, any field changed by its own option, a progress bar.

    python -m vizkit train --recipe quick -o runs/first
    python -m vizkit train --data photos/ --model vit_base_patch16_224 --pretrained --train-blocks 0 -o runs/mine
    python -m vizkit train --recipe dates_transformer -o runs/dates
    python -m vizkit train --resume runs/first
    accelerate launch --multi_gpu --num_processes 2 -m vizkit train --recipe quick -o runs/two

What goes wrong before the first step is one sentence; what goes wrong later stands in the run's status.json.
"""

import argparse
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from vizkit.training.detection.left_out import left_out
from vizkit.training.detection.recipes import DETECTING
from vizkit.training.following import follow
from vizkit.training.recipe import NAMED, Recipe, RecipeError, named
from vizkit.training.runs.folder import RunFolder
from vizkit.training.sequences.recipes import TEXTS
from vizkit.training.super_resolution.recipes import ENLARGING
from vizkit.work_folder import speaks

__all__ = ["Bar", "add", "end_with", "recipe_of"]

OTHERS = TEXTS | ENLARGING | DETECTING
"""Recipes of tasks other than telling pictures apart."""


def add(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    command = commands.add_parser(
        "train",
        help="train or fine-tune a model on built-in data, texts or a folder of pictures",
        description="Train a model. A named recipe sets every field; an option changes one.",
    )
    where = command.add_mutually_exclusive_group(required=True)
    where.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="the new run folder")
    where.add_argument("--resume", type=Path, metavar="FOLDER", help="go on with an interrupted run, recipe unchanged")
    command.add_argument(
        "--recipe", metavar="NAME", help="; ".join(f"{n}: {what}" for n, (what, _) in (NAMED | OTHERS).items())
    )
    command.add_argument("--changed-data", action="store_true", help="resume though the pictures have changed since")
    command.add_argument("--device", default="", choices=("", "cpu"), help="cpu, even where there is a GPU")
    command.add_argument("--workers", type=int, default=0, help="processes that read pictures beside the training")
    command.add_argument("--threads", type=int, default=0, help="CPU threads; 0 leaves torch's number")
    command.add_argument("--tensorboard", action="store_true", help="write TensorBoard event files too")
    command.add_argument("--quiet", action="store_true", help="no progress bar")
    command.add_argument("--end-with", type=int, default=0, help=argparse.SUPPRESS)
    options = command.add_argument_group("fields of the recipe")
    for each in fields(Recipe):
        _add_field(options, each)
    command.set_defaults(run=_train)


def _add_field(options: Any, each: Any) -> None:
    option = "--" + each.name.replace("_", "-")
    usual: dict[str, Any] = {"dest": f"field_{each.name}", "default": None}
    usual["help"] = f"{each.metadata['help']} ({getattr(Recipe(), each.name)})".replace("%", "%%")
    kinds: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "str": str}
    kind = getattr(each.type, "__name__", "")
    if kind == "bool":
        options.add_argument(option, action=argparse.BooleanOptionalAction, **usual)
    else:
        options.add_argument(
            option,
            type=kinds.get(kind, str),
            choices=each.metadata["choices"],
            metavar=None if each.metadata["choices"] else kind.upper() or "JSON",
            **usual,
        )


def recipe_of(arguments: argparse.Namespace) -> Recipe:
    """The named recipe, or the default, with the fields that were given."""
    name = arguments.recipe
    recipe = OTHERS[name][1] if name in OTHERS else named(name) if name else Recipe()
    options = {option.name: getattr(arguments, f"field_{option.name}") for option in fields(Recipe)}
    changes = {name: value for name, value in options.items() if value is not None}
    if "model_args" in changes:
        from vizkit.training.architectures import parse_args

        changes["model_args"] = parse_args(changes["model_args"])
    if changes.get("teacher") and "distillation" not in changes and recipe.distillation == "none":
        changes["distillation"] = "hard"
    return recipe.but(changes)


def _train(arguments: argparse.Namespace) -> None:
    if arguments.resume:
        run = RunFolder(arguments.resume)
        recipe = run.recipe
        if any(getattr(arguments, f"field_{each.name}") is not None for each in fields(Recipe)):
            raise RecipeError("A resumed run keeps its recipe: leave the recipe's options out.")
        if run.status.get("state") == "done":
            raise RecipeError(f"The run {run.name} is finished; start a new one.")
    else:
        run, recipe = RunFolder(arguments.output), recipe_of(arguments)
    main = speaks()
    if main and not arguments.resume:
        run.create(recipe)

    if main:
        for note in left_out(recipe):
            print(note)
    if arguments.end_with:
        end_with(arguments.end_with)
    bar = None if arguments.quiet or not main else Bar(run)
    try:
        follow(
            run,
            recipe,
            device=arguments.device,
            workers=arguments.workers,
            threads=arguments.threads,
            tensorboard=arguments.tensorboard,
            changed_data=arguments.changed_data,
        )
    finally:
        if bar:
            bar.close()
    if main:
        print(run.status.get("message", ""))


class Bar:
    """A progress bar in the terminal, read from the run's own status: it is no part of the loop."""

    def __init__(self, run: RunFolder) -> None:
        from tqdm import tqdm

        self.run, self.end, self.bar = run, threading.Event(), tqdm(total=None, unit="step", dynamic_ncols=True)
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.thread.start()

    def follow(self) -> None:
        while not self.end.wait(0.5):
            self.show()

    def show(self) -> None:
        status = self.run.status
        if status.get("state") != "running":
            self.bar.set_description_str(status.get("message", ""))
            return
        steps = status["steps"]
        self.bar.total = status["epochs"] * steps
        self.bar.n = status["epoch"] * steps + status["step"] + 1
        best = max((each["val_accuracy"] for each in self.run.metrics()), default=None)
        said = "" if best is None else f" · best val {best:.1%}"
        self.bar.set_description_str(f"epoch {status['epoch'] + 1}/{status['epochs']}")
        self.bar.set_postfix_str(f"loss {status['loss']:.3f}{said} · {status['images_per_s']:.0f} images/s")
        self.bar.refresh()

    def close(self) -> None:
        self.end.set()
        self.thread.join()
        self.bar.close()


def end_with(parent: int) -> None:
    """Stop, as after SIGTERM, when the process that started this one has gone: no training is left behind unseen."""
    import time

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
