"""Networks that find things as our training writes them: those that ship with vizkit, and run folders."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vizkit.image import Preprocessing
from vizkit.models.detection.building import NETWORKS, Backbone, backbone_of, build
from vizkit.models.detection.resizing import resized_hw
from vizkit.models.networks.detr import DETR
from vizkit.models.sources.checkpoint import read_json, refuse_sizes
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.loading import bundled_names
from vizkit.models.trained_folder import folder_of, licence_of, network_of

BUNDLED = Path(__file__).parents[2] / "bundled" / "detection"


@dataclass(frozen=True, eq=False)
class Detector:
    """A network that finds things of the classes `labels` in pictures, prepared as it wants them.

    `edges_px`: where it takes pictures of any shape, their shorter edge, and the most of their longer one. `proven`:
    of passes with and without self-attention of the queries, see `families.proven_places`.
    """

    name: str
    model: DETR
    labels: tuple[str, ...]
    preprocessing: Preprocessing
    licence: str
    edges_px: tuple[int, int] | None = None
    proven: dict[bool, dict[tuple, Any]] = field(default_factory=dict, init=False)

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
    return bundled_names(BUNDLED)


def detector_folder(source: str | Path) -> tuple[Path, str]:
    """Where the files of a network lie, and what it is called. Raises ModelError."""
    return folder_of(source, BUNDLED, " that finds things")


def open_detector(source: str | Path) -> Detector:
    """A network by "bundled:<name>", by its run folder or by a folder of transformers with a DETR. Raises ModelError
    with one sentence for the user."""
    folder, title = detector_folder(source)
    config = read_json(folder / "config.json", title)
    if config.get("model_type") == "detr":
        from vizkit.models.detection.transformers_folder import parts_of

        return Detector(title, *parts_of(folder, title, config))
    labels = config.get("label_names")
    if not isinstance(labels, list) or not labels or not all(isinstance(label, str) for label in labels):
        raise ModelError(f"The config.json of {title} does not name its classes.")
    needs, backbone = _needs(config, title), _backbone(config, title)

    def made(name: str, sizes: Mapping[str, Any]) -> DETR:
        return build(name, len(labels), backbone_of(backbone), sizes)

    model = network_of(folder, title, config, NETWORKS, made, "network that finds things")
    return Detector(title, model, tuple(label[:80] for label in labels), needs, licence_of(config))


def finds(source: str | Path) -> bool:
    """Whether `open_detector` opens this: a bundled detector, a run folder of one, or a DETR of transformers."""
    kind, _, rest = str(source).partition(":")
    if kind == "bundled":
        return rest in bundled_detectors()
    try:
        config = read_json(Path(source) / "config.json", "It")
    except ModelError:
        return False
    return config.get("task") == "detect" or config.get("model_type") == "detr"


def config_of(
    name: str, model: DETR, backbone: Backbone, labels: tuple[str, ...], needs: Preprocessing, licence: str
) -> dict[str, Any]:
    """What `open_detector` reads again."""
    return {
        "task": "detect",
        "architecture": name,
        "sizes": model.sizes,
        "label_names": list(labels),
        "backbone": {"architecture": backbone.architecture, "model_args": backbone.model_args},
        "size_hw": list(needs.size_hw),
        "mean": list(needs.mean),
        "std": list(needs.std),
        "license": licence or None,
    }


def _needs(config: Mapping[str, Any], title: str) -> Preprocessing:
    try:
        height, width = map(int, config["size_hw"])
        mean, std = (tuple(map(float, config[key])) for key in ("mean", "std"))
        return Preprocessing((height, width), mean, std, crop_pct=1.0, crop_mode="squash", interpolation="bilinear")
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ModelError(f"The config.json of {title} does not say which images it takes.") from None


def _backbone(config: Mapping[str, Any], title: str) -> Backbone:
    about = config.get("backbone")
    architecture, model_args = (
        (about.get(key) for key in ("architecture", "model_args")) if isinstance(about, dict) else (None, None)
    )
    if not isinstance(architecture, str) or not isinstance(model_args, dict):
        raise ModelError(f"The config.json of {title} does not name its backbone.")
    refuse_sizes(title, model_args)
    return Backbone(architecture, model_args)
