"""How strongly each place responds: the length of its feature vector, for models that have no attention."""

from vizkit.traces import Features, Map, NotApplicable, computed_there


@computed_there
def feature_strength(features: Features) -> Map:
    """‖x‖₂ over the channels of every place, ≥ 0. It shows where a stage is active, not for which class."""
    tokens = features.tokens
    if tokens.grid is None:
        raise NotApplicable("These features have no places in the image.")
    places = features.values[len(tokens.special) :]
    return places.norm(dim=1).unflatten(0, tokens.grid)


def times_median(strength: Map) -> Map:
    """How much stronger than the median place each one is, ≥ 0, so that layers and models can be compared."""
    return strength / (float(strength.median()) or float(strength.mean()) or 1.0)
