"""How long a run will take, from what runs have measured on this machine; nothing is invented where none has."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from vizkit.percent import in_percent
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.ui.duration import duration
from vizkit.ui.plain import plain
from vizkit.views.bundled import title

WORK = (
    "model",
    "model_args",
    "image_size",
    "train_blocks",
    "optimizer",
    "patch_drop",
    "precision",
    "teacher",
    "crop",
    "randaugment",
    "perceptual",
    "adversarial",
)
WHOLE = (*WORK, "data", "images", "passes", "repeats", "batch", "accumulate")
"""An epoch with its validation takes the same time."""


NETWORK = ("model", "model_args", "image_size")
"""An image takes about as long, but for the share of patches that a ViT is shown."""


@dataclass(frozen=True)
class Estimate:
    """`whole`: validation is in it; `run`: where the speed was measured; `rough`: of the same network, on whatever
    machine; `there`: how fast it was, if it was shown another share of the patches."""

    seconds: float
    images_per_s: float
    run: str
    whole: bool
    rough: bool = False
    there: str = ""


def estimate(
    recipe: Recipe, images: int, device: str, past: Iterable[RunFolder], shipped: Iterable[RunFolder] = ()
) -> Estimate | None:
    """The time of `recipe` on `images` training pictures, from the first of `past` that did the same work per image on
    this device; else a rough one from a run of the same network here, or `shipped` with vizkit."""
    shown, found = images * recipe.passes * recipe.repeats, None
    for run, ours in [*((run, True) for run in past), *((run, False) for run in shipped)]:
        metrics = run.metrics()
        if not metrics or (ours and run.read("versions.json").get("device") != device):
            continue
        try:
            other = run.recipe
        except RecipeError:
            continue
        rate = median(line["images_per_s"] for line in metrics)
        if ours and _same_settings(recipe, other, WORK):
            whole = _same_settings(recipe, other, WHOLE)
            epoch = median(line["seconds"] for line in metrics) if whole else shown / rate
            return Estimate(recipe.epochs * epoch, rate, run.name, whole)
        if not found and _same_settings(_begun(recipe, shipped), other, NETWORK):
            here, seen = 1 - recipe.patch_drop, 1 - other.patch_drop
            there = f": there {rate:,.0f} with {in_percent(seen)} of each image's patches, here {in_percent(here)}"
            rate *= seen / here
            name = run.name if ours else title(f"bundled:{run.name}")
            found = Estimate(recipe.epochs * shown / rate, rate, name, False, True, there * (here != seen))
    return found


def _begun(recipe: Recipe, shipped: Iterable[RunFolder]) -> Recipe:
    """With the network of the shipped model that it goes on from, if it does."""
    name = recipe.model.removeprefix("bundled:")
    begun = next((run.recipe for run in shipped if run.name == name != recipe.model), recipe)
    return recipe.but({field: getattr(begun, field) for field in NETWORK})


def _same_settings(first: Recipe, second: Recipe, names: tuple[str, ...]) -> bool:
    return all(getattr(first, name) == getattr(second, name) for name in names)


def device() -> str:
    """As versions.json names it. Torch is only used once it is there."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda.get_device_name() if cuda is not None and cuda.is_available() else "CPU"


def sentence(expected: Estimate | None) -> str:
    if expected is None:
        return "Time: unknown until the first half minute of the run; no run here has done the same work yet."
    speed = f"{expected.images_per_s:,.0f} images/s"
    if expected.rough:
        return (
            f"Time: roughly **{duration(expected.seconds)}**, if this machine is as quick as the one that trained "
            f"{plain(expected.run)}, the same network, at {speed}{expected.there}."
        )
    rest = "" if expected.whole else ", validation not counted"
    return f"Time: about **{duration(expected.seconds)}**{rest}, at {speed} as in {plain(expected.run)}."
