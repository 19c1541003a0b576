"""Networks that find things as our training writes them: those that ship with vizkit, and run folders."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

from vizkit.image import Preprocessing
from vizkit.models.detection.building import NETWORKS, Backbone, backbone_of, build
from vizkit.models.detection.resizing import resized_hw
from vizkit.models.networks.detr import DETR
from vizkit.models.sources.checkpoint import read_header, read_json, refuse_sizes
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.sizing import bytes_of, refuse_missing_numbers, refuse_over_budget, sketch

__all__ = ["BUNDLED", "Detector", "bundled_detectors", "config_of", "open_detector"]

BUNDLED = Path(__file__).parents[2] / "bundled" / "detection"


@dataclass(frozen=True, eq=False)
class Detector:
    """A network that finds things of the classes `labels` in pictures, prepared as it wants them.

    `edges_px`: where it takes pictures of any shape, their shorter edge, and the most of their longer one."""

    name: str
    model: DETR
    labels: tuple[str, ...]
    preprocessing: Preprocessing
    licence: str

    edges_px: tuple[int, int] | None = None

    def needs(self, picture_hw: tuple[int, int]) -> Preprocessing:
        """How a picture of this size comes before the model: `preprocessing`, or as large as `edges_px` says."""
        if self.edges_px is None:
            return self.preprocessing
        return replace(self.preprocessing, size_hw=resized_hw(picture_hw, *self.edges_px))

    @property
    def queries(self) -> int:
        return int(self.model.sizes["queries"])

    @property
    def parameters(self) -> int:
        return sum(weights.numel() for weights in self.model.parameters())


def bundled_detectors() -> list[str]:
    """Those that ship with vizkit."""
    return sorted(file.parent.name for file in BUNDLED.glob("*/config.json"))


def open_detector(source: str | Path) -> Detector:
    """A network by "bundled:<name>" or by its run folder. Raises ModelError with one sentence for the user."""
    kind, _, rest = str(source).partition(":")
    if kind == "bundled":
        if rest not in bundled_detectors():
            known = ", ".join(bundled_detectors()) or "none"
            raise ModelError(f"There is no bundled model {rest[:60]!r} that finds things; there are {known}.")
        return _from_folder(BUNDLED / rest, rest)
    folder = Path(source)
    title = folder.name[:60]
    if not all(_is_file(folder / name) for name in ("config.json", "model.safetensors")):
        raise ModelError(f"{title} is no run folder: config.json and model.safetensors are needed.")
    return _from_folder(folder, title)


def config_of(
    name: str, model: DETR, backbone: Backbone, labels: tuple[str, ...], needs: Preprocessing, licence: str
) -> dict[str, Any]:
    """What `open_detector` reads again."""
    return {
        "task": "detect", "architecture": name, "sizes": model.sizes, "label_names": list(labels),
        "backbone": {"architecture": backbone.architecture, "model_args": backbone.model_args},
        "size_hw": list(needs.size_hw), "mean": list(needs.mean), "std": list(needs.std), "license": licence or None,
    }  # fmt: skip


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # too long for a name, not readable
        return False


def _from_folder(folder: Path, title: str) -> Detector:
    config = read_json(folder / "config.json", title)
    labels = config.get("label_names")
    if not isinstance(labels, list) or not labels or not all(isinstance(label, str) for label in labels):
        raise ModelError(f"The config.json of {title} does not name its classes.")
    needs = _needs(config, title)
    model = _built(config, folder / "model.safetensors", len(labels), title)
    refuse_missing_numbers(title, model)
    model.eval().requires_grad_(False)
    names = tuple(label[:80] for label in labels)
    return Detector(title, model, names, needs, str(config.get("license") or "not stated")[:80])


def _needs(config: Mapping[str, Any], title: str) -> Preprocessing:
    try:
        height, width = map(int, config["size_hw"])
        mean, std = (tuple(map(float, config[key])) for key in ("mean", "std"))
        return Preprocessing((height, width), mean, std, crop_pct=1.0, crop_mode="squash", interpolation="bilinear")
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ModelError(f"The config.json of {title} does not say which pictures it takes.") from None


def _built(config: Mapping[str, Any], file: Path, labels: int, title: str) -> DETR:
    """The network with its weights. Made without numbers first: a small file cannot ask for a large one."""
    name, sizes, about = config.get("architecture"), config.get("sizes", {}), config.get("backbone")
    if name not in NETWORKS or not isinstance(sizes, dict) or not isinstance(about, dict):
        raise ModelError(f"The config.json of {title} names no network that finds; there are {', '.join(NETWORKS)}.")
    architecture, model_args = about.get("architecture"), about.get("model_args", {})
    if not isinstance(architecture, str) or not isinstance(model_args, dict):
        raise ModelError(f"The config.json of {title} does not name its backbone.")
    refuse_sizes(title, sizes)
    refuse_sizes(title, model_args)
    plan = Backbone(architecture, model_args)

    def make() -> DETR:
        return build(name, labels, backbone_of(plan), sizes)

    planned = sketch(title, make)
    if planned is None:
        raise ModelError(f"The config.json of {title} gives sizes that no {name} can have.")
    refuse_over_budget(title, bytes_of(planned))
    shapes = {key: tuple(tensor.shape) for key, tensor in planned.state_dict().items()}
    if read_header(file).holds.shapes != shapes:
        raise ModelError(f"The weights of {title} are of another network than its config.json says.")
    model = make()
    model.load_state_dict(load_file(file))
    return model
