"""The rules of ARCHITECTURE.md: who may import whom, what stays light, how long files are, what is private."""

import ast
import subprocess
import sys
from collections import Counter
from fnmatch import fnmatch
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import networkx
import pytest

ROOT = Path(__file__).parents[1]

RANKS = {  # imports point down only; rooms of one rank never import one another
    "vizkit.settings": 0,
    "vizkit.writing": 0,
    "vizkit.shortage": 0,
    "vizkit.device": 0,
    "vizkit.work_folder": 1,
    "vizkit.check": -1,
    "vizkit.traces": 0,
    "vizkit.geometry": 1,
    "vizkit.percent": -1,
    "vizkit.heads": 0,
    "vizkit.vocabulary": 0,
    "vizkit.decoding": 0,
    "vizkit.isolated": 0,
    "vizkit.isolated_decoding": 1,
    "vizkit.tokenizing": 1,
    "vizkit.image": 2,
    "vizkit.models": 3,
    "vizkit.analysis": 3,
    "vizkit.figure": 3,
    "vizkit.datasets": 3,
    "vizkit.saving": 4,
    "vizkit.interventions": 4,
    "vizkit.scoring": 5,
    "vizkit.explanations": 6,
    "vizkit.training": 4,
    "vizkit.evaluation": 7,
    "vizkit.standalone": 4,
    "vizkit.from_json": 0,
    "vizkit.views": 8,
    "vizkit.hosts": 9,
    "vizkit.report": 10,
    "vizkit.lessons": 10,
    "vizkit.commands": 11,
    "vizkit.ui": 11,
    "vizkit.__main__": 12,
    "pages": 12,
    "app": 13,
}
FLOORS = {  # the same within a room, by the beginning of what follows its name; "" is the rest
    "vizkit.models": {
        "networks": 0,
        "sources": 1,
        "trained_folder": 2,
        "recording": 2,
        "families": 3,
        "probes": 4,
        "": 5,
        "sequences": 5,
        "super_resolution": 5,
        "detection": 5,
        "catalogue": 6,
    },
    "vizkit.analysis": {
        "attention": 0,
        "comparison": 0,
        "convolution": 0,
        "attribution": 1,
        "distillation": 1,
        "features": 1,
        "tuning": 1,
        "sequences": 1,
        "super_resolution": 1,
        "detection": 1,
        "swin": 2,
        "trust": 2,
        "remarks": 3,
        "": 4,
    },
    "vizkit.figure": {
        "": 0,
        "canvas": 1,
        "attention": 2,
        "convolution": 2,
        "distillation": 2,
        "evaluation": 2,
        "saved": 2,
        "swin": 2,
        "training": 2,
        "architecture": 3,
        "detection": 3,
        "features": 3,
        "sequences": 3,
    },
    "vizkit.report": {"item": 3, "": 4},
    "vizkit.training": {
        "recipe": 0,
        "distillation": 1,
        "tuning": 1,
        "pictures": 2,
        "evaluating": 3,
        "runs": 4,
        "task": 5,
        "sequences": 6,
        "super_resolution": 6,
        "detection": 6,
        "": 7,
        "experiments": 8,
    },
    "vizkit.ui": {
        "plain": 0,
        "": 1,
        "session": 2,
        "sidebar": 3,
        "widgets": 4,
        "asking": 5,
        "drawing": 6,
        "host": 7,
        "views": 8,
        "pages": 9,
    },
}
ONLY_IN = {  # a package and the modules that may import it
    "timm": ("vizkit.models*", "vizkit.training*", "vizkit.datasets*"),
    "torchvision": ("vizkit.models*", "vizkit.training*", "vizkit.datasets*"),
    "cv2": ("vizkit.figure*", "vizkit.datasets.insects*", "vizkit.datasets.scenes.drawing"),
    "plotly": ("vizkit.figure*",),
    "captum": ("vizkit.analysis.attribution.input_attribution",),
    "streamlit": ("app", "pages*", "vizkit.ui*"),
    "sklearn": ("vizkit.datasets*", "vizkit.training*", "vizkit.evaluation*"),
    "torchmetrics": ("vizkit.evaluation*", "vizkit.models.detection.precision"),
}
HEAVY = ("torch", "timm", "torchvision", "sklearn", "cv2", "captum")
NAMES_THAT_SAY_NOTHING = {"utils", "helpers", "common", "core", "base", "misc"}
LONGEST, ABSOLUTELY_LONGEST = 300, 400  # lines, as the formatter sets them
FULLEST = 20  # files of one folder


