"""Models from every source as one `Loaded`: timm by name, bundled, hub, torchvision, a run folder, a checkpoint."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from vizkit.image import MAX_INPUT_SIDE
from vizkit.models.networks.sequence_models import NETWORKS
from vizkit.models.sources import adapters, checkpoint, hub
from vizkit.models.sources.creating import Size, by, create, known, norm_of, opens_at, plan, refuse_stretched_positions
from vizkit.models.sources.fitting import fits, fitting
from vizkit.models.sources.following import trained_at
from vizkit.models.sources.from_file import from_checkpoint, refuse_foreign
from vizkit.models.sources.from_transformers import from_transformers, is_transformers, read_config
from vizkit.models.sources.hub import ModelError, PartError, UnnamedError
from vizkit.models.sources.loaded import Loaded, described, with_head, with_labels
from vizkit.models.sources.sizing import refuse_missing_numbers
from vizkit.models.sources.torchvision_models import TORCHVISION, fine_tuned, from_torchvision
from vizkit.models.sources.transformers_weights import has_weights
from vizkit.models.sources.weight_names import is_adapter, refuse_adapters
from vizkit.models.sources.zero_shot import with_classes
from vizkit.work_folder import NOTES, file_of, missing, parted, said, steps_in
from vizkit.writing import NO_FILE, is_regular

__all__ = ["BUNDLED", "TORCHVISION", "bundled_folder", "bundled_names", "load", "published_weights"]

BUNDLED = Path(__file__).parents[2] / "bundled"


def load(
    source: str | Path,
    *,
    pretrained: bool = True,
    device: str | torch.device | None = None,
    image_size: int | Size | None = None,
    architecture: str | None = None,
    part: str | None = None,
    model_args: Mapping[str, Any] | None = None,
    head: str | None = None,
    classes: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
) -> Loaded:
    """Load a model.

    `source`: a timm name, "bundled:<name>", "hf-hub:<owner/name>", "torchvision:<name>", a run folder in timm's
    Hugging Face layout (after "@" a step of the run whose weights it has kept, "runs/mine@512", in half precision), or
    a checkpoint file (with the timm name of its `architecture`, or "torchvision:<name>", unless
    the file names it), or a folder with a LoRA adapter (with its base as `architecture`, unless it is on the hub or in
    the folder). `part`: which of several networks in a file, as "student". `pretrained=False`: the same architecture
    with random weights. `image_size`: pixels, or (height, width), where the model allows another input than its own.
    `model_args`: options of a timm architecture, as `timm.create_model` takes them; of a file, depth, patches, windows
    and classes follow from its shapes, and the size of a square image.
    `head`: what the outputs are, "softmax", "sigmoid", "regression" or "embedding" (`vizkit.heads`), where the source
    does not say it; otherwise it is guessed from their number. `classes`: of a CLIP or SigLIP with both towers (a
    folder of transformers), texts such as "a photo of a cat" that become its classes. `labels`: what its
    outputs are called, in their order, where the source does not say it. `device=None` takes the GPU if there is one.
    Raises ModelError with one sentence for the user, OfflineError without a network.
    """
    chosen, size_hw = _checked_device(device), _checked_size(image_size)
    options = dict(model_args or {})
    name, step = str(source), None
    if "@" in name and not _other_file(name) and not _is_folder(source):  # a folder may be called so
        name, step = parted(name)
        source = name if isinstance(source, str) else Path(name)
    kind, _, rest = name.partition(":")
    if step is not None and not (kind == "bundled" or _is_folder(source)):
        raise ModelError(f"There is no run {Path(name).name[:60]!r} here whose step {step:,} could be opened.")
    if kind == "torchvision":
        loaded = from_torchvision(rest, pretrained, size_hw)
    elif kind == "bundled":
        loaded = _from_folder(bundled_folder(rest), name, pretrained, size_hw, step)
    elif kind == "hf-hub":
        folder = hub.weights_file(rest, lambda path: _plan_folder(path, rest, size_hw)).parent
        loaded = _from_folder(folder, name, pretrained, size_hw)
    elif Path(name).suffix.lower() in checkpoint.SUFFIXES:
        loaded = _from_file(Path(name), architecture, part, pretrained, size_hw, options)
    elif _is_folder(source):
        given = Path(name), Path(name).resolve().name, pretrained, size_hw
        adapted = step is None and adapters.is_folder(Path(name))
        loaded = _from_adapter(*given, architecture, options) if adapted else _from_folder(*given, step)
        if not adapted and (Path(name) / adapters.CONFIG).is_file():
            loaded = replace(loaded, source=f"{loaded.source}, without the adapter that {adapters.CONFIG} speaks of")
    elif error := _other_file(name):
        raise error
    elif {"/", "\\"} & set(name):
        raise ModelError(f"There is no folder {Path(name).name!r} here; a model on the hub is hf-hub:owner/name.")
    else:
        loaded = _from_timm(name, pretrained, size_hw, options)
    if classes is not None:
        loaded = with_classes(loaded, classes)
    if loaded.trained:
        refuse_missing_numbers(loaded.name, loaded.model)
    loaded.model.eval().requires_grad_(False)
    loaded = loaded if labels is None else with_labels(loaded, labels)
    loaded = loaded if head is None else with_head(loaded, head)
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

    taken = isinstance(source, str) and (not source or timm.is_model(source))
    return not taken and os.path.isdir(source)


def _other_file(name: str) -> ModelError | None:
    """Of what lies here and is neither a folder nor a file of weights that is opened."""
    path = Path(name)
    if not os.path.exists(path) or path.is_dir():
        return None
    if not is_regular(path):
        return ModelError(f"{path.name[:60]} cannot be opened: {NO_FILE}.")
    return ModelError(
        f"{path.name[:60]}: this kind of file cannot be opened; give weights of PyTorch "
        f"({', '.join(checkpoint.SUFFIXES)}), or a folder of transformers or timm."
    )


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


def bundled_names(home: Path = BUNDLED) -> list[str]:
    """The models that ship with vizkit and need no network."""
    return sorted(file.parent.name for file in home.glob("*/config.json"))


def bundled_folder(name: str, home: Path = BUNDLED, kind: str = "") -> Path:
    """`kind`: what the models of `home` are, for the sentence, such as " of texts"."""
    names = bundled_names(home)
    if name not in names:
        raise ModelError(f"There is no bundled model{kind} {name[:60]!r}; there are {', '.join(names) or 'none'}.")
    return home / name


def _from_timm(name: str, pretrained: bool, size_hw: Size | None, options: dict[str, Any]) -> Loaded:
    name, channels = known(name), options.get("in_chans")
    size_hw = size_hw or _checked_size(options.pop("img_size", None))
    if pretrained:
        plan(name, size_hw, name, **options)
        file, source = published_weights(name)
        options |= {"pretrained_cfg_overlay": {"file": str(file)}, "replaced": "num_classes" not in options}
        model = create(name, size_hw, name, pretrained=True, **options)
    else:
        model, source = create(name, size_hw, name, pretrained=False, **options), "timm, random weights"
    loaded = described(name, model, size_hw, source, trained=pretrained, channels=channels)
    loaded.head_guessed &= "num_classes" in options  # the library's own heads are for classes, or left out
    return loaded


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


def _from_folder(folder: Path, name: str, pretrained: bool, size_hw: Size | None, step: int | None = None) -> Loaded:
    """A folder with config.json and model.safetensors, as timm, its hub repositories and our training write it, or
    transformers' `save_pretrained`. `step`: of a run, with the weights of then."""
    kind, _, title = name.rpartition(":")
    file, then = folder / "model.safetensors", ""
    if step is not None:
        file, then = file_of(folder, step), said(step, _notes(folder, title, step))
        name, title = f"{name}@{step}", f"{title}@{step}"
    own = is_transformers(folder)
    has_all = has_weights(folder) if own else (folder / "model.safetensors").is_file()
    if not has_all or not (folder / "config.json").is_file():
        raise ModelError(f"{title} is no run folder: config.json and model.safetensors are needed.")
    source = {"bundled": "bundled with vizkit", "hf-hub": f"hub: {title}"}.get(kind, "run folder")
    if own:
        source = source if kind else "folder"
        return from_transformers(folder, title, source, pretrained, size_hw)
    config = checkpoint.read_config(folder / "config.json", title)
    if config["architecture"] in NETWORKS:
        raise ModelError(f"{title} reads texts, not images; `vizkit.models.sequences.open_sequence` opens it.")
    known(config["architecture"])
    holds = checkpoint.read_header(file).holds
    refuse_adapters(title, holds.shapes)
    options = {"pretrained": pretrained, "replaced": pretrained, **norm_of(config)}
    if then:
        options["pretrained_cfg_overlay"] = {"file": str(file), "source": ""}  # of a folder timm opens one file
        source = f"{source}, {then}"
    size_hw = size_hw or opens_at(config, title)
    made = partial(create, f"local-dir:{folder}", title=title, holds=holds, ours=kind == "bundled", **options)
    try:
        model: Any = made(size_hw=size_hw)
    except ModelError:  # perhaps of positions that are no square, which timm cannot stretch
        if pretrained and size_hw is None and (drawn := plan(f"local-dir:{folder}", None, title)) is not None:
            refuse_stretched_positions(title, holds.shapes, drawn)
        raise
    if pretrained and size_hw is None and (own_size := trained_at(model, holds.shapes)):
        size_hw, model = own_size, made(size_hw=own_size)
        source = f"{source}, at {by(own_size)} as its positions say, a square image supposed"
    if model.num_classes != model.pretrained_cfg["num_classes"]:
        # timm would then have left the head untrained, without a word.
        raise ModelError(f"The config.json of {title} gives two different numbers of classes.")
    if pretrained and size_hw is None:
        refuse_stretched_positions(title, holds.shapes, model)
    source = source if pretrained else f"{source}, random weights"
    loaded = described(name, model, size_hw, source, trained=pretrained, card=folder / "README.md")
    stated = config.get("head") or (
        "softmax" if (folder / "recipe.json").is_file() else None
    )  # as our training makes it
    loaded.then, loaded.run, loaded.step = then, folder, step
    return loaded if stated is None else with_head(loaded, stated)


