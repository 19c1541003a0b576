"""Text in a saved picture: measured with the font that draws it, on lines that end before the edge."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from PIL import ImageFont


@cache
def font(size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """DejaVu Sans, which comes with matplotlib (captum needs it); Pillow's own font has no × and no é."""
    spec = find_spec("matplotlib")  # not imported, which would take half a second
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        file = Path(folder) / "mpl-data/fonts/ttf/DejaVuSans.ttf"
        if file.is_file():
            return ImageFont.truetype(file, size)
    return ImageFont.load_default(size)


def clean(text: str) -> str:
    """On one line, without characters that cannot be seen: a file's text may hold no others."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def fitting(text: str, size: float, width: float) -> str:
    """The text, elided in its middle where it is longer than `width`: names differ at their ends."""
    text = clean(text)
    if font(size).getlength(text) <= width:
        return text
    kept = len(text)
    while kept > 2 and font(size).getlength(elided(text, kept)) > width:
        kept -= 1 + kept // 32
    return elided(text, kept)


def elided(text: str, kept: int) -> str:
    return f"{text[: (kept + 1) // 2]}…{text[len(text) - kept // 2 :]}"


def wrapped(text: str, size: float, width: float, most: int) -> list[str]:
    """At most `most` lines, broken between words, or within one that is longer than a line; the last one elided."""
    lines, rest = [], clean(text)
    while rest and len(lines) < most - 1 and font(size).getlength(rest) > width:
        end = next(n for n in range(len(rest), 0, -1) if n == 1 or font(size).getlength(rest[:n]) <= width)
        space = rest.rfind(" ", 0, end + 1)
        end = space if space > end // 2 else end
        lines.append(rest[:end].strip())
        rest = rest[end:].strip()
    return [*lines, fitting(rest, size, width)] if rest else lines
