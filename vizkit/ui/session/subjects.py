"""A model and a picture by their names: what views of a page are given, and what a saved picture is made of again.

A download waits on the server as long as its page is open, so what it holds has no trace and no weights.
"""

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from vizkit.device import DEVICE
from vizkit.image import Picture
from vizkit.image import digest_of as digest_of_picture
from vizkit.ui.session import models
from vizkit.ui.session.chosen import cursor, title, whole_image
from vizkit.ui.session.remembered import shelf
from vizkit.views.subject import OfModel, Subject, no_model, no_picture
from vizkit.work_folder import parted

if TYPE_CHECKING:
    from vizkit.image import RGB
    from vizkit.models import Keep, Loaded
    from vizkit.traces import Trace

T = TypeVar("T")


class SharedSubject(Subject):
    """What it keeps of its picture stands on the shelf of all sessions, and goes when that is full."""

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        def alone() -> T:
            with DEVICE:  # one computation at a time: more would only share the same cores or the same GPU memory
                return make()

        return shelf().get(self._place(key), alone)

    def find(self, key: Hashable) -> Any:
        return shelf().find(self._place(key))

    def keep(self, key: Hashable, value: object) -> None:
        """What was made elsewhere."""
        shelf().put(self._place(key), value)

    def _place(self, key: Hashable) -> Hashable:
        return "of no model", "" if isinstance(key, OfModel) else self._digest, key

    @cached_property
    def _digest(self) -> str:
        return digest_of_picture(self.original)


class NamedSubject(SharedSubject):
    """A model and a picture by their names; what the pages have computed of them is taken from there."""

    def __init__(self, source: str, opening: Any, picture: Picture, *, whole: bool = False, **facts: Any) -> None:
        """`whole`: the model is made for the shape of its picture."""
        super().__init__(opening, picture.rgb, **facts)
        self.source, self.picture, self.whole_image = source, picture, whole

    @classmethod
    def of_session(cls, source: str, picture: Picture) -> "NamedSubject":
        """Of this page; it may be read later, without a session too."""
        opening = models.opening(source, picture if whole_image() else None)
        image, point = str(st.session_state.get("image", "")), cursor()
        return cls(source, opening, picture, whole=whole_image(), image=image, model=title(source), point=point)

    def _of_model(self, source: str) -> Subject:
        image, point, opening = self.image, self.point, models.opening(source)
        return NamedSubject(source, opening, self.picture, image=image, model=title(source), point=point)

    def _of_picture(self, name: str, rgb: "RGB") -> Subject:
        picture = Picture(rgb, digest_of_picture(rgb), "")
        opening = models.opening(self.source, picture if self.whole_image else None)
        facts = {"image": name, "model": self.model, "point": self.point, "picture_of": self.picture_of}
        return NamedSubject(self.source, opening, picture, whole=self.whole_image, **facts)

    def opening_after(self, step: int) -> "Callable[[], Loaded]":
        size_hw = self.open().preprocessing.size_hw if self.whole_image else None
        return models.opening_after(f"{parted(self.source)[0]}@{step}", size_hw)

    @property
    def seen(self) -> "Trace":
        return self.trace(self.asked)

    def _place(self, key: Hashable) -> Hashable:
        model = self.source, models.weights_of(self.source), self.open().preprocessing, self.among
        return (key, *model) if isinstance(key, OfModel) else (key, *model, self.picture.digest)

    @property
    def weights(self) -> str:
        return self.kept(OfModel("weights"), lambda: Subject.weights.fget(self))  # pyright: ignore[reportOptionalCall]

    def _traced(self, keep: "Keep") -> "Trace":
        from vizkit.models import trace

        return self.kept(("trace", keep), lambda: trace(self.loaded, self.rgb, keep=keep))


NOTHING = SharedSubject(no_model, no_picture())


def picture_alone(picture: Picture) -> SharedSubject:
    """What a view is given where there is no model."""
    return SharedSubject(no_model, picture.rgb, image=str(st.session_state.get("image", "")), point=cursor())
