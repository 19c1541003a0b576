"""Words: which words have similar vectors, and what becomes of one word at two places."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from vizkit.analysis.remarks import words as remarks
from vizkit.datasets.sequences.dates import KINDS, PARTNERS
from vizkit.figure.charts import bars, heat_map
from vizkit.figure.sequences.word_plane import word_plane
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Chart, Columns, Heading, Numbers, Part, Said, first_said
from vizkit.views.controls import choice, text_model
from vizkit.views.sequences.known import BERT, BUNDLED, GPT, TRANSFORMER
from vizkit.views.sequences.typed import Typed, typed, typed_text
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.models.sequences import SequenceModel

KIND_OF = {word: kind for kind, words in KINDS.items() for word in words}


def repeated(of: Sequence[Subject], view: Any) -> list[str]:
    """The words that stand twice in the text, "" where none does."""
    try:
        words = typed(of[0], view.text_model, view.text).words
    except NotApplicable:
        return [""]
    return [word for word in dict.fromkeys(words) if words.count(word) > 1] or [""]


class Words(View):
    """Which words are alike, and what becomes of one word at two places."""

    text_model: str = text_model(TRANSFORMER, "LSTM + attention", BERT, GPT, key="sequence_model")
    kind: str = choice(
        "Words",
        tuple(KINDS),
        "Those whose names are written.",
        default="months",
        listed=True,
        key="words_kind",
        when=lambda view: view.text_model in BUNDLED,
    )
    text: str = typed_text()
    twin: str | None = choice("Twice", repeated, "A word that stands twice.", key="words_twin", follows=True)

    overlays = False
    how = How(
        "Left, the two directions in which the words' vectors differ most; right, how alike the chosen words are. What "
        "a model has to treat alike it puts near each other. A word has one vector wherever it stands; positions and "
        "the encoder make two of it.",
        r"\cos(e_i, e_j) = \frac{e_i \cdot e_j}{\lVert e_i \rVert\,\lVert e_j \rVert}",
        "all of the vectors: two components hold a part of their variance, and words far apart in the others may lie "
        "on one spot. A name that would lie over another is read by pointing at its dot.",
        "Bengio et al. 2003; Mikolov et al. 2013; Pearson 1901",
    )

    def title(self, of: Subject) -> str:
        return f"Vectors of words: {typed(of, self.text_model, self.text).title}"

    def show(self, of: Subject) -> Blocks:
        from vizkit.analysis.attention.positions import similarity

        read = typed(of, self.text_model, self.text)
        table, dates = read.made(vectors), read.model.data == "dates"
        names = list(read.model.vocabulary.words if dates else dict.fromkeys(read.words))
        table = table if dates else table[read.model.vocabulary.ids(names)]
        own = [names.index(word) for word in KINDS[self.kind] if word in names] if dates else list(range(len(names)))
        what = f"All {len(names)} words" if dates else f"The {len(names)} words of this text"
        alike = similarity(table)
        yield from on_plane(table, names, own, what, self.kind if dates else "words of this text", alike)
        if dates:
            numbers = read.model.vocabulary.numbers
            pairs = [(numbers[a], numbers[b]) for a, b in PARTNERS[self.kind] if a in numbers and b in numbers]
            partners = remarks.partners(alike, pairs, names, self.kind)
            yield Said(first_said(partners, remarks.kind(alike, own, self.kind)))
        else:
            yield Said(remarks.nearest(alike, names) if len(names) > 1 else "")
        yield Heading("The same word at two places")
        yield Part(partial(self.twins, read, of))
        yield Numbers(partial(arrays, names, table, alike))

    def twins(self, read: Typed, of: Subject) -> Blocks:
        known = repeated([of], self)
        word = self.twin if self.twin in known else known[0]
        if not word:
            raise NotApplicable("No word stands twice in this text; type one that says a word again.")
        yield from same_word(read, word)


def vectors(model: "SequenceModel", words: tuple[str, ...]) -> "Tensor":
    """Of all words of the vocabulary."""
    from vizkit.models.sequences.vectors import word_vectors

    return word_vectors(model)


def stages_of(model: "SequenceModel", words: tuple[str, ...]) -> "dict[str, Tensor]":
    from vizkit.models.sequences.vectors import layer_vectors

    return dict(layer_vectors(model, words))


def on_plane(
    table: "Tensor", names: Sequence[str], own: Sequence[int], what: str, called: str, alike: "Tensor"
) -> Blocks:
    """All words on two principal components, and the cosines of some."""
    from vizkit.analysis.sequences.words import plane

    made, kinds = plane(table), [KIND_OF.get(name, "") for name in names]
    shares = made.explained.tolist()
    drawn = word_plane(made.places.numpy(), names, kinds, shares, named=own, order=list(KINDS))
    shown = [names[at] for at in own]
    some = alike[list(own)][:, list(own)].numpy()
    cosines = heat_map(
        some,
        "",
        "",
        signed=True,
        x_names=shown,
        y_names=shown,
        limit=1.0,
        height=460,
        quantity="cosine",
    )
    cosines.update_xaxes(type="category", dtick=1, tickfont={"size": 9}, tickangle=-90)  # digits are names
    cosines.update_yaxes(type="category", dtick=1, tickfont={"size": 9})
    title = f"{what} on two principal components"
    left, right = Chart(drawn, title, title), Chart(cosines, f"Cosine of the {called}", f"Cosine of the {called}")
    yield Columns(((left,), (right,)), (3, 2))
    yield Said(remarks.explained(sum(shares)))


def same_word(read: Typed, word: str) -> Blocks:
    from vizkit.analysis.attention.positions import similarity
    from vizkit.analysis.sequences.words import plane

    words = read.words
    first, second = [at for at, other in enumerate(words) if other == word][:2]
    stages = read.made(stages_of)
    cosines = [float(similarity(each)[first, second]) for each in stages.values()]
    kinds, named = [KIND_OF.get(name, "") for name in words], [f"{name} ({at})" for at, name in enumerate(words, 1)]
    title = f"Cosine of “{word}” ({first + 1}) and “{word}” ({second + 1})"
    figure = bars(list(stages), cosines, "cosine")
    figure.update_xaxes(range=[min(0.0, *cosines), 1.02])
    figure.update_layout(height=380)
    columns = [(Chart(figure, title, title),)]
    ends = {"Before the encoder": stages["word + position"], "After it": [*stages.values()][-1]}
    for when, each in ends.items():
        made = plane(each).places.numpy()
        drawn = word_plane(made, named, kinds, joined=(first, second), order=list(KINDS), height=380, width=380)
        drawn.update_layout(showlegend=False)
        what = f"{when}, on two components of its own"
        columns.append((Chart(drawn, f"{what}: the words of this text", what),))
    yield Columns(tuple(columns))
    yield Said(remarks.twins(word, (first + 1, second + 1), cosines))


def arrays(names: Sequence[str], table: "Tensor", alike: "Tensor") -> dict[str, np.ndarray]:
    from vizkit.analysis.sequences.words import plane

    kinds = np.array([KIND_OF.get(name, "") for name in names])
    places = plane(table).places.numpy()
    words = {"words": np.array(names), "kinds": kinds}
    return words | {"vectors": table.numpy(), "places": places, "cosines": alike.numpy()}
