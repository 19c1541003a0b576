"""Which tests to run for what has been changed: `make test-quick`.

Those that name a changed module or another changed file, or its folder; those that were changed themselves; the rules
of imports; of a changed view its contract. Of what the contract of all views names, such as their controls, the
contract of one view. All others run in `make test`.
"""

import re
import subprocess
import sys
from pathlib import Path

from vizkit.views import VIEWS

ROOT = Path(__file__).parents[1]
ALWAYS = ["tests/test_imports.py"]
CONTRACT = "tests/views/test_contract.py"
RULE = "test_a_view_breaks_no_rule"
ONE = "rollout"  # of the views


def changed(since):
    """Files that differ from a commit, and those that git does not know yet; paths from the top."""
    known = ["git", "diff", "--name-only", "--diff-filter=d", since]
    unknown = ["git", "ls-files", "--others", "--exclude-standard"]
    run = [subprocess.run(each, cwd=ROOT, capture_output=True, text=True, check=True) for each in (known, unknown)]
    return [line for each in run for line in each.stdout.splitlines()]


def imports(text, module):
    """Whether a test names a module: whole, or as a name of its package."""
    package, _, name = module.rpartition(".")
    lines = (line for line in text.splitlines() if f"from {package} import " in line)
    return bool(re.search(rf"{re.escape(module)}(?![\w.])", text)) or any(
        name in line.partition(" import ")[2].split(", ") for line in lines
    )


def names(text, file):
    """Whether a test names a file that is no module, or its folder as the parts of a path."""
    folder = file.parent.parts
    return file.name in text or (bool(folder) and " / ".join(f'"{part}"' for part in folder) in text)


def touched(files):
    """The tests for these files, as pytest takes them."""
    code = [Path(file) for file in files if file.endswith(".py")]
    modules = [
        ".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in code if file.parts[0] == "vizkit"
    ]
    others = [Path(file) for file in files if not file.endswith(".py")]
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py"))}
    found = [
        path.relative_to(ROOT).as_posix()
        for path, text in texts.items()
        if path.relative_to(ROOT) in code
        or any(imports(text, module) for module in modules)
        or any(names(text, file) for file in others)
    ]
    views = [name for name, entry in VIEWS.items() if f"vizkit.views.{entry.module.partition(':')[0]}" in modules]
    if CONTRACT in found and CONTRACT not in files:
        found.remove(CONTRACT)
        found += contract_of(ONE)
    if CONTRACT not in found:
        found += [test for view in views for test in contract_of(view) if f"::{RULE}[" in test]
    return list(dict.fromkeys([*ALWAYS, *(each for each in found if "/browser/" not in each)]))


def contract_of(view):
    """Its tests of all views for this one, and those of the rules themselves."""
    from tests.views.contract import subjects_of

    text = (ROOT / CONTRACT).read_text(encoding="utf-8")
    of = {
        "view": [f"[{view}]"],
        "view, data": [f"[{view}]"],
        "view, name": [f"[{view}-{model}]" for model in subjects_of(VIEWS[view])],
        "view, name, options": [f"[{view}-{model}-all]" for model in subjects_of(VIEWS[view])],
    }
    tests = re.findall(r"^def (test_\w+)\((.*)\):", text, re.MULTILINE)
    return [f"{CONTRACT}::{name}{case}" for name, given in tests for case in of.get(given, [""])]


if __name__ == "__main__":
    print("\n".join(touched(changed(sys.argv[1] if len(sys.argv) > 1 else "HEAD"))))
