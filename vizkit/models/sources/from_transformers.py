"""Folders that transformers' `save_pretrained` wrote, here or on the hub: timm's own model where timm has the same one,
else the module of transformers as it is. Never code from the folder."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from vizkit.image import Preprocessing
from vizkit.models.sources import checkpoint, transformers_names, transformers_stages
from vizkit.models.sources.creating import Size, by, create, load_weights
from vizkit.models.sources.from_file import translated
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.loaded import (
    NO_LICENCE,
    Loaded,
    datasets_on,
    imagenet_labels_where,
    licence_on,
    with_head,
)
from vizkit.models.sources.sizing import Holding, planned
from vizkit.models.sources.transformers_names import ACTIVATIONS, Config, Translation
from vizkit.models.sources.transformers_processor import preprocessing_of, processor
from vizkit.models.sources.transformers_weights import WEIGHTS, held, weights_of

TWO_TOWERS = ("CLIPModel", "SiglipModel")

PREFIX = re.compile(r"^(vit|deit|dinov2|dinov2_with_registers|beit|swin|swinv2|convnext|convnextv2|resnet)\.")
TRANSLATED: dict[str, Callable[[Config, dict[str, Tensor]], Translation | None]] = {
    "vit": transformers_names.vit,
    "vit_mae": transformers_names.vit,
    "deit": transformers_names.deit,
    "dinov2": transformers_names.dinov2,
    "dinov2_with_registers": transformers_names.dinov2,
    "beit": transformers_names.beit,
    "clip": transformers_names.clip,
    "clip_vision_model": transformers_names.clip,
    "siglip": transformers_names.siglip,
    "siglip_vision_model": transformers_names.siglip,
    "swin": transformers_stages.swin,
    "swinv2": transformers_stages.swin,
    "convnext": transformers_stages.convnext,
    "convnextv2": transformers_stages.convnext,
    "resnet": transformers_stages.resnet,
}
SHOWN = ("ForImageClassification", "ForImageClassificationWithTeacher", "Model", "VisionModel", "WithProjection")
SHOWN += ("ForPreTraining",)  # of MAE, whose encoder is translated
LOCATING = ("ForObjectDetection", "ForSemanticSegmentation")  # end in boxes or maps: the model below is shown
PROBLEMS = {
    "single_label_classification": "softmax",
    "multi_label_classification": "sigmoid",
    "regression": "regression",
}
NO_SIZES = ("id2label", "label2id", "text_config")


def is_transformers(folder: Path) -> bool:
    """Whether the config.json there is one of transformers', not one of timm's."""
    try:
        config = checkpoint.read_json(folder / "config.json", folder.name)
    except ModelError:
        return False
    return isinstance(config.get("model_type"), str) and "architecture" not in config


def from_transformers(folder: Path, title: str, source: str, pretrained: bool, size_hw: Size | None) -> Loaded:
    """`source`: where the folder is from, in a word; `size_hw`: another input than its own, positions are stretched."""
    config = read_config(folder, title)
    holds = held(folder, title)
    needs = preprocessing_of(folder, title, config, size_hw)
    if size_hw is None and config["model_type"].startswith("dinov2"):  # takes any size, and its processors give another
        config |= {transformers_names.SHOWN_HW: needs.size_hw}
    try:
        drawn = {name: torch.empty(shape, device="meta") for name, shape in holds.shapes.items()}
        found = translation(config, drawn)
    except Exception:  # a configuration with something missing, or anything at all in it: the library says what
        found = None
    if found is not None:
        loaded = _in_timm(folder, title, config, found, holds, needs, pretrained, size_hw)
        how = f"as timm's {found.architecture.partition('_')[0]}"
    else:
        loaded = Loaded(title, _in_transformers(folder, title, config, holds, pretrained), torch.device("cpu"), needs)
        without = class_named(config).endswith(LOCATING)
        how = "as its own module" + (", without the head for boxes or maps" if without else "")
    own = needs.size_hw if found is None else input_size(loaded.model, needs.size_hw)
    said = f"{source}, transformers {config['model_type']}, {how}" + ("" if pretrained else ", random weights")
    if own != needs.size_hw:
        said += f", which takes {by(own)} pixels where its image processor gives {by(needs.size_hw)}"
        needs = needs.of_size(own)
    about = processor(folder, title)
    if not needs.translated:
        said += ", images by its own image processor"
    if needs.processor is None and "image_mean" not in about and about.get("do_normalize") is not False:
        said += ", no image processor says its mean and deviation: those of ImageNet"
    both_towers = (
        pretrained and found is not None and class_named(config) in TWO_TOWERS and (folder / WEIGHTS).is_file()
    )
    loaded = replace(
        loaded,
        name=title,
        preprocessing=needs,
        labels=labels_of(config, loaded.model, datasets_on(folder / "README.md")),
        source=said,
        licence=(licence_on(folder / "README.md") or "not stated") if pretrained else NO_LICENCE,
        trained=pretrained,
        text_tower=folder if both_towers else None,
    )
    head = PROBLEMS.get(str(config.get("problem_type"))) if loaded.outputs else None
    if head is None and "ForImageClassification" in class_named(config) and (loaded.outputs or 0) > 1:
        head = "softmax"  # as the library's own pipeline reads these
    return loaded if head is None else with_head(loaded, head)


def read_config(folder: Path, title: str) -> dict[str, Any]:
    """Raises ModelError for a model that is not shown, before its weights are downloaded."""
    config = checkpoint.read_json(folder / "config.json", title)
    checkpoint.refuse_sizes(title, {key: value for key, value in config.items() if key not in NO_SIZES})
    name = class_named(config)
    if name and not name.endswith(SHOWN + LOCATING):
        raise ModelError(f"{title} is a {name[:60]}; vizkit shows classifiers and models that give feature vectors.")
    return config


def class_named(config: Config) -> str:
    names = config.get("architectures")
    return names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ""


def translation(config: Config, state: Mapping[str, Tensor]) -> Translation | None:
    """None where timm has no such model, or where nobody has compared the two."""
    build, activation = TRANSLATED.get(config["model_type"]), config.get("hidden_act", "gelu")
    if build is None or activation not in ACTIVATIONS:
        return None
    found = build(config, {PREFIX.sub("", name): value for name, value in state.items()})
    if found is not None and "act_layer" not in found.args and "norm_layer" in found.args and activation != "gelu":
        found.args["act_layer"] = ACTIVATIONS[activation]
    return found


def _in_timm(
    folder: Path,
    title: str,
    config: Config,
    found: Translation,
    holds: Holding,
    needs: Preprocessing,
    pretrained: bool,
    size_hw: Size | None,
) -> Loaded:
    args = dict(found.args)
    size = size_hw or args.pop("img_size", None)
    args.pop("img_size", None)
    model: Any = create(found.architecture, size, title, holds, replaced=pretrained, **args)
    if pretrained:
        own = translation(config, weights_of(folder, title))
        assert own is not None
        state = translated(title, found.architecture, own.state, model, stretch=size_hw is not None)
        load_weights(model, title, found.architecture, state)
    if config["model_type"] in ("clip", "clip_vision_model"):
        model.num_classes = 0  # its head projects into the space that it shares with texts
    if config["model_type"] == "deit" and hasattr(model, "reg_token") and model.reg_token is not None:
        model.dist_token = model.reg_token  # so that it goes by its name
    return Loaded(title, model, torch.device("cpu"), needs)


def _in_transformers(folder: Path, title: str, config: Config, holds: Holding, pretrained: bool) -> nn.Module:
    """The module of the library itself, where it takes a picture alone."""
    model, report = made_by_library(folder, title, config, holds, pretrained, "pixel_values")
    missing = [key for key in (*report["missing_keys"], *report["mismatched_keys"]) if "pooler" not in str(key)]
    if missing:
        raise ModelError(
            f"{title} lacks weights of {class_named(config)}: {len(missing)} tensors, the first is "
            f"{str(missing[0])[:60]}."
        )
    if class_named(config).endswith(LOCATING):
        return Vector(model.base_model, pooled=False)
    return Vector(model, pooled=not report["missing_keys"])


def names_another_model(config: Any) -> bool:
    """Whether any part of a configuration gives its backbone as a name, which transformers looks up on the hub."""
    if isinstance(config, Mapping):
        return bool(config.get("backbone")) or any(names_another_model(part) for part in config.values())
    return isinstance(config, list) and any(names_another_model(part) for part in config)


def made_by_library(
    folder: Path, title: str, config: Config, holds: Holding, pretrained: bool = True, takes: str = ""
) -> tuple[Any, dict[str, Any]]:
    """The module of the library, by its name among its classes: code that a folder brings is never run. And which of
    its weights the folder lacks. `takes`: the only input that it may need."""
    try:
        import transformers
    except ImportError:
        raise ModelError(
            f"{title} is a {config['model_type'][:40]} of the transformers library, which timm lacks: "
            "pip install -r requirements-transformers.txt opens it."
        ) from None
    name = class_named(config)
    kind = getattr(transformers, name, None) if name.isidentifier() else None
    if not (isinstance(kind, type) and issubclass(kind, transformers.PreTrainedModel)):
        raise ModelError(f"{title} names the class {name[:60]!r}, which this transformers does not have.")
    if takes and kind.main_input_name != takes:
        raise ModelError(f"{title} is a {name[:60]}, which does not take an image alone.")
    if config.get("quantization_config") or config.get("use_timm_backbone") or names_another_model(config):
        raise ModelError(f"{title} is quantized, or made around a model of its own; vizkit opens plain ones only.")
    checkpoint.refuse_layers(title, config)
    eager = {"attn_implementation": "eager"}  # others may fetch their code
    made: Any = kind
    with making(title):
        settings = made.config_class.from_json_file(str(folder / "config.json"))
        planned(title, lambda: made._from_config(settings, **eager), holds)
        if not pretrained:
            return made._from_config(settings, **eager), {"missing_keys": [], "mismatched_keys": []}
        # From the weights alone: of a path the library would also read adapters, which name files and models elsewhere.
        state = weights_of(folder, title)
        return made.from_pretrained(
            None, config=settings, state_dict=state, dtype=torch.float32, output_loading_info=True, **eager
        )


@contextmanager
def making(title: str) -> Iterator[None]:
    """What the library raises within, as one sentence."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:  # a stranger's configuration makes constructors raise anything
        reason = re.sub(r"\S*/\S+", "", " ".join(str(error).split()))[:120]
        raise ModelError(f"{title} cannot be made by transformers: {reason.rstrip('.')}.") from error


