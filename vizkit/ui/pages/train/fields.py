"""A recipe's fields as widgets. Kind, choices and help come from the dataclass: a new field needs no line here.

The widgets' own state is the draft, so that a page switch or a refused value loses nothing.
"""

import json
import math
from collections.abc import Callable, Collection
from dataclasses import Field, fields
from typing import Any

import streamlit as st

from vizkit.training.recipe import NAMED, Recipe, RecipeError
from vizkit.training.suiting import MIRRORS, SUITED, suited
from vizkit.training.tuning import TUNING
from vizkit.views.bundled import title

KEY = "field_"
FIRST = "quick"
PARTS = ("all of it", "the new head", "last blocks")
TUNED = {name: (words, recipe.but({"images": NAMED[FIRST][1].images})) for name, (words, recipe) in TUNING.items()}
"""Drawn pictures have no end, so a form begins with a number of them."""
NOTHING = {
    "images": "all",
    "image_size": "model's own",
    "stop_patience": "never stops",
    "clip_norm": "none",
    "ema": "none",
    "mixup": "none",
    "cutmix": "none",
    "randaugment": "none",
    "checkpoints": "none",
    "licence": "not stated",
}
"""What an empty widget means, where the recipe has 0 or no word."""
GROUPS = {
    "Optimizer": ("batch", "accumulate", "optimizer", "lr", "momentum", "weight_decay", "clip_norm", "precision"),
    "Schedule": ("epochs", "passes", "schedule", "warmup_epochs", "min_lr", "plateau_patience", "stop_patience"),
    "Augmentation": ("flip", "crop", "turn_deg", "square_px", "randaugment", "mixup", "cutmix", "erasing", "repeats"),
    "Regularisation": ("smoothing", "drop_path", "patch_drop", "ema"),
}
"""The fields of a heading, in the order of the form; what has none stands under OTHERS."""
OTHERS = "Data, model and run"
TITLES = {
    "pretrained": "Start from published weights",
    "accumulate": "Gradient accumulation",
    "lr": "Learning rate",
    "min_lr": "Lowest learning rate",
    "momentum": "Momentum, β₁",
    "warmup_epochs": "Warm-up epochs",
    "plateau_patience": "Plateau patience",
    "stop_patience": "Stop patience",
    "clip_norm": "Gradient clipping",
    "ema": "Moving average (EMA)",
    "smoothing": "Label smoothing",
    "flip": "Chance of a flip",
    "crop": "Smallest crop",
    "turn_deg": "Turn, degrees",
    "square_px": "Coarse pixels of",
    "randaugment": "RandAugment",
    "cutmix": "CutMix",
    "distillation": "What the teacher gives",
    "teacher_share": "Teacher's share",
    "model_args": "Model arguments",
    "image_size": "Image size",
    "data_seed": "Data seed",
}
EMPTY = Recipe(clip_norm=0.0, checkpoints=0)
"""Of which the fields of NOTHING are 0."""
BY_NAME = {entry.name: entry for entry in fields(Recipe)}


def fill(recipe: Recipe) -> None:
    """Put a recipe's values into the widgets. The data stay as they were chosen: a recipe is tried on one's own."""
    for name in BY_NAME:
        if name not in ("data", "train_blocks", "teacher"):
            put(name, getattr(recipe, name))
    st.session_state[f"{KEY}teacher"] = recipe.teacher or None
    blocks = recipe.train_blocks
    st.session_state["train_part"] = PARTS[0 if blocks < 0 else 1 if blocks == 0 else 2]
    st.session_state["train_last"] = max(1, blocks)


def put(name: str, value: Any) -> None:
    """A value of the recipe into its widget; empty where NOTHING has a word for it."""
    held = json.dumps(value) if isinstance(value, dict) else value
    st.session_state[f"{KEY}{name}"] = held or None if name in NOTHING and not isinstance(value, str) else held


def fit_to_data() -> None:
    """Other pictures want other settings: those of the chosen recipe, as `suited` changes them."""
    state = st.session_state
    chosen = (NAMED | TUNED).get(state.get("train_recipe") or FIRST, ("", Recipe()))[1]
    model = str(state.get(f"{KEY}model") or chosen.model)
    fitted = suited(chosen.but({"model": model}), str(state.get("train_data") or chosen.data))
    for name in SUITED:
        put(name, getattr(fitted, name))


