"""Networks that enlarge as our training writes them: those that ship with vizkit, and run folders."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

from vizkit.models.networks.super_resolution.ttsr import NETWORKS, TTSR, build
from vizkit.models.sources.checkpoint import read_header, read_json, refuse_sizes
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.sizing import bytes_of, refuse_missing_numbers, refuse_over_budget, sketch

__all__ = ["BUNDLED", "Enlarger", "bundled_enlargers", "open_enlarger"]

BUNDLED = Path(__file__).parents[2] / "bundled" / "super_resolution"


@dataclass(frozen=True, eq=False)
class Enlarger:
    """A network that enlarges four times. `uses_reference`: whether it takes texture from a second picture."""

    name: str
    model: TTSR
    licence: str

    @property
    def uses_reference(self) -> bool:
        return bool(self.model.sizes["reference"])

    @property
    def parameters(self) -> int:
        return sum(weights.numel() for weights in self.model.parameters())


def bundled_enlargers() -> list[str]:
    """Those that ship with vizkit."""
    return sorted(file.parent.name for file in BUNDLED.glob("*/config.json"))


def open_enlarger(source: str | Path) -> Enlarger:
    """A network by "bundled:<name>" or by its run folder. Raises ModelError with one sentence for the user."""
    kind, _, rest = str(source).partition(":")
    if kind == "bundled":
        if rest not in bundled_enlargers():
            known = ", ".join(bundled_enlargers()) or "none"
            raise ModelError(f"There is no bundled model {rest[:60]!r} that enlarges; there are {known}.")
        return _from_folder(BUNDLED / rest, rest)
    folder = Path(source)
    title = folder.name[:60]
    if not all(_is_file(folder / name) for name in ("config.json", "model.safetensors")):
        raise ModelError(f"{title} is no run folder: config.json and model.safetensors are needed.")
    return _from_folder(folder, title)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # too long for a name, not readable
        return False


def _from_folder(folder: Path, title: str) -> Enlarger:
    config = read_json(folder / "config.json", title)
    model = _built(config, folder / "model.safetensors", title)
    refuse_missing_numbers(title, model)
    model.eval().requires_grad_(False)
    return Enlarger(title, model, str(config.get("license") or "not stated")[:80])


def _built(config: Mapping[str, Any], file: Path, title: str) -> TTSR:
    """The network with its weights. Made without numbers first: a small file cannot ask for a large one."""
    name, sizes = config.get("architecture"), config.get("sizes", {})
    if name not in NETWORKS or not isinstance(sizes, dict):
        raise ModelError(f"The config.json of {title} names no network that enlarges; there are {', '.join(NETWORKS)}.")
    refuse_sizes(title, sizes)
    planned = sketch(title, lambda: build(name, sizes))
    if planned is None:
        raise ModelError(f"The config.json of {title} gives sizes that no {name} can have.")
    refuse_over_budget(title, bytes_of(planned))
    shapes = {key: tuple(tensor.shape) for key, tensor in planned.state_dict().items()}
    if read_header(file).holds.shapes != shapes:
        raise ModelError(f"The weights of {title} are of another network than its config.json says.")
    model = build(name, sizes)
    model.load_state_dict(load_file(file))
    return model
