"""The models that come with vizkit, by their names alone, without opening any."""

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from vizkit.datasets import samples

FOLDER = Path(__file__).parents[1] / "bundled"
RECORDED, RECORDED_FOLDER = "small ViT · digits", FOLDER / "learning" / "digits_small"
"""A run that comes with all its checkpoints."""
TABLES = {
    RECORDED: "digits_small",
    "small ViT · insects": "insects_vit",
    "small CNN · insects": "insects_cnn",
    "small Swin · insects": "insects_swin",
    "small ViT · digits, with CutMix": "digits_cutmix",
    "small ViT · digits, without CutMix": "digits_plain",
}
"""Runs of which it was recorded what changed inside, as FOLDER/learning/NAME.npz: by `benchmarks.bundled.learning`."""


class Bundled(NamedTuple):
    """`kind`: of network, as people call it. `pictures`: what it was trained on, one of `datasets.samples.KINDS`.
    `compared`: whether it stands beside others that know the same classes; one that learned from faults does not."""

    kind: str
    pictures: str
    compared: bool = True

    @property
    def title(self) -> str:
        return f"{self.kind} · {self.pictures}"


# By their folders, as they are offered: of each kind of pictures the plain ViT first and what is older last.
MODELS = {
    "photographs_vit": Bundled("ViT", "photographs"),
    "insects_vit": Bundled("ViT", "insects"),
    "insects_swin": Bundled("Swin", "insects"),
    "insects_deit": Bundled("DeiT", "insects"),
    "insects_dual": Bundled("Dual-scale", "insects"),
    "insects_gradual": Bundled("Gradual", "insects"),
    "insects_cnn": Bundled("CNN", "insects"),
    "digits_vit": Bundled("ViT", "digits"),
    "digits_swin": Bundled("Swin", "digits"),
    "digits_dual": Bundled("Dual-scale", "digits"),
    "digits_gradual": Bundled("Gradual", "digits"),
    "digits_cnn": Bundled("CNN", "digits"),
    "digits_lenet": Bundled("LeNet-5", "digits"),
    "digits_mlp": Bundled("MLP", "digits"),
    "digits_faulty": Bundled("ViT that learned faults", "digits", compared=False),
}
KNOWN = {"insects": "12 drawn insects", "digits": "10 handwritten digits"}
FIRST = {"photographs": 1, "insects": 2, "digits": 2}
"""How many of them are shown where nobody has chosen."""


def names(pictures: str = "") -> list[str]:
    """As `vizkit.load` takes them, those of photographs first; `pictures`: trained on this kind alone."""
    return [f"bundled:{name}" for name, model in MODELS.items() if pictures in ("", model.pictures)]


def usual(picture: str) -> list[str]:
    """Those that are shown of an image where nobody has chosen: they were trained on its kind."""
    kind = samples.kind_of(picture)
    return names(kind)[: FIRST[kind]]


def beside(source: str, picture: str) -> str:
    """One to compare with this model on an image: trained on its kind; "" where there is no other, for what one of
    another kind answers means nothing."""
    return next((name for name in names(samples.kind_of(picture)) if name != source), "")


def known(source: str) -> Bundled | None:
    """None of a model that does not come with vizkit."""
    kind, _, name = source.partition(":")
    return MODELS.get(name) if kind == "bundled" else None


def without_classes(source: str) -> bool:
    """Whether it comes with vizkit and gives features."""
    return known(source) is not None and not _labels(source)


def title(source: str) -> str:
    """For people: "ViT · insects" for a bundled model; a run of TABLES is no such model, only smaller; of all others
    the name itself."""
    model = known(source)
    return model.title if model else source.replace("small", "tiny") if source in TABLES else source


def caveat(name: str, image: str) -> str:
    """A sentence where a model, by its name for people or `vizkit.load`, knows only insects or digits, and the image
    is a sample of another kind; "" of all others."""
    models = {each: model for source in names() for each in (source, title(source)) if (model := known(source))}
    knows = models[name].pictures if name in models else ""
    if knows not in KNOWN or image not in samples.names() or samples.kind_of(image) == knows:
        return ""
    return f"{name} knows only {KNOWN[knows]}: what it answers to “{image}” means nothing."


@cache
def knowing(labels: tuple[str, ...]) -> list[str]:
    """Those to compare that tell exactly these classes apart; none without classes."""
    compared = [f"bundled:{name}" for name, model in MODELS.items() if model.compared]
    return [name for name in compared if labels and sorted(_labels(name)) == sorted(labels)]


@cache
def _labels(name: str) -> list[str]:
    config = json.loads((FOLDER / name.partition(":")[2] / "config.json").read_text(encoding="utf-8"))
    return config.get("label_names", [])
