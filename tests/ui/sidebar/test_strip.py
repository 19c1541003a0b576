"""The strip of thumbnails in the sidebar."""

import numpy as np
from PIL import Image

from vizkit.ui.sidebar.inputs import sample, samples
from vizkit.ui.sidebar.strip import SAMPLES, SIDE_PX, tile

LEVELS = 4.0  # mean difference that compression may leave, of 255


def drawn():
    return np.concatenate([tile(sample(name).rgb) for name in samples()], 1)


def test_every_sample_has_its_own_thumbnail():
    with Image.open(SAMPLES) as file:
        kept = np.asarray(file.convert("RGB"))
    truth = drawn()
    assert kept.shape == truth.shape
    of_tiles = np.abs(kept.astype(float) - truth).reshape(SIDE_PX, len(samples()), SIDE_PX, 3).mean((0, 2, 3))
    assert of_tiles.max() < LEVELS, "python -m tests.ui.sidebar.test_strip makes the thumbnails anew"


def test_a_photograph_is_cut_to_its_middle():
    rgb = np.zeros((100, 300, 3), np.uint8)
    rgb[:, 100:200] = 255
    assert (tile(rgb) > 250).mean() > 0.95


if __name__ == "__main__":
    Image.fromarray(drawn()).save(SAMPLES, quality=97, method=6)
