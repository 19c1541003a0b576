"""The pictures of a report made again: which model, which picture, and whether they are still the same."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from vizkit.datasets import samples
from vizkit.from_json import ReportError
from vizkit.image import RGB, open_image
from vizkit.interventions.switched import followed
from vizkit.models import Loaded, load
from vizkit.models.by_name import named
from vizkit.report.document import Report
from vizkit.report.item import Item, Other, complete
from vizkit.views.subject import Subject, no_model, no_picture
from vizkit.views.trained import trained

OWN = ("run:", "checkpoint:")  # what only the app that saved it knows


def inputs_for(report: Report, images: Mapping[str, Path], models: Mapping[str, str]) -> list[Subject]:
    """For every picture of a report its model and its pixels. `images`: files of pictures by their names; `models`:
    what to load by the names of models. What is not given is taken by name, from what comes with vizkit and, of models,
    from timm, torchvision and the hub; a name in a report is never a path.

    Raises ReportError, ModelError or ImageError with one sentence.
    """
    pictures = {name for entry in report.entries for name in named_in(entry.item)} - {""}
    called = {name for entry in report.entries for name in entry.item.models} - {""}
    for given, known in ((images, pictures), (models, called)):
        if strange := set(given) - known:
            raise ReportError(
                f"Nothing in this report is called {min(strange)[:60]!r}; there are "
                f"{', '.join(repr(name[:60]) for name in sorted(known)[:8])}."
            )

    @cache
    def model(source: str, name: str, size_hw: tuple[int, int] | None, classes: tuple[str, ...]) -> Loaded:
        loaded = _loaded(source, name, models, size_hw)
        if size_hw is not None:
            from vizkit.models.probes.shape import see_everything

            loaded = see_everything(loaded)
        if classes:
            from vizkit.models.sources.zero_shot import with_classes

            loaded = with_classes(loaded, classes)
        return loaded

    @cache
    def picture(name: str) -> RGB:
        return _picture(name, images)

    def subject(item: Item, of: Item | Other) -> Subject:
        loaded = model(of.source, of.model, of.size_hw, of.classes) if of.source else no_model()
        rgb = picture(item.image) if item.image else no_picture()
        facts = {"image": item.image, "model": of.model, "point": item.at}
        return Subject(lambda: loaded, rgb, item.edits, picture, **facts)

    all_inputs = []
    for entry in report.entries:
        inputs = subject(entry.item, entry.item)
        inputs.texts = trained(entry.item.shows)
        inputs.beside = tuple(subject(entry.item, other) for other in entry.item.others)
        all_inputs.append(inputs)
    return all_inputs


def named_in(item: Item) -> list[str]:
    """The pictures that an item shows, or takes patches from."""
    written = [*item.edits, *str(getattr(item.shows, "changes", "")).split(";")]
    return [item.image, *(edit.image for edit in followed(written, ()).pixels)]


def _loaded(source: str, name: str, models: Mapping[str, str], size_hw: tuple[int, int] | None) -> Loaded:
    if name in models:
        return load(models[name], image_size=size_hw)
    if source.startswith(OWN):
        raise ReportError(f"{name[:60]!r} is weights of their own: give them as --model {name[:60]!r}=FILE.")
    return named(source, size_hw)


def _picture(name: str, images: Mapping[str, Path]) -> RGB:
    if name in images:
        return open_image(images[name])
    if name not in samples.names():
        raise ReportError(f"{name[:60]!r} was somebody's own image: give it as --image {name[:60]!r}=FILE.")
    return samples.picture(name)


def changed(item: Item, inputs: Subject) -> str:
    """A sentence where the model or the picture is another one than when the item was made, "" where both are the
    same, or nothing was known then."""
    now = complete(item, inputs)
    others = [
        f"the {what} {name[:60]!r} is another one than when this was saved ({new[:12]}, not {old[:12]})"
        for what, name, old, new in (
            ("model", item.model, item.weights, now.weights),
            ("image", item.image, item.pixels, now.pixels),
            *(
                ("model", then.model, then.weights, again.weights)
                for then, again in zip(item.others, now.others, strict=False)
            ),
        )
        if old and old != new
    ]
    return f"{' and '.join(others)}." if others else ""
