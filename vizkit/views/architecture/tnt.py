"""TNT: words that attend to words inside one patch, beside patches that attend to patches."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from vizkit.analysis.remarks.attention import between_words
from vizkit.figure.patches import pulled_apart
from vizkit.geometry import id_of, name_of, pixel_box
from vizkit.traces import Attention, Tokens
from vizkit.views.architecture.dual import over_picture
from vizkit.views.blocks import Block, Grid, Heading, Line, Picture, Said, Tile, side_by_side
from vizkit.views.subject import Subject


def words_and_patches(of: Subject, index: int) -> Iterator[Block]:
    """The two attentions of the block of this outer layer, in the mean of their heads. Two transformers run in every
    block: inside each patch its words attend to one another only; then their outputs are added to the patch, and
    patches attend to patches (Han et al. 2021, eq. 1 to 6, arXiv 2103.00112)."""
    inside, outside = of.layers[index - 1 : index + 1]
    token = id_of(outside.query, of.cell(outside.query) or (0, 0))
    words = inside.weights[token - len(outside.query.special)].mean(0).numpy()
    yield Said(between_words(words, of.loaded.trained))
    between = (
        Heading(f"Outer: {name_of(outside.query, token)} attends to {len(outside.query) - 1} patches"),
        replace(over_picture(of, outside, index // 2 + 1, None, "Outer attention of"), of=of),
    )
    yield side_by_side(between, within(inside, patch_of(of, outside.query, token), words), widths=(5, 4))


def within(layer: Attention, patch: Subject, words: np.ndarray) -> Iterator[Block]:
    """One small map of the patch for each of its words, where the word lies."""
    across = int(layer.query_ids[0].diff().argmax()) + 1
    down = len(words) // across
    yield Heading(f"Inner: its {down} × {across} words attend to each other")
    cut = pulled_apart(patch.rgb, (down, across), side_px=220, numbers=True)
    yield Picture(cut, f"The patch cut into {down} × {across} words", share=0.15)
    maps = [(Tile(f"word {n + 1}", row.reshape(down, across)), patch) for n, row in enumerate(words)]
    yield Grid(
        tuple(f"column {n + 1}" for n in range(across)),
        tuple(Tile(f"row {n + 1}", None) for n in range(down)),
        tuple(tuple(maps[n * across : (n + 1) * across]) for n in range(down)),
        "weight of a word",
        "Attention of every word to the words of its patch",
    )
    yield Line(f"{layer.heads} inner heads · {len(words)} words in each of {layer.shape[0]:,} patches")


def patch_of(of: Subject, tokens: Tokens, token: int) -> Subject:
    """The pixels of a patch as an image of its own."""
    seen = of.seen_rgb
    x0, y0, x1, y1 = (round(edge) for edge in pixel_box(tokens, token, (seen.shape[0], seen.shape[1])) or (0, 0, 1, 1))
    loaded = replace(of.loaded, preprocessing=of.loaded.preprocessing.of_seen)
    return Subject(lambda: loaded, np.ascontiguousarray(seen[y0:y1, x0:x1]), model=of.model)
