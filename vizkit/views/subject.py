"""A model and an image: what a view shows something of, on a page, in a notebook and in a saved report."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
from jaxtyping import UInt8

from vizkit.datasets import photographs, samples
from vizkit.device import cached_property
from vizkit.from_json import ReportError
from vizkit.views import bundled

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.attention.attention_map import Query
    from vizkit.analysis.attribution.explaining import Explanation
    from vizkit.image import RGB, Box
    from vizkit.interventions import Changes
    from vizkit.models import Keep, Loaded
    from vizkit.traces import Attention, Tokens, Trace


CENTRE = (0.5, 0.5)
P = ParamSpec("P")
T = TypeVar("T")
FULL_TRACE_BYTES = 300 * 2**20  # of attention weights; above, some rows alone are recorded, or the mean of the heads
MEAN_TRACE_BYTES = 1200 * 2**20  # of one head


class Subject:
    """`open` gives the model, `original` are the pixels of an image before any preprocessing. It holds no weights.
    `edits`: changes of both as texts (`interventions.Changes`), ReportError for those that cannot be read or made;
    `picture_of`: other images that they name. `rgb` is drawn: the whole original, or the changed image; patches cover
    `seen_rgb`, of which a crop has left out a border.
    `image`: the name of the image, and `model` what people call the model; "" of one without. `point`: where the
    cursor stands, in fractions (x, y) of the image.
    """

    source, among = "", False  # the name by which a session opens the model; whether it was `among_photographs`

    def __init__(
        self,
        open: "Callable[[], Loaded]",
        rgb: UInt8[np.ndarray, "height width 3"],
        edits: Sequence[str] = (),
        picture_of: "Callable[[str], RGB] | None" = None,
        *,
        image: str = "",
        model: str = "",
        point: tuple[float, float] = CENTRE,
    ) -> None:
        self.open, self.original, self.edits, self.picture_of = open, rgb, tuple(edits), picture_of
        self.image, self.model, self.point = image, model, point
        self.marked = False  # whether the cursor stands where a lesson marks a patch
        self.beside: tuple[Subject, ...] = ()  # the others of the same picture that are shown with it
        self.uploads: Mapping[str, RGB] = {}  # other pictures at hand, by their names
        self.folders: Mapping[str, str] = {}  # paths of folders of pictures at hand, by the names that people see
        self.texts: Mapping[str, str] = {}  # the same of models of texts, and of those that find things
        self.chosen: Sequence[str] = ()  # models by the names that `vizkit.load` takes, for a view that opens none
        self.outcomes: Sequence[str] = ()  # evaluations of one's own, by the names of their folders, the latest first
        self._made: dict[Hashable, Any] = {}
        self._others: dict[str, Subject] = {}
        self._pictured: dict[str, Subject] = {}
        self._traces: dict[Keep, Trace] = {}

    @cached_property
    def changes(self) -> "Changes":
        from vizkit.interventions import Changes

        with sentences():
            return Changes.parse(self.edits)

    def _given(self) -> "tuple[Loaded, RGB]":
        from vizkit.interventions import bundled_picture

        with sentences():
            return self.changes.given(self.open(), self.original, self.picture_of or bundled_picture)

    @property
    def rgb(self) -> UInt8[np.ndarray, "height width 3"]:
        return self._given()[1] if self.edits and self.changes.pixels else self.original

    @property
    def opened(self) -> "Loaded":
        """The model by itself, for many images."""
        return self._given()[0] if self.edits else self.open()

    @property
    def loaded(self) -> "Loaded":
        """The model, asked about this image: one without classes says how like its embedding another one is."""
        from vizkit.models.sources.loaded import EMBEDDING, likened

        loaded = self.opened
        names = [name for name in photographs.NAMES if self.among and name != self.image]
        others = {name: self.pictured(name).embedding for name in names}
        return likened(loaded, self.embedding, others) if loaded is not None and loaded.head is EMBEDDING else loaded

    def among_photographs(self) -> "Subject":
        """The same; a model without classes also says how like the image is to photographs that come with vizkit."""
        if not self.has_model or self.opened.classifies:
            return self
        same = copy(self)
        same.among, same._made, same._traces = True, {}, {}
        same.__dict__.pop("seen", None)
        return same

    @property
    def embedding(self) -> "Tensor":
        """What the unchanged model returns of the unchanged image, (output)."""
        from vizkit.models import pixels_of
        from vizkit.models.probes.model_functions import embedding_of

        return self.kept("embedding", lambda: embedding_of(self.open(), pixels_of(self.open(), self.original)))

    @property
    def features(self) -> "Tensor":
        """What a model without classes returns of this image, (feature): `loaded` answers by its likeness."""
        from vizkit.models import Keep, trace

        edits = self.changes.model
        return self.kept("features", lambda: trace(self.opened, self.rgb, keep=Keep(heads="mean"), edits=edits).logits)

    @property
    def box_xyxy(self) -> "Box":
        """The part of the image that the model sees, in its pixels."""
        from vizkit.image import seen_box

        return seen_box((self.rgb.shape[0], self.rgb.shape[1]), self.loaded.preprocessing)

    @property
    def weights(self) -> str:
        """SHA-256 of the weights, and of how the network is built."""
        from vizkit.explanations.kept import weights_digest

        return self.kept(OfModel("weights"), lambda: weights_digest(self.loaded.model))

    def trace(self, query: "Query") -> "Trace":
        """With the rows of this query at least. TraceError for weights that no layer used."""
        from vizkit.models.probes.budget import keep_within

        return proven(self._traced(keep_within(self.loaded, query, FULL_TRACE_BYTES)))

    def whole(self) -> "Trace":
        """With the rows of all tokens, where they are very many as the mean of the heads. NotApplicable where that is
        too much as well."""
        from vizkit.models import Keep
        from vizkit.models.probes.budget import weights_bytes
        from vizkit.traces import NotApplicable

        size = weights_bytes(self.loaded)
        if size <= FULL_TRACE_BYTES:
            return proven(self._traced(Keep()))
        if size > MEAN_TRACE_BYTES * self.heads:
            raise NotApplicable(
                "The weights of all tokens at this size would take more memory than is kept; choose a smaller input."
            )
        return proven(self._traced(Keep(heads="mean")))

    def _traced(self, keep: "Keep") -> "Trace":
        from vizkit.models import trace

        if keep not in self._traces:
            with sentences():
                self._traces[keep] = trace(self.loaded, self.rgb, keep=keep, edits=self.changes.model)
        return self._traces[keep]

    @property
    def others(self) -> list[str]:
        """Other images at hand by their names: uploads, and those that come with vizkit."""
        return [name for name in dict.fromkeys((*self.uploads, *samples.names())) if name != self.image]

    def other_picture(self, name: str) -> "RGB":
        """One of them. NotApplicable where it is not here."""
        from vizkit.analysis.comparison.pixel_edits import PixelError
        from vizkit.interventions import bundled_picture
        from vizkit.traces import not_applicable

        with not_applicable(PixelError):
            return self.uploads[name] if name in self.uploads else (self.picture_of or bundled_picture)(name)

    @property
    def has_model(self) -> bool:
        return self.open is not no_model

    def other(self, source: str) -> "Subject":
        """Another model, by a name that is no path, on the same image."""
        if source not in self._others:
            self._others[source] = self._of_model(source)
        return self._others[source]

    def _of_model(self, source: str) -> "Subject":
        from vizkit.models.by_name import named

        loaded = named(source, device=self.loaded.device)
        return Subject(lambda: loaded, self.original, image=self.image, model=bundled.title(source), point=self.point)

    def pictured(self, name: str) -> "Subject":
        """The same model on another image at hand, by its name: an upload, or one that comes with vizkit.
        NotApplicable for one that is not here."""
        if name == self.image:
            return self
        if name not in self._pictured:
            self._pictured[name] = self._of_picture(name, self.other_picture(name))
        return self._pictured[name]

    def _of_picture(self, name: str, rgb: "RGB") -> "Subject":
        return Subject(self.open, rgb, self.edits, self.picture_of, image=name, model=self.model, point=self.point)

    def opening_after(self, step: int) -> "Callable[[], Loaded]":
        """What opens the model of its run after a step."""
        from vizkit.models import load

        own = self.open()
        return cache(lambda: load(f"{own.run}@{step}", device=own.device))

    # ---- what views ask of it ----------------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        """What people call the model."""
        return self.model or self.loaded.name

    @cached_property
    def seen(self) -> "Trace":
        """The trace of this image, with the rows of what the cursor asks for at least."""
        return self.trace(self.asked)

    @property
    def asked(self) -> tuple[float, float]:
        """The cursor, in fractions of what the model sees."""
        from vizkit.geometry import into_box

        return into_box(self.point, self.box_xyxy, (self.rgb.shape[0], self.rgb.shape[1]))

    @property
    def unasked(self) -> bool:
        """Whether nobody has set the cursor: it stands where one looks first."""
        return not self.marked and self.point in (CENTRE, photographs.POINTS.get(self.image))

    @property
    def seen_rgb(self) -> UInt8[np.ndarray, "height width 3"]:
        """What the model sees of the image, in its own pixels."""
        from vizkit.image import prepare, unprepare

        preprocessing = self.loaded.preprocessing
        return unprepare(prepare(self.rgb, preprocessing)[0], preprocessing)

    @property
    def pixels(self) -> "Tensor":
        """The model's input, (1, channel, height, width)."""
        from vizkit.models import pixels_of

        return pixels_of(self.loaded, self.rgb)

    @property
    def layers(self) -> "tuple[Attention, ...]":
        """Those with learned attention, in the order of the forward pass."""
        from vizkit.analysis.attention.attention_map import layers

        return layers(self.seen)

    @property
    def depth(self) -> int:
        """Attention layers; of a network without attention its stages."""
        return len(self.layers) or len(self.seen.features)

    @property
    def heads(self) -> int:
        return max((layer.heads for layer in self.layers), default=0)

    @property
    def special(self) -> list[str]:
        """Names of special tokens that ask in some layer."""
        return list(dict.fromkeys(name for layer in self.layers for name in layer.query.special))

    def cell(self, tokens: "Tokens", query: object = "patch") -> "tuple[int, int] | None":
        """On the grid of these tokens: the cell under the cursor, or `query` where that is one. NotApplicable for a
        cell that is not there."""
        from vizkit.geometry import cell_of, id_at
        from vizkit.traces import NotApplicable

        if not isinstance(query, tuple):
            return cell_of(tokens, id_at(tokens, self.asked) or 0)
        row, column = query
        rows, columns = tokens.grid or (0, 0)
        if not (0 <= row < rows and 0 <= column < columns):
            raise NotApplicable(
                f"There is no patch at row {row + 1}, column {column + 1}: {self.name} has {rows} × {columns}."
            )
        return row, column

    def covered(self, grid: tuple[int, ...]) -> "Tensor | None":
        """How much of every place of a map the drawn insect covers, (row, column), 0 to 1; None of other images."""
        import torch

        from vizkit.analysis.remarks.places import cover

        if self.image not in samples.INSECTS or self.rgb is not self.original:
            return None
        mask = torch.from_numpy(samples.insect(self.image).insect).float()
        return cover(mask, self.box_xyxy, (grid[0], grid[1]))

    def made(self, make: "Callable[P, T]", *given: P.args, **named: P.kwargs) -> T:
        """`make(*given, **named)`, once for these arguments. A function with a name of its own, and arguments that can
        be told apart: numbers, words, and what the subject itself gives. TypeError for others."""
        return self.kept(self.key_of(make, *given, *named.items()), lambda: make(*given, **named))

    def kept(self, key: Hashable, make: "Callable[[], T]") -> T:
        """The value of a key; hosts with a cache of their own put it there."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def find(self, key: Hashable) -> Any:
        """What is kept under a key, None where nothing is."""
        return self._made.get(key)

    def key_of(self, make: "Callable[..., Any]", *given: Any) -> Hashable:
        """By the name of the function and its arguments; what the subject itself gives is named, not compared."""
        name = f"{make.__module__}.{make.__qualname__}"
        if "<" in name:
            raise TypeError(f"{name} has no name of its own, so two of them could not be told apart.")
        return name, *(self._named(name, value) for value in given)

    def _named(self, name: str, value: Any) -> Hashable:
        if value is None or isinstance(value, str | int | float):
            return value
        if isinstance(value, tuple):
            return tuple(self._named(name, part) for part in value)
        own = {"whole": self.whole, "seen": lambda: self.seen}
        found = next((what for what, give in own.items() if give() is value), None)
        if found is None and getattr(value, "model", None) is self.open().model:
            return "loaded"
        if found is None:
            raise TypeError(f"{name}: a {type(value).__name__} cannot be told from another one of its kind.")
        return found

    def explanation(
        self,
        method: str,
        target: int,
        against: int | None,
        layer: str = "",
        progress: "Callable[[int, int], None] | None" = None,
        asked: "Loaded | None" = None,
    ) -> "Explanation":
        """Raises NotApplicable where this model has no such map, or not at this layer. `progress(done, total)` counts
        the passes of a method that needs many. `asked`: `loaded`, or `opened` for a feature by itself."""
        from vizkit.scoring import Question

        loaded = asked or self.loaded

        def ask() -> Question:
            with sentences():
                edits = [str(edit) for edit in self.changes.model]
                return Question.of(loaded, self.rgb, target, against, edits=edits)

        question: Question = self.kept(("question", loaded.head.name, target, against), ask)
        return question.at(layer).explain(method, progress)


@contextmanager
def sentences() -> Iterator[None]:
    """What is wrong with a change, as the report's own error."""
    from vizkit.analysis.comparison.pixel_edits import PixelError
    from vizkit.models import EditError

    try:
        yield
    except (PixelError, EditError) as error:
        raise ReportError(str(error)) from None


def no_model() -> Any:
    """For an image that depends on none: nothing of it is used."""


def no_picture() -> UInt8[np.ndarray, "1 1 3"]:
    return np.zeros((1, 1, 3), np.uint8)


def proven(trace: "Trace") -> "Trace":
    """The trace, unless its check refuses a figure."""
    from vizkit.traces import TraceError

    if trace.check.refused:
        raise TraceError(trace.check.refused)
    return trace


@dataclass(frozen=True)
class OfModel:
    """A key of what depends on the model alone, whatever the image is."""

    what: Hashable