def group_of(name: str) -> str:
    return next((group for group, names in GROUPS.items() if name in names), OTHERS)


def grouped(names: Collection[str]) -> dict[str, list[str]]:
    """Heading → those of `names` that stand below it; every one stands below one."""
    ordered = [name for group in GROUPS.values() for name in group] + [name for name in BY_NAME if name in names]
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(ordered):
        if name in names:
            groups.setdefault(group_of(name), []).append(name)
    return groups


def widget(name: str, width: Any = "stretch") -> Any:
    """The widget of a field, by the kind of its value."""
    entry = BY_NAME[name]
    given = {"key": f"{KEY}{name}", "help": help_of(entry), "persist_state": "session", "width": width}
    usual, label = getattr(Recipe(), name), title_of(name)
    if entry.metadata["choices"]:
        return st.selectbox(label, entry.metadata["choices"], **given)
    if isinstance(usual, bool):
        return st.toggle(label, **given)
    if name in NOTHING:
        given["placeholder"] = NOTHING[name]
        given |= {} if isinstance(usual, str) else {"value": None}
    if isinstance(usual, int):
        return st.number_input(label, step=1, **given)
    if isinstance(usual, float):
        return st.number_input(label, step=step_of(usual), format="%g", **given)
    return st.text_input(label, **given)


def title_of(name: str) -> str:
    return TITLES.get(name, name.replace("_", " ").capitalize())


def in_words(name: str, value: object) -> str:
    """A value for a table; nothing by its word."""
    return NOTHING[name] if name in NOTHING and not value else title(str(value))


def help_of(entry: "Field[Any]") -> str:
    words = f"{entry.metadata['help']}{MIRRORS if entry.name == 'flip' else ''}"
    return f"{words[:1].upper()}{words[1:]}. On the command line: --{entry.name.replace('_', '-')}"


def refuse_paths(given: Any) -> None:
    """timm opens a file that an argument names (checkpoint_path, pretrained_cfg, cache_dir …). RecipeError: a visitor
    gives numbers, true or false, plain words, and lists of them; the command line takes all arguments."""
    if not isinstance(given, dict):
        raise RecipeError('Model arguments are JSON, for example {"depth": 6}.')
    for name, value in given.items():
        values = value if isinstance(value, list) else [value]
        if name.startswith(("pretrained", "checkpoint", "cache")) or not all(map(_plain_value, values)):
            raise RecipeError(f"The model argument {name[:40]!r} can only be given on the command line.")


def _plain_value(value: object) -> bool:
    return value is None or isinstance(value, int | float) or (isinstance(value, str) and value.isidentifier())


def step_of(usual: float) -> float:
    """What + and − change: about a tenth of the usual value."""
    return 10.0 ** math.floor(math.log10(usual / 2)) if usual else 0.1


def what_learns(on_change: Callable[[], None] | None = None) -> str | None:
    """One of PARTS."""
    part = st.segmented_control(
        "What learns",
        PARTS,
        required=True,
        key="train_part",
        persist_state="session",
        on_change=on_change,
        help="All of it; or only the new head (a linear probe), or the last blocks with it: quicker, and better with "
        "few images. The rest stays as it is.",
    )
    if part == PARTS[2]:
        st.number_input(
            "Number of last blocks",
            1,
            100,
            key="train_last",
            persist_state="session",
            help="So many blocks before the head learn too.",
        )
    return part


def typed() -> dict[str, Any]:
    """What the widgets hold, by field, but for data, model and teacher, whose names the caller translates."""
    state = st.session_state
    values = {name: state[f"{KEY}{name}"] for name in BY_NAME if f"{KEY}{name}" in state}
    values |= {name: getattr(EMPTY, name) for name in NOTHING if values.get(name) is None}
    try:
        values["model_args"] = json.loads(values.get("model_args") or "{}")
    except ValueError:
        raise RecipeError('Model arguments are JSON, for example {"depth": 6}.') from None
    refuse_paths(values["model_args"])
    part = PARTS.index(state.get("train_part") or PARTS[0])
    values["train_blocks"] = (-1, 0, int(state.get("train_last") or 1))[part]
    return values
