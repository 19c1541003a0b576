"""What is said about texts that models write, on numbers made by hand."""

from math import log

import pytest

from vizkit.analysis.remarks import sequences


def test_a_sure_model_leaves_the_search_nothing():
    said = sequences.of_beams("ab", ["ab", "ac"], [log(0.995), log(0.004)])
    assert said is not None
    assert said.words == (
        "ab has more than 99 %, the next text, ac, less than 1 %. The model is sure: the search changes nothing."
    )
    assert said.numbers == pytest.approx({"first": 0.995, "second": 0.004})


def test_a_search_can_be_better_than_the_most_probable_word_each_time():
    said = sequences.of_beams("ab", ["cd", "ab"], [log(0.4), log(0.3)])
    assert said is not None
    assert said.words.endswith("gives ab; the search finds a more probable text: cd, 40 %.")
    assert sequences.of_beams("ab", ["ab"], [0.0]) is None


def test_the_first_word_is_forgotten_below_a_hundredth():
    strengths = {"RNN": [0.001, 0.5, 1.0], "LSTM": [0.02, 0.1, 1.0]}
    said = sequences.of_gradients(strengths, ("c", ".", "?"))
    assert said is not None
    assert said.words == (
        "In the RNN the gradient of the first word, “c”, is below 1 % of the largest; in the LSTM it counts."
    )
    said = sequences.of_gradients({"LSTM": [0.02, 1.0], "Transformer": [0.5, 1.0]}, ("c", "?"))
    assert said is not None
    assert said.words == (
        "No model has forgotten the first word, “c”: even in the LSTM its gradient is 2 % of the largest."
    )


def test_what_the_forget_gates_leave():
    said = sequences.of_forget_gates([0.1, 0.3, 0.6, 1.0], ("c", "a", ".", "?"))
    assert said.words == (
        "After the last word 10 % of what was written at the first, “c”, is left in the cell, mean over the units; "
        "half or more from word 3, “.”, on."
    )
    assert said.numbers == {"first": 0.1, "from": 3}


def test_exponents_are_said_by_name():
    said = sequences.of_times({"RNN": 1.04, "Transformer": 1.96}, "training")
    assert said.words == (
        "Between the three longest texts the time of a step of training grows with the length to the power: RNN 1.0 "
        "and Transformer 2.0."
    )


def test_memory_inside_and_beyond_what_was_learned():
    shares = {"RNN": [0.9, 0.2, 0.0], "Transformer": [1.0, 1.0, 0.25]}
    said = sequences.of_memory(shares, (4, 8, 12), 8, "dots")
    assert said is not None
    assert said.words == (
        "At the largest that was learned, 8 dots: Transformer 100 %, RNN 20 %; at 12 even the Transformer gives 25 %."
    )
    assert said.numbers == {"RNN at 8": 0.2, "RNN at 12": 0.0, "Transformer at 8": 1.0, "Transformer at 12": 0.25}
    assert sequences.of_memory(shares, (4, 8, 12), 12, "dots") is None


def test_what_digits_look_at():
    said = sequences.of_alignment(
        {"year": {"places": 8, "hits": 8, "mass": 0.9}, "day": {"places": 4, "hits": 3, "mass": 0.6}}
    )
    assert said is not None
    assert said.words == (
        "Of the digits of unseen dates, 100 % of those of the year and 75 % of those of the day look most at the words "
        "that say the same."
    )
    assert sequences.of_alignment({}) is None
