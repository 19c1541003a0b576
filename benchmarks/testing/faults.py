"""Thousands of broken and hostile files: each is shown or refused in a sentence, soon, and with little memory.

    python -m benchmarks faults                         14,000 pictures, 2,000 zips, 200 checkpoints, 640 folders
    python -m benchmarks folders                                            those of transformers alone
    python -m benchmarks faults --pictures 300 --zips 40 --checkpoints 0 --first 5000
    python -m benchmarks.testing.faults pictures 123                        one again, with its traceback

Every file is made from its seed (hostile.py, hostile_folders.py) and read in a process of its own, so that a crash is
counted too. Time is the processor's, of that process and of the workers it started: other programs have no influence
on it. Beside folders a second thread of the process traces a small model again and again, as another visitor would.
"""

import argparse
import json
import os
import queue
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vizkit.isolated import Worker

COUNTS = {"pictures": 14_000, "zips": 2_000, "checkpoints": 200, "folders": 640}
SLOWEST_S, HIGHEST_MIB = 3.0, 1024.0
SILENCE_S = 120.0  # on a busy machine a file may take long; without a word for so long it hangs
BESIDE, PAUSE_S, ALONE, ALONE_S = "bundled:digits_vit", 0.02, "alone", 3.0
QUANTILES = {"median": 0.5, "90 %": 0.9, "99 %": 0.99}
ROOT = Path(__file__).parents[2]
CHILD = [sys.executable, "-W", "ignore", "-m", "benchmarks.testing.faults"]


@dataclass
class Found:
    """What came of the files of one kind. `failures`: (seed, what happened)."""

    shown: int = 0
    refused: int = 0
    seconds: tuple[float, int] = (0.0, 0)  # the most, and the seed
    mib: tuple[float, int] = (0.0, 0)
    failures: list[tuple[int, str]] = field(default_factory=list)
    beside_s: list[float] = field(default_factory=list)

    def add(self, line: dict) -> None:
        seed = line["seed"]
        self.shown += line["outcome"] == "shown"
        self.refused += line["outcome"] == "refused"
        self.seconds = max(self.seconds, (line["seconds"], seed))
        self.mib = max(self.mib, (line["mib"], seed))
        self.beside_s += line.get("beside_s", [])
        if line["outcome"] not in ("shown", "refused"):
            self.failures.append((seed, line["outcome"]))
        if line["seconds"] > SLOWEST_S or line["mib"] > HIGHEST_MIB:
            self.failures.append((seed, f"{line['seconds']:.1f} s, {line['mib']:.0f} MiB"))


def run(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks faults")
    for kind, count in COUNTS.items():
        parser.add_argument(f"--{kind}", type=int, default=count)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args(arguments or [])
    found: dict[tuple[str, str], Found] = defaultdict(Found)
    for kind in COUNTS:
        measure(kind, options.first, getattr(options, kind), found)
    print(f"\n{'':<32} {'files':>7} {'shown':>7} {'refused':>8} {'failed':>7} {'slowest':>9} {'highest':>9}")
    for (kind, form), one in found.items():
        if form == ALONE:
            continue
        files = one.shown + one.refused + len(one.failures)
        numbers = f"{files:>7,} {one.shown:>7,} {one.refused:>8,} {len(one.failures):>7}"
        print(f"{kind + ', ' + form:<32} {numbers} {one.seconds[0]:>7.2f} s {one.mib[0]:>5.0f} MiB")
    say_waits(found)
    failures = [(kind, *failure) for (kind, _), one in found.items() for failure in one.failures]
    for kind, seed, what in failures:
        print(f"python -m benchmarks.testing.faults {kind} {seed}    # {what}")
    if failures:
        sys.exit(1)


def say_waits(found: dict[tuple[str, str], Found]) -> None:
    """How long others waited for an answer before the files were read, and meanwhile."""
    for when in (ALONE, "beside"):
        parts = (one.beside_s for (_, form), one in found.items() if (form == ALONE) == (when == ALONE))
        if waits := sorted(wait for part in parts for wait in part):
            most = ", ".join(f"{name} {1e3 * waits[int(len(waits) * at)]:.0f} ms" for name, at in QUANTILES.items())
            print(f"{len(waits):,} traces of {BESIDE} {when}: {most}, slowest {1e3 * waits[-1]:.0f} ms")


def measure(kind: str, first: int, count: int, found: dict[tuple[str, str], Found]) -> None:
    """Read `count` files from seed `first` on; where the process ends over one, another goes on after it."""
    end = first + count
    while first < end:
        command = [*CHILD, kind, str(first), str(end)]
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as said:
            env = os.environ | {"VIZKIT_CACHE": folder, "VIZKIT_MODEL_GIB": "1", "HF_HUB_OFFLINE": "1"}
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True, env=env, cwd=ROOT)
            form, first = listen(child, kind, first, found)
            code = child.wait()
            said.seek(0)
            last = "".join(said.readlines()[-1:]).strip()
        if first < end:
            found[kind, form].failures.append((first, f"the process ended with {code} {last}"))
            first += 1


def listen(child: subprocess.Popen, kind: str, seed: int, found: dict[tuple[str, str], Found]) -> tuple[str, int]:
    """Take in the child's lines to its end; returns (form, seed) of the file after the last one that it told of."""
    lines: queue.Queue[str] = queue.Queue()
    assert child.stdout is not None
    stdout = child.stdout

    def pump() -> None:
        for line in stdout:
            lines.put(line)
        lines.put("")

    pumping = threading.Thread(target=pump, daemon=True)
    pumping.start()
    form = "unknown"
    with suppress(queue.Empty):
        while line := lines.get(timeout=SILENCE_S):
            told = json.loads(line)
            form = told["form"]
            if form == ALONE:
                found[kind, form].beside_s += told["beside_s"]
            if "outcome" in told:
                found[kind, form].add(told)
                seed = told["seed"] + 1
                if seed % 500 == 0:
                    print(f"{kind}: {seed:,}", file=sys.stderr, flush=True)
    child.kill()
    pumping.join()
    stdout.close()
    return form, seed


