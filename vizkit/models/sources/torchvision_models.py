"""torchvision's own transformers, and the CNNs before them: as they are published, and fine-tuned in a file."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from vizkit.heads import SOFTMAX
from vizkit.image import Preprocessing
from vizkit.models.sources import checkpoint, hub
from vizkit.models.sources.creating import Size, load_weights
from vizkit.models.sources.following import Shapes, count, heads_of, square, window_of
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.loaded import NO_LICENCE, Loaded, imagenet_labels_where
from vizkit.models.sources.sizing import planned, shapes_of

TRANSFORMERS = ("vit_b_16", "vit_b_32", "vit_l_16", "vit_l_32", "vit_h_14")
TRANSFORMERS += ("swin_t", "swin_s", "swin_b", "swin_v2_t", "swin_v2_s", "swin_v2_b")
CNNS = ("alexnet", "vgg16", "vgg19", "resnet18", "resnet34", "resnet50", "resnet101", "resnet152")
TORCHVISION = (*TRANSFORMERS, *CNNS)
RESNETS: dict[tuple[tuple[int, ...], bool], str] = {  # by the blocks of their stages, and whether these narrow within
    ((2, 2, 2, 2), False): "resnet18",
    ((3, 4, 6, 3), False): "resnet34",
    ((3, 4, 6, 3), True): "resnet50",
    ((3, 4, 23, 3), True): "resnet101",
    ((3, 8, 36, 3), True): "resnet152",
}
WIDTHS, HEADS = {"b": 768, "l": 1024, "h": 1280}, {"b": 12, "l": 16, "h": 16}
HEAD = re.compile(r"^heads\.(head\.)?(?=(weight|bias)$)")  # people put another head in either place


def from_torchvision(name: str, pretrained: bool, size_hw: Size | None) -> Loaded:
    import torchvision

    weights = published(name)
    side, fixed = weights.transforms().crop_size[0], name.startswith("vit")
    if fixed and size_hw not in (None, (side, side)):
        raise ModelError(f"torchvision's {name} takes only {side}×{side} pixels; choose timm's model of that kind.")
    sides = {"image_size": side} if fixed else {}
    make = partial(torchvision.models.get_model, name, weights=None, **sides)
    planned(name, make)
    model = make()
    if pretrained:
        model.load_state_dict(checkpoint.read_checkpoint(hub.fetch(weights.url)).state)
    labels = tuple(weights.meta["categories"])
    source = "torchvision" if pretrained else "torchvision, random weights"
    licence = weights.meta.get("license", "BSD-3-Clause") if pretrained else NO_LICENCE
    needs = preprocessing(weights, size_hw or (side, side))
    named, place, many = f"torchvision:{name}", torch.device("cpu"), len(labels)
    return Loaded(named, model, place, needs, labels, source, licence, pretrained, head=SOFTMAX, outputs=many)


def fine_tuned(path: Path, file: checkpoint.Checkpoint, name: str, size_hw: Size | None) -> Loaded:
    """A file of weights of one of torchvision's, with the classes, depth, patches and windows that its shapes say."""
    weights = published(name)
    state = {HEAD.sub("heads.head.", key): value for key, value in file.state.items()}
    shapes = shapes_of(state)
    kind, options = arguments(path.name, name, shapes)
    side = options.get("image_size") or weights.transforms().crop_size[0]
    if "image_size" in options and size_hw not in (None, (side, side)):
        raise ModelError(f"{path.name} takes only {side}×{side} pixels, as its positions say.")
    make = partial(kind, **options)
    planned(path.name, make, file.holds)
    model = make()
    load_weights(model, path.name, f"torchvision:{name}", state)
    count = options["num_classes"]
    needs = preprocessing(weights, size_hw or (side, side))
    every: Any = type(weights)
    published_file = any(each.url.endswith(f"/{path.name}") for each in every)
    labels = imagenet_labels_where(count, path.stem, "imagenet" if published_file else "")
    about = f"checkpoint of torchvision:{name}"
    return Loaded(path.stem, model, torch.device("cpu"), needs, labels, about, outputs=count)


