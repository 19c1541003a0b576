"""Which images the models are compared on: the sidebar's, and others at hand."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from vizkit.datasets import photographs, samples
from vizkit.views.blocks import Answered, Blocks, Job, Later, Line
from vizkit.views.controls import several
from vizkit.views.subject import Subject

MOST = 8
Progress = Callable[[int, int], None]
MORE = 2  # samples beside the chosen image, to begin with


def at_hand(of: Sequence[Subject]) -> list[str]:
    return list(dict.fromkeys((*(of[0].uploads if of else ()), *samples.names())))


def suggested(of: Sequence[Subject], photographed: int = MORE) -> list[str]:
    """All uploads where there are several, else the sidebar's image and two samples that show classes of the first
    model that has any; of a photograph, where its model has none, or no model any, so many others."""
    if len(of[0].uploads) > 1:
        return list(of[0].uploads)[:MOST]
    photograph = samples.kind_of(of[0].image) == "photographs"
    asked = of[:1] if photograph else of
    known = next((labels for each in asked if each.has_model and (labels := each.opened.labels)), ())
    suiting = [name for name in samples.names() if truth_of(name) in known]
    most = MORE if suiting else photographed
    return [of[0].image, *[name for name in suiting or photographs.NAMES if name != of[0].image][:most]]


def all_photographs(of: Sequence[Subject]) -> list[str]:
    """With a model without classes: what is nearest among them is all the answer that there is."""
    return suggested(of, MOST - 1)


def truth_of(name: str) -> str:
    """The class that a sample shows, as the bundled models call it; "" where nobody has said."""
    if name in samples.INSECTS:
        return name
    return name.removeprefix("digit ") if name.startswith("digit ") and name in samples.names() else ""


def images_beside(usual: Callable[[Sequence[Subject]], list[str]]) -> Any:
    words = "Up to eight: your uploads and the samples. The sidebar's image is always one of them."
    facts: dict[str, Any] = {"most": MOST, "key": "images", "runs": True, "pictures": True}
    return several("Images", at_hand, words, examples=usual, **facts)


@dataclass(frozen=True)
class OfImages:
    """Views of several images."""

    images: tuple[str, ...] = images_beside(suggested)
    usual = staticmethod(suggested)

    def rows(self, of: Sequence[Subject]) -> list[list[Subject]]:
        """Of each image every model."""
        names = self.images or self.usual(of)
        names = list(names) if of[0].image in names else [of[0].image, *names]
        return [[each.pictured(name) for each in of] for name in names[:MOST]]


def every_model(of: Sequence[Subject], what: str, key: Any, work: Any, show: Any, **more: Any) -> Later:
    """What takes seconds, in words `what`: `work(model, progress)` of one after another. `show(results)`: of what is
    there, by the names of the models. `key(model)`: all that the work depends on, besides the image of the first.
    `more`: of Later."""
    jobs = {each.name: Job(key(each), f"{what} of {each.name}", partial(work, each)) for each in of}
    return Later(of[0], (*jobs.values(),), lambda found: show(there(jobs, found)), **more)


def there(jobs: Mapping[str, Job], found: Mapping[Hashable, Any]) -> dict[str, Any]:
    return {name: found[job.key] for name, job in jobs.items() if job.key in found}


def known(of: Sequence[Subject]) -> Blocks:
    """What models know at all, and what is guessed of them, each once."""
    yield from map(Line, dict.fromkeys(note for each in of for note in each.loaded.notes))
    yield from map(Answered, {each.loaded.labels: each.loaded for each in of}.values())
