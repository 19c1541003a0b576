"""Small runs that show what changes inside while a network learns; `python -m benchmarks learning`.

Nine runs, one after the other, into runs/learning (those that are finished there are not trained again): a ViT, a Swin
and a CNN on the insects; a ViT on the digits with and without CutMix, three seeds of each. Of the first seed, and of
the run that comes with its checkpoints, what changed inside is written to vizkit/bundled/learning/NAME.npz; of all runs
it is printed how local the most local head is.
"""

from pathlib import Path

import torch

from vizkit.analysis.attention.statistics import by_layer, spread
from vizkit.evaluation.inside.growth import ASKED, Growth, growth, snapshot
from vizkit.evaluation.learning import watched
from vizkit.models import Keep, load, trace
from vizkit.traces import NotApplicable
from vizkit.training.following import follow
from vizkit.training.recipe import Recipe
from vizkit.training.runs.folder import RunFolder
from vizkit.views.bundled import FOLDER
from vizkit.work_folder import steps_in
from vizkit.writing import write_record

WHERE, TABLES = Path("runs/learning"), FOLDER / "learning"
SEEDS = 3
INSECTS = Recipe(images=8000, image_size=64, epochs=8, batch=32, turn_deg=15.0, checkpoints=14, licence="MIT")
FEWER = INSECTS.but({"images": 3000, "epochs": 4})
MUON = {"optimizer": "muon", "lr": 4e-3}
DIGITS = Recipe(
    data="digits",
    model="vit_tiny_patch16_224",
    model_args={"img_size": 32, "patch_size": 4, "embed_dim": 32, "depth": 4, "num_heads": 4},
    epochs=20,
    batch=32,
    optimizer="muon",
    lr=4e-3,
    warmup_epochs=1.0,
    flip=0.0,
    checkpoints=14,
    licence="MIT",
)
VIT = {"img_size": 64, "patch_size": 8, "embed_dim": 64, "depth": 6, "num_heads": 4}
SWIN = {"img_size": 64, "patch_size": 4, "window_size": 8, "embed_dim": 32, "depths": [2, 2, 2], "num_heads": [2, 4, 8]}
CNN = {"channels": [32, 64, 128], "layers": [2, 2, 2], "stem_chs": 16}


def digits(cutmix: float, seed: int) -> Recipe:
    return DIGITS.but({"cutmix": cutmix, "seed": seed})


RUNS = {
    "digits_cutmix_0": digits(1.0, 0),
    "digits_plain_0": digits(0.0, 0),
    "insects_vit": INSECTS.but({"model": "vit_tiny_patch16_224", "model_args": VIT, **MUON}),
    "insects_cnn": FEWER.but({"model": "resnetv2_18d", "model_args": CNN, "lr": 3e-3}),
    "insects_swin": FEWER.but({"model": "swin_tiny_patch4_window7_224", "model_args": SWIN, **MUON}),
    **{
        f"digits_{name}_{seed}": digits(alpha, seed)
        for seed in range(1, SEEDS)
        for name, alpha in (("cutmix", 1.0), ("plain", 0.0))
    },
}


def trained(name: str) -> RunFolder:
    run, recipe = RunFolder(WHERE / name), RUNS[name]
    if not run.path.exists():
        run.create(recipe)
    if run.status.get("state") != "done":
        follow(run, recipe, device="cpu")
    return run


def table(run: RunFolder) -> Growth:
    """Its numbers at all its checkpoints, computed once."""
    steps = steps_in(run.path)
    of = watched(run, steps[-1], ASKED)
    return growth(steps, [snapshot(run, step, of) for step in steps], of)


def distance_px(run: RunFolder, step: int) -> list[float]:
    """(the most local head, the mean of all heads), over the same images; [] without attention."""
    of, loaded = watched(run, step, ASKED), load(f"{run.path}@{step}")
    try:
        mean, _ = spread([by_layer(trace(loaded, rgb, keep=Keep())) for rgb, _ in of.images])
    except NotApplicable:
        return []
    heads = torch.cat([layer.distance_px for layer in mean])
    return [float(heads.min()), float(heads.mean())]


def run() -> None:
    write_record(TABLES / "digits_small.npz", table(RunFolder(TABLES / "digits_small")))
    print("| run | seed | test | after step 1: most local head, px | mean | at the end: most local head, px | mean |")
    for name in RUNS:
        run = trained(name)
        if run.recipe.seed == 0:
            write_record(TABLES / f"{name.removesuffix('_0')}.npz", table(run))
        ends = [*distance_px(run, 1), *distance_px(run, steps_in(run.path)[-1])]
        right = run.read("result.json")["test_accuracy"]
        print(f"| {name} | {run.recipe.seed} | {right:.1%} |", *(f"{each:.2f} |" for each in ends), flush=True)
