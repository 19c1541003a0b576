"""Compare in depth: cosine similarity of the chosen patch with all others, after every block."""

from collections.abc import Sequence
from functools import partial

from vizkit.traces import Features
from vizkit.views import alike
from vizkit.views.blocks import Blocks, Line, Map, Numbers, first_said
from vizkit.views.controls import number
from vizkit.views.patches.opening import asked
from vizkit.views.rows_of import similarity_for_browser
from vizkit.views.subject import Subject
from vizkit.views.view import How, View


def most_blocks(of: Sequence[Subject]) -> int:
    return max((len(alike.blocks_of(each)[1]) for each in of), default=1) or 1


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
        _, blocks = alike.blocks_of(of)
        beside = max(len(blocks), 1, *(len(alike.blocks_of(other)[1]) for other in of.beside))
        return alike.after(of, self.block / beside)

    def show(self, of: Subject) -> Blocks:
        features, which = self.chosen(of)
        places = " × ".join(map(str, features.tokens.grid or ()))
        yield Line(f"{which} · {places and f'{places} places of '}{features.values.shape[1]} channels")
        yield Map(
            similarity_for_browser(features.values, features.tokens, asked(of)),
            asked(of),
            "Similarity of the chosen patch in",
            "cosine with the chosen patch",
            said=first_said(*alike.sentences(of, features, asked(of), which)),
        )
        yield Numbers(partial(alike.numbers, features, asked(of)))
