"""What somebody would answer who expects no effect: the same expression of the unchanged model.

A question about a change asks how large its effect is. Whoever says "100 %" says that there is none, however near that
may lie; so judging measures a guess by the effect, and needs to know the number of none.
"""

import ast
from collections.abc import Mapping
from inspect import signature

from vizkit.lessons.expressions import Expression, known

NONE: Mapping[str, str] = {
    "overlap": "1",
    "correlation": "1",
    "survives": "1",
    "probability_without": "probability()",
}
"""By the words that compare two things the value for two that are the same."""


def without_effect(answer: Expression) -> Expression | None:
    """None of an expression in which nothing is changed or compared."""
    of_none = _OfNone()
    tree = of_none.visit(ast.parse(ast.unparse(answer.tree), mode="eval").body)
    return Expression(ast.unparse(tree), answer.line, tree) if of_none.found else None


class _OfNone(ast.NodeTransformer):
    found = False

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = ast.unparse(node.func)
        if name in NONE:
            self.found = True
            return ast.parse(NONE[name], mode="eval").body
        if name in known():
            self._undo(node, list(signature(known()[name]).parameters)[1:])
        self.generic_visit(node)
        return node

    def _undo(self, node: ast.Call, names: list[str]) -> None:
        """Without the changes among its arguments."""
        if "edits" in names and len(node.args) > (at := names.index("edits")):
            node.args, self.found = node.args[:at], True
        kept = [word for word in node.keywords if not _changes(word)]
        self.found = self.found or len(kept) < len(node.keywords)
        node.keywords = kept


def _changes(word: ast.keyword) -> bool:
    """Another model is no change, but the same one shuffled is."""
    from vizkit.lessons.vocabulary.asking import CHANGED

    named = word.value.id if isinstance(word.value, ast.Name) else getattr(word.value, "value", None)
    return word.arg == "edits" or (word.arg == "model" and named in CHANGED)
