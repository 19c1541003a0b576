"""Changes to an image and to a model together, written as texts: what pages, commands and reports are given.

changes = Changes.parse(["pixels:14x14:erase=17,18", "heads:3.5=0"])
trace = changes.trace(loaded, image)
"""

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from vizkit.analysis.comparison import pixel_edits
from vizkit.analysis.comparison.pixel_edits import PIXELS, PixelEdit, PixelError
from vizkit.image import RGB, seen
from vizkit.models.recording import edits as model_edits
from vizkit.models.recording.edits import Edit

if TYPE_CHECKING:
    from vizkit.models import Loaded
    from vizkit.traces import Trace


T = TypeVar("T", bound="Trace")


def bundled_picture(name: str) -> RGB:
    """A picture that comes with vizkit. PixelError for other names, which are never paths."""
    from vizkit.datasets import samples

    if name not in samples.names():
        raise PixelError(f"No bundled image is called {name[:60]!r}.")
    return samples.picture(name)


@dataclass(frozen=True)
class Changes:
    """`pixels`: of the image, in their order; `model`: of what the model computes."""

    pixels: tuple[PixelEdit, ...] = ()
    model: tuple[Edit, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.pixels or self.model)

    @classmethod
    def parse(cls, texts: Iterable[str]) -> "Changes":
        """Raises PixelError or EditError, both ValueErrors with one sentence."""
        known = [
            pixel_edits.parse(text) if text.strip().startswith(PIXELS) else model_edits.parse(text) for text in texts
        ]
        return cls(
            tuple(each for each in known if isinstance(each, PixelEdit)),
            tuple(each for each in known if isinstance(each, Edit)),
        )

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(map(str, (*self.pixels, *self.model)))

    def given(
        self, loaded: "Loaded", image: RGB, picture_of: Callable[[str], RGB] = bundled_picture
    ) -> "tuple[Loaded, RGB]":
        """The changed image as the model sees it, and the same model, which takes it as it is. Without changes of the
        image both are what they were. `picture_of`: another picture by its name, before any preprocessing."""
        if not self.pixels:
            return loaded, image
        before = loaded.preprocessing
        rgb = pixel_edits.edited(seen(image, before), self.pixels, lambda name: seen(picture_of(name), before))
        same = copy.copy(loaded)  # `replace` would forget what is known of the model
        same.preprocessing = before.of_seen
        return same, rgb

    def trace(
        self,
        loaded: "Loaded",
        image: RGB,
        picture_of: Callable[[str], RGB] = bundled_picture,
        **options: Any,
    ) -> "Trace":
        """As `models.trace`, whose `options` are target and keep; the notes say what was changed."""
        from vizkit.models import trace

        return self.noted(trace(*self.given(loaded, image, picture_of), edits=self.model, **options))

    def noted(self, recorded: "T") -> "T":
        """A trace that says what was changed, of the image too."""
        if not self:
            return recorded
        notes = tuple(note for note in recorded.notes if not note.startswith("Changed: "))
        return replace(recorded, notes=(f"Changed: {', '.join(self.texts)}.", *notes))
