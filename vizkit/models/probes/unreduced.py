"""A gradual-reduction ViT without its reductions: the plain ViT of the same weights, to be compared with."""

import copy
from dataclasses import replace

from vizkit.models.families import family_of
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable


def unreduced(loaded: Loaded) -> Loaded:
    """All weights are shared, and `loaded` stays as it is: no weight depends on the number of tokens."""
    if family_of(loaded.model) != "gradual_reduction":
        raise NotApplicable(f"{loaded.name} reduces no tokens.")
    model = copy.copy(loaded.model)
    model.reduce_after = ()  # type: ignore[assignment]
    return replace(loaded, name=f"{loaded.name}, nothing averaged", model=model, compared={})
