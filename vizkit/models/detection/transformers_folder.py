"""A folder that transformers' `save_pretrained` wrote of a DETR, such as `facebook/detr-resnet-50`: our network with
its weights, its classes and its preprocessing. No code of the folder is run, and nothing is fetched."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from vizkit.image import MAX_INPUT_SIDE, Preprocessing
from vizkit.models.detection.from_transformers import from_transformers
from vizkit.models.networks.detr import DETR
from vizkit.models.sources.checkpoint import refuse_sizes
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.loaded import licence_on
from vizkit.models.sources.sizing import bytes_of, refuse_over_budget, refuse_unfit, sketch
from vizkit.models.sources.transformers_processor import preprocessing_of, processor
from vizkit.models.sources.transformers_weights import held, weights_of

__all__ = ["Parts", "parts_of"]

EDGES_PX = (800, 1333)  # of DETR's own code, where no image processor says others
WORDS = ("id2label", "label2id")


class Parts(NamedTuple):
    """What makes a `Detector`."""

    model: DETR
    labels: tuple[str, ...]
    preprocessing: Preprocessing
    licence: str
    edges_px: tuple[int, int] | None


def parts_of(folder: Path, title: str, config: dict[str, Any]) -> Parts:
    """`config`: what config.json says. Raises ModelError with one sentence."""
    refuse_sizes(title, {name: value for name, value in config.items() if name not in WORDS})
    needs, edges = _prepared(folder, title, config)
    model = _made(folder, title, config)
    names = config.get("id2label")
    names = names if isinstance(names, dict) else {}
    labels = tuple(str(names.get(str(place), f"class {place}"))[:80] for place in range(model.classes.out_features - 1))
    return Parts(model, labels, needs, licence_on(folder / "README.md") or "not stated", edges)


def _made(folder: Path, title: str, config: dict[str, Any]) -> DETR:
    """Made without numbers first: a small file cannot ask for a large network."""
    try:
        from transformers import DetrConfig, DetrForObjectDetection
    except ImportError:
        raise ModelError(
            f"{title} is a DETR of the transformers library: pip install 'vizkit[transformers]' opens it."
        ) from None
    made: Any = DetrForObjectDetection
    eager = {"attn_implementation": "eager"}  # others may fetch their code
    holds = held(folder, title)
    try:
        settings = DetrConfig.from_dict(dict(config))
        _refuse_fetching(settings, title)
        drawn = sketch(title, lambda: made._from_config(settings, **eager))
        if drawn is not None:
            refuse_over_budget(title, bytes_of(drawn))
            refuse_unfit(title, holds, drawn)
        model, report = made.from_pretrained(None, config=settings, state_dict=weights_of(folder, title),
                                             dtype=torch.float32, output_loading_info=True, **eager)  # fmt: skip
        missing = [*report["missing_keys"], *report["mismatched_keys"]]
        if missing:
            raise ModelError(f"{title} lacks weights of a DETR: {len(missing)} tensors, among them "
                             f"{str(missing[0])[:60]}.")  # fmt: skip
        return from_transformers(model.eval())
    except ModelError:
        raise
    except Exception as error:  # a stranger's configuration makes constructors raise anything
        reason = re.sub(r"\S*/\S+", "", " ".join(str(error).split()))[:120]
        raise ModelError(f"{title} cannot be made by transformers: {reason.rstrip('.')}.") from error


def _refuse_fetching(settings: Any, title: str) -> None:  # noqa: ANN401
    """A backbone by its name alone comes without weights; a path or a hub's name would be looked up elsewhere."""
    about = settings.backbone_config
    name = getattr(about, "backbone", None)
    if name is not None:
        if not isinstance(name, str) or not name.replace("_", "").replace(".", "").isalnum():
            raise ModelError(f"The backbone of {title} is no plain name of timm.")
        about.use_pretrained_backbone = False
    if getattr(settings, "quantization_config", None):
        raise ModelError(f"{title} is quantized; vizkit opens plain ones only.")


def _prepared(folder: Path, title: str, config: dict[str, Any]) -> tuple[Preprocessing, tuple[int, int] | None]:
    """How pictures come before it: of a size of their own by their edges, or all of one size."""
    about = processor(folder, title)
    needs = preprocessing_of(folder, title, config, None)
    size = about.get("size")
    try:
        if isinstance(size, dict) and "height" in size:
            return replace(needs, crop_pct=1.0, crop_mode="squash"), None
        if isinstance(size, dict):
            edges = (int(size.get("shortest_edge", EDGES_PX[0])), int(size.get("longest_edge", EDGES_PX[1])))
        else:  # as earlier versions wrote it
            edges = (int(size or EDGES_PX[0]), int(about.get("max_size", EDGES_PX[1])))
        if not 1 <= edges[0] <= edges[1] <= MAX_INPUT_SIDE:
            raise ValueError
        return replace(needs, size_hw=(edges[0], edges[0]), crop_pct=1.0, crop_mode="squash"), edges
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"The image processor of {title} gives edges that no picture has.") from None
