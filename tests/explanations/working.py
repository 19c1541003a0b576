"""Runs of a tiny model, here and in processes of their own: parts of four pictures, batches of three."""

import errno
import os
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from vizkit.explanations.job import PassWork, make_missing
from vizkit.explanations.parts import Run, alone
from vizkit.explanations.passes import Answers
from vizkit.explanations.place import Address
from vizkit.explanations.source import open_source
from vizkit.image import Preprocessing
from vizkit.models import Loaded

PART = 4
HALF = (0.5, 0.5, 0.5)
LABELS = ("red", "green", "blue")


class Eye(torch.nn.Module):
    """Answers with the strongest colour."""

    def __init__(self, slow_s=0.0):
        super().__init__()
        self.num_classes, self.slow_s = 3, slow_s
        self.weight = torch.nn.Parameter(4 * torch.eye(3))

    def forward(self, pixels):
        time.sleep(self.slow_s if len(pixels) > 1 else 0)
        return pixels.mean((2, 3)) @ self.weight.T


def eye(slow_s=0.0):
    return Loaded("eye", Eye(slow_s).eval(), torch.device("cpu"), Preprocessing((8, 8), HALF, HALF), LABELS)


def photos(folder, count=23):
    """In class folders, with one that is cut off."""
    for number in range(count):
        colour = LABELS[number % 3]
        (folder / colour).mkdir(parents=True, exist_ok=True)
        shade = np.random.default_rng(number).integers(0, 60, (12, 12, 3), np.uint8)
        shade[..., number % 3] += 150
        Image.fromarray(shade).save(folder / colour / f"{number}.png")
    cut = folder / "red" / "cut.jpg"
    Image.new("RGB", (64, 64), "red").save(cut)
    cut.write_bytes(cut.read_bytes()[:-300])
    return folder


def run(source, output, loaded=None, workers=0, **options):
    """All of a source, in parts of four."""
    loaded = loaded or eye()
    source = open_source(str(source), most=PART) if isinstance(source, str | Path) else source
    output = output if isinstance(output, Address) else Path(output)
    with alone(output):
        begun = Run.begin(output, {"pictures": source.digest}, source.counts)
        work = PassWork(begun, source, loaded, partial(Answers, loaded), 3, workers, timed=True)
        return make_missing(work, **options)


class FullRun(Run):
    """On a disk that has no room for a second part."""

    def make(self, number, fill):
        if number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().make(number, fill)


def worked(arguments):
    """In a process of its own: source, folder, seconds of a batch, readers."""
    source, output, slow_s, workers = arguments
    run(source, output, eye(float(slow_s)), workers=int(workers))
    return 0


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).glob("part-*.parquet")}
