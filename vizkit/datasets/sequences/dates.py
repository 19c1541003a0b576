"""Dates as people write them, and as ISO 8601 writes them: "the 21st of November, 2026" → 2026-11-21.

A word is a token, a digit is a token, and so is a punctuation mark. So the model has to count places within a number,
to look names up, and to put the year, which often comes last, first.
"""

import datetime
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from vizkit.vocabulary import SPECIAL, TextError, Vocabulary

Role = Literal["", "year", "month", "day", "weekday"]

FIRST, LAST = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)
LONGEST = 20
"""Tokens of the longest spelling, with room for a few that a person adds."""


def _list(words: str) -> tuple[str, ...]:
    return tuple(words.split())


MONTHS = _list("january february march april may june july august september october november december")
MONTHS_SHORT = tuple(name[:3] for name in MONTHS)
WEEKDAYS = _list("monday tuesday wednesday thursday friday saturday sunday")
WEEKDAYS_SHORT = tuple(name[:3] for name in WEEKDAYS)
UNITS = _list("one two three four five six seven eight nine")
TEENS = _list("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
TENS = _list("twenty thirty forty fifty sixty seventy eighty ninety")
ORDINALS = _list(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
) + _list("fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth")
_OTHERS = _list("thirtieth hundred thousand and oh the of in on year st nd rd th")
_MARKS = (",", ".", "/", "-")
_DIGITS = tuple("0123456789")
VOCABULARY = Vocabulary(
    tuple(
        dict.fromkeys(  # "may" is its own abbreviation
            SPECIAL
            + _DIGITS
            + _MARKS
            + MONTHS
            + MONTHS_SHORT
            + WEEKDAYS
            + WEEKDAYS_SHORT
            + UNITS
            + TEENS
            + TENS
            + ORDINALS
            + _OTHERS
        )
    )
)
KINDS: dict[str, tuple[str, ...]] = {
    "digits": _DIGITS,
    "months": MONTHS + tuple(name for name in MONTHS_SHORT if name not in MONTHS),
    "weekdays": WEEKDAYS + WEEKDAYS_SHORT,
    "number words": UNITS + TEENS + TENS,
    "ordinals": ORDINALS,
}
"""Words that belong together, in their order."""
PARTNERS: dict[str, tuple[tuple[str, str], ...]] = {
    "digits": tuple(zip(_DIGITS[1:], UNITS, strict=True)),
    "months": tuple((name, short) for name, short in zip(MONTHS, MONTHS_SHORT, strict=True) if name != short),
    "weekdays": tuple(zip(WEEKDAYS, WEEKDAYS_SHORT, strict=True)),
    "number words": tuple(zip(UNITS + TEENS, ORDINALS, strict=False)),
    "ordinals": tuple(zip(ORDINALS, UNITS + TEENS, strict=False)),
}
"""For words of a kind another that says the same: november and nov, 1 and one, one and first."""
_TOKEN = re.compile(r"[a-z]+|\d|[^\sa-z\d]")


@dataclass(frozen=True)
class Written:
    """A date in tokens; `roles`: what each of them says, "" for "the", commas and the like."""

    words: tuple[str, ...]
    roles: tuple[Role, ...]


def split(text: str) -> tuple[str, ...]:
    """The tokens of a typed date, in lower case. TextError where there is none, too many, or an unknown one."""
    words = tuple(_TOKEN.findall(text.lower()[:500]))
    if not words:
        raise TextError("Type a date, such as “the 21st of November, 2026”.")
    if len(words) > LONGEST:
        raise TextError(f"This text has {len(words)} tokens; the models have learned dates of up to {LONGEST}.")
    unknown = [word for word in words if word not in VOCABULARY.numbers]
    if unknown:
        raise TextError(f"The models have never read “{unknown[0][:24]}”: they know dates in English words and digits.")
    return words


def iso(date: datetime.date) -> tuple[str, ...]:
    """The ten tokens of a date as ISO 8601 writes it."""
    return tuple(date.isoformat())


def write(date: datetime.date, spelling: str) -> Written:
    """A date in one of `SPELLINGS`."""
    parts = SPELLINGS[spelling](date)
    words, roles = [], []
    for role, text in parts:
        tokens = _TOKEN.findall(text)
        words += tokens
        roles += [role] * len(tokens)
    return Written(tuple(words), tuple(roles))


def random_date(rng: random.Random) -> datetime.date:
    """Any day from 1900 to 2099."""
    return FIRST + datetime.timedelta(rng.randrange((LAST - FIRST).days + 1))


Part = tuple[Role, str]


def _suffix(number: int) -> str:
    return "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _ordinal(number: int) -> str:
    if number <= len(ORDINALS):
        return ORDINALS[number - 1]
    return "thirtieth" if number == 30 else f"{TENS[number // 10 - 2]}-{ORDINALS[number % 10 - 1]}"


def _below_hundred(number: int) -> str:
    if number < 20:
        return (UNITS + TEENS)[number - 1]
    return TENS[number // 10 - 2] + (f"-{UNITS[number % 10 - 1]}" if number % 10 else "")


def _year_in_words(year: int) -> str:
    """As years are read aloud: nineteen oh five, nineteen eighty-four, two thousand and six, twenty twenty-six."""
    century, rest = divmod(year, 100)
    if year == 2000:
        return "two thousand"
    if 2000 < year < 2010:
        return f"two thousand and {_below_hundred(rest)}"
    if rest == 0:
        return f"{_below_hundred(century)} hundred"
    return f"{_below_hundred(century)} {'oh ' if rest < 10 else ''}{_below_hundred(rest)}"


def _year(date: datetime.date) -> Part:
    return ("year", str(date.year))


def _month(date: datetime.date, short: bool = False) -> Part:
    return ("month", (MONTHS_SHORT if short else MONTHS)[date.month - 1])


def _weekday(date: datetime.date, short: bool = False) -> Part:
    return ("weekday", (WEEKDAYS_SHORT if short else WEEKDAYS)[date.weekday()])


def _st(date: datetime.date) -> list[Part]:
    return [("day", str(date.day)), ("", _suffix(date.day))]


SPELLINGS: dict[str, Callable[[datetime.date], list[Part]]] = {
    "21 november 2026": lambda d: [("day", str(d.day)), _month(d), _year(d)],
    "21 nov 2026": lambda d: [("day", str(d.day)), _month(d, True), _year(d)],
    "november 21, 2026": lambda d: [_month(d), ("day", str(d.day)), ("", ","), _year(d)],
    "november 21st, 2026": lambda d: [_month(d), *_st(d), ("", ","), _year(d)],
    "21st november 2026": lambda d: [*_st(d), _month(d), _year(d)],
    "the 21st of november, 2026": lambda d: [("", "the"), *_st(d), ("", "of"), _month(d), ("", ","), _year(d)],
    "on the 21st of november in the year 2026": lambda d: [
        ("", "on the"),
        *_st(d),
        ("", "of"),
        _month(d),
        ("", "in the year"),
        _year(d),
    ],
    "saturday, 21 november 2026": lambda d: [_weekday(d), ("", ","), ("day", str(d.day)), _month(d), _year(d)],
    "sat, nov 21, 2026": lambda d: [
        _weekday(d, True),
        ("", ","),
        _month(d, True),
        ("day", str(d.day)),
        ("", ","),
        _year(d),
    ],
    "21.11.2026": lambda d: [("day", str(d.day)), ("", "."), ("month", str(d.month)), ("", "."), _year(d)],
    "21/11/2026": lambda d: [("day", f"{d.day:02d}"), ("", "/"), ("month", f"{d.month:02d}"), ("", "/"), _year(d)],
    "2026/11/21": lambda d: [_year(d), ("", "/"), ("month", f"{d.month:02d}"), ("", "/"), ("day", f"{d.day:02d}")],
    "2026, november 21": lambda d: [_year(d), ("", ","), _month(d), ("day", str(d.day))],
    "in 2026 on the 21st of november": lambda d: [("", "in"), _year(d), ("", "on the"), *_st(d), ("", "of"), _month(d)],
    "the twenty-first of november 2026": lambda d: [
        ("", "the"),
        ("day", _ordinal(d.day)),
        ("", "of"),
        _month(d),
        _year(d),
    ],
    "november twenty-first, twenty twenty-six": lambda d: [
        _month(d),
        ("day", _ordinal(d.day)),
        ("", ","),
        ("year", _year_in_words(d.year)),
    ],
    "saturday the twenty-first of november, twenty twenty-six": lambda d: [
        _weekday(d),
        ("", "the"),
        ("day", _ordinal(d.day)),
        ("", "of"),
        _month(d),
        ("", ","),
        ("year", _year_in_words(d.year)),
    ],
}
"""Each under what it makes of 21 November 2026. Numbers with points and slashes are day, month, year."""

EXAMPLES = (
    "the 21st of November, 2026",
    "Saturday, 21 November 2026",
    "21.11.2026",
    "in 1969 on the 20th of July",
    "November twenty-first, nineteen eighty-four",
)
