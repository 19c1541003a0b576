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
from pyarrow.parquet import read_table

from vizkit.evaluation.classes import EvaluationError
from vizkit.explanations.kept import Kept, forget_oldest
from vizkit.explanations.table import MANIFEST
from vizkit.writing import write

Logits = Float32[np.ndarray, "image output"]


class AnswerCache(Kept):
    """The folder of one model and one set of pictures."""

    @property
    def whole(self) -> bool:
        return (self.folder / "answers.json").is_file()

    def finish(self, seconds: float, images_per_s: float) -> None:
        """All parts in one file, broken pictures left out; then the parts go."""
        if self.whole:
            return
        run, broken, first, outputs = self.run, dict[str, str](), 0, 0
        for number in range(len(run.counts)):
            table = self._part(number, ["key", "error", "logits"])
            for row, (key, why) in enumerate(zip(table["key"].to_pylist(), table["error"].to_pylist(), strict=True)):
                if why is not None:
                    broken[str(first + row)] = f"{key}: {why}"
            first += len(table)
            outputs = next((len(each) for each in table["logits"].to_pylist() if each is not None), outputs)

        def assemble(path: Path) -> None:
            with path.open("wb") as file:
                shape = (first - len(broken), outputs)
                np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
                for number in range(len(run.counts)):
                    logits = self._part(number, ["logits"])["logits"].combine_chunks().flatten()
                    file.write(np.ascontiguousarray(logits.to_numpy(zero_copy_only=False), "<f4").tobytes())

        write(self.folder / "logits.npy", assemble)
        facts = {"broken": broken, "seconds": seconds, "images_per_s": images_per_s}
        write(self.folder / "answers.json", json.dumps(facts, ensure_ascii=False))
        (self.folder / MANIFEST).unlink(missing_ok=True)  # first: other processes see by it that all is done
        for number in range(len(run.counts)):
            run.path(number).unlink(missing_ok=True)
        run.clear()
        forget_oldest(self.folder)

    def _part(self, number: int, columns: list[str]) -> Any:
        try:
            return read_table(self.run.path(number), columns=columns)
        except FileNotFoundError:
            raise EvaluationError(
                "Some answers have vanished from the cache while they were read; start again."
            ) from None

    def facts(self) -> tuple[Logits, dict[str, Any]]:
        """Logits of the pictures that could be read, mapped from disk, and what `finish` noted."""
        os.utime(self.folder)
        logits = np.load(self.folder / "logits.npy", mmap_mode="r", allow_pickle=False)
        return logits, json.loads((self.folder / "answers.json").read_text(encoding="utf-8"))
