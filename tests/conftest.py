"""What many tests share. No test uses the network: the hub is switched off, and its caches are empty folders.

Tests of being offline switch the hub on again, for themselves (tests/models/test_loading.py).
"""

import os
import sys
import tempfile

# Before anything imports huggingface_hub or torch, which read these once. One thread: the models are small, and where
# other work keeps a core busy, two threads only wait for each other (measured: 60 times slower).
_CACHES = tempfile.mkdtemp(prefix="vizkit-tests-")
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HOME": f"{_CACHES}/hf", "TORCH_HOME": f"{_CACHES}/torch"}
os.environ |= {"HF_HUB_DISABLE_TELEMETRY": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
os.environ["VIZKIT_CACHE"] = f"{_CACHES}/vizkit"  # of what is made for many tests; each has one of its own
os.environ.pop("HF_HUB_CACHE", None)
if "gpu" not in sys.argv and "PYTEST_XDIST_WORKER" not in os.environ:  # `pytest -m gpu`; workers have what it has
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # models open on the CPU, as those whose numbers are recorded
os.fsync = lambda file: None  # no test takes the power away; measured: 10 ms of each file that is written

import gc  # noqa: E402
import itertools  # noqa: E402
import shutil  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402

from tests.checking import install  # noqa: E402
from tests.figure.remembering import remember_texts  # noqa: E402
from tests.rows import ROWS, split  # noqa: E402

install("vizkit")

# The cyclic garbage collector looks through what was imported again and again: a tenth of the processor's time.
gc.set_threshold(50_000, 20, 50)


def pytest_addoption(parser):
    parser.addoption("--record-inventory", action="store_true", help="record all views anew (tests/ui/inventory)")
    parser.addoption("--rows", choices=ROWS, default="all", help="of the tests of products: see tests/rows")


ROWS_OF_ALL = pytest.StashKey[tuple[list[pytest.Item], list[pytest.Item]]]()


@pytest.hookimpl(trylast=True)  # when files of tests have marked theirs
def pytest_collection_modifyitems(config, items):
    first, rest = config.stash[ROWS_OF_ALL] = split(items)
    if (rows := config.getoption("rows")) != "all":
        items[:], others = (first, rest) if rows == "first" else (rest, first)
        config.hook.pytest_deselected(items=others)


def pytest_collection_finish():
    remember_texts()
    gc.collect()
    gc.freeze()


# Files that share what takes long to make, and so go to one worker: one server and one browser; one model of every
# family, with its trace; the process that others are forked from.
TOGETHER = (
    ("tests/browser/",),
    (
        "tests/test_families.py",
        "tests/models/test_family_parts.py",
        "tests/models/probes/test_budget.py",
        "tests/models/test_counting.py",
        "tests/models/recording/test_edits_of_all.py",
    ),
    (
        "tests/commands/",
        "tests/explanations/test_runs.py",
        "tests/test_recipes.py",
        "tests/models/sources/test_sizing.py",
        "tests/training/test_training.py",
        "tests/training/test_same_run.py",
        "tests/ui/session/test_device.py",
    ),
)


def together(nodeid):
    """The first of the files that go where a test goes, or its own file."""
    file = nodeid.partition("::")[0]
    return next((files[0] for files in TOGETHER if file.startswith(files)), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """`--dist loadfile`, but for the files that stay together."""
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return together(nodeid)

    return Together(config, log) if config.getvalue("dist") == "loadfile" else None


_tests = itertools.count()


@pytest.fixture(autouse=True)
def cache(monkeypatch):
    """The folder of what is computed and kept, each test's own; and what sessions share in memory is let go after it.
    Models and traces may stay there: they depend on weights and pixels alone."""
    folder = Path(_CACHES, "vizkit", f"{next(_tests)}")
    monkeypatch.setenv("VIZKIT_CACHE", str(folder))
    yield folder
    if sessions := sys.modules.get("vizkit.ui.session.remembered"):
        sessions.shelf().forget(lambda key: not str(key).startswith(("('vizkit.", "(('trace', ")))
        sys.modules["streamlit"].cache_data.clear()


@pytest.fixture(autouse=True)
def same_numbers():
    """A test draws the same numbers in every run, whatever ran before it."""
    torch.manual_seed(0)


def pytest_unconfigure():
    shutil.rmtree(_CACHES, ignore_errors=True)


@pytest.fixture
def photo():
    """A picture without any symmetry, (48, 64, 3)."""
    return np.random.default_rng(7).integers(0, 256, (48, 64, 3), dtype=np.uint8)


@pytest.fixture
def few_steps(monkeypatch):
    """In which places are taken away and put back, to find out which map is to be trusted."""
    from vizkit.analysis.trust import deletion

    along = deletion._along

    def quicker(subject, orders, cells, steps, *more):
        return along(subject, orders, cells, min(steps, 4), *more)

    monkeypatch.setattr(deletion, "_along", quicker)


def random_model(name, **options):
    import vizkit
    from tests.drawn import seeded

    with seeded(11):
        return vizkit.load(name, pretrained=False, device="cpu", **options)


# Loaded models are shared by all tests of a run: do not change them.
@pytest.fixture(scope="session")
def digits():
    """The bundled ViT, trained."""
    import vizkit

    return vizkit.load("bundled:digits_vit", device="cpu")


@pytest.fixture(scope="session")
def vit():
    """6 layers, 2 heads, patches of 16 pixels on 160×160, random weights."""
    return random_model("test_vit")


@pytest.fixture(scope="session")
def swin():
    """4 stages, windows of 7×7 on grids of 16×24 and less: padded, shifted and merged. Random weights."""
    return random_model("swin_tiny_patch4_window7_224", image_size=(64, 96))


@pytest.fixture(scope="session")
def cnn():
    """A small convolutional network on 160×160, random weights."""
    return random_model("test_resnet")
