"""What is said about texts that models write, on numbers made by hand."""

from vizkit.analysis.remarks import sequences


def test_the_first_word_is_forgotten_below_a_hundredth():
    strengths = {"RNN": [0.001, 0.5, 1.0], "LSTM": [0.02, 0.1, 1.0]}
    said = sequences.of_gradients(strengths, ("c", ".", "?"))
    assert said == (
        "In the RNN the gradient of the first word, “c”, is below 1 % of the largest; in the LSTM it counts."
    )
    said = sequences.of_gradients({"LSTM": [0.02, 1.0], "Transformer": [0.5, 1.0]}, ("c", "?"))
    assert said == ("No model has forgotten the first word, “c”: even in the LSTM its gradient is 2 % of the largest.")


def test_what_the_forget_gates_leave():
    said = sequences.of_forget_gates([0.1, 0.3, 0.6, 1.0], ("c", "a", ".", "?"))
    assert said == (
        "After the last word 10 % of what was written at the first, “c”, is left in the cell, mean over the units; "
        "half or more from word 3, “.”, on."
    )


def test_memory_inside_and_beyond_what_was_learned():
    """The LSTM stays; of the transformer one seed of three forgets, which a mean alone would not say."""
    runs = {
        "RNN": [[0.9, 0.2, 0.1], [0.9, 0.2, 0.1], [0.9, 0.2, 0.1]],
        "LSTM": [[0.7, 0.7, 0.68]] * 3,
        "Transformer": [[1.0, 1.0, 1.0], [1.0, 1.0, 0.25], [1.0, 1.0, 1.0]],
    }
    assert sequences.of_ends(runs, (4, 8, 12), 8, "dots") == (
        "At 8 dots, the most that was learned, the Transformer gives 100 % right answers, the LSTM 70 % and the RNN "
        "20 %; at 12, beyond it, the former gives 75 % still."
    )
    falling = {"RNN": [[0.2, 0.0, 0.0, 0.0]], "LSTM": [[1.0, 0.99, 0.3, 0.0]], "Transformer": [[1.0, 1.0, 0.2, 0.0]]}
    assert sequences.of_ends(falling, (1, 8, 10, 12), 8, "letters") == (
        "At 8 letters, the most that was learned, the LSTM and Transformer give 99 % or more right answers; 2 beyond "
        "it the LSTM gives 30 % and the Transformer 20 %."
    )
    equal = {"LSTM": [[1.0, 0.9]], "Transformer": [[1.0, 0.8]]}
    assert sequences.of_ends(equal, (8, 10), 8, "letters") == (
        "At 8 letters, the most that was learned, the LSTM and Transformer give 100 % right answers; at 10, beyond it, "
        "the former give 80 % or more still."
    )
    assert sequences.of_unlearned(falling, (1, 8, 10, 12), "letters") == (
        " The RNN never learned the task: 20 % right answers at 1 letter."
    )
    assert not sequences.of_unlearned(runs, (4, 8, 12), "dots")


def test_what_digits_look_at():
    said = sequences.of_alignment(
        {"year": {"places": 8, "hits": 8, "mass": 0.9}, "day": {"places": 4, "hits": 3, "mass": 0.6}}
    )
    assert said == (
        "A digit looks most at the word that says the same: in unseen dates 100 % of the year's digits and 75 % of the "
        "day's digits do."
    )
    assert sequences.of_alignment({}) is None


def test_every_model_has_forgotten_the_first_word():
    said = sequences.of_gradients({"RNN": [0.001, 1.0], "LSTM": [0.009, 1.0]}, ("c", "?"))
    assert said == ("In the RNN and LSTM the gradient of the first word, “c”, is below 1 % of the largest.")
    assert "No model has forgotten" in str(sequences.of_gradients({"RNN": [0.01, 1.0]}, ("c", "?")))


def test_half_exactly_is_kept_and_nothing_names_the_last_word():
    assert sequences.of_forget_gates([0.25, 0.25], ("c", "?")).endswith("from word 2, “?”, on.")


def test_memory_that_was_measured_on_one_side_only():
    runs = {"RNN": [[1.0, 0.75]]}
    assert sequences.of_ends(runs, (8, 12), 12, "dots").endswith("the RNN gives 75 % right answers."), (
        "nothing lies beyond"
    )


def test_a_special_token_is_named_where_the_patch_looks_at_it_more():
    word = "“november”", "“the”", 4.8
    assert sequences.of_both(1, 1, word, (5, 2, 26.6), {"cls": 117.0}).endswith(
        "the marked patch at [cls], 117.0 times, and among patches at row 5, column 2, 26.6 times."
    )
    for special in ({}, {"cls": 20.0}):
        said = sequences.of_both(1, 1, word, (5, 2, 26.6), special)
        assert said.endswith("the marked patch at row 5, column 2, 26.6 times.")


def test_who_looks_is_named_by_the_word_that_is_written_then_and_places_are_counted_one_way():
    """[BEGIN] is word 0; of a word that stands there once no place is said."""
    source, written = ("2", "may", "2"), ("[BEGIN]", "-", "2", "-", "[END]")
    assert sequences.row_names(written) == ["[BEGIN] → -", "- → 2", "2 → -", "- → [END]"]
    assert sequences.row_names(source) == [*source]
    for said, *given in (
        (
            "to write “-” (word 3), it looks most at “2” (word 3 of the source), 60 %.",
            written,
            2,
            source,
            [0.4, 0.0, 0.6],
        ),
        ("to write “[END]” (word 4), it looks most at “-” (word 1), 90 %.", written, 3, written, [0.0, 0.9, 0.0, 0.1]),
        ("“2” (word 1) looks most at “may”, 100 %.", source, 0, source, [0.0, 1.0, 0.0]),
    ):
        assert sequences.of_look(*given) == said


def test_an_answer_is_said_to_be_right_or_wrong_and_a_weekday_that_does_not_fit():
    truth = tuple("1999-05-03")
    assert sequences.of_answer("RNN", "1999-05-03", truth, [*truth, "[END]"], None, "monday") == (
        "The RNN writes “1999-05-03”, which is right."
    )
    assert sequences.of_answer("RNN", "1999-05-31", truth, [*"1999-05-31", "[END]"], "thursday", "monday") == (
        "The RNN writes “1999-05-31”, which is wrong: right is “1999-05-03”, 2 places differ. The text names a "
        "Thursday; it was a Monday."
    )
    assert "1 place differs" in sequences.of_answer("RNN", "199", tuple("1999"), list("199"), None, None), "a word less"
    forced = sequences.of_answer("RNN", "1999-04-03", truth, list("1999-04-03"), None, None, {7: "4"})
    assert forced.startswith("Given “4” as word 7, the RNN comes to “1999-04-03”, which is wrong: right is")
    assert sequences.of_answer("T5", "Das Haus", (), ["Das", "Haus"], None, None).endswith("right is not known.")


def test_what_is_too_small_to_be_drawn_is_counted():
    assert sequences.of_undrawn({"RNN": 14, "LSTM": 1, "Transformer": 0}, 21, 0.0001) == (
        "Below 1 ⁄ 10,000 of the largest and not drawn: 14 words of 21 in the RNN and 1 word of 21 in the LSTM."
    )
    assert sequences.of_undrawn({"LSTM": 0}, 21, 0.0001) == ""
