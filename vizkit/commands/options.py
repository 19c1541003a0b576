"""Options that several commands share, and the models that they open.

A command is a function: its parameters are its arguments and options, its docstring is its help.
"""

import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter, Token
from cyclopts.types import PositiveInt

from vizkit.commands.output import refuse_output
from vizkit.work_folder import parted

if TYPE_CHECKING:
    from vizkit.models import Loaded


NAMES = (
    "A timm name, bundled:NAME, hf-hub:OWNER/NAME, torchvision:NAME, a checkpoint file, a run folder (with @512 after "
    "step 512) or a folder of transformers"
)
OUTPUT = Parameter(name=("--output", "-o"))
DEVICE = Parameter(help="Cpu, cuda, cuda:1, mps; the GPU if there is one.")

Model = Annotated[str, Parameter(help=f"{NAMES}.")]
Models = Annotated[list[str], Parameter(name="--model", help=f"{NAMES}; repeatable.")]
Device = Annotated[str | None, DEVICE]
Processor = Annotated[Literal["", "cpu"], Parameter(help="Cpu, even where there is a GPU.")]
Outputs = Literal["softmax", "sigmoid", "regression", "embedding"]
Data = Annotated[str, Parameter(help="Insects, digits, a folder, a zip file.")]
Split = Annotated[Literal["train", "val", "test"], Parameter(help="Of the data.")]
Some = Annotated[PositiveInt, Parameter(help="At most so many images.")]
Images = Annotated[Some | None, Parameter(help="At most so many images; all where it is left out.")]
Seed = Annotated[int, Parameter(help="Of drawn, divided or chosen data.")]
Workers = Annotated[int, Parameter(help="Processes that read images beside the model.")]
Threads = Annotated[int, Parameter(help="CPU threads; 0 leaves torch's number.")]
Quiet = Annotated[bool, Parameter(help="No progress bar.")]
Edits = Annotated[
    list[str] | None,
    Parameter(
        name="--edit",
        help="Change the image (pixels:14x14:erase=17,18) or the model on the way: heads:3.5=0, heads:3.5=mean, "
        "temperature:3=2, uniform:3.5, frozen:3.5=2.1, blind:3=17,18, drop:17,18, positions:zero, "
        "patch:stream.3=17,18 (layers and heads counted from 1); repeatable.",
    ),
]


def application(name: str | Sequence[str], text: str, **more: Any) -> App:
    """One whose errors are raised: `vizkit.__main__` says them in a sentence."""
    silent: dict[str, Any] = {"result_action": "return_value", "exit_on_error": False, "print_error": False}
    silent["suppress_keyboard_interrupt"] = False
    plain: dict[str, Any] = {"help_format": "plaintext", "default_parameter": Parameter(negative=())}
    return App(name=name, help=text, **silent, **plain, **more)


def writes(*endings: str) -> Parameter:
    """-o, --output: one file or several with one of these endings, refused before the work where they cannot be."""

    def validate(_: object, value: Any) -> None:
        for output in [value] if isinstance(value, Path) else value or ():
            refuse_output(output, endings)

    return Parameter(name=OUTPUT.name, validator=validate)


def _texts(_: object, tokens: Sequence[Token]) -> list[str]:
    """Parted by line breaks where there are any, else by commas."""
    text = tokens[0].value
    return text.splitlines() if "\n" in text else text.split(",")


def _object(_: object, tokens: Sequence[Token]) -> dict[str, Any]:
    try:
        found = json.loads(tokens[0].value)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ValueError('Give an object in JSON, such as {"num_heads": 4}.')
    return found


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Opening:
    """How models are opened."""

    architecture: str | None = None
    """Of a checkpoint file that does not name its own: a timm name, or torchvision:NAME; of a LoRA adapter its base."""
    part: str | None = None
    """Of a checkpoint file with several networks: which is meant, as in student."""
    model_args: Annotated[dict[str, Any] | None, Parameter(converter=_object, n_tokens=1, accepts_keys=False)] = None
    """Options of a timm architecture that do not follow from a file's shapes, as in '{"num_heads": 4}'."""
    classes: Annotated[list[str] | None, Parameter(converter=_texts, n_tokens=1)] = None
    """Of a CLIP or SigLIP that reads text: its classes, as in "a cat,a dog", or one a line."""
    random_weights: bool = False
    """The architecture without its training."""
    image_size: tuple[int, int] | None = None
    """Height and width in pixels: another input than its own."""
    head: Outputs | None = None
    """What the outputs are, where the model does not say it."""
    labels: Path | None = None
    """A text file with what the outputs are called, one a line, where the model does not say it."""
    step: PositiveInt | None = None
    """Of a run that kept its weights: the model after this step, as NAME@512."""
    device: Device = None

    def load(self, name: str, *, several: bool = False) -> "Loaded":
        """The model of this name. `several`: of many, so that only those that read text take the classes, and only
        those whose head would be guessed take the head."""
        import vizkit

        if self.step is not None and parted(name)[1] is not None:
            raise ValueError(f"{name[:60]} says its step already: leave --step {self.step} out.")
        loaded = vizkit.load(
            name if self.step is None else f"{name}@{self.step}",
            pretrained=not self.random_weights,
            device=self.device,
            image_size=self.image_size,
            architecture=self.architecture,
            part=self.part,
            head=None if several else self.head,
            model_args=self.model_args,
        )
        from vizkit.models.sources.loaded import with_head, with_labels

        if several and self.head and loaded.head_guessed:
            loaded = with_head(loaded, self.head)
        if self.labels is not None and not (several and loaded.labels):
            loaded = with_labels(loaded, lines_of(self.labels))
        if self.classes is None or (several and loaded.text_tower is None):
            return loaded
        from vizkit.models.sources.zero_shot import with_classes

        return with_classes(loaded, self.classes)


