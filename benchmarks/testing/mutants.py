"""Mutation testing of the core: is there a test that fails when one small thing in a module is changed?

    python -m benchmarks.testing.mutants [MODULE …] [--sample N]

The tests of a module that `make test` runs are collected once; each mutant is a fork in which the code of the living
function is replaced before any test has run. Tests that call the function come first, then the others of their files;
the first failure ends the fork. mutmut cannot do this here: it starts pytest several times in one process, which the
runtime type checks of these tests refuse. Survivors in equivalent_mutants.txt, where nothing can be told from outside,
count apart.
"""

import argparse
import gc
import importlib
import os
import pickle
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.testing.mutations import Mutant, living, mutants

EQUIVALENT = Path(__file__).with_name("equivalent_mutants.txt")
MODULES = {  # module → the quick tests that concern it
    "geometry": "geometry",
    "analysis.attribution.rollout": "rollout",
    "analysis.attribution.layer_product": "layer_product rollout",
    "analysis.swin.shifted_windows": "shifted_windows",
    "analysis.distillation.loss": "distillation_loss",
    "evaluation.measures": "evaluation_measures",
    "training.pictures.batches": "training_batches",
    "training.optimizing": "optimizing recipe",
    "models.recording.weights": "recording layer_output families",
    "models.recording.recorder": "recording layer_output families test_many",
    "models.detection.precision": "precision",
    "models.families.outlook": "places_by_hand",
    "models.families.places": "places_by_hand",
    "models.families.swin": "places_by_hand",
    "models.families.translate": "finished_traces places_by_hand test_layer_output network_traces",
    "models.families.vit": "places_by_hand",
    "models.sources.checkpoint": "sources/limits",
    "models.sources.fitting": "sources/fitting sources/weight_names",
    "models.sources.following": "sources/following",
    "models.sources.sizing": "sources/limits",
    "models.sources.transformers_stages": "sources/transformers_stages",
    "models.sources.weight_names": "sources/weight_names sources/parts_of_files sources/adapters",
    "analysis.attention.head_behaviour": "head_behaviour",
    "analysis.attention.statistics": "analysis/statistics head_behaviour",
    "analysis.comparison.cka": "cka",
    "analysis.comparison.seed_interval": "seed_interval remarks/data_size",
    "analysis.remarks.answers": "remarks/answers",
    "analysis.remarks.attention": "remarks/attention",
    "analysis.remarks.convolution": "remarks/convolution",
    "analysis.remarks.data_size": "remarks/data_size",
    "analysis.remarks.detection": "remarks/detection",
    "analysis.remarks.interventions": "remarks/interventions cka",
    "analysis.remarks.patches": "counts",
    "analysis.remarks.places": "remarks/places",
    "analysis.remarks.positions": "remarks/positions",
    "analysis.remarks.sequences": "remarks/sequences",
    "analysis.remarks.swin": "remarks/swin",
    "analysis.trust.scores": "trust verdict",
    "analysis.trust.verdict": "verdict",
    "evaluation.paired": "evaluation_measures",
    "models.probes.convolution.reach": "receptive_field",
}
SLOW_S = 2  # tests that take longer are left out: what they alone would find counts as a survivor
STARVED_S = 900  # a fork that waits for what never comes
Calls = dict[str, tuple[float, set[str]]]  # test → CPU seconds, functions of the module that it calls


