"""The models that ship with vizkit, and timm's by a pattern."""

import re
from fnmatch import fnmatch
from pathlib import Path

from vizkit.commands.output import aligned


def models(pattern: str | None = None, /) -> None:
    """The models that ship with vizkit, and timm's by a pattern.

    Args:
        pattern: Part of a timm name, or as in "vit_*_224.*".
    """
    folder = Path(__file__).parents[1] / "bundled"  # vizkit.models knows too, but takes seconds to import
    rows = [_bundled_row(card) for card in sorted(folder.glob("*/card.md"))]
    of_texts = [_bundled_row(card) for card in sorted(folder.glob("sequences/*/card.md"))]
    if pattern is None:
        print(aligned(rows, left=3))
        print("\nOf texts (python -m vizkit translate --model, and the page Sequences):")
        print(aligned(of_texts, left=3))
        print("\nMore are in timm: give a part of a name, such as vit_tiny, deit or swin.")
        return
    from vizkit.models.catalogue import catalogue

    sought = pattern if set(pattern) & set("*?[") else f"*{pattern}*"
    rows = [row for row in rows + of_texts if fnmatch(row[0], sought)]
    rows += [(entry.name, entry.family, f"weights: {entry.weights}") for entry in catalogue(sought)]
    if not rows:
        raise ValueError(f"No model is called {pattern[:80]!r}.")
    print(aligned(rows, left=3))


def _bundled_row(card: Path) -> tuple[str, ...]:
    """Name, parameters and test result, as the card of a shipped model states them."""
    text = card.read_text(encoding="utf-8")
    matches = (re.search(r"([\d,]+ parameters)", text), re.search(r"\| Test \| ([^|]*?) *\|", text))
    return (f"bundled:{card.parent.name}", *(match[1] if match else "" for match in matches))
