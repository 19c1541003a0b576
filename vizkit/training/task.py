"""What the training loop asks of a task, and all it knows of one: telling pictures apart (`picture_task`), texts
(`sequences.task`), enlarging pictures (`super_resolution.task`) or finding things in them (`detection.task`).

A batch is (what the model is shown, labels). Labels have one place for each answer: of pictures one for each picture,
of text one for each token, with IGNORED where no answer counts, of scenes a row of numbers for each thing. An example
is right when all its answers are.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.utils.data import Dataset

from vizkit.image import Preprocessing
from vizkit.training.evaluating import Score
from vizkit.training.pictures.augmentation import Rows
from vizkit.training.runs.folder import RunFolder


@runtime_checkable
class Examples(Protocol):
    """One split of a data set, as it was opened. `digest` changes with its content."""

    @property
    def digest(self) -> str: ...

    def __len__(self) -> int: ...


@runtime_checkable
class Task(Protocol):
    """Model and data of one recipe. `needs`: how pictures come before the model; None where it is shown tokens."""

    @property
    def examples(self) -> str:
        """What the examples are called: "images", "pairs" …"""
        ...

    @property
    def model(self) -> nn.Module:
        """The one that learns, on the CPU."""
        ...

    @property
    def needs(self) -> Preprocessing | None: ...

    @property
    def sets(self) -> Mapping[str, Examples]:
        """By split: "train", "val" and "test"."""
        ...

    @property
    def loss(self) -> Callable[..., tuple[Tensor, Tensor, int]] | None:
        """From the model's output and the targets of `shown`: the loss, how many answers are right, and how many there
        are. None: cross-entropy of logits, and the teacher's part."""
        ...

    @property
    def score(self) -> Callable[..., Score] | None:
        """(model, data, accelerator, workers, sampled) as a Score. None: `evaluating.evaluate`."""
        ...

    @property
    def teacher(self) -> Callable[..., Float[Tensor, "answer label"]] | None:
        """Logits for what the model is shown, where there is a model to learn from."""
        ...

    @property
    def parts(self) -> Mapping[str, Any]:
        """What else learns, by name: saved with the state by `state_dict`, so that a resumed run goes on the same."""
        ...

    def data(self, split: str, tell: Callable[[int], None]) -> Dataset:
        """The examples as `batches.loader` takes them; `tell` hears how many are read."""
        ...

    def shown(
        self, inputs: Any, labels: Shaped[Tensor, "..."], place: tuple[int, int], own: Rows, batch: int
    ) -> tuple[tuple[Tensor, ...], Any]:
        """What the model is given in a training step, and what it is compared with: the shares of every label in each
        answer that counts, or what the task's own `loss` takes.

        `labels`: on the device that the model is on. `place`: epoch and step, from 0. `own`: which rows of the global
        batch of `batch` examples these are.
        """
        ...

    def sampled(self) -> Sequence[int]:
        """The validation examples whose answers are kept after every epoch."""
        ...

    def save(self, run: RunFolder, model: nn.Module) -> None:
        """The weights, and the config.json with which they can be opened."""
        ...

    def card(self, run: RunFolder, tested: Score) -> str:
        """The story of the finished run, as Markdown."""
        ...
