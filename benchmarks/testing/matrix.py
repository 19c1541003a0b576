"""All tests with the oldest and with the newest versions that the ranges of requirements.txt admit: `make matrix`.

    python3 -m benchmarks.testing.matrix [oldest] [newest] [--browser] [--keep] [-- tests and options of pytest]

Each column has its own environment, .venv-oldest and .venv-newest; docs/matrix.md tells how it went. Only the standard
library is used here: nothing need be installed to start. Exits with 1 where a test failed.
"""

import argparse
import json
import platform
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
COLUMNS = ("oldest", "newest")
SHOWN = ("torch", "torchvision", "timm", "streamlit", "numpy", "pillow", "plotly", "huggingface-hub", "torchmetrics")
TOLD_AT_MOST = 20  # names of failed tests


@dataclass(frozen=True)
class Result:
    """`failed`: the names of tests that failed or broke; `versions` of some packages; `command` as it was run."""

    day: str
    python: str
    versions: dict[str, str]
    passed: int
    failed: list[str]
    skipped: int
    minutes: float
    command: str


def main(given: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m benchmarks.testing.matrix", description=__doc__)
    parser.add_argument("columns", nargs="*", help="oldest, newest; both by default")
    parser.add_argument("--browser", action="store_true", help="the journeys in Chromium too")
    parser.add_argument("--keep", action="store_true", help="the environments as they are, where they are finished")
    own, options = given, []
    if "--" in given:
        own, options = given[: given.index("--")], given[given.index("--") + 1 :]
    chosen = parser.parse_args(own)
    if unknown := set(chosen.columns) - set(COLUMNS):
        parser.error(f"there is no column {', '.join(sorted(unknown))}; choose from {', '.join(COLUMNS)}")
    options = options or ["-n", "2", "--dist", "loadfile"]
    options += [] if chosen.browser else ["-m", "not browser"]
    for column in chosen.columns or COLUMNS:
        python = installed(column, chosen.keep)
        (environment(column) / "result.json").write_text(json.dumps(asdict(tested(python, column, options))))
    kept = {column: read(environment(column) / "result.json") for column in COLUMNS}
    found = {column: result for column, result in kept.items() if result is not None}
    (ROOT / "docs/matrix.md").write_text(page(found), encoding="utf-8")
    return int(any(found[column].failed for column in chosen.columns or COLUMNS))


def environment(column: str) -> Path:
    return ROOT / f".venv-{column}"


def oldest(requirements: str) -> str:
    """Constraints that hold every requirement at the lower end of its range."""
    return "".join(f"{name}=={version}\n" for name, version in re.findall(r"^([\w-]+)>=([\w.]+)", requirements, re.M))


def installed(column: str, keep: bool) -> Path:
    """The Python of a new environment. Tools of the tests are today's in both."""
    folder = environment(column)
    finished = folder / "finished"
    if keep and finished.exists():
        return folder / "bin/python"
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    constraints = folder / "constraints.txt"
    constraints.write_text(oldest((ROOT / "requirements.txt").read_text()) if column == "oldest" else "")
    command = [folder / "bin/pip", "install", "--quiet", "-r", "requirements-dev.txt", "-c", constraints]
    subprocess.run(command, cwd=ROOT, check=True)
    finished.touch()
    return folder / "bin/python"


def tested(python: Path, column: str, options: list[str]) -> Result:
    report = environment(column) / "tests.xml"
    report.unlink(missing_ok=True)
    command = ["-m", "pytest", *options]
    subprocess.run([python, *command, f"--junitxml={report}"], cwd=ROOT, check=False)
    words = " ".join(f'"{word}"' if " " in word else word for word in command)
    return result_of(report.read_text(encoding="utf-8"), versions(python), f"python {words}")


def versions(python: Path) -> dict[str, str]:
    code = "import sys, json, importlib.metadata as of; print(json.dumps({n: of.version(n) for n in sys.argv[1:]}))"
    run = subprocess.run([python, "-c", code, *SHOWN], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def result_of(report: str, versions: dict[str, str], command: str) -> Result:
    """From pytest's report in JUnit's XML."""
    suite = next(ElementTree.fromstring(report).iter("testsuite"))
    cases = list(suite.iter("testcase"))
    bad = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = sum(case.find("skipped") is not None for case in cases)
    failed = sorted({f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}" for case in bad})
    minutes = float(suite.get("time", 0)) / 60
    passed = len(cases) - len(bad) - skipped
    return Result(
        date.today().isoformat(), platform.python_version(), versions, passed, failed, skipped, minutes, command
    )


def read(path: Path) -> Result | None:
    return Result(**json.loads(path.read_text())) if path.exists() else None


def page(found: dict[str, Result]) -> str:
    """docs/matrix.md: a column for each environment."""

    def row(name: str, cells: Iterable[object]) -> str:
        return f"| {name} | " + " | ".join(map(str, cells)) + " |\n"

    results = found.values()
    text = (
        "# Versions\n\nThe tests with the oldest and the newest versions that the ranges of requirements.txt admit, "
        "last run by `make matrix`.\nThe versions of every day are those of requirements.lock.\n\n"
    )
    text += row("", found) + "|---" * (len(found) + 1) + "|\n"
    text += row("day", (each.day for each in results))
    text += row("Python", (each.python for each in results))
    for name in SHOWN:
        text += row(name, (each.versions[name] for each in results))
    text += row("passed", (f"{each.passed:,}" for each in results))
    text += row("failed", (len(each.failed) for each in results))
    text += row("skipped", (each.skipped for each in results))
    text += row("minutes", (f"{each.minutes:.0f}" for each in results))
    text += row("command", (f"`{each.command}`" for each in results))
    for column, each in found.items():
        if each.failed:
            more = len(each.failed) - TOLD_AT_MOST
            text += f"\nFailed with the {column}:\n\n" + "".join(f"- `{name}`\n" for name in each.failed[:TOLD_AT_MOST])
            text += f"- and {more} more\n" if more > 0 else ""
    return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
