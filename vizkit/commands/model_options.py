"""The options by which commands name a model, a class and pictures, and what is said when they are wrong."""

import argparse
import json
import os
from typing import TYPE_CHECKING, Any

import vizkit
from vizkit.heads import HEADS

if TYPE_CHECKING:
    from accelerate import Accelerator

    from vizkit.models import Loaded

__all__ = ["add_device", "add_model_options", "add_pictures", "class_of", "load", "several_processes"]

MOST_NAMED = 5


def add_model_options(command: argparse.ArgumentParser, *, several: bool = False, head: str = "--head") -> None:
    """`several`: --model may be given again, and `arguments.model` is a list. `head`: the option of what the outputs
    are, where --head is another."""
    command.add_argument(
        "--model",
        required=True,
        action="append" if several else "store",
        metavar="NAME",
        help="a timm name, bundled:NAME, hf-hub:OWNER/NAME, torchvision:NAME, a checkpoint file, a run folder or a "
        "folder of transformers" + ("; repeatable" if several else ""),
    )
    command.add_argument(
        "--architecture",
        metavar="NAME",
        help="of a checkpoint file that does not name its own: a timm name, or torchvision:NAME",
    )
    command.add_argument(
        "--model-args",
        type=_arguments_of,
        metavar="JSON",
        help="options of a timm architecture that do not follow from a file's shapes, as in '{\"num_heads\": 4}'",
    )
    command.add_argument(
        "--classes",
        type=_texts_of,
        metavar="TEXTS",
        help='of a CLIP or SigLIP that reads text: its classes, as in "a cat,a dog", or one a line',
    )
    command.add_argument("--random-weights", action="store_true", help="the architecture without its training")
    command.add_argument(
        "--image-size", nargs=2, type=int, metavar=("H", "W"), help="another input than its own, pixels"
    )
    command.add_argument(
        head, dest="head", choices=tuple(HEADS), help="what the outputs are, where the model does not say it"
    )
    add_device(command)


def add_device(command: argparse.ArgumentParser) -> None:
    command.add_argument("--device", metavar="DEVICE", help="cpu, cuda, cuda:1, mps (the GPU if there is one)")


def add_pictures(
    command: argparse.ArgumentParser, images: int | None = None, *, data: str = "insects", kind: str = "pictures"
) -> None:
    """--data, --images and --seed of a command that looks at the pictures of a set; `images`: None takes all; `kind`:
    which ones, where there is no choice."""
    command.add_argument("--data", default=data, metavar="SET", help=f"insects, digits, a folder, a zip file ({data})")
    most = f" ({images})" if images else ""
    command.add_argument("--images", type=int, default=images, metavar="N", help=f"at most so many {kind}{most}")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of drawn or divided data (0)")


def load(arguments: argparse.Namespace, name: str | None = None) -> "Loaded":
    """The model of the options, or another one by `name`, with the same options; of several models those that read
    text take the classes, and those whose head would be guessed take the head."""
    several = isinstance(arguments.model, list)
    loaded = vizkit.load(
        name or arguments.model,
        pretrained=not arguments.random_weights,
        device=arguments.device,
        image_size=tuple(arguments.image_size) if arguments.image_size else None,
        architecture=arguments.architecture,
        head=None if several else arguments.head,
        model_args=arguments.model_args,
    )
    if several and arguments.head and loaded.head_guessed:
        from vizkit.models.sources.loaded import with_head

        loaded = with_head(loaded, arguments.head)
    if arguments.classes is None or (several and loaded.text_tower is None):
        return loaded
    from vizkit.models.sources.zero_shot import with_classes

    return with_classes(loaded, arguments.classes)


def _texts_of(text: str) -> list[str]:
    """Parted by line breaks where there are any, else by commas."""
    return text.splitlines() if "\n" in text else text.split(",")


def _arguments_of(text: str) -> dict[str, Any]:
    """JSON with the options of a model by name. Raises argparse's error for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError('give an object in JSON, such as {"num_heads": 4}')
    return found


def several_processes(arguments: argparse.Namespace) -> "Accelerator | None":
    """Accelerate's own object where its launcher, or torchrun, has started this process as one of several, on one
    machine or on many; the device of the options becomes that of this process."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return None
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=arguments.device == "cpu")
    arguments.device = str(accelerator.device)
    return accelerator


def class_of(loaded: "Loaded", text: str) -> int:
    """A class by its number from 0, its name, or a part of the name that only one class has. Raises ValueError."""
    labels = [label.casefold() for label in loaded.labels]
    if text.isdigit():
        return int(text)  # the forward pass knows how many there are
    sought = text.casefold().strip()
    near = [i for i, label in enumerate(labels) if label == sought] or [
        i for i, label in enumerate(labels) if sought in label
    ]
    if len(near) == 1:
        return near[0]
    if not labels:
        raise ValueError(f"{loaded.name} has no class names; give the number of a class.")
    named = ", ".join(loaded.labels[i] for i in (near or range(len(labels)))[:MOST_NAMED])
    if near:
        raise ValueError(f"{len(near)} classes of {loaded.name} have {text[:60]!r} in their name: {named} …")
    raise ValueError(f"{loaded.name} has no class {text[:60]!r}; it has {named} …")
