"""Fine-tuning: a model that was trained already learns other pictures, all of it or only a new head. No torch here."""

import json
import re
from collections.abc import Collection
from pathlib import Path

from vizkit.training.recipe import TASK_OF, Recipe, RecipeError
from vizkit.writing import read_bytes

WEIGHTS = re.compile(r"\.(safetensors|pt|pth|bin|ckpt|tar)$", re.IGNORECASE)
"""The names of files of weights."""
TUNE, PROBE = "fine-tune", "linear-probe"
TUNING: dict[str, tuple[str, Recipe]] = {
    TUNE: (
        "all of a trained model learns on, at a third of the rate from scratch, so that it forgets little",
        Recipe(model="bundled:insects_vit", data="digits", epochs=5, lr=3e-4, min_lr=1e-6, flip=0.0),
    ),
    PROBE: (
        "a trained model stays as it is, and only a new head learns: what its features already tell (linear probe)",
        Recipe(
            model="bundled:insects_vit",
            data="digits",
            train_blocks=0,
            epochs=10,
            lr=3e-3,
            weight_decay=0.0,
            flip=0.0,
        ),
    ),
}
"""Named recipes that begin with a trained model."""
DOES = {
    "translate": "rewrites texts",
    "masked": "guesses hidden words",
    "causal": "continues a text",
    "enlarge": "enlarges images",
    "detect": "finds things in images",
    "masks": "says which pixels are whose",
}


def refuse_other_task(title: str, architecture: str) -> None:
    """RecipeError where a model of this name learns something other than classes of pictures."""
    if task := TASK_OF.get(architecture):
        raise RecipeError(
            f"{title} {DOES[task]}: there are no classes of images that its head could be changed for. Fine-tune a "
            f"model that tells images apart, or train one of its kind anew with --model {architecture}."
        )


def refuse_foreign(title: str, kind: str = "") -> None:
    """RecipeError: of a model that timm does not make."""
    raise RecipeError(
        f"{title} runs by the code of {kind or 'another library than timm'}, and what it becomes could not be opened "
        "again: choose timm's model of its kind."
    )


def refuse_untrained(model: str, ours: Collection[str]) -> None:
    """RecipeError where there is nothing to go on from."""
    if model in ours:
        raise RecipeError(f"{model} begins at random: there is nothing to fine-tune. Train it first, or choose a run.")
    if model.startswith("torchvision:"):
        refuse_foreign(model, "torchvision")


def begins_elsewhere(model: str) -> bool:
    """Whether a recipe's model has been trained already and lies somewhere: a folder, a file, bundled, on the hub."""
    return ":" in model or WEIGHTS.search(model) is not None or (Path(model) / "config.json").is_file()


def classes_in(folder: Path) -> tuple[str, ...]:
    """The classes that a model in timm's layout knows, () where its config.json does not name them."""
    try:
        names = json.loads(read_bytes(folder / "config.json")).get("label_names")
    except (OSError, ValueError, AttributeError, RecursionError):
        return ()
    return tuple(map(str, names)) if isinstance(names, list) else ()


def head_rows(known: tuple[str, ...], labels: tuple[str, ...]) -> list[int] | None:
    """Which outputs of a trained head answer to these labels; None where it does not know them all by their names."""
    places = {name: place for place, name in enumerate(known)}
    distinct = len(places) == len(known) and len(set(labels)) == len(labels)
    return [places[label] for label in labels] if distinct and places.keys() >= set(labels) else None


def head_words(known: tuple[str, ...], labels: tuple[str, ...], *, whole: bool) -> str:
    """What becomes of the head, in a sentence for people. `whole`: whether the body learns too."""
    if head_rows(known, labels) is not None:
        own = "its head goes on" if len(labels) == len(known) else f"their outputs of its {len(known)} go on"
        return f"It knows these {len(labels)} classes already: {own} from what it has learned."
    body = "everything before it begins as it is" if whole else "everything before it stays as it is"
    before = f"its {len(known)} classes become {len(labels)} others" if known else f"these are {len(labels)} classes"
    return f"It gets a new head, for {before}; {body}."