AS_IT_IS = Opening()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class BesideSettings(Opening):
    """How models are opened by `show`, whose views have a setting --head."""

    head: Annotated[Outputs | None, Parameter(name="--model-head")] = None
    """What the outputs are, where the model does not say it."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class BesideStep(BesideSettings):
    """The same for views that have a setting --step too."""

    step: Annotated[PositiveInt | None, Parameter(name="--model-step")] = None
    """Of a run that kept its weights: the model after this step, as NAME@512."""


BESIDE = BesideSettings()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Where many images are computed."""

    on: str = ""
    """Elsewhere than in this process, by Ray: ray (all of this machine), auto (the cluster that runs here),
    ray://HOST:10001 or HOST:6379 (docs/scale.md)."""
    actors: PositiveInt | None = None
    """With --on: processes that hold the model; as many as there is room for."""
    gpus: float | None = None
    """With --on: of each process, as 1 or 0.5; one where there are any."""
    memory: float | None = None
    """With --on: GiB that Ray keeps free for each process."""

    @contextmanager
    def used(self) -> Iterator[None]:
        """Within it parts are made there."""
        if not self.on:
            yield
            return
        from vizkit.explanations.cluster import on_cluster

        with on_cluster(self.on, self.actors, self.gpus, self.memory) as dashboard:
            if dashboard:
                print(f"Ray's dashboard: http://{dashboard}", file=sys.stderr)
            yield


HERE = Cluster()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Request:
    """What `evaluate` is asked, besides the data and how models are opened."""

    model: Models
    split: Literal["", "train", "val", "test"] = ""
    """Only this part; all images of a plain folder, else test."""
    images: Images = None
    seed: Seed = 0
    workers: int | None = None
    """Processes that read images beside the model."""
    threads: Threads = 0
    output: Annotated[Path | None, OUTPUT] = None
    """A .html page, or a .csv with a line a model; of boxes .json or .csv."""
    pictures: Path | None = None
    """TABLE.csv, a line an image, with every answer."""
    quiet: Quiet = False
    folder: Annotated[Path | None, Parameter(show=False)] = None  # of a page, for status and outcome
    end_with: Annotated[int, Parameter(show=False)] = 0


def with_options(
    function: Callable[..., Any], options: Mapping[str, Any], without: Sequence[str] = (), required: Sequence[str] = ()
) -> Any:
    """A function that takes `**` as a command with these options, annotation by name, each None unless it is given;
    `without`: parameters of its own that are no options; `required`: those that have to be given."""
    kept = [
        each.replace(default=each.empty) if each.name in required else each
        for each in inspect.signature(function).parameters.values()
        if each.kind is not each.VAR_KEYWORD and each.name not in without
    ]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in options.items()
    ]

    def command(*given: Any, **named: Any) -> Any:
        return function(*given, **named)

    command.__doc__ = function.__doc__
    command.__signature__ = inspect.Signature([*kept, *added])  # pyright: ignore[reportFunctionMemberAccess]
    command.__annotations__ = {each.name: each.annotation for each in [*kept, *added]}
    return command


def lines_of(path: Path) -> list[str]:
    """Of a text file, without spaces around them and without those that are empty. Raises ValueError."""
    try:
        return [line for each in path.read_text(encoding="utf-8").splitlines() if (line := each.strip())]
    except (OSError, UnicodeDecodeError):
        raise ValueError(f"{path.name} cannot be read as a text file with one name a line.") from None
