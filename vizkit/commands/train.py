"""A recipe by name, any field changed by its own option, a progress bar.

What goes wrong before the first step is one sentence; what goes wrong later stands in the run's status.json.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from vizkit.commands.options import OUTPUT, Processor, Quiet, Threads, Workers, with_options
from vizkit.training.detection.left_out import left_out
from vizkit.training.detection.recipes import DETECTING
from vizkit.training.following import follow
from vizkit.training.recipe import NAMED, Recipe, RecipeError, named
from vizkit.training.runs.folder import RunFolder
from vizkit.training.sequences.recipes import TEXTS
from vizkit.training.super_resolution.recipes import ENLARGING
from vizkit.training.tuning import TUNING
from vizkit.work_folder import speaks

OTHERS = TUNING | TEXTS | ENLARGING | DETECTING
"""Recipes that begin with a trained model, or of tasks other than telling images apart."""


RECIPES = "; ".join(f"{name}: {what}" for name, (what, _) in (NAMED | OTHERS).items())
KINDS = {"int": int, "float": float, "str": str, "bool": bool}


def changes() -> dict[str, Any]:
    """An option for each field of a recipe."""
    group = Group("Fields of the recipe")
    options = {}
    for each in fields(Recipe):
        usual = getattr(Recipe(), each.name)
        kind = KINDS.get(getattr(each.type, "__name__", ""), str)
        if each.metadata["choices"]:
            kind = Literal[tuple(each.metadata["choices"])]  # pyright: ignore[reportInvalidTypeForm]
        said = f"{each.metadata['help']} ({usual})"
        negative = f"--no-{each.name.replace('_', '-')}" if kind is bool else ()
        options[each.name] = Annotated[kind | None, Parameter(help=said, group=group, negative=negative)]
    return options


def recipe_of(name: str | None, given: dict[str, Any]) -> Recipe:
    """The named recipe, or the default, with the fields that were given; None of others."""
    recipe = OTHERS[name][1] if name in OTHERS else named(name) if name else Recipe()
    changed = {field: value for field, value in given.items() if value is not None}
    if "model_args" in changed:
        from vizkit.training.architectures import parse_args

        changed["model_args"] = parse_args(changed["model_args"])
    if changed.get("teacher") and "distillation" not in changed and recipe.distillation == "none":
        changed["distillation"] = "hard"
    return recipe.but(changed)


def _train(
    *,
    output: Annotated[Path | None, OUTPUT] = None,
    resume: Path | None = None,
    recipe: Annotated[str | None, Parameter(help=RECIPES)] = None,
    changed_data: bool = False,
    device: Processor = "",
    workers: Workers = 0,
    threads: Threads = 0,
    tensorboard: bool = False,
    quiet: Quiet = False,
    ends_with: Annotated[int, Parameter(name="--end-with", show=False)] = 0,
    **given: Any,
) -> None:
    """Train or fine-tune a model on built-in data, texts or a folder of images.

    vizkit train --recipe quick -o runs/first

    vizkit train --recipe fine-tune --model bundled:digits_vit --data photos/ -o runs/mine

    vizkit train --recipe linear-probe --model vit_base_patch16_224 --pretrained --data photos/ -o runs/probe

    accelerate launch --multi_gpu --num_processes 2 -m vizkit train --recipe quick -o runs/two

    A named recipe sets every field; an option changes one.

    Args:
        output: The new run folder.
        resume: Go on with an interrupted run, recipe unchanged.
        changed_data: Resume though the images have changed since.
        tensorboard: Write TensorBoard event files too.
    """
    if (output is None) == (resume is None):
        raise ValueError("Give the new run's folder after -o, or the folder of an interrupted run after --resume.")
    run = RunFolder(output or resume or Path())
    if resume:
        asked = run.recipe
        if any(value is not None for value in given.values()):
            raise RecipeError("A resumed run keeps its recipe: leave the recipe's options out.")
        if run.status.get("state") == "done":
            raise RecipeError(f"The run {run.name} is finished; start a new one.")
    else:
        asked = recipe_of(recipe, given)
    main = speaks()
    if main and not resume:
        run.create(asked)

    if main:
        for note in left_out(asked):
            print(note)
    if ends_with:
        end_with(ends_with)
    beside: dict[str, Any] = {"tensorboard": tensorboard, "changed_data": changed_data}
    with bar(run, quiet or not main):
        follow(run, asked, device=device, workers=workers, threads=threads, **beside)
    if main:
        print(run.status.get("message", ""))


train = with_options(_train, changes())


@contextmanager
def bar(run: RunFolder, quiet: bool) -> Iterator[None]:
    """In the terminal, read from the run's own status: it is no part of the loop."""
    if quiet:
        yield
        return
    from tqdm import tqdm

    ended, line = threading.Event(), tqdm(total=None, unit="step", dynamic_ncols=True)

    def watch() -> None:
        while not ended.wait(0.5):
            _show(run, line)

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()
        line.close()


def _show(run: RunFolder, line: Any) -> None:
    status = run.status
    if status.get("state") != "running":
        line.set_description_str(status.get("message", ""))
        return
    steps = status["steps"]
    line.total = status["epochs"] * steps
    line.n = status["epoch"] * steps + status["step"] + 1
    best = max((each["val_accuracy"] for each in run.metrics()), default=None)
    said = "" if best is None else f" · best val {best:.1%}"
    line.set_description_str(f"epoch {status['epoch'] + 1}/{status['epochs']}")
    line.set_postfix_str(f"loss {status['loss']:.3f}{said} · {status['images_per_s']:.0f} images/s")
    line.refresh()


def end_with(parent: int) -> None:
    """Stop, as after SIGTERM, when the process that started this one has gone: no training is left behind unseen."""
    import time

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
