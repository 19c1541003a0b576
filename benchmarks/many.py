"""Many images: what Ray adds on one machine, and whether the memory of one process grows.

    python -m benchmarks many [--ray 5000] [--memory 20000] [--model bundled:digits_vit]

One thread computes and draws in either way. Parts go to Ray's one actor and to this process in turn, the other at rest,
so that what else runs on the machine disturbs both; the first part of each is left out, for it includes the start.
"""

import argparse
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import psutil
import torch

import vizkit
from vizkit.explanations import cluster
from vizkit.explanations.cluster import on_cluster
from vizkit.explanations.job import PassWork, make_missing
from vizkit.explanations.parts import Run
from vizkit.explanations.passes import Maps
from vizkit.explanations.source import open_source
from vizkit.image import side_of
from vizkit.models import Loaded

BATCH, PART, TENTHS = 16, 128, 10


def work_in(folder: Path, loaded: Loaded, images: int) -> PassWork:
    """Rollout of drawn insects, all still to do."""
    source = open_source("insects", images=images, size_px=side_of(loaded.preprocessing), most=PART)
    folder.mkdir()
    run = Run.begin(folder, {}, source.counts)
    return PassWork(run, source, loaded, partial(Maps, loaded, ["rollout"]), BATCH)


def spent_s(every: bool) -> float:
    """Processor time of this process, and of all that it has begun."""
    own = psutil.Process()
    times = [each.cpu_times() for each in (own, *(own.children(recursive=True) if every else ()))]
    return sum(each.user + each.system for each in times)


def by_ray(folder: Path, loaded: Loaded, images: int) -> None:
    """Whenever Ray's actor has made a part, and waits for its next, this process makes the same one."""
    here, there = (work_in(folder / name, loaded, images) for name in ("here", "there"))
    left, turns = here.run.missing(), []
    seen = np.array([time.perf_counter(), spent_s(True)])

    def turn(done: int, *_: object) -> None:
        nonlocal seen
        taken, begin = np.array([time.perf_counter(), spent_s(True)]) - seen, [time.perf_counter(), spent_s(False)]
        here.parts([left.pop(0)])
        turns.append([*taken, time.perf_counter() - begin[0], spent_s(False) - begin[1]])
        seen = np.array([time.perf_counter(), spent_s(True)])

    with on_cluster("ray", actors=1):
        make_missing(there, turn)
    start, *rest = turns
    ray_s, ray_cpu_s, own_s, own_cpu_s = np.sum(rest, 0)
    count = images - here.run.counts[0]
    print(f"Ray {count / ray_s:.1f} images/s, this process {count / own_s:.1f}, after a start of {start[0]:.1f} s")
    middle = np.median([each[0] / each[2] for each in rest])
    print(f"  {ray_s / own_s:.3f} × the time (median of {len(rest)} parts {middle:.3f}), ", end="")
    print(f"{ray_cpu_s / own_cpu_s:.3f} × the processor time")


def memory(folder: Path, loaded: Loaded, images: int) -> None:
    """Resident memory of this process after each tenth of the parts."""
    work, process, held = work_in(folder / "flat", loaded, images), psutil.Process(), []
    step = -(-len(work.run.counts) // TENTHS)

    def tell(done: int, *_: object) -> None:
        if len(held) < done // PART // step or done == images:
            held.append(process.memory_info().rss / 2**20)

    begin = time.perf_counter()
    make_missing(work, tell)
    print(f"{images:,} images, {images / (time.perf_counter() - begin):.1f} a second; MiB by tenths: ", end="")
    print(", ".join(f"{each:.0f}" for each in held), f"; most less first {max(held) - held[0]:.0f}")


def run(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks many", description=__doc__)
    parser.add_argument("--ray", type=int, default=5_000)
    parser.add_argument("--memory", type=int, default=20_000)
    parser.add_argument("--model", default="bundled:digits_vit")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    cluster.GIVEN_S = 0.0  # a part at a time, so that turns are short: more of Ray than there is else
    loaded = vizkit.load(given.model, device="cpu")
    with TemporaryDirectory() as folder:
        for measure, images in ((by_ray, given.ray), (memory, given.memory)):
            if images:
                measure(Path(folder), loaded, images)
