"""A model's answers on disk, in one file of all logits, which is mapped rather than read: the parts of `Kept` until all
are there, then

    logits.npy, answers.json
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from vizkit.explanations.job import Speed
from vizkit.explanations.kept import Kept
from vizkit.explanations.table import MANIFEST
from vizkit.writing import write

Logits = Float32[np.ndarray, "image output"]


class AnswerCache(Kept):
    """The folder of one model and one set of pictures."""

    @property
    def whole(self) -> bool:
        return (self.folder / "answers.json").is_file()

    @property
    def done(self) -> int:
        return sum(self.source.counts) if self.whole else super().done

    def finish(self, speed: Speed) -> None:
        """All parts in one file, broken pictures left out; then the parts go."""
        run, broken, first, outputs = self.run, dict[str, str](), 0, 0
        for number in range(len(run.counts)):
            table = run.read(number, ["key", "error", "logits"])
            for row, (key, why) in enumerate(zip(table["key"].to_pylist(), table["error"].to_pylist(), strict=True)):
                if why is not None:
                    broken[str(first + row)] = f"{key}: {why}"
            first += len(table)
            outputs = next((len(each) for each in table["logits"].drop_null()), outputs)

        def assemble(path: Path) -> None:
            with path.open("wb") as file:
                shape = (first - len(broken), outputs)
                np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
                for number in range(len(run.counts)):
                    logits = run.read(number, ["logits"])["logits"].combine_chunks().flatten()
                    file.write(np.ascontiguousarray(logits.to_numpy(zero_copy_only=False), "<f4").tobytes())

        write(self.folder / "logits.npy", assemble)
        seconds = speed.seconds
        facts = {"broken": broken, "seconds": seconds, "images_per_s": speed.per_s or speed.pictures / seconds}
        write(self.folder / "answers.json", json.dumps(facts, ensure_ascii=False))
        for name in (MANIFEST, *(run.path(number).name for number in range(len(run.counts)))):
            (self.folder / name).unlink(missing_ok=True)

    def facts(self) -> tuple[Logits, dict[str, Any]]:
        """Logits of the pictures that could be read, mapped from disk, and what `finish` noted."""
        os.utime(self.folder)
        logits = np.load(self.folder / "logits.npy", mmap_mode="r", allow_pickle=False)
        return logits, json.loads((self.folder / "answers.json").read_text(encoding="utf-8"))
