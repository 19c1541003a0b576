"""What the owner of a server decides, read from environment variables: budgets, folders, what visitors may do.

Nothing here comes from a visitor or from an address. docs/sharing.md lists every variable.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import psutil

__version__ = "0.1.0"


GIB = 2**30


@dataclass(frozen=True)
class Settings:
    """`model_bytes`: what one model may take in memory, known before it is built. `data_roots`: folders of this machine
    that visitors may choose from, with all in them; none by default. `allow_deleting`: whether visitors delete
    runs; `allow_jobs`: whether they start and stop trainings and evaluations; None means only where the server listens
    on this machine alone. `uploads_kept_hours`: how long an uploaded checkpoint or zip stays on the disk;
    `uploads_bytes`: how much all of them take there, unpacked ones too. `cache_bytes`: what all sessions together keep
    in memory of models, traces and what is made of them; by default more than one model may take. `keep_pictures`:
    whether uploaded pictures stay on the disk as long, so that links to them open. `lessons`: a folder of lessons that
    the page Lessons serves beside those of vizkit."""

    model_bytes: int
    data_roots: tuple[Path, ...] = ()
    allow_deleting: bool | None = None
    allow_jobs: bool | None = None
    uploads_kept_hours: float = 24.0
    uploads_bytes: int = 20 * GIB
    cache_bytes: int = GIB
    keep_pictures: bool = False
    lessons: Path | None = None


def settings() -> Settings:
    """The settings as the environment has them now. Raises ValueError that names the variable that makes no sense."""
    roots = os.environ.get("VIZKIT_DATA_ROOTS", "").split(os.pathsep)
    lessons = os.environ.get("VIZKIT_LESSONS", "").strip()
    return Settings(
        int(_positive("VIZKIT_MODEL_GIB", psutil.virtual_memory().total / GIB / 8) * GIB),
        tuple(_folder("VIZKIT_DATA_ROOTS", root) for root in roots if root.strip()),
        _yes("VIZKIT_ALLOW_DELETING"),
        _yes("VIZKIT_ALLOW_JOBS"),
        _positive("VIZKIT_UPLOADS_KEPT_HOURS", 24.0),
        int(_positive("VIZKIT_UPLOADS_GIB", 20.0) * GIB),
        int(_positive("VIZKIT_CACHE_GIB", psutil.virtual_memory().total / GIB / 3) * GIB),
        _yes("VIZKIT_KEEP_PICTURES") or False,
        _folder("VIZKIT_LESSONS", lessons) if lessons else None,
    )


def _folder(name: str, path: str) -> Path:
    try:
        return Path(path).expanduser().resolve()
    except (RuntimeError, OSError):  # no such user; links in a circle
        raise ValueError(f"{name} names a folder that cannot be found: {path}.") from None


def _yes(name: str) -> bool | None:
    text = os.environ.get(name, "").strip().lower()
    if text not in ("", "yes", "no"):
        raise ValueError(f"{name} is yes, no, or not set.")
    return text == "yes" if text else None


def _positive(name: str, default: float) -> float:
    text = os.environ.get(name, "").strip()
    try:
        value = float(text) if text else default
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ValueError(f"{name} is a number above 0.")
    return value