def _notes(folder: Path, title: str, step: int) -> str:
    """What the file of a step says of itself. ModelError where there is none."""
    steps = steps_in(folder)
    if step not in steps or not is_regular(file_of(folder, step)):
        raise ModelError(missing(title, step, steps))
    return checkpoint.read_header(file_of(folder, step)).notes.get(NOTES, "")


def _plan_folder(folder: Path, title: str, size_hw: Size | None) -> None:
    """Refuse a model by its config.json alone."""
    if is_transformers(folder):
        read_config(folder, title)
        return
    known(checkpoint.read_config(folder / "config.json", title)["architecture"])
    plan(f"local-dir:{folder}", size_hw, title)


def _from_adapter(
    folder: Path, title: str, pretrained: bool, size_hw: Size | None, architecture: str | None, options: dict[str, Any]
) -> Loaded:
    """A folder with a LoRA adapter, in its base."""
    if not pretrained:
        raise ModelError(f"{title} is an adapter of trained weights; for random ones load its base by its name.")
    adapter = adapters.read_adapter(folder, title)
    name = adapters.base_of(adapter, folder, architecture)
    kind, _, rest = name.partition(":")
    if kind == "hf-hub":
        base = hub.weights_file(rest, lambda path: _plan_folder(path, rest, size_hw)).parent
    else:
        base = bundled_folder(rest) if kind == "bundled" else Path(name) if _is_folder(name) else None
    if base is None:
        return adapters.merged_into(load(name, device="cpu", image_size=size_hw, model_args=options), adapter)
    if base != folder and (base / adapters.CONFIG).is_file():
        raise ModelError(f"{title} is an adapter of {base.name}, which is an adapter too: {adapters.MERGED}.")
    if not is_transformers(base):
        return adapters.merged_into(_from_folder(base, name if kind else base.name, True, size_hw), adapter)
    with TemporaryDirectory() as place:
        adapters.merged_folder(base, folder, adapter, Path(place))
        loaded = from_transformers(Path(place), title, "folder", True, size_hw)
    return replace(loaded, source=f"{loaded.source}, {adapter.said}", text_tower=None)


