"""The sets that are opened by a name, one file each. A new one is a file here with the parts below, and its name in
`ORDER`. Imports nothing heavy, so lists are quick."""

from importlib import import_module
from types import ModuleType

__all__ = ["ABOUT", "BUILT_IN"]

ORDER = ("insects", "digits", "torchvision")

PARTS = {
    "ABOUT": "a dictionary from each name, the file's own or with a detail after a colon, to what users read of it",
    "open_split": "a function of detail, split, images, size_px and seed that gives an ImageSet; where it gives more "
    "images than `images`, some are chosen from each class",
}


def whole(name: str, module: ModuleType) -> ModuleType:
    """The module, unless a part is missing; ValueError says what to add where."""
    for part, meaning in PARTS.items():
        if not hasattr(module, part):
            raise ValueError(f"vizkit/datasets/builtin/{name}.py needs `{part}`: {meaning}.")
    if strange := [each for each in module.ABOUT if each.partition(":")[0] != name]:
        raise ValueError(f"vizkit/datasets/builtin/{name}.py needs names in `ABOUT` that begin in {name!r}: {strange}.")
    return module


BUILT_IN: dict[str, ModuleType] = {name: whole(name, import_module(f"{__name__}.{name}")) for name in ORDER}

ABOUT: dict[str, str] = {name: words for module in BUILT_IN.values() for name, words in module.ABOUT.items()}
