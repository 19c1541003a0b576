"""What many tests share. No test uses the network: the hub is switched off, and its caches are empty folders.

Tests of being offline switch the hub on again, for themselves (tests/models/test_loading.py).
"""

import os
import tempfile

# Before anything imports huggingface_hub or torch, which read these once. One thread: the models are small, and where
# other work keeps a core busy, two threads only wait for each other (measured: 60 times slower).
_CACHES = tempfile.mkdtemp(prefix="vizkit-tests-")
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HOME": f"{_CACHES}/hf", "TORCH_HOME": f"{_CACHES}/torch"}
os.environ |= {"HF_HUB_DISABLE_TELEMETRY": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
os.environ.pop("HF_HUB_CACHE", None)

import shutil  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items):
    """Which tests stay with one worker, for the sake of what they share: those of a file, all journeys (one server and
    one browser), and where a file says so itself (one model of every family)."""
    for item in items:
        file = item.nodeid.partition("::")[0]
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group("browser" if file.startswith("tests/browser/") else file))


def pytest_unconfigure():
    shutil.rmtree(_CACHES, ignore_errors=True)


@pytest.fixture
def photo():
    """A picture without any symmetry, (48, 64, 3)."""
    return np.random.default_rng(7).integers(0, 256, (48, 64, 3), dtype=np.uint8)


def random_model(name, **options):
    import torch

    import vizkit

    with torch.random.fork_rng():
        torch.manual_seed(11)
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
