"""What people read is textbook English: words and turns that only we used are not in any sentence of the program.

Read are all texts of code with a space in them (docstrings aside), the course of lessons, and the guides.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INSTEAD = {
    r"\bhangs? on (it|them|that)\b": "depend on",
    r"\bholds? for alike\b": "represents alike",
    r"\berrs? among\b": "gets wrong",
    r"\bas this model has it\b": "leave it out",
    r"\bno split was chosen\b": "say what was taken",
    r"\bsays? things? twice\b": "report one object twice",
    r"\bknow nothing of each other\b": "without self-attention",
    r"\b(tells?|told) \S+ (and \S+ )?apart by\b": "differ significantly",
    r"\banswered so\b": "predicted",
    r"\bnobody can (check|say|be said)\b": "cannot be",
    r"\bas it were\b": "leave it out",
    r"\bas may be\b": "leave it out",
    r"\bits likes\b": "others of its kind",
    r"\bhave it that\b": "say that",
}
"""What may not be said, with what says it."""


def texts_of_code(path: Path) -> Iterator[tuple[int, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    aside = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in aside:
            yield node.lineno, node.value


def everything() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "vizkit").rglob("*.py")):
        for line, text in texts_of_code(path):
            yield f"{path.relative_to(ROOT)}:{line}", text
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "vizkit").rglob("*.md")):
        for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield f"{path.relative_to(ROOT)}:{line}", text


def private(texts: Iterator[tuple[str, str]]) -> list[str]:
    patterns = {re.compile(words, re.IGNORECASE): better for words, better in INSTEAD.items()}
    return [
        f"{where} says “{found[0]}”: {better}"
        for where, text in texts
        for pattern, better in patterns.items()
        if (found := pattern.search(text))
    ]


def test_what_people_read_is_textbook_english():
    assert private(everything()) == []


@pytest.mark.parametrize(
    "words", ["The answers hang on it alone.", "Where it errs among them.", "A and B told c apart by"]
)
def test_private_words_are_noticed(words: str, tmp_path: Path):
    path = tmp_path / "new.py"
    path.write_text(f'"""Docs: hang on it."""\n\nSAID = "{words}"\n', encoding="utf-8")
    assert len(private((str(line), text) for line, text in texts_of_code(path))) == 1