def _from_file(
    path: Path,
    architecture: str | None,
    part: str | None,
    pretrained: bool,
    size_hw: Size | None,
    options: dict[str, Any],
) -> Loaded:
    name = architecture or ""
    if not pretrained:
        known(name)
        raise ModelError(f"{path.name} holds trained weights; for random ones load {name} by its name.")
    if path.name in adapters.FILES and (path.parent / adapters.CONFIG).is_file():
        return _from_adapter(path.parent, path.parent.name, pretrained, size_hw, architecture, options)
    file = _meant(path, name, part)
    if is_adapter(file.state):
        if not (path.parent / adapters.CONFIG).is_file():
            raise ModelError(
                f"{path.name} holds an adapter without its {adapters.CONFIG}, which says how strong it is: put that "
                f"beside it, or {adapters.MERGED}."
            )
        adapter = adapters.read_adapter(path.parent, path.name, file.state)
        file = file._replace(state=adapters.merged({}, adapter), part=adapter.said)
    refuse_foreign(path.name, file.state)
    name = name or file.architecture or ""
    if not name:
        names = fitting(path, file.state)
        said = f"; its shapes fit {', '.join(names)}" if names else "; name its timm model"
        raise UnnamedError(f"{path.name} does not say which architecture it is{said}.", names)
    kind, _, rest = name.partition(":")
    if kind == "torchvision":
        return fine_tuned(path, file, rest, size_hw)
    return from_checkpoint(path, file, name, size_hw, options)


def _meant(path: Path, name: str, part: str | None) -> checkpoint.Checkpoint:
    """The network of a file that is asked for, or the only one that fits an architecture."""
    try:
        return checkpoint.read_checkpoint(path, part)
    except PartError as error:
        if part is not None:
            raise
        files = {each: checkpoint.read_checkpoint(path, each) for each in error.parts}
        fit = [
            each
            for each, file in files.items()
            if (sought := name or file.architecture) and fits(path, sought, file.state)
        ]
        usual = error.usual if error.usual in (fit or [error.usual] * (not name)) else None
        chosen = fit[0] if len(fit) == 1 else usual
        if chosen is None:
            raise
        return files[chosen]
