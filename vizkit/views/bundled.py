"""The models that come with vizkit, by their names alone, without opening any."""

import json
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "bundled"
ORDER = ("vit", "swin", "deit", "dual", "gradual", "cnn", "lenet", "mlp")
KINDS = {"vit": "ViT", "swin": "Swin", "deit": "DeiT", "dual": "Dual-scale", "gradual": "Gradual", "cnn": "CNN"}
KINDS |= {"lenet": "LeNet-5", "mlp": "MLP"}


@cache
def names() -> list[str]:
    """As `vizkit.load` takes them: those of the insects first, of each set the plain ViT first and what is older
    last."""
    known = sorted(file.parent.name for file in FOLDER.glob("*/config.json"))
    known.sort(key=lambda name: (not name.startswith("insects"), ORDER.index(name.rpartition("_")[2])))
    return [f"bundled:{name}" for name in known]


def title(source: str) -> str:
    """For people: "ViT · insects" for a bundled model, of all others the name itself."""
    kind, _, name = source.partition(":")
    data, _, network = name.rpartition("_")
    return f"{KINDS[network]} · {data}" if kind == "bundled" and network in KINDS else source


@cache
def knowing(labels: tuple[str, ...]) -> list[str]:
    """Those that tell exactly these classes apart."""
    return [name for name in names() if sorted(_labels(name)) == sorted(labels)]


def _labels(name: str) -> list[str]:
    config = json.loads((FOLDER / name.partition(":")[2] / "config.json").read_text(encoding="utf-8"))
    return config.get("label_names", [])
