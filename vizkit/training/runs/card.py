"""The story of a finished run in words: what, how, how well, on what."""

from typing import Any

from torch import nn

from vizkit.training.evaluating import Score
from vizkit.training.recipe import Recipe
from vizkit.training.runs.command_line import command, portable
from vizkit.training.runs.folder import RunFolder
from vizkit.training.runs.measure import best_of
from vizkit.training.tuning import begins_elsewhere

CARD = """\
# {name}

{architecture} (timm, with the arguments in config.json), {parameters:,} parameters, trained {start} on {data}.

| | |
|---|---|
| Test | {right:,} of {images:,} right ({accuracy:.1f} %){before} |
| Test loss | {loss:.3f}, cross-entropy in nats |
| Validation | {val:.1f} %, which chose epoch {epoch} of {epochs} |
| Trained on | {train_images:,} images, data seed {data_seed} |
| Teacher | {teacher} |
| Command | `{command}` |
| Seed | {seed} |
| Time, device | {minutes:.1f} min in {epochs} epochs, {device} |
| Versions | torch {torch}, timm {timm} |
| Licence of the model | {licence} |

The test images had no part in training or in the choice of the epoch. metrics.jsonl holds the curves.
"""

CREDITS = {
    "digits": """
All thirteen writers occur in training, validation and test images: expect less from a new hand, and nothing from
images that are not digits.

Images: Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak (1998), UCI Machine Learning Repository,
doi:10.24432/C50P49, CC BY 4.0.
""",
    "insects": """
Images: drawn by vizkit. They are not photographs: expect nothing on real animals.
""",
}


def card(run: RunFolder, model: nn.Module, score: Score, train_images: int) -> str:
    """The card as Markdown."""
    recipe = portable(run.recipe)
    config: Any = model.pretrained_cfg
    about = {
        "architecture": config["architecture"],
        "start": begins(run.recipe),
        "teacher": f"{recipe.teacher}, {recipe.distillation}" if recipe.teacher else "none",
        "licence": config.get("license") or "not stated",
        "before": ""
        if score.right_before is None
        else f"; before the training {score.right_before:,} ({100 * score.right_before / score.images:.1f} %)",
    }
    return CARD.format_map(_facts(run, model, score, train_images) | about) + CREDITS.get(
        recipe.data.partition(":")[0], ""
    )


def begins(recipe: Recipe) -> str:
    """Where the weights came from before the first step."""
    if begins_elsewhere(recipe.model):
        part = ", its head alone" if recipe.train_blocks == 0 else ""
        return f"on from {portable(recipe).model}{part}"
    return "from published weights" if recipe.pretrained else "from scratch"


def card_of_network(
    template: str, run: RunFolder, model: nn.Module, score: Score, train_items: int, **more: str | float | None
) -> str:
    """The card of one of our own networks, which name their `sizes`: `template` with what any card tells, and more."""
    sizes: Any = model.sizes
    about = {
        "architecture": run.recipe.model,
        "sizes": ", ".join(f"{name} {value}" for name, value in sizes.items()),
        "licence": run.recipe.licence or "not stated",
    }
    return template.format_map(_facts(run, model, score, train_items) | about | more)


def _facts(run: RunFolder, model: nn.Module, score: Score, train_images: int) -> dict[str, Any]:
    """What the card of any run tells: of its name and data, result, time and versions."""
    recipe, history, versions = portable(run.recipe), run.metrics(), run.read("versions.json")
    best = best_of(history)
    threads = versions["threads"]
    device = versions["device"] + (f", {threads} thread{'s' * (threads > 1)}" if versions["device"] == "CPU" else "")
    return {
        "name": run.name,
        "data": recipe.data,
        "parameters": sum(p.numel() for p in model.parameters()),
        "right": round(score.accuracy * score.images),
        "images": score.images,
        "accuracy": 100 * score.accuracy,
        "loss": score.loss,
        "val": 100 * best["val_accuracy"],
        "epoch": history.index(best) + 1,
        "epochs": len(history),
        "train_images": train_images,
        "data_seed": recipe.data_seed,
        "seed": recipe.seed,
        "command": command(recipe, f"runs/{run.name}"),
        "minutes": sum(line["seconds"] for line in history) / 60,
        "device": device,
        "torch": versions["torch"],
        "timm": versions["timm"],
    }
