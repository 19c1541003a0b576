"""Models from every source as one `Loaded`: timm by name, bundled, hub, torchvision, a run folder, a checkpoint."""

from pathlib import Path
from typing import Any

import torch

from vizkit.image import MAX_INPUT_SIDE, Preprocessing
from vizkit.models.sources import checkpoint, hub
from vizkit.models.sources.creating import Size, by, create, known, misfit, plan, refuse_stretched_positions
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.loaded import NO_LICENCE, Loaded, described
from vizkit.models.sources.sizing import Holding, bytes_of, refuse_missing_numbers, refuse_over_budget, sketch

BUNDLED = Path(__file__).parents[2] / "bundled"
TORCHVISION = ("vit_b_16", "vit_b_32", "vit_l_16", "vit_l_32", "vit_h_14")
TORCHVISION += ("swin_t", "swin_s", "swin_b", "swin_v2_t", "swin_v2_s", "swin_v2_b")


def load(
    source: str | Path,
    *,
    pretrained: bool = True,
    device: str | torch.device | None = None,
    image_size: int | Size | None = None,
    architecture: str | None = None,
) -> Loaded:
    """Load a model.

    `source`: a timm name, "bundled:<name>", "hf-hub:<owner/name>", "torchvision:<name>", a run folder in timm's
    Hugging Face layout, or a checkpoint file (with the timm name of its `architecture` unless the file names it).
    `pretrained=False`: the same architecture with random weights. `image_size`: pixels, or (height, width), where the
    model allows another input than its own. `device=None` takes the GPU if there is one. Raises ModelError with one
    sentence for the user, OfflineError without a network.
    """
    chosen, size_hw = _checked_device(device), _checked_size(image_size)
    name = str(source)
    kind, _, rest = name.partition(":")
    if kind == "torchvision":
        loaded = _from_torchvision(rest, pretrained, size_hw)
    elif kind == "bundled":
        loaded = _from_folder(_bundled_folder(rest), name, pretrained, size_hw)
    elif kind == "hf-hub":
        folder = hub.weights_file(rest, lambda path: _plan_folder(path, rest, size_hw)).parent
        loaded = _from_folder(folder, name, pretrained, size_hw)
    elif Path(name).suffix.lower() in checkpoint.SUFFIXES:
        loaded = _from_checkpoint(Path(name), architecture, pretrained, size_hw)
    elif _is_folder(source):
        loaded = _from_folder(Path(name), Path(name).resolve().name, pretrained, size_hw)
    elif {"/", "\\"} & set(name):
        raise ModelError(f"There is no folder {Path(name).name!r} here; a model on the hub is hf-hub:owner/name.")
    else:
        loaded = _from_timm(name, pretrained, size_hw)
    if loaded.trained:
        refuse_missing_numbers(loaded.name, loaded.model)
    loaded.model.eval().requires_grad_(False)
    return _placed(loaded, chosen, probe=size_hw is not None)


def _checked_device(device: str | torch.device | None) -> torch.device:
    try:
        chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    except RuntimeError:
        raise ModelError(f"There is no device {str(device)!r}; choose cpu, cuda or mps.") from None
    if chosen.type == "cuda" and (chosen.index or 0) >= torch.cuda.device_count():
        raise ModelError(f"There is no device {str(chosen)!r} on this machine; choose cpu.")
    return chosen


def _checked_size(image_size: int | Size | None) -> Size | None:
    size_hw = (image_size, image_size) if isinstance(image_size, int) else image_size
    if size_hw and not all(1 <= side <= MAX_INPUT_SIDE for side in size_hw):
        raise ModelError(f"An image size of {by(size_hw)} is not possible: sides are 1 to {MAX_INPUT_SIDE} pixels.")
    return size_hw


def _is_folder(source: str | Path) -> bool:
    """Whether to look there; a folder that happens to be called like a timm model has to be given as a Path."""
    import timm

    try:
        taken = isinstance(source, str) and (not source or timm.is_model(source))
        return not taken and Path(source).is_dir()
    except OSError:  # too long for a name, not readable
        return False


def _placed(loaded: Loaded, device: torch.device, probe: bool) -> Loaded:
    """The model on its device; `probe`: a forward pass shows whether it takes the chosen size."""
    try:
        loaded.model.to(device)
        loaded.device = device
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ModelError(f"{loaded.name} cannot be moved to {device}; choose cpu.") from error
    needs = loaded.preprocessing
    try:
        if probe:
            with torch.no_grad():  # a bias cached here must be able to enter a graph later
                loaded.model(torch.zeros(1, needs.channels, *needs.size_hw, device=device))
    except Exception as error:  # every family has its own way to refuse
        raise ModelError(f"{loaded.name} does not run at {by(needs.size_hw)} pixels; leave it its own size.") from error
    return loaded


def bundled_names() -> list[str]:
    """The models that ship with vizkit and need no network."""
    return sorted(folder.parent.name for folder in BUNDLED.glob("*/config.json"))


def _bundled_folder(name: str) -> Path:
    if name not in bundled_names():
        raise ModelError(f"There is no bundled model {name[:60]!r}; there are {', '.join(bundled_names()) or 'none'}.")
    return BUNDLED / name


def _from_timm(name: str, pretrained: bool, size_hw: Size | None) -> Loaded:
    name = known(name)
    if not pretrained:
        model = create(name, size_hw, name, pretrained=False)
        return described(name, model, size_hw, "timm, random weights", trained=False)
    plan(name, size_hw, name)
    file, source = published_weights(name)
    model = create(name, size_hw, name, pretrained=True, pretrained_cfg_overlay={"file": str(file)})
    return described(name, model, size_hw, source)


