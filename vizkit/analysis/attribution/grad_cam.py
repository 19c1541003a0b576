"""Class activation maps: where the features that decide speak for the target class.

Grad-CAM: Selvaraju et al. 2017 (arXiv 1610.02391), eq. 1 and 2. HiResCAM: Draelos & Carin 2020 (arXiv 2011.08891),
eq. 3: gradient and feature are multiplied place by place instead of averaging the gradient first.

The features are what the head receives, or, where its places have no say in the logit (a head that reads only the class
token), what the last attention layer receives. Raw block outputs would be the wrong choice: layer normalisation ignores
a vector's length, so gradient times feature summed over channels is nearly zero before it, at every place.
"""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.traces import Features, Map, NotApplicable, Trace, refuse

FLAT = 1e-6
"""A map whose values differ by less than this share of the largest is constant up to rounding."""


def grad_cam(trace: Trace) -> Map:
    """relu(Σ_k α_k F_k) with α_k the mean over all places of ∂y_c/∂F_k; ≥ 0, in logits.

    Needs a trace with a target. Raises NotApplicable when no place speaks for the class.
    """
    values, gradient = _on_places(cam_layer(trace))
    return _speaking(torch.einsum("rck,k->rc", values, gradient.mean((0, 1))), "Grad-CAM")


def hires_cam(trace: Trace) -> Map:
    """relu(Σ_k ∂y_c/∂F_k · F_k) at every place; ≥ 0, in logits. Conditions and errors as for `grad_cam`."""
    values, gradient = _on_places(cam_layer(trace))
    return _speaking((values * gradient).sum(-1), "HiResCAM")


def signed_grad_cam(trace: Trace, against: Trace) -> Map:
    """Grad-CAM of the difference of two logits, in logits, without relu: places below zero speak for the other class.

    `against`: a trace of the same input whose target is the other class. Exact, because the map before relu is linear
    in the logit.
    """
    values, gradient = _of_difference(trace, against)
    return torch.einsum("rck,k->rc", values, gradient.mean((0, 1)))


def signed_hires_cam(trace: Trace, against: Trace) -> Map:
    """HiResCAM of the difference of two logits; as `signed_grad_cam`."""
    values, gradient = _of_difference(trace, against)
    return (values * gradient).sum(-1)


def _of_difference(
    trace: Trace, against: Trace
) -> tuple[Float[Tensor, "row column channel"], Float[Tensor, "row column channel"]]:
    """(features, gradient of the difference) at the latest features where both logits have a gradient."""
    here, there = cam_layer(trace), cam_layer(against)
    if here.name != there.name or here.tokens != there.tokens:
        raise NotApplicable(
            "The two classes are decided at different features, so there is no map of their difference."
        )
    values, gradient = _on_places(here)
    return values, gradient - _on_places(there)[1]


def cam_layer(trace: Trace) -> Features:
    """The latest features with places at which the target's logit has a gradient."""
    if trace.target is None:
        raise NotApplicable("Class activation maps need the gradient of a class: choose a target class first.")
    placed = [f for f in trace.cam_features if f.tokens.grid is not None and f.gradient is not None]
    if not placed:
        raise NotApplicable("Class activation maps need late features with known places; this model gives none.")
    *later, first = placed
    for features in later:
        if bool(_on_places(features)[1].any()):
            return features
    none = ~_on_places(first)[1].any()
    refuse(none, "Class activation maps give nothing for this class here: its logit has no gradient.")
    return first


def at_layer(trace: Trace, layer: str) -> Trace:
    """The trace with the class activation maps of another layer, by its name in `layer_features`; "" leaves it as it
    is. Earlier layers have finer cells that have seen less of the image, and know less of the class.

    Selvaraju et al. 2017, § 3.1, take the last; of a transformer what enters an attention layer is taken, after its
    normalisation. NotApplicable for a layer that this model does not have.
    """
    if not layer:
        return trace
    features = [features for features in trace.layer_features if features.name == layer]
    if not features:
        names = ", ".join(features.name for features in trace.layer_features)
        raise NotApplicable(
            f"{trace.model} has no class activation maps at {layer[:60]!r}; it has them at {names}."
            if names
            else "Class activation maps of this model are made before its head alone."
        )
    return replace(trace, cam_features=tuple(features))


def where(trace: Trace) -> str:
    """A sentence on the layer that was chosen by `at_layer`, "" where none was."""
    features = trace.cam_features[0]
    if not any(features is own for own in trace.layer_features):
        return ""
    assert features.tokens.grid is not None
    return f"Made at {features.name}, on {' × '.join(map(str, features.tokens.grid))} cells."


def _on_places(features: Features) -> tuple[Float[Tensor, "row column channel"], Float[Tensor, "row column channel"]]:
    """(features, gradient) on the grid, without special tokens."""
    tokens = features.tokens
    assert tokens.grid is not None
    assert features.gradient is not None
    first, last = len(tokens.special), len(tokens) - tokens.free
    values, gradient = (t[first:last].unflatten(0, tokens.grid) for t in (features.values, features.gradient))
    return values, gradient


def _speaking(signed: Map, method: str) -> Map:
    """The positive part of a map; NotApplicable where nothing is left or all places are alike."""
    places = signed.clamp(min=0)
    nothing, high, low = f"{method} gives nothing for this class here:", places.max(), places.min()
    refuse(~torch.isfinite(places).all(), f"{nothing} the gradient is not a number.")
    refuse(high <= 0, f"{nothing} no place speaks for it.")
    refuse(high - low <= FLAT * high, f"{nothing} all places are alike.")
    return places
