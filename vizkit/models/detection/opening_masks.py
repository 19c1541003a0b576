"""Mask heads as our training writes them, in the folder `masks` of the network that finds things."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

from vizkit.models.detection.opening import folder_of
from vizkit.models.networks.detr_masks import MaskHead
from vizkit.models.sources.checkpoint import read_header, read_json, refuse_sizes
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.sizing import bytes_of, refuse_missing_numbers, refuse_over_budget, sketch

__all__ = ["config_of", "has_masks", "open_masks", "weights_digest"]

FOLDER = "masks"


def has_masks(source: str | Path) -> bool:
    """Whether a mask head lies beside that network. Raises ModelError where there is no such network."""
    return (folder_of(source)[0] / FOLDER / "config.json").is_file()


def open_masks(source: str | Path) -> MaskHead:
    """The mask head of the network "bundled:<name>" or of that run folder. Raises ModelError with one sentence."""
    folder, title = folder_of(source)
    if not has_masks(source):
        raise ModelError(f"{title} has no masks: train them with the recipe detr-masks into its folder {FOLDER}.")
    about = f"the masks of {title}"
    config = read_json(folder / FOLDER / "config.json", about)
    if config.get("task") != "masks":
        raise ModelError(f"The config.json of {about} is that of another task.")
    if config.get("of") != weights_digest(source):
        raise ModelError(f"{about.capitalize()} were trained on other weights of it; train them again.")
    head = _built(config, folder / FOLDER / "model.safetensors", about)
    refuse_missing_numbers(about, head)
    return head.eval().requires_grad_(False)


def config_of(head: MaskHead, digest: str, licence: str) -> dict[str, Any]:
    """What `open_masks` reads again. `digest`: of the weights behind which the head was trained."""
    return {"task": "masks", "of": digest, "sizes": head.sizes, "license": licence or None}


def weights_digest(source: str | Path) -> str:
    """SHA-256 of the weights of a network that finds things. Raises ModelError."""
    file = folder_of(source)[0] / "model.safetensors"
    try:
        return sha256(file.read_bytes()).hexdigest()
    except OSError:
        raise ModelError(f"The weights of {file.parent.name[:60]} cannot be read.") from None


def _built(config: Mapping[str, Any], file: Path, title: str) -> MaskHead:
    """Made without numbers first: a small file cannot ask for a large network."""
    sizes = config.get("sizes")
    if not isinstance(sizes, dict) or set(sizes) != {"dim", "finer", "heads", "width"}:
        raise ModelError(f"The config.json of {title} does not give its sizes.")
    refuse_sizes(title, sizes)

    def make() -> MaskHead:
        return MaskHead(sizes["dim"], sizes["finer"], heads=sizes["heads"], width=sizes["width"])

    planned = sketch(title, make)
    if planned is None:
        raise ModelError(f"The config.json of {title} gives sizes that no mask head can have.")
    refuse_over_budget(title, bytes_of(planned))
    shapes = {key: tuple(tensor.shape) for key, tensor in planned.state_dict().items()}
    if not file.is_file() or read_header(file).holds.shapes != shapes:
        raise ModelError(f"The weights of {title} are not those of its config.json.")
    head = make()
    head.load_state_dict(load_file(file))
    return head
