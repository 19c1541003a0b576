"""How similar the vectors of the patches are after a block: what Explore shows as “alike patches”."""

from typing import TYPE_CHECKING

import numpy as np
import torch

from vizkit.analysis.attention.positions import depth_beside
from vizkit.analysis.remarks import patches
from vizkit.analysis.remarks.attention import called
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.scales import Scale, robust
from vizkit.models.probes.interventions.stream import after_blocks
from vizkit.traces import Features, NotApplicable
from vizkit.views.blocks import first_said
from vizkit.views.rows_of import MAX_MATRIX, of_others, similarity_for_browser
from vizkit.views.subject import Subject

if TYPE_CHECKING:
    from vizkit.analysis.attention.attention_map import Query


def blocks_of(of: Subject) -> tuple[str, tuple[Features, ...]]:
    """As `after_blocks`, of an image once."""
    return of.kept("after blocks", lambda: after_blocks(of.loaded, of.seen, of.pixels))


def after(of: Subject, share: float) -> tuple[int, str]:
    """(which block is at this share of the model's depth, from 1; its name)."""
    noun, blocks = blocks_of(of)
    if not blocks:
        raise NotApplicable(f"{of.name} does not give the vectors between its blocks.")
    place = depth_beside(min(1.0, share), len(blocks))
    return place, f"{noun} {place} of {len(blocks)}"


def rows_after(of: Subject, block: int, query: "Query") -> Rows:
    """The cosines of every token with every other one after a block; where they are too many, of `query` alone."""
    features = blocks_of(of)[1][block - 1]
    return similarity_for_browser(features.values, features.tokens, query)


def asking(of: Subject, block: int, query: "Query") -> "Query | None":
    """Whose row is all that `rows_after` has; None where it has those of all tokens."""
    return query if len(blocks_of(of)[1][block - 1].values) ** 2 > MAX_MATRIX else None


def scale_of(of: Subject, query: "Query") -> Scale:
    """One for all blocks, which can so be compared when they are played; without what a token has with itself."""

    count = len(blocks_of(of)[1])

    def make() -> Scale:
        every = (rows_after(of, block, query) for block in range(1, 1 + count))
        return robust([of_others(rows.values, rows.query_ids) for rows in every])

    return of.kept(("scale of cosines", *(asking(of, block, query) for block in range(1, 1 + count))), make)


def sentences(of: Subject, block: int, name: str, query: "Query") -> dict[int, str]:
    """By the id of each token of `rows_after`: on a drawn insect first how it stands out, then how many patches are
    similar, now and after the first block."""
    key = "similar", block, asking(of, block, query), asking(of, 1, query)
    return of.kept(key, lambda: _sentences(of, block, name, query))


def _sentences(of: Subject, block: int, name: str, query: "Query") -> dict[int, str]:
    rows, found = rows_after(of, block, query), dict[int, str]()
    first = {} if block == 1 else counts(rows_after(of, 1, query))
    covered = of.covered(rows.key_grid) if rows.key_grid else None
    special, noun = len(rows.key_special), name.split()[0]
    one, several = ("patch", "patches") if noun == "block" else ("place", "places")
    for row, token in zip(torch.from_numpy(rows.values), ids_of(rows), strict=True):
        place = token - special if token >= special else None
        who = f"the chosen {one}" if place is not None else called(rows.query_special[token])
        cosines = row[special:]
        others = cosines if place is None else torch.cat([cosines[:place], cosines[place + 1 :]])
        found[token] = first_said(
            None if covered is None else patches.beside_object(cosines, covered.flatten(), place, name, who),
            patches.alike(
                others,
                name,
                who,
                several if place is None else f"other {several}",
                (first[token], f"{noun} 1") if token in first else None,
            ),
        )
    return found


def ids_of(rows: Rows) -> list[int]:
    """The token of each row."""
    return list(range(len(rows.values))) if rows.query_ids is None else rows.query_ids.tolist()


def counts(rows: Rows) -> dict[int, int]:
    """By the id of each token how many other patches are similar to it."""
    special = len(rows.key_special)
    similar = (rows.values[:, special:] >= patches.ALIKE).sum(1).tolist()
    return {token: count - (token >= special) for token, count in zip(ids_of(rows), similar, strict=True)}


def numbers(
    rows: Rows, query: "Query", point: tuple[float, float], *, with_special: bool = False
) -> dict[str, np.ndarray]:
    """The cosines of all places, and of special tokens too."""
    if rows.key_grid is None:
        return {}
    places, special = rows.row_of(rows.query_id(query, point))
    names = {"special": np.array(list(special.values())), "special_names": np.array(rows.key_special, dtype=str)}
    return {"places": places.astype(np.float32), **(names if with_special else {})}
