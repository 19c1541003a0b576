"""Whether each way to install vizkit brings what it promises: `make extras`, a step of CI.

    python -m benchmarks.testing.extras

The wheel goes into an empty environment as `.`, which grows to `.[train]` and to `.[app]`. After each step every module
that it adds is imported there, and what the next steps bring is not there yet. PyTorch with its libraries, 5 GB, is
linked from the environment that runs this, so the versions of requirements.lock have to be installed here; all else is
truly installed.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROMISED = {
    "train": ("vizkit.training", "vizkit.evaluation"),
    "app": ("vizkit.ui", "pages", "app"),
    "": ("vizkit",),
}
"""Extra → packages that work with it; a module belongs to the first that names it, "" is plain `pip install .`."""
EXTENDED = ("", "train", "app")
HEAVY = re.compile(r"torch|torchvision|triton|nvidia-.*|cuda-.*")
BROUGHT = {"jinja2"}  # by torch itself
IMPORT_ALL = """
import importlib, json, sys, traceback
failed = {}
for name in json.loads(sys.argv[1]):
    try:
        importlib.import_module(name)
    except BaseException as error:
        failed[name] = f"{type(error).__name__}: {error}"
present = [name for name in json.loads(sys.argv[2]) if importlib.util.find_spec(name)]
print(json.dumps([failed, present, importlib.import_module("vizkit").__file__]))
"""


def files(root: Path) -> dict[str, Path]:
    """Module name → file, of the library, the pages and the app."""
    found = [*root.glob("vizkit/**/*.py"), *root.glob("pages/*.py"), *root.glob("app.py")]
    return {".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path for path in found}


def extra_of(module: str) -> str:
    """The extra that promises a module."""
    return next(extra for extra, rooms in PROMISED.items() if any(f"{module}.".startswith(f"{x}.") for x in rooms))


def declared(project: dict, extra: str) -> set[str]:
    """Names of the packages that an extra brings, those of plain and of the extras that it names included."""
    lines = [*project["dependencies"], *(project["optional-dependencies"][extra] if extra else ())]
    names = {name_of(line) for line in lines if not line.startswith("vizkit[")}
    others = [line[7:].partition("]")[0] for line in lines if line.startswith("vizkit[")]
    return names.union(*(declared(project, other) for other in others))


def name_of(requirement: str) -> str:
    """ "scikit-learn>=1.5" as "scikit-learn"."""
    return re.split(r"[^\w.-]", requirement.strip())[0].lower().replace("_", "-")


def main() -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = [name for name in files(ROOT) if name.startswith("vizkit") and name != "vizkit.__main__"]
    with tempfile.TemporaryDirectory() as folder:
        python = emptied(Path(folder) / "environment")
        wheel = built(Path(folder))
        wrong = [line for extra in EXTENDED for line in step(python, wheel, project, extra, known)]
    print("\n".join(wrong) or "Every extra brings what it promises.")
    return int(bool(wrong))


def emptied(environment: Path) -> Path:
    """A new environment that has PyTorch and its libraries, as links, and nothing else; gives its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    place = next(environment.glob("lib/python*/site-packages"))
    for package in metadata.distributions():
        if HEAVY.fullmatch(name_of(package.metadata["Name"])):
            for top in {file.parts[0] for file in package.files or () if file.parts[0] not in ("..", "__pycache__")}:
                if not (place / top).exists():
                    (place / top).symlink_to(package.locate_file(top))
    return environment / "bin/python"


def built(folder: Path) -> Path:
    subprocess.run(
        [sys.executable, "-c", "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])", folder],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return next(folder.glob("*.whl"))


def step(python: Path, wheel: Path, project: dict, extra: str, known: list[str]) -> Iterator[str]:
    """Install an extra over those before it, import what it promises; sentences on what does not hold."""
    began, what = time.monotonic(), f".[{extra}]" if extra else "."
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            python,
            "install",
            "--quiet",
            "--no-compile",
            "--disable-pip-version-check",
            "-c",
            ROOT / "requirements.lock",
            f"{wheel}[{extra}]" if extra else wheel,
        ],
        check=True,
    )
    installed = time.monotonic()
    promised = [name for name in known if extra_of(name) == extra]
    further = set().union(*(declared(project, other) for other in project["optional-dependencies"]))
    absent = further - declared(project, extra) - BROUGHT
    tops = [top for top, names in metadata.packages_distributions().items() if {name_of(x) for x in names} & absent]
    asked = [python, "-P", "-c", IMPORT_ALL, json.dumps(promised), json.dumps(tops)]
    done = subprocess.run(
        asked,
        cwd=python.parent,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": "", "STREAMLIT_LOGGER_LEVEL": "error"},
    )
    failed, present, place = json.loads(done.stdout.splitlines()[-1])
    yield from (f"pip install '{what}' promises {module}, which fails there: {why}" for module, why in failed.items())
    yield from (f"pip install '{what}' brings {name} by chance; this check can say nothing of it" for name in present)
    if not Path(place).is_relative_to(python.parents[1]):
        yield f"{place} was imported, which is not the wheel."
    print(
        f"{what}: {len(promised)} modules, installed in {installed - began:.0f} s, "
        f"imported in {time.monotonic() - installed:.0f} s",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
