"""Token norms by layer: how long the vectors of all tokens are after every layer, and where the long ones lie.

Far longer patches than all others (Darcet et al. 2024) stand out as a line above the band, and on the image as spots.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from vizkit.analysis.attention.token_norms import TIMES, Norms, lines_of, token_norms
from vizkit.analysis.remarks import patches
from vizkit.analysis.remarks.remark import counted
from vizkit.figure.attention.token_lengths import token_lengths
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.scales import robust
from vizkit.geometry import id_at
from vizkit.traces import Tokens
from vizkit.views.blocks import Block, Blocks, Chart, Columns, Heading, Line, Map, Numbers, Said, first_said
from vizkit.views.controls import number
from vizkit.views.patches.opening import asked
from vizkit.views.subject import Subject
from vizkit.views.view import How, View


def most_layers(of: Sequence[Subject]) -> int:
    return max((len(each.seen.features) for each in of), default=1) or 1


class TokenNorms(View):
    """The norm of every token's vector after each layer."""

    block: int | None = number("Layer", 1, most_layers, None, "Which layer the map shows.", plays=True, key="block")

    alone = True
    how = How(
        "The band is the middle half of the patches. A line far above it is a few patches with far larger norms "
        "than all others, mostly on plain background: the model stores global information there. In models with "
        "registers the registers have large norms and the patches do not.",
        r"\lVert x_{l,i} \rVert_2, \quad \text{outlier: above median} + 5\,\text{MAD of the logarithms, and }"
        r"\lVert x_i \rVert > 2 \cdot \text{median}",
        "what is stored.",
        "Darcet et al. 2024, fig. 3 and 7",
    )

    def title(self, of: Subject) -> str:
        return f"Norms of the tokens: layer {self.index(of) + 1}"

    def show(self, of: Subject) -> Blocks:
        norms, point = token_norms(of.seen), asked(of)
        index, nouns = self.index(of), ("patch", "patches") if of.layers else ("place", "places")
        layer, tokens = norms[index], of.seen.features[index].tokens
        places = [id_at(each.tokens, point) for each in of.seen.features]
        count, medians = int(layer.outliers.sum()), [each.median for each in norms]
        said = first_said(
            patches.outliers(layer.patches, count, index + 1, nouns),
            patches.even(medians, index + 1, float(layer.patches.max()), nouns[0]),
        )
        figure = token_lengths(lines_of(norms, places, nouns[0]), index)
        limit = Line(
            f"An outlier has more than {TIMES:g} times the median norm, far beyond the spread of the others: here "
            f"above {layer.threshold:.3g}, {counted(count, *nouns)} of {len(layer.patches)}."
        )
        over: Block = Said(said)
        if tokens.grid and (place := places[index]) is not None:
            over = Map(rows(layer, tokens, place), point, "Norms of", "norm of the vector", said=said)
        heading = Heading(f"Norms after layer {index + 1} of {len(norms)}")
        yield Columns(((heading, over), (Chart(figure, "Norms by layer"), limit)))
        yield Numbers(partial(numbers, norms))

    def index(self, of: Subject) -> int:
        """The layer from 0."""
        depth = len(of.seen.features) or 1
        return min(self.block or depth, depth) - 1


def rows(layer: Norms, tokens: Tokens, chosen: int) -> Rows:
    """The lengths as the only row there is, with the chosen patch framed."""
    lengths = layer.patches.numpy()[None]
    return Rows(
        lengths,
        tokens.grid,
        tokens.grid,
        np.array([chosen]),
        np.arange(len(tokens.special), len(tokens)),
        tokens.special,
        tokens.special,
        scale=robust([lengths]),
        kind="features",
    )


def numbers(norms: Sequence[Norms]) -> dict[str, np.ndarray]:
    return {f"layer{number}": each.norms.numpy() for number, each in enumerate(norms, 1)}
