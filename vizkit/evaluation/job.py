"""An evaluation that a page watches: its folder with status, outcome and report. No torch: the page reads it at once.

<cache>/evaluations/<name>/status.json    what it does now
<cache>/evaluations/<name>/outcome.json, outcome.npz, report.html    when it is done
"""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vizkit.datasets.cache import cache_folder


@dataclass(frozen=True)
class JobFolder:
    """Reading never fails on what is missing."""

    path: Path

    @classmethod
    def of(cls, name: str) -> "JobFolder":
        return cls(cache_folder() / "evaluations" / name)

    @property
    def status(self) -> dict[str, Any]:
        try:
            return json.loads((self.path / "status.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}

    @property
    def done(self) -> bool:
        return self.status.get("state") == "done" and (self.path / "outcome.json").is_file()

    def say(self, **status: Any) -> None:  # noqa: ANN401
        """Replace status.json, whole or not at all; only the first of several processes speaks."""
        if int(os.environ.get("RANK", "0")):
            return
        self.path.mkdir(parents=True, exist_ok=True)
        unfinished = self.path / f".status.{os.getpid()}.part"
        unfinished.write_text(
            json.dumps({**status, "pid": os.getpid(), "updated": time.time()}, ensure_ascii=False), encoding="utf-8"
        )
        os.replace(unfinished, self.path / "status.json")