def files(root):
    """Module name → file, of the library, the pages and the app."""
    found = [*root.glob("vizkit/**/*.py"), *root.glob("pages/*.py"), *root.glob("app.py")]
    return {".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path for path in found}


def imports(module, path):
    """What a file imports anywhere, also inside functions, for types only, or by a literal name at run time."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return imports_of(path.read_text(encoding="utf-8"), package)


@cache
def imports_of(text, package):
    return list(_imports(text, package.split(".")))


def _imports(text, package):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*start, *([node.module] if node.module else [])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                yield node.args[0].value


def room(module):
    return next((name for name in RANKS if within(module, name)), None)


def within(module, name):
    return module == name or module.startswith(f"{name}.")


def floor(module, home):
    """Of a module in a room with floors: the longest beginning that is named."""
    rest = module.removeprefix(home).removeprefix(".")
    return max((name for name in FLOORS[home] if not name or within(rest, name)), key=len)


def page(module):
    """The page package that a module belongs to, "" for all others."""
    return module.split(".")[3] if module.startswith("vizkit.ui.pages.") else ""


def upward(module, imported):
    home, target = room(module), room(imported)
    if None in (home, target):
        return False
    if home != target:
        return RANKS[target] >= RANKS[home]
    if home not in FLOORS:
        return False
    own, other = floor(module, home), floor(imported, home)
    return own != other and FLOORS[home][other] >= FLOORS[home][own]


def violations(root):
    """Every import that a rule forbids, as "importer → imported"."""
    for module, path in files(root).items():
        for imported in imports(module, path):
            package = imported.split(".")[0]
            stranger = package in ONLY_IN and not any(fnmatch(module, allowed) for allowed in ONLY_IN[package])
            neighbour = page(module) and page(imported) and page(module) != page(imported)
            if upward(module, imported) or stranger or neighbour:
                yield f"{module} → {imported}"


def circle(root):
    """Modules of which each imports the one before it, the last also being the first; [] where there are none."""
    known = files(root)
    graph = {}
    for module, path in known.items():
        graph[module] = set()
        for imported in imports(module, path):
            while imported and imported not in known:  # a name in a module
                imported = imported.rpartition(".")[0]
            graph[module] |= {imported} - {module, ""}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def drawing(root):
    """The rooms and what they import, as Mermaid; an import that follows from two others is left out."""
    graph = networkx.DiGraph()
    for module, path in files(root).items():
        for imported in imports(module, path):
            home, target = room(module), room(imported)
            if home and target and home != target:
                graph.add_edge(home, target)
    arrows = sorted(networkx.transitive_reduction(graph).edges, key=lambda arrow: (-RANKS[arrow[0]], *arrow))
    short = {name: name.removeprefix("vizkit.") for name in RANKS}
    return "\n".join(["flowchart TD", *(f"    {short[home]} --> {short[target]}" for home, target in arrows)])


def crowded(root):
    """Folders with more files than one sees at a glance."""
    counts = Counter(path.parent for top in ("vizkit", "tests") for path in root.glob(f"{top}/**/*.py"))
    return {str(folder.relative_to(root)): count for folder, count in counts.items() if count > FULLEST}


def test_imports_point_down():
    assert sorted(set(violations(ROOT))) == []


def test_imports_go_in_no_circle():
    assert circle(ROOT) == []


def test_the_drawing_of_the_imports_is_todays():
    text = (ROOT / "docs" / "imports.md").read_text(encoding="utf-8")
    assert drawing(ROOT) == text.partition("```mermaid\n")[2].partition("\n```")[0]


def test_the_drawing_changes_with_an_import(tmp_path):
    (tmp_path / "vizkit").mkdir()
    (tmp_path / "vizkit/saving.py").write_text("from vizkit.models import load\nfrom vizkit.traces import Trace\n")
    (tmp_path / "vizkit/models.py").write_text("from vizkit.traces import Trace\n")
    assert drawing(tmp_path) == "flowchart TD\n    saving --> models\n    models --> traces"


def test_folders_are_not_crowded():
    assert crowded(ROOT) == {}


def test_every_module_has_a_room():
    assert [module for module in files(ROOT) if room(module) is None and module != "vizkit"] == []


@pytest.mark.parametrize(
    "file, line",
    [
        ("vizkit/traces.py", "from vizkit.geometry import cell_of"),
        ("vizkit/models/families/vit.py", "from vizkit.analysis.attribution.rollout import rollout"),
        ("vizkit/models/families/vit.py", "def f():\n    import vizkit.analysis"),
        ("vizkit/models/families/vit.py", "from ... import figure"),
        ("vizkit/analysis/attribution/rollout.py", "from vizkit.models import load"),
        (
            "vizkit/analysis/attribution/rollout.py",
            "from importlib import import_module\nimport_module('vizkit.figure')",
        ),
        ("vizkit/figure/overlay.py", "from vizkit import analysis"),
        ("vizkit/geometry.py", "from vizkit.ui import shell"),
        ("vizkit/training/loop.py", "if TYPE_CHECKING:\n    from vizkit.ui import shell"),
        ("vizkit/ui/shell.py", "import pages.explore"),
        ("vizkit/image.py", "import streamlit as st"),
        ("vizkit/analysis/attribution/rollout.py", "import timm"),
        ("vizkit/datasets/digits.py", "import cv2"),
        ("vizkit/ui/pages/explore/page.py", "from plotly import graph_objects"),
        ("vizkit/analysis/attribution/rollout.py", "import captum.attr"),
        ("pages/explore.py", "import torchvision"),
    ],
)
def test_the_checker_can_fail(tmp_path, file, line):
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text("from vizkit.traces import Trace\n" if "traces.py" not in file else "")
    assert not list(violations(tmp_path))
    path.write_text(line)
    assert list(violations(tmp_path))


@pytest.mark.parametrize(
    "file, line",
    [
        ("vizkit/models/networks/sizes.py", "from vizkit.models.probes import cost"),
        ("vizkit/models/sources/hub.py", "from vizkit.models import load"),
        ("vizkit/models/recording/weights.py", "from vizkit.models.families.vit import has"),
        ("vizkit/analysis/attention/fusion.py", "from vizkit.analysis.swin import total_variation"),
        ("vizkit/analysis/swin/total_variation.py", "from vizkit.analysis.trust.road import filled"),
        ("vizkit/figure/palette.py", "from vizkit.figure.swin import reach"),
        ("vizkit/figure/swin/reach.py", "from vizkit.figure.attention import matrix"),
        ("vizkit/training/recipe.py", "def f():\n    from vizkit.training.runs import folder"),
        ("vizkit/ui/plain.py", "from vizkit.ui import reading"),
        ("vizkit/ui/session/columns.py", "from vizkit.ui.widgets import stage"),
        ("vizkit/ui/session/columns.py", "from vizkit.ui.sidebar import inputs"),
        ("vizkit/ui/widgets/stage.py", "from vizkit.ui.pages.explore import page"),
        ("vizkit/ui/pages/train/model.py", "from vizkit.ui.pages.report.linked import tile"),
        ("vizkit/ui/pages/train/model.py", "from vizkit.ui.pages import explore"),
    ],
)
def test_the_checker_of_floors_and_pages_can_fail(tmp_path, file, line):
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text("from vizkit.settings import settings\n")
    assert not list(violations(tmp_path))
    path.write_text(line)
    assert list(violations(tmp_path))


@pytest.mark.parametrize(
    "back", ["from vizkit.image import read", "def f():\n    from vizkit import image", "import vizkit.image as image"]
)
def test_the_checker_of_circles_can_fail(tmp_path, back):
    package = tmp_path / "vizkit"
    package.mkdir()
    for name, line in (
        ("__init__", ""),
        ("image", "import vizkit.saving"),
        ("saving", "from vizkit.writing import write"),
    ):
        (package / f"{name}.py").write_text(line)
    (package / "writing.py").write_text("import os")
    assert circle(tmp_path) == []
    (package / "writing.py").write_text(back)
    assert {"vizkit.image", "vizkit.saving", "vizkit.writing"} == set(circle(tmp_path))


def test_the_checker_of_crowds_can_fail(tmp_path):
    folder = tmp_path / "vizkit" / "figure"
    folder.mkdir(parents=True)
    for number in range(FULLEST):
        (folder / f"figure{number}.py").touch()
    (folder / "style.css").touch()
    assert crowded(tmp_path) == {}
    (folder / "one_more.py").touch()
    assert crowded(tmp_path) == {"vizkit/figure": FULLEST + 1}


def heavy_after(statement):
    code = f"import sys; {statement}; print([name for name in {HEAVY} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return run.stdout.strip()


@pytest.mark.parametrize(
    "module",
    [
        "vizkit",
        "vizkit.__main__",
        "vizkit.ui.shell",
        "vizkit.ui.session.model_names",
        "vizkit.analysis.attribution.methods",
        ", ".join(f"vizkit.ui.pages.{path.parent.name}" for path in sorted(ROOT.glob("vizkit/ui/pages/*/__init__.py"))),
        "vizkit.views",
    ],
)
def test_import_is_light(module):
    """The first page appears before torch is there."""
    assert heavy_after(f"import {module}") == "[]"


def test_the_first_picture_is_drawn_before_torch_is_there(tmp_path, monkeypatch):
    """The whole page up to the recording, as the bare address asks for it, and from whatever folder it is started."""
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path))
    page = f"""
import os
import streamlit as st
from streamlit.testing.v1 import AppTest
from vizkit.ui.pages.explore import first
first.show = st.stop
os.chdir({str(tmp_path)!r})
test = AppTest.from_file({str(ROOT / "app.py")!r}, default_timeout=300).run()
assert not test.exception and test.title[0].value == "Explore"
"""
    assert heavy_after(f"exec({page!r})") == "[]"


@pytest.mark.rest
def test_lightness_test_can_fail():
    assert heavy_after("import vizkit.traces") == "['torch']"


def test_files_are_short():
    lines = {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in files(ROOT).items()}
    print("above the ceiling:", {module: count for module, count in lines.items() if count > LONGEST})
    assert {module: count for module, count in lines.items() if count > ABSOLUTELY_LONGEST} == {}


def test_names_say_something():
    assert [module for module in files(ROOT) if NAMES_THAT_SAY_NOTHING & set(module.split("."))] == []


def test_pages_start_with_the_guard():
    """Streamlit may run a page without app.py; see `vizkit.ui.shell.ensure_shell`."""
    for path in ROOT.glob("pages/*.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        statements = [
            node for node in body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        ]
        guard = [ast.unparse(node) for node in statements[:2]]
        assert guard == ["from vizkit.ui.shell import ensure_shell", "ensure_shell()"], path.name


# ---- names: all in `__all__` exist, a `_private` one stays in its module ---------------------------------------------
def missing_names(root):
    """As "module.name": names in `__all__` that the module neither defines nor imports."""
    for module, path in files(root).items():
        body = ast.parse(path.read_text(encoding="utf-8")).body
        offered = [
            ast.literal_eval(node.value)
            for node in body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        ]
        defined = {name for node in body for name in bound_names(node)}
        if "__getattr__" not in defined:  # vizkit/__init__.py imports a name when it is used
            yield from (f"{module}.{name}" for names in offered for name in names if name not in defined)


def bound_names(node):
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).split(".")[0] for alias in node.names]
    return [name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)]


def private_imports(root):
    """As "importer → module._name": where one of our modules imports the private name of another one."""
    for module, path in files(root).items():
        for imported in imports(module, path):
            origin, _, name = imported.rpartition(".")
            if origin.split(".")[0] == "vizkit" and name.startswith("_") and not name.endswith("__"):
                yield f"{module} → {imported}"


def test_offered_names_exist():
    assert list(missing_names(ROOT)) == []
    lazy = import_module("vizkit")
    assert [name for name in lazy.__all__ if not hasattr(lazy, name)] == []


def test_private_names_stay_in_their_module():
    assert list(private_imports(ROOT)) == []


@pytest.mark.parametrize(
    "check, text",
    [
        (missing_names, '__all__ = ["MOST", "gone"]\nMOST = 1\ndef here(): ...'),
        (private_imports, "from vizkit.image import _secret"),
        (private_imports, "def f():\n    from .image import _secret"),
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


@pytest.mark.rest
def test_a_first_picture_needs_no_compiler():
    """torch's compiler takes as long to import as torch and timm together. What was put in its place is gone."""
    code = """
import sys, numpy, torch, vizkit.models as models
from vizkit.models.probes.budget import weights_bytes
for name in ("insects_vit", "insects_swin"):
    loaded = models.load(f"bundled:{name}")
    models.trace(loaded, numpy.zeros((112, 112, 3), "uint8")), weights_bytes(loaded)
print("torch._dynamo" in sys.modules)
from torchvision.ops import roi_align as operation
from torch._dynamo.utils import is_compile_supported
print(operation.__globals__["is_compile_supported"]("cpu") == is_compile_supported("cpu"))
print(torch.compiler.disable.__module__, sys.modules["torch._dynamo.utils"].__file__ is not None)
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True", "torch.compiler", "True"]


def test_a_card_and_the_thumbnails_are_sent_without_pandas():
    """Streamlit imports it, which takes a second before the first picture, to look for tables in lists."""
    code = """
import sys
from streamlit.components.v2.bidi_component import serialization
from streamlit.proto.BidiComponent_pb2 import BidiComponent
import vizkit.ui.sidebar.strip as strip, vizkit.ui.widgets.stage as stage
from vizkit.ui.pages.explore.first import as_book, load
sent = []
strip.STRIP = lambda **given: sent.append(given["data"])
stage.STAGE = lambda key, data, **tells: sent.append(data)
strip.strip(["mayfly nymph"], {}, None, print)
for parts in load().values():
    stage.stage("key", as_book(parts, {}), "", {}, print)
for data in sent:
    serialization.serialize_mixed_data(data, BidiComponent())
print(len(sent), "pandas" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["2", "False"]
