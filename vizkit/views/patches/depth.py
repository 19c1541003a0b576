"""Compare in depth: cosine similarity of the chosen patch with all others, after every block."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.positions import depth_beside, similarity_to
from vizkit.analysis.remarks import patches
from vizkit.geometry import id_at
from vizkit.models.probes.interventions.stream import after_blocks
from vizkit.traces import Features, NotApplicable
from vizkit.views.blocks import Blocks, Line, Map, Numbers, first_said
from vizkit.views.controls import number
from vizkit.views.patches.cut_rows import place_in
from vizkit.views.patches.opening import asked
from vizkit.views.rows_of import similarity_for_browser
from vizkit.views.subject import Subject
from vizkit.views.view import How, View


def blocks_of(of: Subject) -> tuple[str, tuple[Features, ...]]:
    """As `after_blocks`, of a picture once."""
    return of.kept("after blocks", lambda: after_blocks(of.loaded, of.seen, of.pixels))


def most_blocks(of: Sequence[Subject]) -> int:
    return max((len(blocks_of(each)[1]) for each in of), default=1) or 1


class Depth(View):
    """Cosine similarity of the chosen patch with all others, after every block."""

    block: int = number(
        "After block",
        1,
        most_blocks,
        1,
        "Counted in the blocks of the deepest model; every other is shown at the same share of its own depth.",
        plays=True,
        key="block",
    )

    how = How(
        "Click a patch: bright places have similar vectors. Move the slider: after the first blocks mostly neighbours "
        "and patches of similar colour are similar, later whole objects or the whole background.",
        r"\cos(x_i, x_j) = \frac{x_i \cdot x_j}{\lVert x_i \rVert \lVert x_j \rVert}",
        "whether the model uses that similarity.",
        "Dosovitskiy et al. 2020; Raghu et al. 2021",
    )

    def title(self, of: Subject) -> str:
        return f"Similarity in depth: after {self.chosen(of)[1]}"

    def chosen(self, of: Subject) -> tuple[Features, str]:
        """(what leaves the block, its name)."""
        noun, blocks = blocks_of(of)
        if not blocks:
            raise NotApplicable(f"{of.name} does not give the vectors between its blocks.")
        beside = max([len(blocks), *(len(blocks_of(other)[1]) for other in of.beside)])
        place = depth_beside(min(1.0, self.block / beside), len(blocks))
        return blocks[place - 1], f"{noun} {place} of {len(blocks)}"

    def show(self, of: Subject) -> Blocks:
        features, which = self.chosen(of)
        places = " × ".join(map(str, features.tokens.grid or ()))
        yield Line(f"{which} · {places and f'{places} places of '}{features.values.shape[1]} channels")
        yield Map(
            similarity_for_browser(features.values, features.tokens, asked(of)),
            asked(of),
            "Similarity of the chosen patch in",
            "cosine with the chosen patch",
            said=first_said(*alike(of, features, which)),
        )
        yield Numbers(partial(numbers, of, features))


def alike(of: Subject, features: Features, after: str) -> Iterator[str | None]:
    cosines, grid = cosines_of(of, features), features.tokens.grid
    if cosines is None or grid is None:
        return
    if (covered := of.covered(grid)) is not None:
        yield patches.beside_object(cosines, covered.flatten(), place_in(grid, asked(of)), after)
    yield from (patches.alike(cosines, after), patches.nearest(cosines, after))


def cosines_of(of: Subject, features: Features) -> Float[Tensor, " place"] | None:
    chosen = id_at(features.tokens, asked(of))
    if chosen is None or features.tokens.grid is None:
        return None
    first, (rows, columns) = len(features.tokens.special), features.tokens.grid
    return similarity_to(features.values, chosen)[first : first + rows * columns]


def numbers(of: Subject, features: Features) -> dict[str, np.ndarray]:
    cosines, grid = cosines_of(of, features), features.tokens.grid
    return {} if cosines is None or grid is None else {"cosine": cosines.unflatten(0, grid).numpy()}
