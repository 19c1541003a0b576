"""How alike the vectors of the patches are after a block: what Explore shows as “alike patches”."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.positions import depth_beside, similarity_to
from vizkit.analysis.remarks import patches
from vizkit.geometry import id_at
from vizkit.models.probes.interventions.stream import after_blocks
from vizkit.traces import Features, NotApplicable
from vizkit.views.subject import Subject

Point = tuple[float, float]


def blocks_of(of: Subject) -> tuple[str, tuple[Features, ...]]:
    """As `after_blocks`, of a picture once."""
    return of.kept("after blocks", lambda: after_blocks(of.loaded, of.seen, of.pixels))


def after(of: Subject, share: float) -> tuple[Features, str]:
    """(what leaves the block at this share of the model's depth, its name)."""
    noun, blocks = blocks_of(of)
    if not blocks:
        raise NotApplicable(f"{of.name} does not give the vectors between its blocks.")
    place = depth_beside(min(1.0, share), len(blocks))
    return blocks[place - 1], f"{noun} {place} of {len(blocks)}"


def sentences(of: Subject, features: Features, asked: Point, after: str) -> Iterator[str | None]:
    """On a drawn insect first how it stands out, then how many places are alike, or how near the nearest is."""
    cosines, grid, chosen = cosines_of(features, asked), features.tokens.grid, id_at(features.tokens, asked)
    if cosines is None or grid is None or chosen is None:
        return
    if (covered := of.covered(grid)) is not None:
        place = chosen - len(features.tokens.special)
        yield patches.beside_object(cosines, covered.flatten(), place, after)
    yield from (patches.alike(cosines, after), patches.nearest(cosines, after))


def cosines_of(features: Features, asked: Point) -> Float[Tensor, " place"] | None:
    """Of the place at a point, in fractions of what the model sees, with every place; None without places."""
    chosen = id_at(features.tokens, asked)
    if chosen is None or features.tokens.grid is None:
        return None
    return similarity_to(features.values, chosen)[len(features.tokens.special) :]


def numbers(features: Features, asked: Point, *, with_special: bool = False) -> dict[str, np.ndarray]:
    """The cosines of all places, and of special tokens too."""
    cosines, tokens, chosen = cosines_of(features, asked), features.tokens, id_at(features.tokens, asked)
    if cosines is None or tokens.grid is None or chosen is None:
        return {}
    special = similarity_to(features.values, chosen)[: len(tokens.special)]
    named = {"special": special.numpy(), "special_names": np.array(tokens.special, dtype=str)} if with_special else {}
    return {"places": cosines.unflatten(0, tokens.grid).numpy(), **named}
