"""The words that all rules share. A rule gives one sentence with its full stop, or None where nothing stands out."""

from collections.abc import Callable, Sequence

from vizkit.heads import Head


def percent(share: float) -> str:
    """A share from 0 to 1 as a whole number of per cent, except where that would claim all or nothing: "none of it"
    and "all of it" are 0 % and 100 % only where they are."""
    if 0 < share < 0.005:
        return "less than 1 %"
    if 0.995 <= share < 1 - 1e-6:
        return "more than 99 %"
    whole = 100 * (share if share < -1e-6 else max(share, 0.0))  # rounding leaves −1e-8 of nothing
    return f"{whole:z.0f} %".replace("-", "−")


def value_of(head: Head) -> Callable[[float], str]:
    """How a value of an output is written in a sentence: probabilities as whole per cents."""
    return percent if head.probable else head.text


def begun(words: str) -> str:
    """As a sentence begins: "Less than 1 %"."""
    return f"{words[:1].upper()}{words[1:]}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """ "1 image", "12 images", "0 images"; `plural` where it is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def of_all(part: int, whole: int, noun: str, plural: str = "") -> str:
    """ "none of 12 images", "1 of 12 images", "all 12 images", "the only image"."""
    things = plural or f"{noun}s"
    if whole == 1:
        return f"the only {noun}" if part else f"not the only {noun}"
    if part == whole:
        return f"both {things}" if whole == 2 else f"all {whole:,} {things}"
    return f"{part:,} of {whole:,} {things}" if part else f"none of {whole:,} {things}"


def joined(names: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
