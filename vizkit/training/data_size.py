"""How much does each architecture learn from how few pictures? The runs of one experiment, and what they tell.

A CNN, a ViT, a DeiT and a Swin learn from 1, 5, 20 and 100 % of the same drawn insects. Every run sees the same number
of pictures (the small sets more often), with the same turns, shifts and flips; only the optimiser is each family's own.
A DeiT's teacher is the CNN that learned from the same few pictures: it knows no label that its student does not see.
No torch here: the page reads run folders before it is loaded.
"""

from vizkit.training.recipe import Recipe

IMAGES = (60, 300, 1_200, 6_000)  # 1, 5, 20, 100 %
SHOWN_PER_EPOCH, EPOCHS = 6_000, 6
INPUT_SIDE_PX = 64  # 8×8 patches: sixteen runs take about an hour of one core
_BEGIN = Recipe(data="insects", image_size=INPUT_SIDE_PX, epochs=EPOCHS, turn_deg=15.0, warmup_epochs=0.5)
_MUON = _BEGIN.but({"optimizer": "muon", "lr": 5e-3})
MODELS = {  # in the order of training: a DeiT needs the CNN first
    "CNN": _BEGIN.but({"model": "small_cnn", "lr": 3e-3}),
    "ViT": _MUON.but({"model": "small_vit"}),
    "DeiT": _MUON.but({"model": "small_deit"}),
    "Swin": _MUON.but({"model": "small_swin", "model_args": {"window_size": 4}}),
}


def plan(folder: str, seed: int = 0) -> dict[str, Recipe]:
    """A run's name and its recipe, in the order in which they can be trained. `folder`: where the runs will lie."""
    runs = {}
    for images in IMAGES:
        for family, recipe in MODELS.items():
            changes = {"images": images, "passes": SHOWN_PER_EPOCH // images, "seed": seed}
            if family == "DeiT":
                changes |= {"teacher": f"{folder}/{name_of('CNN', images, seed)}", "distillation": "hard"}
            runs[name_of(family, images, seed)] = recipe.but(changes)
    return runs


def name_of(family: str, images: int, seed: int) -> str:
    return f"{family.lower()}-{images}-seed{seed}"
