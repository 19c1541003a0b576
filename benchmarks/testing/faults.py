"""Thousands of broken and hostile files: each is shown or refused in a sentence, soon, and with little memory.

    python -m benchmarks faults                                     14,000 pictures, 2,000 zips, 200 checkpoints
    python -m benchmarks faults --pictures 300 --zips 40 --checkpoints 0 --first 5000
    python -m benchmarks.testing.faults pictures 123                        one again, with its traceback

Every file is made from its seed (hostile.py) and read in a process of its own, so that a crash is counted too. Time
is the processor's, of that process and of the decoders it started: other programs have no influence on it.
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

COUNTS = {"pictures": 14_000, "zips": 2_000, "checkpoints": 200}
SLOWEST_S, HIGHEST_MIB = 3.0, 1024.0
SILENCE_S = 120.0  # on a busy machine a file may take long; without a word for so long it hangs
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

    def add(self, line: dict) -> None:
        seed = line["seed"]
        self.shown += line["outcome"] == "shown"
        self.refused += line["outcome"] == "refused"
        self.seconds = max(self.seconds, (line["seconds"], seed))
        self.mib = max(self.mib, (line["mib"], seed))
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
        files = one.shown + one.refused + len(one.failures)
        numbers = f"{files:>7,} {one.shown:>7,} {one.refused:>8,} {len(one.failures):>7}"
        print(f"{kind + ', ' + form:<32} {numbers} {one.seconds[0]:>7.2f} s {one.mib[0]:>5.0f} MiB")
    failures = [(kind, *failure) for (kind, _), one in found.items() for failure in one.failures]
    for kind, seed, what in failures:
        print(f"python -m benchmarks.testing.faults {kind} {seed}    # {what}")
    if failures:
        sys.exit(1)


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

        errors = (*errors, ModelError)
    try:
        work()
    except errors:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    return "shown"


def processor_s() -> float:
    """Of this process, of decoders that have ended, and of those that live."""
    from vizkit.isolated_decoding import _idle

    ticks = [Path(f"/proc/{each.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13] for each in _idle]
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    alive = sum(int(tick) for pair in ticks for tick in pair) / os.sysconf("SC_CLK_TCK")
    return time.process_time() + ended.ru_utime + ended.ru_stime + alive


def memory_mib(name: str) -> float:
    """Of this process and its living decoders together; `name`: "VmRSS", or "VmHWM" for the highest."""
    from vizkit.isolated_decoding import _idle

    texts = [Path(f"/proc/{pid}/status").read_text() for pid in ("self", *(each.process.pid for each in _idle))]
    return sum(int(text.split(f"{name}:")[1].split()[0]) for text in texts) / 1024


def serve(kind: str, first: int, end: int) -> None:
    import shutil

    from vizkit.datasets.cache import cache_folder
    from vizkit.isolated_decoding import _idle, warm_up

    if kind == "checkpoints":
        import vizkit

        vizkit.load("test_vit", pretrained=False, device="cpu")
    for seed in range(first, end):
        with tempfile.TemporaryDirectory() as folder:
            form, work = read(kind, seed, Path(folder))
            warm_up()
            print(json.dumps({"seed": seed, "form": form}), flush=True)
            for process in ("self", *(each.process.pid for each in _idle)):
                Path(f"/proc/{process}/clear_refs").write_text("5")  # forget the highest
            before, started = memory_mib("VmRSS"), processor_s()
            result = outcome(work)
            told = {"seed": seed, "form": form, "outcome": result}
            told |= {"seconds": processor_s() - started, "mib": memory_mib("VmHWM") - before}
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
