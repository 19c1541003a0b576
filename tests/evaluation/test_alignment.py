"""The bundled translators look where their digits come from."""

import pytest

from benchmarks.bundled.alignment import measured_alignment
from tests.models.sequences.texts import made
from vizkit.datasets.sequences.opening import Pair, open_pairs
from vizkit.models.sequences import open_sequence
from vizkit.traces import NotApplicable

PAIRS = 20


@pytest.mark.product
@pytest.mark.parametrize("name", ["dates_transformer", "dates_lstm_attention"])
def test_the_years_digits_look_at_the_year(name):
    model = open_sequence(f"bundled:{name}")
    roles = measured_alignment(model, open_pairs("dates", "test", count=PAIRS, seed=1))
    assert {role: aligned.places for role, aligned in roles.items()} == {
        "year": 4 * PAIRS,
        "month": 2 * PAIRS,
        "day": 2 * PAIRS,
    }
    assert roles["year"].share >= 0.9
    for role, aligned in roles.items():  # what the page says was measured over the whole test set
        said = model.facts["alignment"][role]
        assert said["places"] == 100 * aligned.places
        assert said["hits"] / said["places"] == pytest.approx(aligned.share, abs=0.1)
        assert said["mass"] == pytest.approx(aligned.mass, abs=0.1)


def test_without_cross_attention_there_is_nothing_to_measure():
    with pytest.raises(NotApplicable, match="has no attention"):
        measured_alignment(made("seq2seq_lstm"), [Pair(tuple("ab"), tuple("ba"))])