def published_weights(name: str) -> tuple[Path, str]:
    """The file of a timm model's weights on this machine, fetched if need be, and where they come from."""
    import timm

    config = timm.get_pretrained_cfg(name)
    if config is None or not (config.hf_hub_id or config.url):
        raise ModelError(f"There are no published weights for {name}; load it with random weights instead.")
    # We fetch the file and hand it over: timm's own download has no time-out, but its loading knows every format.
    file = hub.weights_file(config.hf_hub_id) if config.hf_hub_id else hub.fetch(str(config.url))
    if file.suffix == ".safetensors":
        checkpoint.read_header(file)  # refuses a damaged file
    return file, f"hub: {config.hf_hub_id}" if config.hf_hub_id else str(config.url)


def _from_folder(folder: Path, name: str, pretrained: bool, size_hw: Size | None) -> Loaded:
    """A folder with config.json and model.safetensors, as timm, its hub repositories and our training write it."""
    kind, _, title = name.rpartition(":")
    if not all((folder / file).is_file() for file in ("config.json", "model.safetensors")):
        raise ModelError(f"{title} is no run folder: config.json and model.safetensors are needed.")
    known(checkpoint.read_config(folder / "config.json", title)["architecture"])
    holds = checkpoint.read_header(folder / "model.safetensors").holds
    model: Any = create(f"local-dir:{folder}", size_hw, title, holds, pretrained=pretrained)
    if model.num_classes != model.pretrained_cfg["num_classes"]:
        # timm would then have left the head untrained, without a word.
        raise ModelError(f"The config.json of {title} gives two different numbers of classes.")
    if pretrained and size_hw is None:
        refuse_stretched_positions(title, holds.shapes, model)
    source = {"bundled": "bundled with vizkit", "hf-hub": f"hub: {title}"}.get(kind, "run folder")
    source = source if pretrained else f"{source}, random weights"
    return described(name, model, size_hw, source, trained=pretrained, card=folder / "README.md")


def _plan_folder(folder: Path, title: str, size_hw: Size | None) -> None:
    """Refuse a model by its config.json alone."""
    known(checkpoint.read_config(folder / "config.json", title)["architecture"])
    plan(f"local-dir:{folder}", size_hw, title)


def _from_checkpoint(path: Path, architecture: str | None, pretrained: bool, size_hw: Size | None) -> Loaded:
    """A file of weights, through timm's own loading: it knows the original names of DINOv2, DeiT, CLIP and others."""
    import timm

    state, named, averaged = checkpoint.read_checkpoint(path)
    if not (architecture or named):
        raise ModelError(f"{path.name} does not say which architecture it is; name its timm model.")
    name = known(str(architecture or named))
    if not pretrained:
        raise ModelError(f"{path.name} holds trained weights; for random ones load {name} by its name.")
    head = getattr(timm.get_pretrained_cfg(name), "classifier", None) or ()
    rows = [state.get(f"{part}.weight") for part in ([head] if isinstance(head, str) else head)]
    classes = rows[0].shape[0] if rows and rows[0] is not None and rows[0].dim() else 0  # no head: it gives features
    shapes = {key: tuple(value.shape) for key, value in state.items()}
    holds = Holding(shapes, {key: str(value.dtype).removeprefix("torch.") for key, value in state.items()})
    # Both counts have to agree, otherwise timm drops the head without a word.
    overlay = {"state_dict": state, "num_classes": classes, "label_offset": 0}
    try:
        options = {"num_classes": classes, "pretrained": True, "pretrained_cfg_overlay": overlay}
        model: Any = create(name, size_hw, path.name, holds, **options)
    except ModelError as error:
        # Where the size is the reason, this says so.
        model = create(name, size_hw, path.name, holds, num_classes=classes)
        raise misfit(path.name, name, state, model.state_dict()) or error from error
    model.pretrained_cfg.pop("state_dict")  # a second copy of the weights
    if size_hw is None:
        refuse_stretched_positions(path.name, shapes, model)
    source = f"checkpoint of {name}" + (", moving average" if averaged else "")
    return described(path.stem, model, size_hw, source)


def _from_torchvision(name: str, pretrained: bool, size_hw: Size | None) -> Loaded:
    import torchvision

    if name not in TORCHVISION:
        raise ModelError(f"{name[:60]!r} is not among torchvision's transformers: {', '.join(TORCHVISION)}.")
    weights: Any = torchvision.models.get_model_weights(name).DEFAULT  # pyright: ignore[reportAttributeAccessIssue]
    transform = weights.transforms()
    side, fixed = transform.crop_size[0], name.startswith("vit")
    if fixed and size_hw not in (None, (side, side)):
        raise ModelError(f"torchvision's {name} takes only {side}×{side} pixels; choose timm's model of that kind.")
    sides = {"image_size": side} if fixed else {}
    drawn = sketch(name, lambda: torchvision.models.get_model(name, weights=None, **sides))
    refuse_over_budget(name, bytes_of(drawn) if drawn is not None else 0)
    model = torchvision.models.get_model(name, weights=None, **sides)
    if pretrained:
        model.load_state_dict(checkpoint.read_checkpoint(hub.fetch(weights.url)).state)
    preprocessing = Preprocessing(
        size_hw=size_hw or (side, side),
        mean=tuple(transform.mean),
        std=tuple(transform.std),
        crop_pct=side / transform.resize_size[0],
        interpolation=transform.interpolation.value,
    )
    labels = tuple(weights.meta["categories"])
    source = "torchvision" if pretrained else "torchvision, random weights"
    licence = weights.meta.get("license", "BSD-3-Clause") if pretrained else NO_LICENCE
    cpu = torch.device("cpu")
    return Loaded(f"torchvision:{name}", model, cpu, preprocessing, labels, source, licence, pretrained)
