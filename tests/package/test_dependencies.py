"""What is imported is declared: by plain `pip install .`, by the extra that promises the module, or for the tests."""

import ast
import sys
import tomllib
from functools import cache
from importlib import metadata

import pytest

from benchmarks.testing.extras import ROOT, declared, extra_of, files, name_of
from vizkit.__main__ import EXTRAS

OURS = {"vizkit", "pages", "app", "tests", "benchmarks", "vizkit_toy"}
BY_HAND = {"benchmarks/bundled/photographs_vit.py imports onnx"}  # by whoever makes a bundled model anew, as it says
IMPORTERS = ("import_module", "__import__", "find_spec", "importorskip")
NOT_IMPORTED = {
    "pdoc": "docs/reference.py",
    "pycocotools": "torchmetrics counts average precision with it",
    "ruff": "a command",
    "pyright": "a command",
    "ipykernel": "runs the notebook",
    "jinja2": "pandas colours the cells of tables with it",
    "tensorboard": "torch.utils.tensorboard",
}
INSTALLED = cache(metadata.packages_distributions)
TESTS = ("tests", "benchmarks")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def imported(tree):
    """(module, how) of every import: "top" runs when the file is imported, "inside" in a function; with "optional" the
    file itself knows what to do without. What is for types only never runs."""
    found, left = set(), [(tree, "top")]
    while left:
        node, how = left.pop()
        if isinstance(node, ast.Import):
            found |= {(alias.name, how) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {(f"{node.module}.{alias.name}", how) for alias in node.names}
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            if getattr(node.func, "attr", getattr(node.func, "id", "")) in IMPORTERS:
                found.add((str(node.args[0].value), how))
        elif isinstance(node, ast.FunctionDef | ast.Lambda):
            how = "inside" if how == "top" else how
        elif isinstance(node, ast.Try):
            caught = {ast.unparse(each.type) for each in node.handlers if each.type}
            how = "optional" if caught & {"ImportError", "ModuleNotFoundError"} else how
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        left += [(child, how) for child in ast.iter_child_nodes(node)]
    return {(name, how) for name, how in found if top(name) not in sys.stdlib_module_names}


def top(name):
    return name.partition(".")[0]


def brings(package):
    """The packages, by their names on the registry, that bring a module."""
    return {name_of(name) for name in INSTALLED().get(package, (package,))}


def read():
    """Module → what it imports: of the library, the app, the tests and the benchmarks."""
    paths = files(ROOT) | {str(file.relative_to(ROOT)): file for at in TESTS for file in ROOT.glob(f"{at}/**/*.py")}
    return {module: imported(ast.parse(path.read_text(encoding="utf-8"))) for module, path in paths.items()}


@pytest.fixture(scope="module")
def imports():
    return read()


def found(imports, **more):
    """What is missing where these modules are there too."""
    return undeclared(needs(imports | {name: imported(ast.parse(text)) for name, text in more.items()}), promises())


def promises():
    """Extra → the packages that it brings; "tests" is everything that a requirements file names."""
    lines = [line for file in ROOT.glob("requirements*.txt") for line in file.read_text().splitlines()]
    return {extra: declared(PROJECT, extra) for extra in ("", *PROJECT["optional-dependencies"])} | {
        "tests": {name_of(line) for line in lines if line and not line.startswith(("#", "-r "))}
    }


def at_import(module, imports):
    """Modules of ours that run when this one is imported, itself among them."""
    seen, left = set(), [module]
    while left:
        name = left.pop()
        while name and name not in imports:  # a name in a module
            name = name.rpartition(".")[0]
        if name and name not in seen:
            seen.add(name)
            left += [name.rpartition(".")[0], *(other for other, how in imports[name] if how == "top")]
    return seen


def needs(imports):
    """(extra, package, where a sentence says what is missing, a line that tells it) for all that runs."""
    of_others = {module: {(top(name), how) for name, how in names} for module, names in imports.items()}
    for module, names in of_others.items():
        extra = "tests" if module.startswith(TESTS) else extra_of(module)
        for name, how in names:
            said = how == "optional" or (how == "inside" and name in EXTRAS)
            yield extra, name, said, f"{module} imports {name}"
        for other in at_import(module, imports) if extra != "tests" else ():
            yield from (
                (extra, name, False, f"{module} imports {other} and with it {name}")
                for name, how in of_others[other]
                if how == "top" and other != module
            )


def undeclared(needs, brought):
    """A line for each import that nothing declares where its module is promised."""
    everything = set().union(*brought.values())
    return sorted(
        f"{line}, which [{extra}] does not bring"
        for extra, name, said, line in needs
        if name not in OURS and line not in BY_HAND and not brings(name) & (everything if said else brought[extra])
    )


@pytest.mark.rest
def test_every_import_is_declared(imports):
    assert found(imports) == []


@pytest.mark.rest
def test_whatever_is_no_longer_declared_is_missed(imports):
    """Each package in turn: so nothing is declared that nobody needs, but NOT_IMPORTED."""
    brought, needed = promises(), {(*need[:3], "") for need in needs(imports) if need[3] not in BY_HAND}
    silent = {
        package
        for package in set().union(*brought.values())
        if not undeclared(needed, {extra: names - {package} for extra, names in brought.items()})
    }
    assert silent == set(NOT_IMPORTED)


@pytest.mark.product
@pytest.mark.parametrize(
    "module, text, said",
    [
        ("vizkit.new", "import einops", "vizkit.new imports einops, which [] does not bring"),
        ("vizkit.new", "def f():\n    from einops import rearrange", "vizkit.new imports einops"),
        ("vizkit.new", "def f():\n    __import__('pandas')", "vizkit.new imports pandas"),
        ("vizkit.new", "from importlib.util import find_spec\nfind_spec('lxml')", "vizkit.new imports lxml"),
        ("vizkit.new", "import accelerate", "vizkit.new imports accelerate"),
        ("vizkit.new", "from vizkit.training import loop", "vizkit.new imports vizkit.training.loop and with it accel"),
        ("vizkit.training.new", "import streamlit", "which [train] does not bring"),
        ("vizkit.ui.new", "import transformers", "which [app] does not bring"),
        ("tests/test_new.py", "import lxml", "tests/test_new.py imports lxml, which [tests] does not bring"),
    ],
)
def test_an_import_that_nothing_declares_is_named(imports, module, text, said):
    assert said in "\n".join(found(imports, **{module: text}))


@pytest.mark.parametrize(
    "text",
    [
        "if TYPE_CHECKING:\n    import accelerate",
        "def f():\n    import accelerate",
        "import torch.nn",
        "def f():\n    try:\n        import pyarrow\n    except ImportError:\n        return",
    ],
)
def test_what_is_said_or_never_runs_is_no_matter(imports, text):
    assert found(imports, **{"vizkit.new": text}) == []


def test_the_extra_and_the_file_of_transformers_are_one():
    named = (ROOT / "requirements-transformers.txt").read_text().split()
    assert named == PROJECT["optional-dependencies"]["transformers"]


def test_an_extra_brings_what_plain_and_its_own_extras_bring():
    extras = {"b": ["scikit_learn[x]>=2"], "c": ["d<3", "vizkit[b]"]}
    project = {"dependencies": ["a"], "optional-dependencies": extras}
    assert [declared(project, extra) for extra in ("", "b", "c")] == [
        {"a"},
        {"a", "scikit-learn"},
        {"a", "scikit-learn", "d"},
    ]
