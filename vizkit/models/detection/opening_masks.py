"""Mask heads as our training writes them, in the folder `masks` of the network that finds things."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from vizkit.models.detection.opening import detector_folder
from vizkit.models.networks.detr_masks import MaskHead
from vizkit.models.sources.checkpoint import read_json
from vizkit.models.sources.hub import ModelError
from vizkit.models.trained_folder import network_of

FOLDER, NAME = "masks", "detr_masks"


def has_masks(source: str | Path) -> bool:
    """Whether a mask head lies beside that network. Raises ModelError where there is no such network."""
    folder = detector_folder(source)[0] / FOLDER
    return all((folder / name).is_file() for name in ("config.json", "model.safetensors"))


def open_masks(source: str | Path) -> MaskHead:
    """The mask head of the network "bundled:<name>" or of that run folder. Raises ModelError with one sentence."""
    folder, title = detector_folder(source)
    if not has_masks(source):
        raise ModelError(f"{title} has no masks: train them with the recipe detr-masks into its folder {FOLDER}.")
    about = f"the masks of {title}"
    config = read_json(folder / FOLDER / "config.json", about)
    if config.get("task") != "masks":
        raise ModelError(f"The config.json of {about} is that of another task.")
    if config.get("of") != weights_digest(source):
        raise ModelError(f"{about.capitalize()} were trained on other weights of it; train them again.")
    return network_of(folder / FOLDER, about, config, (NAME,), _made, "mask head")


def config_of(head: MaskHead, digest: str, licence: str) -> dict[str, Any]:
    """What `open_masks` reads again. `digest`: of the weights behind which the head was trained."""
    return {"task": "masks", "architecture": NAME, "of": digest, "sizes": head.sizes, "license": licence or None}


def weights_digest(source: str | Path) -> str:
    """SHA-256 of the weights of a network that finds things. Raises ModelError."""
    file = detector_folder(source)[0] / "model.safetensors"
    try:
        return sha256(file.read_bytes()).hexdigest()
    except OSError:
        raise ModelError(f"The weights of {file.parent.name[:60]} cannot be read.") from None


def _made(name: str, sizes: Mapping[str, Any]) -> MaskHead:
    del name  # there is one kind
    return MaskHead(sizes["dim"], sizes["finer"], heads=sizes["heads"], width=sizes["width"])
