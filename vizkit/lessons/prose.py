"""Texts of a lesson: Markdown with formulas and with values of the live model, and nothing that could do more.

`{expression}` or `{expression:.1%}` stands for a value; within a formula, whose own braces are LaTeX's,
`{=expression}`. HTML, pictures, and links to anything but https and pages of vizkit are refused.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape, unescape
from typing import TYPE_CHECKING, Any

from vizkit.lessons.expressions import Expression, LessonError, parse, readable, written

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

    from vizkit.views.subject import Subject

LONGEST = 6_000  # characters of one text
MOST_CELLS = 1_000  # of its tables: short rows are filled up to the widest
WORDS_PER_MINUTE, SECONDS_PER_FORMULA = 160, 8  # of a text that is studied
_PAGE = re.compile(r"[a-z_]+(\?[\w=&%.,:+-]*)?")  # of vizkit, with its settings as the address has them
_HTTPS = re.compile(r"https://([\w-]+\.)*[\w-]*(/[^\s<>\"'`()\\]*)?")
_MATH = re.compile(r"\$\$(.+?)\$\$|\$(?! )([^$\n]+?)(?<! )\$(?!\d)", re.DOTALL)
_VALUE, _IN_MATH = re.compile(r"\{([^{}\n]+)\}"), re.compile(r"\{=([^{}\n]+)\}")
_LATEX = re.compile(r"\\(href|url|include|html|[gex]?def|let|\w*command|input|write|require)")
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b\u2028-\u202e\u2066-\u2069\ud800-\uf8ff\ufeff]")
_MARKS = re.compile(r"!\[|http://|\bwww\.|javascript:", re.IGNORECASE)  # one reader of Markdown sees more than another
_HOLE = re.compile("\ue000(\\d+)\ue001")
REFUSED = {
    "image": "A lesson has no figures of its own: a view shows one.",
    "html_block": "HTML is not shown.",
    "html_inline": "HTML is not shown.",
    "h1": "A heading in a text begins with ###.",
    "h2": "A heading in a text begins with ###.",
}
Filled = Sequence[str]
"""The values of a text, in order, as they are written."""


@dataclass(frozen=True)
class Prose:
    """`marked`: Markdown, `rendered`: HTML, both with holes for `parts`: the number of a value, or a formula, which is
    LaTeX between numbers of values, and whether it has a line of its own."""

    marked: str
    rendered: str
    values: tuple[tuple[Expression, str], ...]
    parts: tuple[int | tuple[tuple[str | int, ...], bool], ...]

    def filled(self, of: "Subject", **given: Any) -> Filled:
        """The values of this model and picture. Raises LessonError, NotApplicable."""
        found = []
        for expression, form in self.values:
            value = expression.value(of, **given)
            try:
                found.append(written(value, form))
            except (ValueError, TypeError) as error:
                said = str(error) if isinstance(error, LessonError) else f"It cannot be written as {form}."
                raise LessonError(f"“{expression.text}”: {said}", expression.line) from None
        return found

    def markdown(self, filled: Filled, plain: Callable[[str], str]) -> str:
        """For a page that reads Markdown and LaTeX; `plain` makes of a value Markdown that shows it as it is."""
        return self._fill(self.marked, filled, plain, lambda latex, line: f"$${latex}$$" if line else f"${latex}$")

    def html(self, filled: Filled, formula: Callable[[str, bool], str] | None = None) -> str:
        """For a page of its own. `formula`: of its LaTeX, and whether it has a line of its own; else the LaTeX."""
        return self._fill(self.rendered, filled, escape, formula or (lambda latex, line: escape(latex)))

    def words(self, filled: Filled = ()) -> str:
        """Without marks, on one line."""
        html = self.html(filled or ["0"] * len(self.values))
        return " ".join(
            unescape(re.sub(r"<(/?(p|li|ul|ol|h\d|pre|t[drh]|blockquote)|br)[^>]*>|<[^>]*>", _space, html)).split()
        )

    def _fill(self, text: str, filled: Filled, plain: Callable[[str], str], formula: Callable[[str, bool], str]) -> str:
        def put(found: re.Match[str]) -> str:
            part = self.parts[int(found[1])]
            if isinstance(part, int):
                return plain(filled[part])
            return formula(
                "".join(each if isinstance(each, str) else _in_latex(filled[each]) for each in part[0]), part[1]
            )

        return _HOLE.sub(put, text).strip()

    @property
    def seconds(self) -> float:
        """To read it."""
        formulas = sum(isinstance(each, tuple) for each in self.parts)
        return 60 * len(self.words().split()) / WORDS_PER_MINUTE + SECONDS_PER_FORMULA * formulas


def prose(text: str, line: int = 0, pages: Sequence[str] = (), inline: bool = False) -> Prose:
    """`line`: where it begins. `pages`: of vizkit, to which it may link. `inline`: one paragraph alone.

    Raises LessonError with the line of what no lesson may have."""

    def at(found: re.Match[str]) -> int:
        return line + found.string[: found.start()].count("\n") if line else 0

    def hole(part: Any, found: re.Match[str]) -> str:
        parts.append(part)
        return f"\ue000{len(parts) - 1}\ue001" + "\n" * found[0].count("\n")  # every line keeps its number

    def value(inner: str, where: int) -> int:
        expression, _, form = inner.rpartition(":")
        if not expression or not readable(form.strip()):
            expression, form = inner, ""
        values.append((parse(expression, where), form.strip()))
        return len(values) - 1

    def formula(found: re.Match[str]) -> str:
        latex = found[1] or found[2]
        if unsafe := _LATEX.search(latex):
            raise LessonError(f"A formula may not have {unsafe[0]}.", at(found))
        split = enumerate(_IN_MATH.split(latex))
        return hole(
            (tuple(value(each, at(found)) if odd % 2 else each for odd, each in split), found[1] is not None), found
        )

    values, parts = list[tuple[Expression, str]](), list[Any]()
    if len(text) > LONGEST:
        raise LessonError(f"A text has at most {LONGEST} characters.", line)
    pipes = [row.count("|") for row in text.split("\n") if "|" in row]
    if max(pipes, default=0) * len(pipes) > MOST_CELLS:
        raise LessonError(f"The tables of a text have at most {MOST_CELLS:,} cells.", line)
    if hidden := _HIDDEN.search(text):
        raise LessonError(f"The character U+{ord(hidden[0]):04X} is seen by nobody, so no text has it.", at(hidden))
    if unsafe := _MARKS.search(text):
        raise LessonError(f"A text may not have {unsafe[0]}", at(unsafe))
    marked = _VALUE.sub(lambda found: hole(value(found[1], at(found)), found), _MATH.sub(formula, text))
    tokens = _markdown().parse(marked)
    for block in tokens:
        where = line + block.map[0] if line and block.map else line
        for token in (block, *(block.children or ())):
            if sentence := REFUSED.get(token.type) or REFUSED.get(token.tag):
                raise LessonError(sentence, where)
            href = str(token.attrs.get("href", "https://"))
            own = _PAGE.fullmatch(href) is not None and href.partition("?")[0] in pages
            if (not own and not _HTTPS.fullmatch(href)) or "%EE%80%80" in href:  # a value in it
                raise LessonError(f"A link leads to https or to a page of vizkit, not to “{href[:60]}”.", where)
    if inline and [token.type for token in tokens] != ["paragraph_open", "inline", "paragraph_close"]:
        raise LessonError("This is one paragraph: more stands in the text above the question.", line)
    rendered = _markdown().renderer.render(tokens, _markdown().options, {})
    return Prose(marked, str(rendered), tuple(values), tuple(parts))


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": True, "maxNesting": 20}).enable("table")  # what is found is refused
    reader.validateLink = lambda url: True
    return reader


def _space(found: re.Match[str]) -> str:
    """Between two paragraphs, none within one."""
    return " " if found[1] else ""


def _in_latex(value: str) -> str:
    if re.fullmatch(r"[+−\d.,e ]+%?", value):
        return value.replace("%", r"\%").replace(",", "{,}")
    words = re.sub(r"[^\w .,+−-]", "", value).replace("_", " ")
    return rf"\text{{{words}}}"
