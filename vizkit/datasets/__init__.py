from importlib.util import find_spec
from pathlib import Path


def folder_of(package: str) -> Path:
    """Where an installed package lies, without importing it."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{package} is not installed; run pip install -r requirements.txt.")
    return Path(spec.origin).parent
