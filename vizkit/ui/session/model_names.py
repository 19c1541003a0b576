"""Names for the pickers of models, without importing torch or timm."""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from vizkit.training.runs.folder import runs
from vizkit.ui.session.jobs import ACTIVE, jobs
from vizkit.views import bundled as bundled_models
from vizkit.work_folder import file_of, parted

BUNDLED, bundled = bundled_models.FOLDER, bundled_models.names
NETWORKS = Path(__file__).parents[2] / "models" / "networks"
KNOWN = {"photographs": "photographs, without classes", **bundled_models.KNOWN}
CLASSLESS = KNOWN["photographs"]
TORCHVISION_CNNS = tuple(
    f"torchvision:{name}"
    for name in ("alexnet", "vgg16", "vgg19", "resnet18", "resnet34", "resnet50", "resnet101", "resnet152")
)
"""A test holds them equal to those of `vizkit.models.sources.torchvision_models`."""
SIZES = ("tiny", "small", "base", "large", "huge")
SIZED = {"dual_scale": 3, "gradual_reduction": 3, "vit_parts": 5}
"""Networks of `vizkit.models.networks` that come in the first so many of these sizes; a test holds them equal."""
_SOURCED = re.compile(r"(bundled:|torchvision:|hf-hub:[\w.-]+/)\w[\w.-]*")
_DIGEST = re.compile(r"(-[0-9a-f]{8})[0-9a-f]{56}$")
_ENTRY = re.compile(r"^@register_model\n(?:@.*\n)*def (\w+)\(", re.MULTILINE)


def knows(source: str) -> str:
    """What alone a bundled model knows, "" of any other."""
    model = bundled_models.known(source)
    return KNOWN.get(model.pictures, "") if model else ""


def title(source: str) -> str:
    """For people. Opened weights are named by their whole digest, of which a part is enough to tell two apart."""
    return _DIGEST.sub(r"\1", bundled_models.title(source))


def named_here(model: str) -> str:
    """The model that a recipe names, one that comes with vizkit or the folder of a run, by its name in the pickers; ""
    of any other."""
    if bundled_models.known(model):
        return model
    own = {folder.absolute(): name for name, folder in trained().items()}
    return own.get(Path(model).absolute(), "")


def trained() -> dict[str, Path]:
    """Runs that have a model of pictures, as "run:<name>" and their folder, latest first.

    Not those at work: their weights change from epoch to epoch, and a picture of a model should not.
    """
    with_model = {f"run:{run.name}": run for run in runs() if run.has_model and run.learns_pictures}
    return {name: run.path for name, run in with_model.items() if jobs().state(run) not in ACTIVE}


def opened_of(source: str) -> tuple[str, Path] | None:
    """Of "run:<name>", or of a step of it, "run:<name>@512", what `vizkit.load` opens, and the file of its weights;
    None where no run that has a model here is called so. A step stays as it is, also where the run is at work."""
    name, step = parted(source)
    if step is None:
        folder = trained().get(name)
        return folder and (str(folder), folder / "model.safetensors")
    run = next((run for run in runs() if f"run:{run.name}" == name and run.has_model and run.learns_pictures), None)
    return run and (f"{run.path}@{step}", file_of(run.path, step))


def is_name(text: str) -> bool:
    """Whether what a visitor typed can only mean a model: a timm name, or one with its source. Never a path here, and
    the answer is the same whether or not something of that name lies on this machine."""
    return _SOURCED.fullmatch(text) is not None or text.partition(".")[0] in timm_names()


def published() -> list[str]:
    """What a picker offers by name beside the models that are here."""
    return [*TORCHVISION_CNNS, *timm_names()]


@cache
def timm_names() -> list[str]:
    """Every architecture of the installed timm and ours, read from their source: importing timm takes seconds."""
    spec = find_spec("timm")
    if spec is None or spec.origin is None:
        return []
    files = [file for folder in (Path(spec.origin).parent / "models", NETWORKS) for file in folder.glob("*.py")]
    found = {name for file in files for name in _ENTRY.findall(file.read_text(encoding="utf-8"))}
    return sorted(found | {f"{network}_{size}" for network, count in SIZED.items() for size in SIZES[:count]})
