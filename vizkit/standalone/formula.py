"""LaTeX as MathML, which every browser draws without a script."""

import re
from html import escape
from xml.etree import ElementTree

ELEMENTS = re.compile("math|m[a-z]+")  # none of HTML's
ATTRIBUTES = re.compile(
    "display(style)?|accent|stretchy|fence|form|separator|width|(l|r)space|movablelimits|scriptlevel|mathvariant|"
    "(min|max)size|linethickness|columnalign"
)
NAMESPACE = ' xmlns="http://www.w3.org/1998/Math/MathML"'


def mathml(latex: str, line: bool) -> str:
    """`line`: whether it has one of its own. The text itself where it cannot be read; whoever wrote it, no other
    element and no other attribute comes of it."""
    from latex2mathml.converter import convert

    try:
        drawn = convert(latex, display="block" if line else "inline").replace(NAMESPACE, "")
        root = ElementTree.fromstring(drawn)
    except Exception:
        return f"<code>{escape(latex)}</code>"
    safe = all(ELEMENTS.fullmatch(each.tag) and all(map(ATTRIBUTES.fullmatch, each.attrib)) for each in root.iter())
    return ElementTree.tostring(root, encoding="unicode") if safe else f"<code>{escape(latex)}</code>"
