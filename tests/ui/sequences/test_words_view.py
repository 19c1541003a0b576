"""The view Words: the vocabulary on a plane, the cosines of a kind, and one word at two places."""

import json

import pytest

from tests.models.sequences.texts import VOCABULARY, made
from tests.ui.conftest import fine, texts
from tests.ui.sequences.conftest import opened, random_model
from vizkit.datasets.sequences import dates
from vizkit.models.sequences.vectors import word_vectors

pytestmark = pytest.mark.usefixtures("random_models")


def charts(test) -> dict[str, dict]:
    """Every chart by what a screen reader says."""
    drawn = test.main.get("plotly_chart")
    return {element.proto.alt: json.loads(element.proto.spec) for element in drawn}


def test_words_on_a_plane_and_their_cosines():
    test = opened("Words")
    fine(test)
    drawn = charts(test)
    heat = drawn["Cosine of the months"]["data"][0]
    assert heat["x"][:2] == ["january", "february"]
    assert len(heat["x"]) == 23, "may is its own abbreviation"
    plane = drawn["All 117 words on two principal components"]
    assert {line["name"] for line in plane["data"]} == {*dates.KINDS, "others"}
    written = next(line for line in plane["data"] if line["name"] == "months")["text"]
    assert "november" in written
    assert set(next(line for line in plane["data"] if line["name"] == "digits")["text"]) == {""}
    assert "“2” at places 2 and 8: one word vector, cosine 1.00" in texts(test)
    assert drawn["Cosine of “2” (2) and “2” (8)"]["data"][0]["y"] == [
        "word",
        "word + position",
        "after encoder 1",
        "after encoder 2",
    ]


def test_a_text_without_a_word_twice_says_so():
    test = opened("Words", words_kind="digits", sequence_text="may first")
    fine(test)
    assert "No word stands twice" in texts(test)


def test_partners_say_the_same():
    assert ("november", "nov") in dates.PARTNERS["months"]
    assert len(dates.PARTNERS["months"]) == 11
    assert dates.PARTNERS["digits"][0] == ("1", "one")
    assert ("nineteen", "nineteenth") in dates.PARTNERS["number words"]
    for kind, pairs in dates.PARTNERS.items():
        assert all(word in dates.KINDS[kind] for word, _ in pairs)


@pytest.mark.parametrize("name", ["seq2seq_transformer", "seq2seq_lstm", "masked_lm", "causal_lm"])
def test_the_table_of_every_network_has_a_row_for_every_word(name: str):
    assert len(word_vectors(made(name))) == len(VOCABULARY)
    assert word_vectors(random_model("bundled:dates_bert")).shape == (117, 16)
