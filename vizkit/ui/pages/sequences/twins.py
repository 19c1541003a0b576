"""A part of the view Words: one word that stands twice in a text, from its vector to the encoder's output."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.datasets.sequences.dates import KINDS
from vizkit.figure.charts import bars
from vizkit.figure.sequences.word_plane import word_plane
from vizkit.ui.pages.sequences import typed
from vizkit.ui.session import saved
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from vizkit.models.sequences import SequenceModel


def same_word(model: "SequenceModel", words: tuple[str, ...]) -> None:
    from vizkit.analysis.attention.positions import similarity
    from vizkit.analysis.remarks import words as remarks
    from vizkit.analysis.sequences.words import plane
    from vizkit.models.sequences.vectors import layer_vectors

    twice = [word for word in dict.fromkeys(words) if words.count(word) > 1]
    if not twice:
        st.info("No word stands twice in this text; type one that says a word again.")
        return
    keep_valid("words_twin", twice)
    word = st.segmented_control("Word", twice, default=twice[0], required=True, key="words_twin", bind="query-params")
    first, second = [at for at, other in enumerate(words) if other == word][:2]
    stages = layer_vectors(model, words)
    cosines = [float(similarity(vectors)[first, second]) for vectors in stages.values()]
    kind_of = {name: kind for kind, names in KINDS.items() for name in names}
    kinds, named = [kind_of.get(name, "") for name in words], [f"{name} ({at})" for at, name in enumerate(words, 1)]
    columns = st.columns(3)
    with columns[0]:
        title = f"Cosine of “{word}” ({first + 1}) and “{word}” ({second + 1})"
        figure = bars(list(stages), cosines, "cosine", title)
        figure.update_xaxes(range=[min(0.0, *cosines), 1.02])
        figure.update_layout(height=380)
        chart(figure, "twins_bars", title)
    figures = [figure]
    before_and_after = {"Before the encoder": stages["word + position"], "After it": [*stages.values()][-1]}
    for column, (title, vectors) in zip(columns[1:], before_and_after.items(), strict=True):
        with column:
            places = plane(vectors).places.numpy()
            figure = word_plane(places, named, kinds, title=title, joined=(first, second), height=380)
            figure.update_layout(showlegend=False)
            figures.append(figure)
            chart(figure, f"twins_{title}", f"{title}: the words of this text on two principal components")
    remark(remarks.twins(word, (first + 1, second + 1), cosines))
    what = (f"{typed.title_of(model)}: {' '.join(words)}",)
    save("twins", {"": saved.charts_of("One word at two places", what, *figures)}, saved.NOTHING)
