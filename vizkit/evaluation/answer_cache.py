"""Answers on disk: one file a chunk of pictures, whole or not at all, then one for all; the key is their content.

    <cache>/answers/<key>/part-00007.parquet    chunk 7, as of any run (`explanations.parts`), until all are there
    <cache>/answers/<key>/logits.npy, answers.json    when all have been

The key is a digest of the weights, the network, its preprocessing, the pictures and the size of a chunk.
"""

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32
from pyarrow.parquet import read_table
from torch import nn

from vizkit.datasets.cache import cache_folder
from vizkit.datasets.image_set import digest_of
from vizkit.evaluation.classes import EvaluationError
from vizkit.explanations.parts import Run
from vizkit.explanations.table import MANIFEST
from vizkit.models import Loaded
from vizkit.writing import write

VERSION = 2  # of what is written; another one finds nothing of this one
KEPT_BYTES = 4 << 30  # of all answers together; those that were longest unused go first

Logits = Float32[np.ndarray, "image output"]


def weights_digest(model: nn.Module) -> str:
    """SHA-256 of every parameter and buffer, and of how the network is built."""
    sha = hashlib.sha256(repr(model).encode())
    for name, value in model.state_dict().items():
        held = value.detach().cpu().contiguous()
        sha.update(f"{name} {held.dtype} {tuple(held.shape)} ".encode())
        sha.update(held.flatten().view(torch.uint8).numpy().tobytes() if held.numel() else b"")
    return sha.hexdigest()


def key_of(loaded: Loaded, weights: str, images_digest: str, chunk: int) -> str:
    """Of one model on one set of pictures. The kind of device too: sums differ in the last digit."""
    return digest_of(VERSION, weights, loaded.preprocessing, images_digest, chunk, loaded.device.type)


@dataclass(frozen=True)
class AnswerCache:
    """The folder of one key."""

    folder: Path

    @classmethod
    def of(cls, key: str) -> "AnswerCache":
        return cls(cache_folder() / "answers" / key)

    @property
    def whole(self) -> bool:
        return (self.folder / "answers.json").is_file()

    def finish(self, run: Run, seconds: float, images_per_s: float) -> None:
        """All parts in one file, broken pictures left out; then the parts go."""
        if self.whole:
            return
        broken: dict[str, str] = {}
        first, outputs = 0, 0
        for number in range(len(run.counts)):
            table = self._part(run, number, ["key", "error", "logits"])
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
                    logits = self._part(run, number, ["logits"])["logits"].combine_chunks().flatten()
                    file.write(np.ascontiguousarray(logits.to_numpy(zero_copy_only=False), "<f4").tobytes())

        write(self.folder / "logits.npy", assemble)
        facts = {"broken": broken, "seconds": seconds, "images_per_s": images_per_s}
        write(self.folder / "answers.json", json.dumps(facts, ensure_ascii=False))
        (self.folder / MANIFEST).unlink(missing_ok=True)  # first: other processes see by it that all is done
        for number in range(len(run.counts)):
            run.path(number).unlink(missing_ok=True)
        run.clear()
        forget_oldest(self.folder)

    def _part(self, run: Run, number: int, columns: list[str]) -> Any:
        try:
            return read_table(run.path(number), columns=columns)
        except FileNotFoundError:
            raise EvaluationError(
                "Some answers have vanished from the cache while they were read; start again."
            ) from None

    def facts(self) -> tuple[Logits, dict[str, Any]]:
        """Logits of the pictures that could be read, mapped from disk, and what `finish` noted."""
        os.utime(self.folder)
        logits = np.load(self.folder / "logits.npy", mmap_mode="r", allow_pickle=False)
        return logits, json.loads((self.folder / "answers.json").read_text(encoding="utf-8"))


def forget_oldest(kept: Path) -> None:
    """Answers that were longest unused make room. Those of an evaluation at work are young."""
    folders = [folder for folder in kept.parent.iterdir() if folder.is_dir()]
    folders.sort(key=lambda folder: -folder.stat().st_mtime)
    sizes = np.cumsum([sum(file.stat().st_size for file in folder.iterdir()) for folder in folders])
    for folder, size in zip(folders, sizes, strict=True):
        if size > KEPT_BYTES and folder != kept:
            shutil.rmtree(folder, ignore_errors=True)
