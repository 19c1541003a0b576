"""The view Masks: the example of textbooks in both ways, a model's own scores, hidden words, next words."""

import pytest

from tests.ui.conftest import fine, sent_to, texts
from tests.ui.sequences.conftest import opened

pytestmark = pytest.mark.usefixtures("random_models")


def tables(test):
    return [element.proto.body for element in test.main.get("html") if "word-matrix" in element.proto.body]


def chosen(test, name, value):
    """As a click in the canvas would leave it."""
    test.session_state[name] = value
    return test.run()


def test_the_six_words_are_masked_in_both_ways():
    test = opened("Masks")
    fine(test)
    scores, before, weights, after = tables(test)
    assert "−∞" in scores
    assert scores.count("masked") == before.count("masked") == after.count("masked") == 15
    assert "masked" not in weights
    for number in (".308", ".692", ".272", ".244", ".484"):
        assert f">{number}</td>" in before
    for total in (".268", ".402", ".541", ".756", ".826"):
        assert f">{total}</td>" in after
        assert f'class="sum" style="border-color:#0f7800">{total}' not in before
    assert "5 rows sum to less than 1, the first to 0.268" in texts(test)


@pytest.mark.parametrize("mask, rows, columns", [("none", 11, 11), ("cross", 41, 11)])
def test_a_date_in_a_model_without_hatched_cells(mask, rows, columns):
    test = opened("Masks", mask=mask, mask_text="a date")
    fine(test)
    (table,) = tables(test)
    assert "masked" not in table
    assert table.count('<th scope="col">') == columns + 1
    assert table.count('class="sum"') <= rows
    assert table.count('class="sum" style="border-color:#0f7800">1</td>') == table.count('class="sum"')


def test_a_word_is_hidden_and_guessed():
    test = opened("Masks", mask="BERT")
    fine(test)
    (data,) = sent_to(test, "vizkit_predict")
    assert [data["line"][at] for at in data["hidden"]] == ["november"]
    ((at, top),) = data["tops"]
    assert at == data["hidden"][0]
    assert len(top) == 5
    again = opened("Masks", mask="BERT", hidden="2,3,11,999")
    (data,) = sent_to(again, "vizkit_predict")
    assert data["hidden"] == [2, 3], "the arrow cannot be hidden, and the line is shorter"
    assert "hidden word" in texts(again)


def test_the_next_word_is_written():
    test = opened("Masks")
    (data,) = sent_to(test, "vizkit_predict")
    assert data["line"][-1] == "→"
    ((_, top),) = data["tops"]
    assert len(top) == 5
    test = chosen(test, "next", "7,8")
    (data,) = sent_to(test, "vizkit_predict")
    assert data["line"][data["given"] :] == ["2", "3"]
    assert test.query_params["next"] == "7,8"
    ended = chosen(test, "next", "7,2")
    (data,) = sent_to(ended, "vizkit_predict")
    assert data["ended"]
    assert data["tops"] == []


def test_typed_garbage_gets_a_sentence():
    test = opened("Masks", mask="BERT", sequence_text="xyzzy")
    assert "have never read “xyzzy”" in test.info[0].value
