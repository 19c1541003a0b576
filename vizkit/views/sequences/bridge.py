"""From words to patches: one layer's attention in a sentence and in an image, side by side."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from vizkit.analysis.remarks.sequences import of_both
from vizkit.figure.sequences.word_matrix import BLUE, WordMatrix
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Link, Map, Matrix, Numbers, Said, Table, side_by_side
from vizkit.views.controls import layer, text_model
from vizkit.views.rows_of import layer_for_browser
from vizkit.views.sequences.known import TRANSFORMER
from vizkit.views.sequences.steps import Walked, proof, walked_of
from vizkit.views.sequences.typed import typed, typed_text
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

if TYPE_CHECKING:
    from vizkit.traces import Attention


def depth(of: Sequence[Subject], view: Any) -> int:
    """Layers that both models have."""
    try:
        return min(len(view.walked(of[0])[0].encoder), of[0].depth)
    except NotApplicable:
        return of[0].depth


class Bridge(View):
    """The same layer on a sentence and on an image: what changes and what stays."""

    text_model: str = text_model(TRANSFORMER, key="sequence_model")
    text: str = typed_text()
    layer: int | None = layer(
        "Layer", "Of both models.", default=1, high=depth, follows=True, plays=True, key="bridge_layer"
    )

    alone = True
    how = How(
        "Left the words of the sentence that look (rows) and are looked at (columns), right where a patch looks: both "
        "in the same layer, mean over heads. Click another patch. The table says what an image needs that a sentence "
        "does not: an image is a sentence of patches.",
        r"z_0 = \sqrt{d}\,E_{w} + p \ \text{(text)}, \qquad z_0 = [x_{\mathrm{cls}};\, x_p W_E] + p \ \text{(image)}",
        "that both have learned alike: their weights have nothing in common.",
        "Vaswani et al. 2017; Dosovitskiy et al. 2020, eq. 1 to 4",
    )

    def title(self, of: Subject) -> str:
        return f"Words and patches look at one another: {typed(of, self.text_model, self.text).title}; {of.name}"

    def walked(self, of: Subject) -> Walked:
        return typed(of, self.text_model, self.text).made(walked_of)

    def show(self, of: Subject) -> Blocks:
        walk, words, _ = self.walked(of)
        if not of.layers:
            raise NotApplicable(f"{of.name} has no attention, so no patches that look at one another.")
        at = min(self.layer or 1, len(walk.encoder), len(of.layers)) - 1
        weights, seen = walk.encoder[at].attention.weights, of.layers[at]
        mean, rows = weights.mean(0).numpy(), layer_for_browser(seen, None, of.asked)
        if not rows.values.size:
            raise NotApplicable(f"The tokens of {of.name} have no place in the image.")
        shares, special = rows.row_of(rows.query_id(of.asked))
        query, key = np.unravel_index(mean.argmax(), mean.shape)
        most = np.unravel_index(shares.argmax(), shares.shape)
        tokens = shares.size + len(special)
        yield Said(
            of_both(
                at + 1,
                (words[query], int(query) + 1, words[key], int(key) + 1, float(mean.max()) * len(words)),
                (int(most[0]) + 1, int(most[1]) + 1, float(shares.max()) * tokens),
            )
        )
        title = f"{len(words)} words at one another"
        yield side_by_side(
            Matrix(WordMatrix(mean, words, words, BLUE, sums=True, title=title), title),
            Map(rows, of.asked, f"Attention in layer {at + 1} of", "times an equal share", room=False),
        )
        yield Table(
            compared(walk.source.words.shape[1], weights.shape[0], len(words), seen), "What changes, and what stays"
        )
        yield proof(walk)
        yield Link("Patches: how an image is cut", "cut")
        yield Numbers(partial(dict, words=np.array(words), word_weights=mean, patch_weights=shares))


def compared(width: int, heads: int, words: int, seen: "Attention") -> tuple[dict[str, str], ...]:
    """Of a word of `width` numbers and of a patch of the original ViT, step by step."""
    rows, columns = seen.key.grid or (0, 0)
    special = f"{len(seen.key.special)} in front, whose vector becomes the answer" if seen.key.special else "none here"
    steps = (
        ("token", f"a row of a table, {width} numbers", "the pixels of a patch, through one linear layer"),
        ("position", f"sines and cosines are added, after × √{width}", "a learned row is added"),
        ("class token", "none: a decoder reads all words", special),
        ("norm", "after each sum", "before each part"),
        (
            "attention",
            f"softmax(QKᵀ ÷ √d)V, {heads} heads over {words} words",
            f"the same, {seen.heads} heads over {rows} × {columns} patches",
        ),
        ("residual", "x + attention(x)", "the same"),
        ("feed-forward", "two linear layers with ReLU between", "the same with GELU"),
    )
    return tuple({"step": step, "a sentence": text, "an image": image} for step, text, image in steps)
