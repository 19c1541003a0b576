"""A folder that transformers' `save_pretrained` wrote of a DETR, such as `facebook/detr-resnet-50`: our network with
its weights, its classes and its preprocessing. No code of the folder is run, and nothing is fetched."""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from vizkit.image import MAX_INPUT_SIDE, Preprocessing
from vizkit.models.detection.from_transformers import from_transformers
from vizkit.models.networks.detr import DETR
from vizkit.models.sources.checkpoint import refuse_sizes
from vizkit.models.sources.from_transformers import making, names_another_model
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.loaded import licence_on
from vizkit.models.sources.sizing import planned, refuse_missing_numbers
from vizkit.models.sources.transformers_processor import preprocessing_of, processor
from vizkit.models.sources.transformers_weights import held, weights_of

EDGES_PX = (800, 1333)  # of DETR's own code, where no image processor says others
WORDS = ("id2label", "label2id")


class Parts(NamedTuple):
    """What makes a `Detector` beside its name."""

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
    try:
        from transformers import DetrConfig, DetrForObjectDetection
    except ImportError:
        raise ModelError(
            f"{title} is a DETR of the transformers library: pip install 'vizkit[transformers]' opens it."
        ) from None
    made: Any = DetrForObjectDetection
    eager = {"attn_implementation": "eager"}  # others may fetch their code
    holds = held(folder, title)
    with making(title):
        settings = DetrConfig.from_dict({**config, **_backbone(config, title)})
        planned(title, lambda: made._from_config(settings, **eager), holds)
        model, report = made.from_pretrained(
            None,
            config=settings,
            state_dict=weights_of(folder, title),
            dtype=torch.float32,
            output_loading_info=True,
            **eager,
        )
        missing = [*report["missing_keys"], *report["mismatched_keys"]]
        if missing:
            raise ModelError(
                f"{title} lacks weights of a DETR: {len(missing)} tensors, among them {str(missing[0])[:60]}."
            )
        ours = from_transformers(model.eval()).requires_grad_(False)
        refuse_missing_numbers(title, ours)
        return ours


def _backbone(config: dict[str, Any], title: str) -> dict[str, Any]:
    """What replaces the entries on the backbone: it comes without weights, described whole. Transformers before 5 gave
    its name, which today's may look up on the hub."""
    about, named = config.get("backbone_config"), config.get("use_timm_backbone", True)
    about = dict(about) if isinstance(about, dict) else {"model_type": "timm_backbone"} if named else {}
    if about.get("model_type") == "timm_backbone":
        given = config.get("backbone_kwargs")
        given = given if isinstance(given, dict) else {}
        name = about.setdefault("backbone", config.get("backbone") or "resnet50")
        about.setdefault("out_indices", given.get("out_indices", [1, 2, 3, 4]))
        about |= {"features_only": True, "use_pretrained_backbone": False}
        about |= {"output_stride": 16} if config.get("dilation") else {}
        if not isinstance(name, str) or not name.replace("_", "").replace(".", "").isalnum():
            raise ModelError(f"The backbone of {title} is no plain name of timm.")
    elif not about or names_another_model(about):
        raise ModelError(
            f"The backbone of {title} is on the hub; save it again with transformers 5, which describes it."
        )
    if config.get("quantization_config"):
        raise ModelError(f"{title} is quantized; vizkit opens plain ones only.")
    return {
        "backbone_config": about,
        "backbone": None,
        "use_timm_backbone": None,
        "backbone_kwargs": {},
        "use_pretrained_backbone": None,
    }


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
        raise ModelError(f"The image processor of {title} gives edges that no image has.") from None
