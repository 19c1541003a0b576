"""What a model answers to an image that shows none of what it knows means nothing: the first sentence of every view of
answers says so."""

from collections.abc import Sequence
from dataclasses import replace

from vizkit.datasets import samples
from vizkit.views import bundled
from vizkit.views.blocks import Blocks, Later, Said
from vizkit.views.subject import Subject

KNOWN = {"insects": "12 drawn insects", "digits": "10 handwritten digits"}


def caveat(of: Sequence[Subject]) -> str:
    """A sentence for each bundled model of these that knows insects or digits alone, where its image is a sample of
    another kind; "" where there is none."""
    shown = {each.name: each.image for each in of if each.has_model and each.image in samples.names()}
    models = {name: bundled.known(name) for name in bundled.names()}
    titled = {bundled.title(name): model for name, model in models.items()}  # as pages call them
    known = {name: model.pictures for name, model in (models | titled).items() if model and model.pictures in KNOWN}
    return " ".join(
        f"{name} knows {KNOWN[known[name]]} alone: what it answers to “{image}” means nothing."
        for name, image in shown.items()
        if name in known and samples.kind_of(image) != known[name]
    )


def with_caveat(blocks: Blocks, of: Sequence[Subject]) -> Blocks:
    """At the end of the first sentence of the blocks, also of one that takes time."""
    words = caveat(of)
    for block in blocks:
        if words and isinstance(block, Said) and block.text:
            yield Said(f"{block.text} {words}")
            words = ""
        elif words and isinstance(block, Later):
            yield replace(block, show=lambda found, show=block.show: with_caveat(iter(show(found)), of))
            words = ""
        else:
            yield block
