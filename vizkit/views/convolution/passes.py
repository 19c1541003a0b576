"""What a pass over the image computes in a convolutional network, remembered."""

from functools import partial

from vizkit.models.probes.convolution.layers_seen import Seeing, seen
from vizkit.models.probes.convolution.receptive_field import Walk, walk
from vizkit.traces import NotApplicable
from vizkit.views.subject import Subject


def pass_of(of: Subject, keep: int | None = None) -> Seeing:
    """The convolutions and activations of a pass over the image; convolution `keep` with its tensors."""
    return of.kept(("convolutions", keep), partial(recorded, of, keep))


def recorded(of: Subject, keep: int | None) -> Seeing:
    return seen(of.loaded, of.pixels, keep)


def walk_of(of: Subject) -> Walk | None:
    """The receptive fields of all layers; None where they cannot be followed."""
    return of.kept("receptive fields, if any", partial(followed, of))[0]


def followed(of: Subject) -> tuple[Walk | None]:
    try:
        return (walk(of.loaded),)
    except NotApplicable:
        return (None,)
