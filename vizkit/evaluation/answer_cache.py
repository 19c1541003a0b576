"""Answers on disk: one file a chunk of pictures, whole or not at all, then one for all; the key is their content.

    <cache>/answers/<key>/7.npz          logits and broken pictures of chunk 7, while it is being answered
    <cache>/answers/<key>/logits.npy, answers.json    when all have been

The key is a digest of the weights, the network, its preprocessing, the pictures and the size of a chunk.
"""

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from jaxtyping import Float32
from torch import nn

from vizkit.datasets.cache import cache_folder
from vizkit.datasets.image_set import digest_of
from vizkit.evaluation.classes import EvaluationError
from vizkit.models import Loaded
from vizkit.writing import write

VERSION = 1  # of what is written; another one finds nothing of this one
KEPT_BYTES = 4 << 30  # of all answers together; those that were longest unused go first

Logits = Float32[np.ndarray, "image output"]


@dataclass(frozen=True)
class Chunk:
    """`broken`: row in the chunk → why it could not be read; its logits are NaN. `seconds`: what it took."""

    logits: Logits
    broken: dict[int, str]
    seconds: float


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
    """The folder of one key. `images` in chunks of `chunk`; the last one may be smaller."""

    folder: Path
    images: int
    chunk: int

    @classmethod
    def of(cls, key: str, images: int, chunk: int) -> "AnswerCache":
        return cls(cache_folder() / "answers" / key, images, chunk)

    @property
    def chunks(self) -> int:
        return -(-self.images // self.chunk)

    @property
    def whole(self) -> bool:
        return (self.folder / "answers.json").is_file()

    def rows(self, number: int) -> np.ndarray:
        return np.arange(number * self.chunk, min((number + 1) * self.chunk, self.images))

    def missing(self) -> list[int]:
        """Chunks that are still to be answered; a file that cannot be read counts as none."""
        return [] if self.whole else [number for number in range(self.chunks) if self.read(number) is None]

    def write(self, number: int, chunk: Chunk) -> None:
        rows = np.array(list(chunk.broken), np.int64)
        why = np.array([chunk.broken[row] for row in chunk.broken], dtype=np.str_)
        self._whole(
            f"{number}.npz",
            lambda file: np.savez(file, logits=chunk.logits, rows=rows, why=why, seconds=np.float64(chunk.seconds)),
        )

    def read(self, number: int) -> Chunk | None:
        try:
            with (self.folder / f"{number}.npz").open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                broken = dict(zip(file["rows"].tolist(), file["why"].tolist(), strict=True))
                chunk = Chunk(file["logits"], broken, float(file["seconds"]))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        return chunk if len(chunk.logits) == len(self.rows(number)) else None

    def finish(self) -> None:
        """All chunks in one file, broken pictures left out; nothing to do where that has been done."""
        if self.whole:
            return
        broken: dict[int, str] = {}
        seconds, outputs = [], 0
        for number in range(self.chunks):
            if (chunk := self.read(number)) is None:
                return self._refuse_vanished()
            broken |= {number * self.chunk + row: why for row, why in chunk.broken.items()}
            seconds.append(chunk.seconds)
            outputs = chunk.logits.shape[1]

        def assemble(file: IO[bytes]) -> None:
            shape = (self.images - len(broken), outputs)
            np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
            for number in range(self.chunks):
                chunk = self.read(number)
                if chunk is None:
                    return self._refuse_vanished()
                good = np.setdiff1d(np.arange(len(chunk.logits)), np.array(list(chunk.broken), np.int64))
                file.write(np.ascontiguousarray(chunk.logits[good], "<f4").tobytes())

        self._whole("logits.npy", assemble)
        timed = slice(1, None) if self.chunks > 1 else slice(None)  # the first one includes the start
        images = sum(len(self.rows(number)) for number in range(self.chunks)[timed])
        facts = {
            "broken": {str(row): why for row, why in broken.items()},
            "seconds": sum(seconds),
            "images_per_s": images / max(1e-9, sum(seconds[timed])),
        }
        self._whole("answers.json", lambda file: file.write(json.dumps(facts, ensure_ascii=False).encode()))
        for number in range(self.chunks):
            (self.folder / f"{number}.npz").unlink(missing_ok=True)
        _forget_oldest(self.folder)

    def _refuse_vanished(self) -> None:
        """Nothing is wrong where another process was quicker, and has cleared away."""
        if not self.whole:
            raise EvaluationError("Some answers have vanished from the cache while they were read; start again.")

    def facts(self) -> tuple[Logits, dict[str, Any]]:
        """Logits of the pictures that could be read, mapped from disk, and what `finish` noted."""
        os.utime(self.folder)
        logits = np.load(self.folder / "logits.npy", mmap_mode="r", allow_pickle=False)
        return logits, json.loads((self.folder / "answers.json").read_text(encoding="utf-8"))

    def _whole(self, name: str, fill: Callable[[IO[bytes]], Any]) -> None:
        def content(path: Path) -> None:
            with path.open("wb") as file:
                fill(file)

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write(self.folder / name, content)
        except OSError as error:
            raise EvaluationError(
                f"The answers cannot be kept in {self.folder.parent}: {error.strerror or type(error).__name__}."
            ) from error


def _forget_oldest(kept: Path) -> None:
    """Answers that were longest unused make room. Those of an evaluation at work are young."""
    folders = [folder for folder in kept.parent.iterdir() if folder.is_dir()]
    folders.sort(key=lambda folder: -folder.stat().st_mtime)
    sizes = np.cumsum([sum(file.stat().st_size for file in folder.iterdir()) for folder in folders])
    for folder, size in zip(folders, sizes, strict=True):
        if size > KEPT_BYTES and folder != kept:
            shutil.rmtree(folder, ignore_errors=True)
