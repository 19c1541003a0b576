"""A recipe as the command line that follows it. No torch here: the page shows it before anything is trained."""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from vizkit.training.recipe import Recipe


def command(recipe: Recipe, folder: str, base: tuple[str, Recipe] | None = None) -> str:
    """The command line that trains this recipe again; with `base`, a named recipe, in what differs from that one."""
    name, usual = base or ("", Recipe())
    words = [*(["--recipe", name] if name else []), *arguments(recipe, usual)]
    return f"python -m vizkit train {shlex.join(words)} -o {shlex.quote(folder)}"


def portable(recipe: Recipe) -> Recipe:
    """The same without the folders of this machine: an upload or a folder by its own name, a run as in `runs/`. For
    cards and commands that others read."""
    models = {field: model_name(getattr(recipe, field)) for field in ("model", "teacher")}
    return recipe.but({"data": data_name(recipe.data)} | models)


def model_name(source: str) -> str:
    """A model for people: what was uploaded lies in a folder named by a SHA-256 and has its own name, a run that of its
    folder in `runs/`."""
    path = Path(source)
    uploaded = re.fullmatch("[0-9a-f]{64}", path.parent.name)
    return source if not path.is_absolute() else path.name if uploaded or path.is_file() else f"runs/{path.name}"


def data_name(data: str) -> str:
    """A set of pictures for people: a folder or file by its last name."""
    return Path(data).name or data


def arguments(recipe: Recipe, usual: Recipe | None = None) -> list[str]:
    """Data, model, and the options that differ from a recipe's defaults, or from another recipe."""
    return [word for name, value in changes(recipe, ("data", "model"), usual) for word in _option(name, value)]


def changes(recipe: Recipe, always: tuple[str, ...] = (), usual: Recipe | None = None) -> Iterator[tuple[str, object]]:
    """Fields and values that differ from the defaults, or from `usual`, and those named in `always`, in reading
    order."""
    usual = usual or Recipe()
    for entry in fields(recipe):
        value = getattr(recipe, entry.name)
        if value != getattr(usual, entry.name) or entry.name in always:
            yield entry.name, value


def _option(name: str, value: object) -> tuple[str, ...]:
    words = name.replace("_", "-")
    if isinstance(value, bool):
        return (f"--{words}" if value else f"--no-{words}",)
    return (f"--{words}", json.dumps(value) if isinstance(value, dict) else str(value))
