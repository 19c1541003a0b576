"""The pages in a browser, as `streamlit run app.py` shows them."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def script() -> Path:
    """What Streamlit runs: of an installed package a copy inside it, of a checkout the file on top."""
    installed = PACKAGE / "served" / "app.py"
    return installed if installed.is_file() else PACKAGE.parent / "app.py"


def app(*options: str, port: int | None = None) -> None:
    """Open the pages in a browser, until it is interrupted.

    vizkit app --port 8600 -- --server.address=0.0.0.0

    Args:
        options: More options for streamlit run, after --.
        port: Where it listens (8501).
    """
    if find_spec("streamlit") is None:
        raise ModuleNotFoundError("No module named 'streamlit'", name="streamlit")
    listening = [] if port is None else [f"--server.port={port}"]
    command = [sys.executable, "-m", "streamlit", "run", str(script()), *listening, *options]
    if code := subprocess.call(command):
        raise ValueError(f"The app ended with code {code}; what it printed says why.")