class Vector(nn.Module):
    """A model of transformers that gives logits, or one vector for a picture, (image, class or channel)."""

    def __init__(self, model: nn.Module, pooled: bool = True) -> None:
        super().__init__()
        self.model, self.pooled = model, pooled
        self.num_classes = (
            int(getattr(model.config, "num_labels", 0)) if "Classification" in type(model).__name__ else 0
        )  # pyright: ignore

    def forward(self, pixels: Tensor) -> Tensor:
        out = self.model(pixel_values=pixels)
        for name in ("logits", "image_embeds", *(("pooler_output",) if self.pooled else ())):
            found = getattr(out, name, None)
            if isinstance(found, Tensor):
                return found.flatten(1) if found.dim() == 4 else found
        tokens = out.last_hidden_state
        return tokens.mean(1) if tokens.dim() == 3 else tokens.mean((-2, -1))


def input_size(model: Any, size_hw: Size) -> Size:
    """A model with a table of positions, or with windows, takes its own size, whatever the image processor says."""
    size = getattr(getattr(model, "patch_embed", None), "img_size", None)
    return (int(size[0]), int(size[1])) if size else size_hw


def labels_of(config: Config, model: Any, datasets: str = "") -> tuple[str, ...]:
    """`id2label`, unless it is the library's own LABEL_0, LABEL_1 … or the model has no classes. `datasets`: of what it
    has learned from."""
    count, names = int(getattr(model, "num_classes", 0)), config.get("id2label")
    if isinstance(names, dict) and len(names) == count:
        labels = tuple(str(names.get(str(i), f"class {i}")) for i in range(count))
        if not all(re.fullmatch(r"LABEL_\d+", label) for label in labels):
            return labels
    return imagenet_labels_where(count, datasets)