# ---- in the child ----------------------------------------------------------------------------------------------------
def read(kind: str, seed: int, folder: Path) -> tuple[str, Callable[[], object]]:
    """(form of the file, the function that reads it)."""
    from benchmarks.testing.hostile import ARCHITECTURE, archive, checkpoint, picture
    from benchmarks.testing.hostile_folders import folder as transformers_folder

    if kind == "folders":
        return transformers_folder(seed, folder)
    if kind == "pictures":
        from vizkit.image import read_picture

        form, data = picture(seed)
        return form, lambda: read_picture(data)
    if kind == "zips":
        from vizkit.datasets.archive import open_archive

        form, data = archive(seed)
        return form, lambda: [image.shape for image, _ in open_archive(data, "train", name="upload")]
    import vizkit

    form, path = checkpoint(seed, folder)
    return form, lambda: vizkit.load(path, architecture=None if path.is_dir() else ARCHITECTURE, device="cpu")


def outcome(work: Callable[[], object]) -> str:
    from vizkit.datasets.image_set import DatasetError
    from vizkit.image import ImageError

    errors: tuple = (ImageError, DatasetError)
    if "torch" in sys.modules:
        from vizkit.models import ModelError
        from vizkit.traces import NotApplicable, TraceError
        from vizkit.vocabulary import TextError

        errors = (*errors, ModelError, TextError, NotApplicable, TraceError)
    try:
        work()
    except errors:
        return "refused"
    except BaseException as error:  # of Rust, a panic is no Exception
        return f"{type(error).__name__}: {error}"[:200]
    return "shown"


def workers() -> "list[Worker]":
    """Those that live."""
    from vizkit.isolated_decoding import DECODERS
    from vizkit.tokenizing import TOKENIZERS

    return [*DECODERS.idle, *TOKENIZERS.idle]


def processor_s(beside: bool) -> float:
    """Of this process, of workers that have ended, and of those that live; `beside` others of this thread alone."""
    ticks = [Path(f"/proc/{each.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13] for each in workers()]
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    alive = sum(int(tick) for pair in ticks for tick in pair) / os.sysconf("SC_CLK_TCK")
    return (time.thread_time() if beside else time.process_time()) + ended.ru_utime + ended.ru_stime + alive


def memory_mib(name: str) -> float:
    """Of this process and its living workers together; `name`: "VmRSS", or "VmHWM" for the highest."""
    texts = [Path(f"/proc/{pid}/status").read_text() for pid in ("self", *(each.process.pid for each in workers()))]
    return sum(int(text.split(f"{name}:")[1].split()[0]) for text in texts) / 1024


def others() -> list[float]:
    """Seconds that each trace of another visitor takes, added to this list from now on."""
    import numpy as np

    import vizkit

    loaded, waits = vizkit.load(BESIDE, device="cpu"), list[float]()
    picture = np.random.default_rng(7).integers(0, 256, (48, 64, 3), dtype=np.uint8)

    def go_on() -> None:
        while True:
            started = time.perf_counter()
            vizkit.trace(loaded, picture)
            waits.append(time.perf_counter() - started)
            time.sleep(PAUSE_S)

    threading.Thread(target=go_on, daemon=True).start()
    return waits


def serve(kind: str, first: int, end: int) -> None:
    import shutil

    from vizkit.datasets.cache import cache_folder
    from vizkit.isolated_decoding import DECODERS

    waits = list[float]()
    if kind in ("checkpoints", "folders"):
        import vizkit

        vizkit.load("test_vit", pretrained=False, device="cpu")
    if kind == "folders":
        from benchmarks.testing.hostile_folders import ALL, use, whole, written

        for name in ALL:  # what is imported on first use is no file's fault
            with tempfile.TemporaryDirectory() as folder:
                use(name, written(whole(name), Path(folder)))
        waits = others()
        time.sleep(ALONE_S)
        print(json.dumps({"seed": first, "form": ALONE, "beside_s": waits}), flush=True)
    for seed in range(first, end):
        with tempfile.TemporaryDirectory() as folder:
            form, work = read(kind, seed, Path(folder))
            made = len(waits)
            DECODERS.warm_up()
            print(json.dumps({"seed": seed, "form": form}), flush=True)
            for process in ("self", *(each.process.pid for each in workers())):
                Path(f"/proc/{process}/clear_refs").write_text("5")  # forget the highest
            while waits and len(waits) < made + 2:  # the trace during which the file was made says nothing
                time.sleep(PAUSE_S)
            before, started, begun = memory_mib("VmRSS"), processor_s(bool(waits)), len(waits)
            result = outcome(work)
            told = {"seed": seed, "form": form, "outcome": result, "beside_s": waits[begun:]}
            told |= {"seconds": processor_s(bool(waits)) - started, "mib": memory_mib("VmHWM") - before}
            print(json.dumps(told), flush=True)
        shutil.rmtree(cache_folder(), ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) > 3:
        serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    else:
        with tempfile.TemporaryDirectory() as place:
            about, once = read(sys.argv[1], int(sys.argv[2]), Path(place))
            print(about, flush=True)
            print(once())
