"""Dates as people write them, and as ISO 8601 writes them: "the 21st of November, 2026" → 2026-11-21.

A word is a token, a digit is a token, and so is a punctuation mark. So the model has to count places within a number,
to look names up, and to put the year, which often comes last, first.
"""

import datetime
import itertools
import random
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
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
    words, roles = [], []
    for part in _FORM.split(spelling):
        role, form = _FORMS.get(part, ("", lambda _, same=part: same))
        text = form(date)
        tokens = _TOKEN.findall(text.zfill(2) if role and "/" in spelling else text)
        words += tokens
        roles += [role] * len(tokens)
    return Written(tuple(words), tuple(roles))


def meant(words: Sequence[str]) -> tuple[datetime.date, int | None] | None:
    """(the date that a text says, the day of the week that it names besides, 0 for Monday): such as `SPELLINGS` write
    it, the weekday anywhere. None where it says none, or one that does not exist."""
    date, weekday = _said(words)
    with suppress(ValueError):
        return (datetime.date(*date), weekday) if date else None
    return None


def impossible(words: Sequence[str]) -> bool:
    """Whether a text says a day that its month has not, such as 31 February."""
    date, _ = _said(words)
    return date is not None and date[1] <= len(MONTHS) and meant(words) is None


def _said(words: Sequence[str]) -> tuple[tuple[int, int, int] | None, int | None]:
    """((year, month, day), the weekday); each None where a text says none."""
    parts, weekday = [list[str]()], None
    for word, before in zip(words, ("", *words), strict=False):
        if word in _WEEKDAY:
            weekday = _WEEKDAY[word]
        if word in _MONTH:
            parts += [[word], []]
        elif word in _BETWEEN or word in _WEEKDAY or (word == "-" and before in _DIGITS):
            parts.append([])
        else:
            parts[-1].append(word)
    said = [" ".join(part) for part in parts if part]
    for places in itertools.permutations(range(3)) if len(said) == 3 else ():
        day, month, year = (said[at] for at in places)
        number = _MONTH.get(month) or (_DAY.get(month) if places in _IN_NUMBERS else None)
        if day in _DAY and number and year in _YEAR:
            return (_YEAR[year], number, _DAY[day]), weekday
    return None, weekday


def random_date(rng: random.Random) -> datetime.date:
    """Any day from 1900 to 2099."""
    return FIRST + datetime.timedelta(rng.randrange((LAST - FIRST).days + 1))


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


SPELLINGS = (
    "21 november 2026",
    "21 nov 2026",
    "november 21, 2026",
    "november 21st, 2026",
    "21st november 2026",
    "the 21st of november, 2026",
    "on the 21st of november in the year 2026",
    "saturday, 21 november 2026",
    "sat, nov 21, 2026",
    "21.11.2026",
    "21/11/2026",
    "2026/11/21",
    "2026, november 21",
    "in 2026 on the 21st of november",
    "the twenty-first of november 2026",
    "november twenty-first, twenty twenty-six",
    "saturday the twenty-first of november, twenty twenty-six",
)
"""Each as it writes 21 November 2026. Numbers with points and slashes are day, month, year."""
_FORMS: dict[str, tuple[Role, Callable[[datetime.date], str]]] = {
    "twenty twenty-six": ("year", lambda date: _year_in_words(date.year)),
    "2026": ("year", lambda date: str(date.year)),
    "november": ("month", lambda date: MONTHS[date.month - 1]),
    "nov": ("month", lambda date: MONTHS_SHORT[date.month - 1]),
    "11": ("month", lambda date: str(date.month)),
    "saturday": ("weekday", lambda date: WEEKDAYS[date.weekday()]),
    "sat": ("weekday", lambda date: WEEKDAYS_SHORT[date.weekday()]),
    "twenty-first": ("day", lambda date: _ordinal(date.day)),
    "21": ("day", lambda date: str(date.day)),
    "st": ("", lambda date: _suffix(date.day)),
}
"""What stands for each of them in another date; longer ones first. Between slashes days and months have two digits."""
_FORM = re.compile(f"({'|'.join(_FORMS)})")
_BETWEEN = {*_list("the of in on year st nd rd th"), *",./"}
_IN_NUMBERS = ((0, 1, 2), (2, 1, 0))
"""Where day, month and year stand among the parts of a text whose month is a number."""
_MONTH = {name: at % 12 + 1 for at, name in enumerate(MONTHS + MONTHS_SHORT)}
_WEEKDAY = {name: at % 7 for at, name in enumerate(WEEKDAYS + WEEKDAYS_SHORT)}
_DAY, _YEAR = (
    {" ".join(_TOKEN.findall(text)): number for number in numbers for text in spelled(number)}
    for numbers, spelled in (
        (range(1, 32), lambda day: (str(day), f"{day:02}", _ordinal(day))),
        (range(FIRST.year, LAST.year + 1), lambda year: (str(year), _year_in_words(year))),
    )
)

EXAMPLES = (
    "the 21st of November, 2026",
    "Saturday, 21 November 2026",
    "21.11.2026",
    "in 1969 on the 20th of July",
    "November twenty-first, nineteen eighty-four",
)
