"""Logits that somebody types: read them, or say in a sentence what cannot be read."""

import math
import re

GOLDEN = "17, 0, 11, 9, 0"
MOST, LARGEST = 50, 10_000
NUMBER = r"[+\-−]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
NAMED = re.compile(rf"(?:(?P<name>[^=:]*?)\s*[=:]\s*)?(?P<number>{NUMBER})")


class TypedError(ValueError):
    """What was typed are no logits; the message is one sentence."""


def read(text: str) -> tuple[list[str], list[float]]:
    """(class names, logits) of "17, 0, 11", "17 0 11", "17; 0,5; 11" or "cow = 17, dog = 11"; without names: class 1 …

    Raises TypedError.
    """
    parts = [part.strip() for part in divided(text) if part.strip()]
    if len(parts) < 2:
        raise TypedError(f"A softmax needs two logits or more; type them as {GOLDEN}.")
    if len(parts) > MOST:
        raise TypedError(f"These are {len(parts)} logits, and {MOST} are the most that can be shown; type fewer.")
    names, logits = [], []
    for place, part in enumerate(parts, 1):
        match = NAMED.fullmatch(part)
        if match is None:
            raise TypedError(f"“{_shortened(part)}” is not a number; type logits as {GOLDEN}, or cow = 17, dog = 11.")
        value = float(match["number"].replace("−", "-"))
        if not math.isfinite(value) or abs(value) > LARGEST:
            raise TypedError(f"Logits lie between −{LARGEST:,} and {LARGEST:,}, which {_shortened(part)} does not.")
        names.append(_shortened(match["name"] or "") or f"class {place}")
        logits.append(value)
    return names, logits


def divided(text: str) -> list[str]:
    """At commas and line ends; at semicolons where there are any, and then a comma is a decimal one; else at spaces."""
    if ";" in text:
        return text.replace(",", ".").split(";")
    if "," in text or "\n" in text or "=" in text or ":" in text:
        return re.split(r"[,\n]", text)
    return text.split()


def _shortened(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:23]}…"
