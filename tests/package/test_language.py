"""What people read is textbook English: words and turns that only we used are not in any sentence of the program.

Read are all texts of code (of docstrings those of commands), of the canvases too, the course of lessons, the guides and
the notebooks.
"""

import ast
import json
import re
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
    r"(?<![\w.`{/-])pictures?(?![\w=(`}]|\.\w|: sample)": "image of what a model sees, figure or map of what we draw",
}
"""What may not be said, with what says it."""
NAMES = {
    *("another picture", "picture of the sidebar", "Tell pictures apart", "Enlarge pictures"),
    *("Your pictures", "Whole picture", "picture and models", "picture ", "picture is sample: and one of "),
    "picture pixels",
}
"""Of options, views and places in links and files of earlier versions, of the fields of a lesson and of styles: no
sentences."""


def texts_of_python(path):
    """Without docstrings but those of commands, which are their help, without types, axes of arrays, and texts without
    a space, which are names."""
    tree, told = ast.parse(path.read_text(encoding="utf-8")), "commands" in path.parts
    aside = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and not told}
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            aside |= {id(each) for each in ast.iter_child_nodes(node.slice)}
        elif isinstance(node, ast.FunctionDef):
            aside.add(id(node.returns))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in aside:
            text = re.sub(r"^ {8}\w+: ", "", node.value, flags=re.MULTILINE)  # of an option
            yield from [(node.lineno, text)] if " " in text and text not in NAMES else []


def texts_of_canvas(path):
    for line, code in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for _, text in re.findall(r"(['\"`])(.*?)\1", re.sub(r"(^|\s)//.*|/\*.*?\*/", "", code)):
            if " " in text and text not in NAMES:
                yield line, re.sub(r"\$\{[^}]*\}", "", text)


def texts_of_notebook(path):
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"], 1):
        if cell["cell_type"] == "markdown":
            yield number, "".join(cell["source"])


def texts_of_guide(path):
    yield from enumerate(path.read_text(encoding="utf-8").splitlines(), 1)


READ = {
    ".py": texts_of_python,
    ".js": texts_of_canvas,
    ".css": texts_of_canvas,
    ".ipynb": texts_of_notebook,
    ".md": texts_of_guide,
}


def everything():
    files = (path for folder in ("vizkit", "pages", "docs") for path in sorted((ROOT / folder).rglob("*")))
    for path in (ROOT / "README.md", ROOT / "app.py", *files):
        for line, text in READ[path.suffix](path) if path.suffix in READ else ():
            yield f"{path.relative_to(ROOT)}:{line}", text


def private(texts):
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
    "words",
    ["The answers hang on it alone.", "Where it errs among them.", "A and B told c apart by", "Your picture: a"],
)
def test_private_words_are_noticed(words, tmp_path):
    written = {
        ".py": f'"""Docs: hang on it."""\n\nSAID = "{words}"\nROWS: Float[Array, "picture row"]\n',
        ".js": f"// a picture\nlabel.textContent = `{words}`; image.className = 'picture'\n",
        ".css": f"/* a picture */ .picture::after {{ content: '{words}' }}\n",
        ".ipynb": json.dumps({"cells": [{"cell_type": "markdown", "source": [words]}]}),
        ".md": f"{words}\n\npicture: sample:digit 3\n",
    }
    for suffix, text in written.items():
        path = tmp_path / f"new{suffix}"
        path.write_text(text, encoding="utf-8")
        assert len(private((str(line), said) for line, said in READ[suffix](path))) == 1
