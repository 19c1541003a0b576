"""Texts of a lesson: Markdown of which nothing but what is named here reaches a reader, with formulas and with values
of the live model.

`{expression}` or `{expression:.1%}` stands for a value; within a formula, whose own braces are LaTeX's,
`{=expression}`. HTML, pictures, and links to anything but https and pages of vizkit are refused.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from vizkit.lessons.expressions import Expression, LessonError, Words, parse, readable, written

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode as Node

    from vizkit.views.subject import Subject

LONGEST = 6_000  # characters of one text
WORDS_PER_MINUTE, SECONDS_PER_FORMULA = 160, 8  # of a text that is studied
ALLOWED = {"root", "inline", "text", "softbreak", "hardbreak", "paragraph", "em", "strong", "code_inline", "link"}
LARGE = {"heading", "bullet_list", "ordered_list", "list_item", "blockquote", "fence", "code_block"}
MARKS = ("em", "strong", "link")
TABLE = {"table", "thead", "tbody", "tr", "th", "td"}
_PAGE = re.compile(r"[a-z_]+(\?[\w=&%.,:+-]*)?")  # of vizkit, with its settings as the address has them
_HTTPS = re.compile(r"https://([\w-]+\.)*[\w-]*(/[^\s<>\"'`()\\]*)?")
_MATH = re.compile(r"\$\$(.+?)\$\$|\$(?! )([^$\n]+?)(?<! )\$(?!\d)", re.DOTALL)
_VALUE, _IN_MATH = re.compile(r"\{([^{}\n]+)\}"), re.compile(r"\{=([^{}\n]+)\}")
_UNSAFE = re.compile(r"\\(href|url|include\w*|html\w*|[gex]?def|let|\w*command|input|write|require)")
_HOLE = re.compile("\ue000(\\d+)\ue001")
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b\u2028-\u202e\u2066-\u2069\ue000-\uf8ff\ufeff]")
Filled = Sequence[str]
"""The values of a text, in order, as they are written."""


def _as_typed(latex: str, display: bool) -> str:
    return f"$${latex}$$" if display else f"${latex}$"


@dataclass(frozen=True)
class Formula:
    """`parts`: LaTeX, and between it the numbers of values."""

    parts: tuple[str | int, ...]
    display: bool

    def latex(self, filled: Filled) -> str:
        return "".join(part if isinstance(part, str) else _in_latex(filled[part]) for part in self.parts)


@dataclass(frozen=True)
class Prose:
    """`text` as it was written; `holes`: what stands in `tree` for them, a formula or the number of a value."""

    text: str
    values: tuple[tuple[Expression, str], ...]
    holes: tuple[int | Formula, ...]
    tree: "Node"

    def filled(self, of: "Subject", words: Words | None = None, **given: Any) -> Filled:
        """The values of this model and picture. Raises LessonError, NotApplicable."""
        found = []
        for expression, form in self.values:
            value = expression.value(of, words, **given)
            try:
                found.append(written(value, form))
            except (ValueError, TypeError) as error:
                said = str(error) if isinstance(error, LessonError) else f"It cannot be written as {form}."
                raise LessonError(f"“{expression.text}”: {said}", expression.line) from None
        return found

    def markdown(self, filled: Filled, plain: Callable[[str], str]) -> str:
        """For a page that reads Markdown and LaTeX; `plain` makes of a text Markdown that shows it as it is."""
        return _Marked(self, filled, plain).node(self.tree).strip()

    def html(self, filled: Filled) -> str:
        """For a page of its own, where a formula is its LaTeX."""
        return _Html(self, filled, escape).node(self.tree).strip()

    def words(self, filled: Filled = ()) -> str:
        """Without marks, on one line."""
        values = filled or ["0"] * len(self.values)
        texts = ("text", "code_inline", "fence", "code_block")
        parts = (
            self.fill(each.content, values, str) if each.type in texts else " " * (each.type not in MARKS)
            for each in self.tree.walk()
        )
        return " ".join("".join(parts).split())

    def fill(
        self, text: str, filled: Filled, written: Callable[[str], str], formula: Callable[[str, bool], str] = _as_typed
    ) -> str:
        """A text of the tree, with what stands in its holes."""

        def put(number: int, part: str) -> str:
            if number % 2 == 0:
                return written(part)
            hole = self.holes[int(part)]
            return written(filled[hole]) if isinstance(hole, int) else formula(hole.latex(filled), hole.display)

        return "".join(put(number, part) for number, part in enumerate(_HOLE.split(text)))

    @property
    def seconds(self) -> float:
        """To read it."""
        formulas = sum(isinstance(each, Formula) for each in self.holes)
        return 60 * len(self.words().split()) / WORDS_PER_MINUTE + SECONDS_PER_FORMULA * formulas


def prose(text: str, line: int = 0, pages: Sequence[str] = (), inline: bool = False) -> Prose:
    """`line`: where it begins. `pages`: of vizkit, to which it may link. `inline`: a sentence alone.

    Raises LessonError with the line of what no lesson may have."""
    from markdown_it.tree import SyntaxTreeNode

    if len(text) > LONGEST:
        raise LessonError(f"A text has at most {LONGEST} characters.", line)
    values: list[tuple[Expression, str]] = []
    holes: list[int | Formula] = []

    def at(found: re.Match[str]) -> int:
        return line + found.string[: found.start()].count("\n") if line else 0

    def hole(what: int | Formula, found: re.Match[str]) -> str:
        holes.append(what)
        return f"\ue000{len(holes) - 1}\ue001" + "\n" * found[0].count("\n")  # every line keeps its number

    def value(inner: str, where: int) -> int:
        expression, _, form = inner.rpartition(":")
        if not expression or not readable(form.strip()):
            expression, form = inner, ""
        values.append((parse(expression, where), form.strip()))
        return len(values) - 1

    def formula(found: re.Match[str]) -> str:
        latex, where = found[1] or found[2], at(found)
        if unsafe := _UNSAFE.search(latex):
            raise LessonError(f"A formula may not have {unsafe[0]}.", where)
        parts = [part if number % 2 == 0 else value(part, where) for number, part in enumerate(_IN_MATH.split(latex))]
        return hole(Formula(tuple(parts), found[1] is not None), found)

    if hidden := _HIDDEN.search(text):
        raise LessonError(f"The character U+{ord(hidden[0]):04X} is seen by nobody, so no text has it.", at(hidden))
    marked = _MATH.sub(formula, text)
    marked = _VALUE.sub(lambda found: hole(value(found[1], at(found)), found), marked)
    tree = SyntaxTreeNode(_markdown().parse(marked))
    _refuse(tree, line, pages, ALLOWED if inline else ALLOWED | LARGE | TABLE)
    if inline and len(tree.children) > 1:
        raise LessonError("This is one paragraph: more stands in the text above the question.", line)
    return Prose(text, tuple(values), tuple(holes), tree)


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": True, "maxNesting": 20}).enable("table")  # what is found is refused
    reader.validateLink = lambda url: True
    return reader


def _refuse(node: "Node", line: int, pages: Sequence[str], allowed: set[str]) -> None:
    for each in node.walk():
        href = str(each.attrs.get("href", "")) if each.type == "link" else "https://"
        own = _PAGE.fullmatch(href) is not None and href.partition("?")[0] in pages
        if each.type.startswith("html"):
            raise LessonError(f"HTML is not shown: “{each.content.strip()[:40]}”.", _line(each, line))
        if each.type == "image":
            raise LessonError("A lesson has no pictures of its own: a view shows one.", _line(each, line))
        if each.type not in allowed:
            raise LessonError(f"A {each.type.replace('_', ' ')} cannot stand here.", _line(each, line))
        if not own and not _HTTPS.fullmatch(href):
            raise LessonError(f"A link leads to https or to a page of vizkit, not to “{href[:60]}”.", _line(each, line))


def _line(node: "Node", line: int) -> int:
    """Of a part of a paragraph that of the paragraph."""
    while not node.is_root and not node.map and node.parent is not None:
        node = node.parent
    return line + node.map[0] if line and not node.is_root and node.map else line


def _in_latex(value: str) -> str:
    if re.fullmatch(r"[+−\d.,e ]+%?", value):
        return value.replace("%", r"\%").replace(",", "{,}")
    words = re.sub(r"[^\w .,+−-]", "", value).replace("_", " ")
    return rf"\text{{{words}}}"


@dataclass(frozen=True)
class _Written:
    """One way to write the tree; `plain`: of text."""

    prose: Prose
    filled: Filled
    plain: Callable[[str], str]

    def node(self, node: "Node") -> str:
        return getattr(self, f"_{node.type}")(node)

    def inside(self, node: "Node", between: str = "") -> str:
        return between.join(map(self.node, node.children))

    _inline = _root = inside


class _Marked(_Written):
    """As Markdown that says the same to every reader of it."""

    def _root(self, node: "Node") -> str:
        return self.inside(node, "\n\n")

    _paragraph = _Written.inside

    def _text(self, node: "Node") -> str:
        return self.prose.fill(node.content, self.filled, self._spaced)

    def _spaced(self, text: str) -> str:
        core = text.strip()
        if not core:
            return text
        before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        return f"{before}{self.plain(core)}{after}"

    def _softbreak(self, node: "Node") -> str:
        return " "

    def _hardbreak(self, node: "Node") -> str:
        return "  \n"

    def _em(self, node: "Node") -> str:
        return f"*{self.inside(node)}*"

    def _strong(self, node: "Node") -> str:
        return f"**{self.inside(node)}**"

    def _link(self, node: "Node") -> str:
        return f"[{self.inside(node)}]({node.attrs['href']})"

    def _code_inline(self, node: "Node") -> str:
        inner = self.prose.fill(node.content, self.filled, str)
        marks = "`" * (1 + max(map(len, re.findall("`+", inner)), default=0))
        return f"{marks} {inner} {marks}" if "`" in inner else f"{marks}{inner}{marks}"

    def _fence(self, node: "Node") -> str:
        inner = self.prose.fill(node.content, self.filled, str)
        marks = "`" * max(3, 1 + max(map(len, re.findall("`+", inner)), default=0))
        return f"{marks}text\n{inner}{marks}"

    _code_block = _fence

    def _heading(self, node: "Node") -> str:
        return f"#### {self.inside(node)}"

    def _list_item(self, node: "Node") -> str:
        return self.inside(node, "\n\n").replace("\n", "\n   ")

    def _bullet_list(self, node: "Node") -> str:
        return "\n".join(f"-  {self.node(item)}" for item in node.children)

    def _ordered_list(self, node: "Node") -> str:
        return "\n".join(f"{number}. {self.node(item)}" for number, item in enumerate(node.children, 1))

    def _blockquote(self, node: "Node") -> str:
        return "> " + self.inside(node, "\n\n").replace("\n", "\n> ")

    def _table(self, node: "Node") -> str:
        rows = [each for each in node.walk() if each.type == "tr"]
        lines = [f"| {' | '.join(self.inside(cell) for cell in row.children)} |" for row in rows]
        return "\n".join([lines[0], "|" + " --- |" * len(rows[0].children), *lines[1:]])


def _formula(latex: str, display: bool) -> str:
    return f"<span class='{'display ' if display else ''}formula'>{escape(latex)}</span>"


class _Html(_Written):
    """As HTML of a few elements, with the address of a link and no other attribute."""

    def node(self, node: "Node") -> str:
        inner = self.inside(node)
        match node.type:
            case "root" | "inline":
                return inner
            case "text":
                return self.prose.fill(node.content, self.filled, escape, _formula)
            case "softbreak":
                return " "
            case "hardbreak":
                return "<br>"
            case "code_inline" | "fence" | "code_block":
                code = f"<code>{escape(self.prose.fill(node.content, self.filled, str))}</code>"
                return code if node.type == "code_inline" else f"<pre>{code}</pre>"
            case "link":
                return f"<a href='{escape(str(node.attrs['href']))}' rel='noreferrer'>{inner}</a>"
            case "heading":
                return f"<h4>{inner}</h4>"
        tags = {"paragraph": "p", "bullet_list": "ul", "ordered_list": "ol", "list_item": "li"}
        tag = tags.get(node.type, node.type)
        return f"<{tag}>{inner}</{tag}>"