class Campaign:
    """A pytest plugin that runs the collected tests of each module once for each mutant of it, in a fork of its own."""

    def __init__(self, modules: list[str], sample: int) -> None:
        self.modules, self.sample, self.known = modules, sample, equivalent()
        self.rows: list[str] = []

    def pytest_sessionstart(self) -> None:
        """Property tests draw the same for every mutant; their time does not count on a busy machine."""
        from hypothesis import Phase, settings

        once = {"deadline": None, "derandomize": True, "database": None, "phases": [Phase.explicit, Phase.generate]}
        settings.register_profile("mutants", **once)
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for module in self.modules:
            self.rows.append(self.row(module, [item for item in session.items if concerns(item.path, [module])]))
        return True

    def row(self, module: str, items: list[pytest.Item]) -> str:
        """Try all mutants of a module; gives its line of the table."""
        self.module = importlib.import_module(f"vizkit.{module}")
        self.path = str(self.module.__file__)
        found = list(mutants(Path(self.path).read_text(encoding="utf-8")))
        if 0 < self.sample < len(found):
            found = random.Random(0).sample(found, self.sample)
        calls = self.unchanged(items)
        if not any(called for _, called in calls.values()):
            pytest.exit(f"No test calls {module}: its compiled files may be those of another folder.", 1)
        gc.unfreeze()  # what is frozen is not found
        self.living = living(self.path)
        gc.freeze()  # so that collecting garbage in a fork does not copy the memory of this process
        limit_s = 10 + 3 * sum(seconds for seconds, _ in calls.values())
        killed = same = 0
        for count, mutant in enumerate(found, start=1):
            started, name = time.monotonic(), f"{module}.{mutant}"
            if self.forked(lambda mutant=mutant: self.tried(mutant, items, calls), limit_s):
                killed, word = killed + 1, "killed"
            else:
                same, word = same + (name in self.known), "equivalent" if name in self.known else "SURVIVED"
            print(
                f"{count}/{len(found)} {word} in {time.monotonic() - started:.1f} s, line {mutant.line}: {name}",
                flush=True,
            )
        row = f"| {module} | {len(found)} | {same} | {killed} | {100 * killed / (len(found) - same):.1f} % |"
        print(row, flush=True)
        return row

    def unchanged(self, items: list[pytest.Item]) -> Calls:
        """Run all tests once, unchanged, in a fork, and load here what they load."""
        with tempfile.TemporaryFile(buffering=0) as told:
            if self.forked(lambda: told.write(pickle.dumps((self.watched(items), [*sys.modules])))):
                pytest.exit(f"The tests of {self.module.__name__} fail without any change.", 1)
            told.seek(0)
            calls, loaded = pickle.load(told)
        for name in loaded:
            if not name.startswith(("vizkit", "tests", "__")):
                try:
                    importlib.import_module(name)
                except Exception:  # a made-up module of somebody's package
                    continue
        return calls

    def watched(self, items: list[pytest.Item]) -> Calls:
        calls = {}
        for item, after in zip(items, [*items[1:], None], strict=True):
            called, started = set(), time.process_time()

            def note(frame, event, _, called=called):
                if event == "call" and frame.f_code.co_filename == self.path:
                    called.add(frame.f_code.co_qualname.partition(".<locals>")[0])

            sys.settrace(note)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            sys.settrace(None)
            calls[item.nodeid] = time.process_time() - started, called
        return calls

    def tried(self, mutant: Mutant, items: list[pytest.Item], calls: Calls) -> None:
        mutant.install(self.module, self.living)

        def apart(item: pytest.Item) -> bool:
            return bool(mutant.function) and mutant.function not in calls[item.nodeid][1]

        files = {item.path for item in items if not apart(item)}
        order = sorted(items, key=lambda item: (apart(item), str(item.path), calls[item.nodeid][0]))
        order = [item for item in order if item.path in files and calls[item.nodeid][0] < SLOW_S]
        for item, after in zip(order, [*order[1:], None], strict=False):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os._exit(1)

    def forked(self, work: Callable[[], object], limit_s: float = resource.RLIM_INFINITY) -> int:
        """0 when all tests passed within so many seconds of the processor."""
        child = os.fork()
        if child:
            return os.waitpid(child, 0)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit_s), resource.RLIM_INFINITY))
        signal.alarm(STARVED_S)
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        try:
            work()
        finally:
            os._exit(sys.exc_info()[0] is not None)


def equivalent() -> set[str]:
    """The mutants that nobody can tell from the original; the file says why."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def concerns(file: Path, modules: list[str]) -> bool:
    names = {name for module in modules for name in MODULES[module].split()}
    return any(file.match(re.sub(r"[^/]+$", r"test_\g<0>.py", name)) for name in names)


def main(modules: list[str], sample: int = 0) -> None:
    # Before tests import torch: a fork has one thread.
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    campaign = Campaign(modules, sample)
    files = sorted(str(file) for file in Path("tests").rglob("test_*.py") if concerns(file, modules))
    with tempfile.TemporaryDirectory() as folder:
        options = ["-qq", "-s", "--tb=no", "-p", "no:cacheprovider", "--rows", "first", "--basetemp", f"{folder}/tests"]
        if pytest.main([*options, *files], plugins=[campaign]):
            sys.exit("The tests could not be run.")
    print("\n| module | mutants | equivalent | killed | of those that can be killed |\n|---|---:|---:|---:|---:|")
    print("\n".join(campaign.rows))


def run() -> None:
    main(list(MODULES))


if __name__ == "__main__":
    asked = argparse.ArgumentParser(
        prog="python -m benchmarks.testing.mutants", description="Mutation testing of the core."
    )
    asked.add_argument("modules", nargs="*", choices=[*MODULES, []], metavar="MODULE")
    asked.add_argument("--sample", type=int, default=0, help="so many mutants of each module, drawn at random")
    given = asked.parse_args()
    main(given.modules or list(MODULES), given.sample)