def arguments(title: str, name: str, shapes: Shapes) -> tuple[Callable[..., nn.Module], dict[str, Any]]:
    """Of torchvision's constructor; the heads of a ViT do not follow from shapes, they are those of `name`."""
    from torchvision.models import swin_transformer, vision_transformer

    if name in CNNS:
        return cnn(title, name, shapes)
    vit = name.startswith("vit")
    first, last = ("conv_proj", "heads.head") if vit else ("features.0.0", "head")
    patch, head = shapes.get(f"{first}.weight", ()), shapes.get(f"{last}.weight", ())
    if len(patch) != 4 or len(head) != 2:
        raise ModelError(f"{title} is no torchvision model of this kind: it lacks {first} or {last}.")
    if vit:
        grid = square(shapes.get("encoder.pos_embedding", (1, 0))[1], (1,))
        if grid is None or patch[0] != WIDTHS[name[4]]:
            raise ModelError(f"{title} does not fit torchvision:{name}: its width or its positions are others.")
        layers = count(shapes, r"encoder\.layers\.encoder_layer_(\d+)\.")
        hidden = shapes.get("encoder.layers.encoder_layer_0.mlp.0.weight", (4 * patch[0],))[0]
        return vision_transformer.VisionTransformer, {
            "image_size": grid[0] * patch[-1],
            "patch_size": patch[-1],
            "num_layers": layers,
            "num_heads": HEADS[name[4]],
            "hidden_dim": patch[0],
            "mlp_dim": hidden,
            "num_classes": head[0],
        }
    stages = range(1, count(shapes, r"features\.(\d+)\."), 2)
    window = window_of(shapes, "features.1.0.attn.") or 7
    options = {
        "patch_size": list(patch[-2:]),
        "embed_dim": patch[0],
        "depths": [count(shapes, rf"features\.{i}\.(\d+)\.") for i in stages],
        "num_heads": [heads_of(shapes, f"features.{i}.0.attn.") for i in stages],
        "window_size": [window, window],
        "num_classes": head[0],
    }
    if name.startswith("swin_v2"):
        second = {"block": swin_transformer.SwinTransformerBlockV2}
        options |= {**second, "downsample_layer": swin_transformer.PatchMergingV2}
    return swin_transformer.SwinTransformer, options


def cnn(title: str, name: str, shapes: Shapes) -> tuple[Callable[..., nn.Module], dict[str, Any]]:
    """Of one of CNNS; its file says the classes alone."""
    import torchvision

    head = next((shape for layer in ("fc", "classifier.6") if (shape := shapes.get(f"{layer}.weight"))), ())
    if len(head) != 2:
        raise ModelError(f"{title} is no torchvision model of this kind: it lacks fc or classifier.6.")
    return partial(torchvision.models.get_model, name, weights=None), {"num_classes": head[0]}


def cnn_of(shapes: Shapes) -> str | None:
    """Which of CNNS a file's names and shapes say: VGGs differ in the number of their convolutions, ResNets in their
    blocks; whether all else fits is still to be seen."""
    convolutions = sum(len(shape) == 4 and name.startswith("features.") for name, shape in shapes.items())
    blocks = tuple(count(shapes, rf"layer{stage}\.(\d+)\.") for stage in range(1, 5))
    if "classifier.6.weight" in shapes:
        return {5: "alexnet", 13: "vgg16", 16: "vgg19"}.get(convolutions)
    return RESNETS.get((blocks, "layer1.0.conv3.weight" in shapes))


def published(name: str) -> Any:
    import torchvision

    if name not in TORCHVISION:
        raise ModelError(f"{name[:60]!r} is not among the models of torchvision: {', '.join(TORCHVISION)}.")
    return torchvision.models.get_model_weights(name).DEFAULT  # pyright: ignore[reportAttributeAccessIssue]


def preprocessing(weights: Any, size_hw: Size) -> Preprocessing:
    transform = weights.transforms()
    return Preprocessing(
        size_hw=size_hw,
        mean=tuple(transform.mean),
        std=tuple(transform.std),
        crop_pct=transform.crop_size[0] / transform.resize_size[0],
        interpolation=transform.interpolation.value,
    )
