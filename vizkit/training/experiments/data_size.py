"""How much does each architecture learn from how few pictures? The runs of one experiment; `size_results` reads them.

An MLP, a CNN, a Swin, a ViT and DeiTs learn from 100 to 12,000 of the same drawn insects, 32 pixels wide. Every run
sees the same number of pictures in as many steps (the small sets more often), with the same turns, shifts and flips;
only the optimiser is each family's own, and that the plain transformers learn from half of the patches in each step,
which spares half of their time. A DeiT's teacher is a CNN of the same seed: that of the same pictures, which knows no
label that its student does not see, or that of all pictures, as in the paper; beside them the same DeiT alone.
No torch here: the page reads run folders before it is loaded.
"""

from dataclasses import dataclass

from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder

DATA = "insects:easy"  # at 32 pixels those of normal difficulty are hard to tell apart for a person, too
IMAGES = 12_000
PARTS = (120, 40, 12, 4, 1)  # all pictures over these: 100, 300, 1,000, 3,000 and 12,000
EPOCHS = 3  # an epoch shows 12,000 pictures
INPUT_SIDE_PX = 32  # 64 patches of 4×4
_BEGIN = Recipe(data=DATA, image_size=INPUT_SIDE_PX, epochs=EPOCHS, turn_deg=15.0, warmup_epochs=0.25)
_MUON = _BEGIN.but({"optimizer": "muon", "lr": 5e-3})
_VIT = {"model": "digits_vit", "model_args": {"embed_dim": 48, "depth": 4, "num_heads": 3}, "patch_drop": 0.5}
_SWIN = {"patch_size": 4, "embed_dim": 32, "depths": [2, 2], "num_heads": [2, 4]}
_DEIT = _MUON.but({**_VIT, "model": "digits_deit"})
_CNN = {"layers": [1, 1, 1], "channels": [16, 32, 64], "stem_chs": 16}


@dataclass(frozen=True)
class Method:
    """`teacher`: none, the CNN of the "same" pictures or that of "all". `parts`: those of PARTS it is trained on."""

    recipe: Recipe
    distillation: str = "none"
    teacher: str = ""
    parts: tuple[int, ...] = PARTS


_BETWEEN = (40, 12, 4)  # of the same pictures a teacher knows enough from 300 on; of all of them both teachers are one
METHODS: dict[str, Method] = {  # in the order of training: a teacher comes before its students
    "CNN": Method(_BEGIN.but({"model": "small_cnn", "model_args": _CNN, "lr": 3e-3})),
    "MLP": Method(_BEGIN.but({"model": "digits_mlp", "model_args": {"in_chans": 3}})),
    "ViT": Method(_MUON.but(_VIT)),
    "DeiT hard, all": Method(_DEIT, "hard", "all"),
    "DeiT hard, same": Method(_DEIT, "hard", "same", _BETWEEN),
    "DeiT soft, all": Method(_DEIT, "soft", "all"),
    "DeiT soft, same": Method(_DEIT, "soft", "same", _BETWEEN),
    "DeiT alone": Method(_DEIT),
    "Swin": Method(_MUON.but({"model": "digits_swin", "model_args": _SWIN})),
}
_DIGITS = {"flip": 0.0, "square_px": 4}


def plan(folder: str, seed: int = 0, data: str = DATA, images: int = IMAGES) -> dict[str, Recipe]:
    """A run's name and its recipe, in the order in which they can be trained. `folder`: where the runs will lie.

    `data`: another set; `images`: how many pictures it has to learn from, of which at most 12,000 are used. Every run
    sees as many pictures as whole passes over its share allow: the same number of insects, digits within 2 %.
    RecipeError where the smallest share is no picture.
    """
    whole = min(images, IMAGES)
    if whole < PARTS[0]:
        raise RecipeError(f"There are {images:,} images to learn from; the experiment needs {PARTS[0]} at least.")
    epochs = max(EPOCHS, round(EPOCHS * IMAGES / whole))
    runs = {}
    for method, about in METHODS.items():
        for part in about.parts:
            count = whole // part
            changes = {"data": data, "images": count, "passes": whole // count, "epochs": epochs, "seed": seed}
            if data == "digits":
                changes |= _DIGITS
            if about.teacher:
                teacher = name_of("CNN", whole if about.teacher == "all" else count, seed)
                changes |= {"teacher": f"{folder}/{teacher}", "distillation": about.distillation}
            runs[name_of(method, count, seed)] = about.recipe.but(changes)
    return runs


def name_of(method: str, images: int, seed: int) -> str:
    return f"{method.lower().replace(', ', '-').replace(' ', '-')}-{images}-seed{seed}"


def folder_of(data: str) -> str:
    """The folder for the runs of a set, inside the folder of runs."""
    if data == DATA:
        return "data_size"
    last = data.replace("\\", "/").rstrip("/").rpartition("/")[2].removesuffix(".zip")
    return "data_size-" + "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in last)[:60]


def another(run: RunFolder, recipe: Recipe) -> bool:
    """Whether the folder holds a run of another recipe than this one."""
    return (run.path / "recipe.json").is_file() and run.recipe != recipe
