"""What a module offers: every name in `__all__` exists, and a `_private` name stays in its module."""

import ast
from importlib import import_module

import pytest

from tests.test_imports import ROOT, files, imports


def missing(root):
    """As "module.name": names in `__all__` that the module neither defines nor imports."""
    for module, path in files(root).items():
        body = ast.parse(path.read_text(encoding="utf-8")).body
        offered = [ast.literal_eval(node.value) for node in body
                   if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"]  # fmt: skip
        defined = {name for node in body for name in names_of(node)}
        if "__getattr__" not in defined:  # vizkit/__init__.py imports a name when it is used
            yield from (f"{module}.{name}" for names in offered for name in names if name not in defined)


def names_of(node):
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).split(".")[0] for alias in node.names]
    return [name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)]


def private(root):
    """As "importer → module._name": where one of our modules imports the private name of another one."""
    for module, path in files(root).items():
        for imported in imports(module, path):
            origin, _, name = imported.rpartition(".")
            if origin.split(".")[0] == "vizkit" and name.startswith("_") and not name.endswith("__"):
                yield f"{module} → {imported}"


def test_offered_names_exist():
    assert list(missing(ROOT)) == []
    lazy = import_module("vizkit")
    assert [name for name in lazy.__all__ if not hasattr(lazy, name)] == []


def test_private_names_stay_in_their_module():
    assert list(private(ROOT)) == []


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (missing, '__all__ = ["MOST", "gone"]\nMOST = 1\ndef here(): ...'),
        (private, "from vizkit.image import _secret"),
        (private, "def f():\n    from .image import _secret"),
    ],
)
def test_the_checker_of_names_can_fail(tmp_path, check, text):
    path = tmp_path / "vizkit" / "saving.py"
    path.parent.mkdir()
    path.write_text(
        'from vizkit.image import open_image\n__all__ = ["MOST", "here", "open_image"]\nMOST = 1\ndef here(): ...'
    )
    assert not list(check(tmp_path))
    path.write_text(text)
    assert len(list(check(tmp_path))) == 1
