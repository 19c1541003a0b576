"""TNT: words that attend to words inside one patch, and patches that attend to patches."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from vizkit.analysis.remarks.attention import between_words
from vizkit.figure.patches import pulled_apart
from vizkit.figure.scales import of_shares
from vizkit.geometry import id_of, name_of, pixel_box
from vizkit.traces import Attention, NotApplicable, Tokens
from vizkit.views.architecture.dual import over_picture
from vizkit.views.blocks import Block, Grid, Heading, Line, Numbers, Picture, Proof, Said, Tile, side_by_side
from vizkit.views.controls import head, layer, scale
from vizkit.views.subject import Subject
from vizkit.views.view import How, View


class TNT(View):
    """Attention inside one patch and between patches."""

    block: int = layer(
        "Block", default=2, high=lambda of: max((each.depth // 2 for each in of), default=1), key="tnt_block"
    )
    inner: int | None = head("Inner head", key="tnt_inner")
    outer: int | None = head("Outer head", key="tnt_outer_head")
    scale: Literal["doublings", "linear"] = scale(key="tnt_scale")

    alone: ClassVar = True
    how: ClassVar = How(
        "Two transformers run in every block. Inside each patch its words attend to one another only; then "
        "their outputs are added to the patch, and patches attend to patches. Each small map is the clicked patch once "
        "more, at the place of one of its words, with the weights of that word.",
        r"Y^i \leftarrow Y^i + \mathrm{MSA}_{\mathrm{in}}(\mathrm{LN}(Y^i)), \quad "
        r"Z^i \leftarrow Z^i + \mathrm{FC}(\mathrm{Vec}(Y^i)), \quad "
        r"Z \leftarrow Z + \mathrm{MSA}_{\mathrm{out}}(\mathrm{LN}(Z))",
        "what the sum of both does to the prediction; a word reaches other patches only through its own patch.",
        "Han et al. 2021, eq. 1 to 6 (arXiv 2103.00112)",
    )

    def title(self, of: Subject) -> str:
        return f"TNT, block {self.block}{'' if of.loaded.trained else ', random weights'}"

    def show(self, of: Subject) -> Iterator[Block]:
        inner, outer = (
            [each for each in of.layers if bool(each.query.special) is special] for special in (False, True)
        )
        if not inner or len(inner) != len(outer):
            raise NotApplicable(f"{of.name} has one attention in a block; this view is for TNT models.")
        number = min(self.block, len(outer))
        inside, outside = inner[number - 1], outer[number - 1]
        row, column = of.cell(outside.query) or (0, 0)
        token = id_of(outside.query, (row, column))
        weights = inside.weights[token - len(outside.query.special)]
        index = None if self.outer is None else self.outer - 1
        words = (weights.mean(0) if self.inner is None else weights[min(self.inner, len(weights)) - 1]).numpy()
        yield Said(between_words(words, of.loaded.trained))
        over = over_picture(of, outside, number, index, "Outer attention of")
        between = (
            Heading(f"Outer: {name_of(outside.query, token)} attends to {len(outside.query) - 1} patches"),
            replace(over, rows=replace(over.rows, scale=of_shares(self.scale))),
        )
        patch = patch_of(of, outside.query, token)
        yield side_by_side(between, self.inside(inside, patch, words), widths=(5, 4))
        yield Proof(of.seen)
        yield Numbers(lambda: {"inner": words, "outer": outside.weights[0]})

    def inside(self, layer: Attention, patch: Subject, words: np.ndarray) -> Iterator[Block]:
        """One small map of the patch for each of its words, where the word lies."""
        across = int(layer.query_ids[0].diff().argmax()) + 1
        down = len(words) // across
        yield Heading(f"Inner: its {down} × {across} words attend to each other")
        cut = pulled_apart(patch.rgb, (down, across), side_px=220, numbers=True)
        yield Picture(cut, f"The patch cut into {down} × {across} words", share=0.15)
        scale = of_shares(self.scale)
        maps = [(Tile(f"word {n + 1}", row.reshape(down, across), scale=scale), patch) for n, row in enumerate(words)]
        yield Grid(
            tuple(f"column {n + 1}" for n in range(across)),
            tuple(Tile(f"row {n + 1}", None) for n in range(down)),
            tuple(tuple(maps[n * across : (n + 1) * across]) for n in range(down)),
            "weight of a word",
            "Attention of every word to the words of its patch",
        )
        yield Line(f"{layer.heads} inner heads · {len(words)} words in each of {len(layer.weights):,} patches")


def patch_of(of: Subject, tokens: Tokens, token: int) -> Subject:
    """The pixels of a patch as a picture of its own."""
    seen = of.seen_rgb
    x0, y0, x1, y1 = (round(edge) for edge in pixel_box(tokens, token, (seen.shape[0], seen.shape[1])) or (0, 0, 1, 1))
    loaded = replace(of.loaded, preprocessing=of.loaded.preprocessing.of_seen)
    return Subject(lambda: loaded, np.ascontiguousarray(seen[y0:y1, x0:x1]), model=of.model)
