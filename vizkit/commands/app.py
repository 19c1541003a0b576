"""`vizkit app`: the pages in a browser, as `streamlit run app.py` shows them.

vizkit app
vizkit app --port 8600 -- --server.address=0.0.0.0
"""

import argparse
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["add", "script"]

PACKAGE = Path(__file__).parents[1]


def add(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    command = commands.add_parser("app", help="open the pages in a browser")
    command.add_argument("--port", type=int, metavar="PORT", help="where it listens (8501)")
    command.add_argument("options", nargs="*", metavar="-- OPTION", help="more options for streamlit run")
    command.set_defaults(run=app)


def script() -> Path:
    """What Streamlit runs: of an installed package a copy inside it, of a checkout the file on top."""
    installed = PACKAGE / "served" / "app.py"
    return installed if installed.is_file() else PACKAGE.parent / "app.py"


def app(arguments: argparse.Namespace) -> None:
    """Runs until it is interrupted."""
    if find_spec("streamlit") is None:
        raise ModuleNotFoundError("No module named 'streamlit'", name="streamlit")
    port = [] if arguments.port is None else [f"--server.port={arguments.port}"]
    command = [sys.executable, "-m", "streamlit", "run", str(script()), *port, *arguments.options]
    if code := subprocess.call(command):
        raise ValueError(f"The app ended with code {code}; what it printed says why.")
