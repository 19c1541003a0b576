"""Dates in words and their answers, by hand."""

import datetime
import random
from itertools import combinations

import pytest

from vizkit.datasets.image_set import DatasetError
from vizkit.datasets.sequences import dates, gaps
from vizkit.datasets.sequences.opening import TASKS, open_pairs, split_text, vocabulary_of
from vizkit.vocabulary import MASK, PAD, SPECIAL, TextError, Vocabulary

A_DAY = datetime.date(2026, 11, 21)  # a Saturday


@pytest.mark.parametrize("spelling", dates.SPELLINGS)
def test_a_spelling_is_named_by_what_it_writes(spelling):
    written = dates.write(A_DAY, spelling)
    assert written.words == dates.split(spelling)
    assert len(written.roles) == len(written.words) <= dates.LONGEST


@pytest.mark.parametrize(
    "date, spelling, words",
    [
        (datetime.date(1905, 1, 1), "november twenty-first, twenty twenty-six", "january first , nineteen oh five"),
        (datetime.date(1900, 3, 30), "november twenty-first, twenty twenty-six", "march thirtieth , nineteen hundred"),
        (datetime.date(2000, 5, 31), "november twenty-first, twenty twenty-six", "may thirty - first , two thousand"),
        (datetime.date(2007, 5, 1), "november twenty-first, twenty twenty-six", "may first , two thousand and seven"),
        (datetime.date(2080, 2, 20), "november twenty-first, twenty twenty-six", "february twentieth , twenty eighty"),
        (datetime.date(1969, 7, 2), "21/11/2026", "0 2 / 0 7 / 1 9 6 9"),
        (datetime.date(1969, 7, 11), "21st november 2026", "1 1 th july 1 9 6 9"),
        (datetime.date(1969, 7, 22), "21st november 2026", "2 2 nd july 1 9 6 9"),
    ],
)
def test_numbers_are_read_aloud_as_people_do(date, spelling, words):
    assert dates.write(date, spelling).words == tuple(words.split())


def test_roles_say_which_tokens_are_the_year():
    written = dates.write(A_DAY, "saturday, 21 november 2026")
    assert written.roles == ("weekday", "", "day", "day", "month", "year", "year", "year", "year")


def test_every_day_has_its_target():
    assert "".join(dates.iso(datetime.date(1901, 2, 3))) == "1901-02-03"


def test_all_words_of_all_spellings_are_in_the_vocabulary():
    day = dates.FIRST
    while day <= dates.LAST:
        for spelling in dates.SPELLINGS:
            dates.VOCABULARY.ids(dates.write(day, spelling).words)
        day += datetime.timedelta(97)


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("", "Type a date"),
        ("   ", "Type a date"),
        ("le 21 novembre", "never read “le”"),
        ("21 november 2026" * 9, "tokens; the models"),
        ("<script>", "never read “<”"),
        ("二〇二六", "never read"),
    ],
)
def test_a_text_that_is_no_date_gets_a_sentence(text, sentence):
    with pytest.raises(TextError, match=sentence):
        split_text("dates", text)


def test_a_day_belongs_to_one_split():
    splits = ("train", "val", "test")
    days = [{pair.target for pair in open_pairs("dates", split, count=1000, seed=1)} for split in splits]
    for first, second in combinations(days, 2):
        assert not first & second


@pytest.mark.parametrize("name", TASKS)
def test_the_same_seed_gives_the_same_pairs_and_another_others(name):
    pairs = open_pairs(name, "train", count=50, seed=3)
    assert pairs.pairs == open_pairs(name, "train", count=50, seed=3).pairs
    assert pairs.pairs != open_pairs(name, "train", count=50, seed=4).pairs
    assert len(list(pairs)) == len(pairs) == 50
    for pair in pairs:
        vocabulary_of(name).ids(pair.source + pair.target)


def test_copy_and_reverse_by_hand():
    letters = ("b", "f", "a")
    assert gaps.source(letters, 2) == ("b", "f", "a", ".", ".", "?")
    assert gaps.answer(letters, "copy") == letters
    assert gaps.answer(letters, "reverse") == ("a", "f", "b")
    assert gaps.split("b f a ..") == ("b", "f", "a", ".", ".", "?")


@pytest.mark.parametrize("text", ["", "?", "..?", "a.b?", "xyz", "a?b", "abc??", "a" * 70])
def test_a_text_that_is_no_gap_gets_a_sentence(text):
    with pytest.raises(TextError):
        gaps.split(text)


@pytest.mark.parametrize("name, count", [("datse", 3), ("copy", 0)])
def test_a_set_that_there_is_not_gets_a_sentence(name, count):
    with pytest.raises(DatasetError):
        open_pairs(name, "test", count=count)


def test_numbers_of_words_and_back():
    vocabulary = Vocabulary((*SPECIAL, "x", "y"))
    assert vocabulary.ids(["y", "[MASK]", "[PAD]", "x"]) == [6, MASK, PAD, 5]
    assert vocabulary.spelled([6, 5]) == ["y", "x"]
    with pytest.raises(TextError, match="knows no “z”: it has 2 words"):
        vocabulary.ids(["z"])
    with pytest.raises(ValueError, match="twice"):
        Vocabulary((*SPECIAL, "x", "x"))
    with pytest.raises(ValueError, match="begins with"):
        Vocabulary(("x",))


@pytest.mark.parametrize("spelling", dates.SPELLINGS)
def test_what_was_written_means_the_date_again(spelling):
    rng = random.Random(7)
    for date in [dates.random_date(rng) for _ in range(200)]:
        words = dates.write(date, spelling).words
        meant, weekday = dates.meant(words) or (None, None)
        assert meant == date, words
        assert weekday == (date.weekday() if words[0] in dates.WEEKDAYS + dates.WEEKDAYS_SHORT else None)


@pytest.mark.parametrize(
    "text, meant",
    [
        ("thursday 3 may 1999", (datetime.date(1999, 5, 3), 3)),
        ("1999-05-03", (datetime.date(1999, 5, 3), None)),
        ("the twenty-first of november 2026", (datetime.date(2026, 11, 21), None)),
        ("30 february 2001", None),
        ("12/25/1999", None),
        ("november", None),
        ("3 2021 may may", None),
        ("1 2 3", None),
    ],
)
def test_what_a_text_means(text, meant):
    assert dates.meant(dates.split(text)) == meant
