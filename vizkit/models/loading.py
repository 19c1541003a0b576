"""Models from every source, as one `Loaded`: timm by name, bundled, the hub, torchvision, a run folder, a checkpoint."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from vizkit.image import Preprocessing
from vizkit.models import checkpoint, hub
from vizkit.models.hub import ModelError

BUNDLED = Path(__file__).parents[1] / "bundled"
TORCHVISION = ("vit_b_16", "vit_b_32", "vit_l_16", "vit_l_32", "vit_h_14")
TORCHVISION += ("swin_t", "swin_s", "swin_b", "swin_v2_t", "swin_v2_s", "swin_v2_b")


@dataclass(eq=False)
class Loaded:
    """A model ready to be looked at: in evaluation mode, without parameter gradients, on its device.

    `labels` are the class names in the order of the logits, empty when unknown. `compared` remembers, for each input
    size, what `forward.compare` measured.
    """

    name: str
    model: nn.Module
    device: torch.device
    preprocessing: Preprocessing
    labels: tuple[str, ...] = ()
    source: str = ""
    licence: str = "not stated"
    trained: bool = True
    compared: dict[tuple, tuple[bool, float]] = field(default_factory=dict)

    @property
    def parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())

    def label(self, index: int) -> str:
        return self.labels[index] if index < len(self.labels) else f"class {index}"


def load(
    source: str | Path,
    *,
    pretrained: bool = True,
    device: str | torch.device | None = None,
    image_size: int | tuple[int, int] | None = None,
    architecture: str | None = None,
) -> Loaded:
    """Load a model.

    `source`: a timm name, "bundled:<name>", "hf-hub:<owner/name>", "torchvision:<name>", a run folder in timm's
    Hugging Face layout, or a checkpoint file (with the timm name of its `architecture` unless the file names it).
    `image_size`: pixels, or (height, width), where the model allows another input than its own. `device=None` takes
    the GPU if there is one. Raises ModelError with one sentence for the user, OfflineError without a network.
    """
    size_hw = (image_size, image_size) if isinstance(image_size, int) else image_size
    chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    text = str(source)
    if text.startswith("torchvision:"):
        loaded = from_torchvision(text.removeprefix("torchvision:"), pretrained, size_hw)
    elif text.startswith("bundled:"):
        loaded = from_folder(bundled_folder(text.removeprefix("bundled:")), text, size_hw)
    elif text.startswith("hf-hub:"):
        loaded = from_folder(hub.weights_folder(text.removeprefix("hf-hub:")), text, size_hw)
    elif Path(text).is_dir():
        loaded = from_folder(Path(text), Path(text).name, size_hw)
    elif Path(text).suffix in checkpoint.SUFFIXES:
        loaded = from_checkpoint(Path(text), architecture, size_hw)
    else:
        loaded = from_timm(text, pretrained, size_hw)
    loaded.model.eval().requires_grad_(False).to(chosen)
    loaded.device = chosen
    return loaded


def bundled_names() -> list[str]:
    """The models that ship with vizkit and need no network."""
    return sorted(folder.parent.name for folder in BUNDLED.glob("*/config.json"))


def bundled_folder(name: str) -> Path:
    if name not in bundled_names():
        raise ModelError(f"There is no bundled model {name!r}; there are {', '.join(bundled_names())}.")
    return BUNDLED / name


def create(name: str, size_hw: tuple[int, int] | None, **options: Any) -> nn.Module:  # noqa: ANN401
    """`timm.create_model`, its many ways to refuse an input size or a checkpoint turned into one sentence."""
    import timm

    try:
        return timm.create_model(name, **options, **({"img_size": size_hw} if size_hw else {}))
    except (TypeError, AssertionError, ValueError, RuntimeError) as error:
        if size_hw and "img_size" in str(error):  # convolutional: takes any size as it is
            return create(name, None, **options)
        wanted = f" at {size_hw[0]}×{size_hw[1]} pixels" if size_hw else ""
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise ModelError(f"{name.split('/')[-1]} cannot be made{wanted}: {first[:160]}") from error


def from_timm(name: str, pretrained: bool, size_hw: tuple[int, int] | None) -> Loaded:
    import timm

    if not timm.is_model(name.split(".")[0]):
        near = timm.list_models(f"*{name.split('.')[0][:12]}*")[:3]
        raise ModelError(f"timm has no model {name!r}" + (f"; did you mean {', '.join(near)}?" if near else "."))
    if not pretrained:
        model = create(name, size_hw, pretrained=False)
        return described(name, model, size_hw, source="timm, random weights", trained=False)
    config = timm.get_pretrained_cfg(name)
    if config is None or not config.has_weights:
        raise ModelError(f"There are no published weights for {name}; load it with random weights instead.")
    repo = config.hf_hub_id or f"timm/{config.architecture}.{config.tag}"
    repo = repo if not repo.endswith("/") else f"{repo}{config.architecture}.{config.tag}"
    folder = hub.weights_folder(repo)
    overlay = {"file": str(folder / "model.safetensors")}
    model = create(name, size_hw, pretrained=True, pretrained_cfg_overlay=overlay)
    return described(name, model, size_hw, source=f"hub: {repo}")


def from_folder(folder: Path, name: str, size_hw: tuple[int, int] | None) -> Loaded:
    """A folder with config.json and model.safetensors, as timm, its hub repositories and our training write it."""
    if not (folder / "config.json").exists() or not (folder / "model.safetensors").exists():
        raise ModelError(f"{folder.name} is no run folder: config.json and model.safetensors are needed.")
    try:
        json.loads((folder / "config.json").read_text())["architecture"]
    except (ValueError, KeyError, UnicodeDecodeError):
        raise ModelError(f"The config.json in {folder.name} does not name a timm architecture.") from None
    checkpoint.read_checkpoint(folder / "model.safetensors")
    model = create(f"local-dir:{folder}", size_hw, pretrained=True)
    kind = "bundled with vizkit" if name.startswith("bundled:") else name if ":" in name else "run folder"
    return described(name, model, size_hw, source=kind)


def from_checkpoint(path: Path, architecture: str | None, size_hw: tuple[int, int] | None) -> Loaded:
    state, named = checkpoint.read_checkpoint(path)
    architecture = architecture or named
    if not architecture:
        raise ModelError(f"{path.name} does not say which architecture it is; name its timm model.")
    options: dict[str, Any] = {"pretrained": False}
    import timm

    if not timm.is_model(architecture.split(".")[0]):
        raise ModelError(f"timm has no model {architecture!r}; name the architecture of {path.name}.")
    classifier = (timm.get_pretrained_cfg(architecture, allow_unregistered=True) or object).__dict__.get("classifier")
    heads = [classifier] if isinstance(classifier, str) else list(classifier or ())
    for head in heads:
        if f"{head}.weight" in state:
            options["num_classes"] = int(state[f"{head}.weight"].shape[0])
    model = create(architecture, size_hw, **options)
    expected = model.state_dict()
    wrong = [k for k in expected if k not in state or state[k].shape != expected[k].shape]
    extra = [k for k in state if k not in expected]
    if wrong or extra:
        key = (wrong or extra)[0]
        found = tuple(state[key].shape) if key in state else "missing"
        raise ModelError(
            f"{path.name} does not fit {architecture}: {len(wrong) + len(extra)} tensors differ, "
            f"the first is {key} ({found}, expected {tuple(expected[key].shape) if key in expected else 'none'})."
        )
    model.load_state_dict(state, strict=True)
    return described(path.stem, model, size_hw, source=f"checkpoint of {architecture}")


def from_torchvision(name: str, pretrained: bool, size_hw: tuple[int, int] | None) -> Loaded:
    import torchvision

    if name not in TORCHVISION:
        raise ModelError(f"{name!r} is not among torchvision's transformers: {', '.join(TORCHVISION)}.")
    weights = torchvision.models.get_model_weights(name).DEFAULT  # pyright: ignore[reportAttributeAccessIssue]
    options = {"image_size": size_hw[0]} if size_hw and name.startswith("vit") else {}
    if size_hw and name.startswith("vit") and (pretrained or size_hw[0] != size_hw[1]):
        raise ModelError(f"torchvision's {name} takes only its own square input; choose timm's model of that name.")
    try:
        model = torchvision.models.get_model(name, weights=weights if pretrained else None, **options)
    except OSError as error:
        raise hub.OfflineError(
            f"torchvision's weights of {name} are not on this machine and cannot be downloaded ({type(error).__name__}). "
            "Choose a bundled model, or load it once with a network."
        ) from error
    transform = weights.transforms()
    size = size_hw or (transform.crop_size[0], transform.crop_size[0])
    preprocessing = Preprocessing(
        size_hw=size,
        mean=tuple(transform.mean),
        std=tuple(transform.std),
        crop_pct=transform.crop_size[0] / transform.resize_size[0],
        interpolation=transform.interpolation.value,
    )
    labels = tuple(weights.meta["categories"])
    origin = "torchvision" if pretrained else "torchvision, random weights"
    cpu = torch.device("cpu")
    return Loaded(f"torchvision:{name}", model, cpu, preprocessing, labels, origin, "BSD-3-Clause", pretrained)


def described(
    name: str, model: nn.Module, size_hw: tuple[int, int] | None, *, source: str, trained: bool = True
) -> Loaded:
    """What timm knows about a model: preprocessing, class names, licence."""
    import timm.data

    config: dict[str, Any] = dict(getattr(model, "pretrained_cfg", {}) or {})
    resolved = timm.data.resolve_model_data_config(model)
    if size_hw:
        resolved["input_size"] = (resolved["input_size"][0], *size_hw)
        resolved["crop_mode"] = "squash" if size_hw[0] != size_hw[1] else resolved["crop_mode"]
    preprocessing = Preprocessing.from_config(resolved)
    licence = config.get("license") or "not stated"
    return Loaded(name, model, torch.device("cpu"), preprocessing, labels_of(model, config), source, licence, trained)


def labels_of(model: nn.Module, config: dict[str, Any]) -> tuple[str, ...]:
    """Class names from the model's own configuration, else ImageNet's when the number of classes is one of its sets."""
    from timm.data import ImageNetInfo, infer_imagenet_subset

    count = getattr(model, "num_classes", 0)
    names = config.get("label_names")
    described_by = config.get("label_descriptions") or {}
    if names and len(names) == count:
        return tuple(str(described_by.get(n, n) if isinstance(described_by, dict) else n) for n in names)
    subset = infer_imagenet_subset({"num_classes": count})
    return tuple(ImageNetInfo(subset).label_descriptions()) if subset else ()
