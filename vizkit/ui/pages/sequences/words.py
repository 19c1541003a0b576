"""The view Words: which words have similar vectors, and what becomes of one word at two places."""

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from vizkit.datasets.sequences.dates import KINDS, PARTNERS
from vizkit.figure.charts import heat_map
from vizkit.figure.sequences.word_plane import word_plane
from vizkit.ui import export, reading
from vizkit.ui.pages.sequences import typed
from vizkit.ui.pages.sequences.twins import same_word
from vizkit.ui.session import saved
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from vizkit.models.sequences import SequenceModel

TITLES = {name: typed.TITLES[name] for name in (typed.TRANSFORMER, "bundled:dates_lstm_attention")}


def view(page: Page) -> None:
    del page  # its models see images
    with st.container(horizontal=True, vertical_alignment="bottom"):
        model = typed.choose_any({**TITLES, **typed.LANGUAGE})
        if dates := model.data == "dates":
            keep_valid("words_kind", KINDS)
            kind = st.selectbox("Words", list(KINDS), index=1, key="words_kind", bind="query-params", width=200)
    if dates:
        _vocabulary(model, kind)
        st.subheader("The same word at two places", anchor=False)
    words = typed.choose_text(model)
    if not dates:
        _of_text(model, words)
    reading.guarded(same_word, model, words)
    reading.how(
        "Left, the two directions in which the words' vectors differ most; right, how alike the chosen words are. What "
        "a model has to treat alike it puts near each other. A word has one vector wherever it stands; positions and "
        "the encoder make two of it.",
        r"\cos(e_i, e_j) = \frac{e_i \cdot e_j}{\lVert e_i \rVert\,\lVert e_j \rVert}",
        "all of the vectors: two components hold a part of their variance, and words far apart in the others may lie "
        "on one spot.",
        "Bengio et al. 2003; Mikolov et al. 2013; Pearson 1901",
    )


def _vocabulary(model: "SequenceModel", kind: str) -> None:
    from vizkit.analysis.attention.positions import similarity
    from vizkit.analysis.remarks import words as remarks
    from vizkit.analysis.sequences.words import plane
    from vizkit.models.sequences.vectors import word_vectors

    names = model.vocabulary.words
    table, kind_of = word_vectors(model), {word: name for name, words in KINDS.items() for word in words}
    kinds = [kind_of.get(word, "") for word in names]
    on_plane, alike = plane(table), similarity(table)
    own = [model.vocabulary.numbers[word] for word in KINDS[kind] if word in model.vocabulary.numbers]
    left, right = st.columns([3, 2])
    with left:
        title = f"All {len(names)} words on two principal components"
        shares = on_plane.explained.tolist()
        drawn = word_plane(on_plane.places.numpy(), names, kinds, shares, title, named=own)
        chart(drawn, "words_plane", title)
    with right:
        shown, title = [names[at] for at in own], f"Cosine of the {kind}"
        figure = _cosines(alike[own][:, own].numpy(), shown, title)
        chart(figure, "words_alike", title)
    numbers = model.vocabulary.numbers
    pairs = [(numbers[a], numbers[b]) for a, b in PARTNERS[kind] if a in numbers and b in numbers]
    remark(remarks.partners(alike, pairs, names, kind), remarks.kind(alike, own, kind))
    words = {"words": np.array(names), "kinds": np.array(kinds), "vectors": table.numpy(), "cosines": alike.numpy()}
    _keep(model, (drawn, figure), **words, places=on_plane.places.numpy())


def _of_text(model: "SequenceModel", words: tuple[str, ...]) -> None:
    """The words of one text: a vocabulary of other people's models has too many to be seen at once."""
    from vizkit.analysis.attention.positions import similarity
    from vizkit.analysis.sequences.words import plane
    from vizkit.models.sequences.vectors import word_vectors

    names = list(dict.fromkeys(words))
    table = word_vectors(model)[model.vocabulary.ids(names)]
    on_plane, alike = plane(table), similarity(table)
    left, right = st.columns([3, 2])
    with left:
        title = f"The {len(names)} words of this text, of {len(model.vocabulary):,}, on two principal components"
        shares = on_plane.explained.tolist()
        drawn = word_plane(on_plane.places.numpy(), names, [""] * len(names), shares, title)
        chart(drawn, "words_plane", title)
    with right:
        title = "Cosine of their vectors"
        figure = _cosines(alike.numpy(), names, title)
        chart(figure, "words_alike", title)
    numbers = {"words": np.array(names), "vectors": table.numpy(), "cosines": alike.numpy()}
    _keep(model, (drawn, figure), **numbers, places=on_plane.places.numpy())


def _cosines(values: np.ndarray, names: list[str], title: str) -> Any:  # noqa: ANN401
    figure = heat_map(values, "", "", title, signed=True, x_names=names, y_names=names, limit=1.0, height=460)
    figure.update_xaxes(type="category", dtick=1, tickfont={"size": 9}, tickangle=-90)  # digits are names
    return figure.update_yaxes(type="category", dtick=1, tickfont={"size": 9})


def _keep(model: "SequenceModel", figures: tuple[Any, ...], **numbers: np.ndarray) -> None:
    more = {"All vectors (NPZ)": lambda: export.npz_of(**numbers)}
    save("words", {"": saved.charts_of("Vectors of words", (typed.title_of(model),), *figures)}, saved.NOTHING, more)
