"""Colours for tokens before and after a merging, so that the same place keeps its colour where its vector lets it."""

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.positions import Colours, pca_rgb

Rgb = Float[Tensor, "row column 3"]


def turned_to(wanted: Rgb, table: Float[Tensor, "row column channel"]) -> Colours:
    """The main components of vectors as colours 0 to 1, rotated to come as near as they can to `wanted` colours of the
    same places (orthogonal Procrustes: Schönemann 1966). A rotation changes no distance between two colours: which
    vectors are alike still decides which colours are."""
    own = pca_rgb(table)
    flat, goal = (each.flatten(0, 1).double() for each in (own.rgb, wanted))
    left, _, right = ((flat - flat.mean(0)).T @ (goal - goal.mean(0))).svd()
    turned = (flat - flat.mean(0)) @ left @ right.T + goal.mean(0)
    return Colours(turned.clamp(0, 1).view_as(own.rgb).float(), own.explained)
