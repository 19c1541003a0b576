"""Evaluating a folder of photographs against the same model's bare forward pass on pictures that are in memory."""

import os
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks import finished

ROUNDS = 3
CHUNK = 16
IMAGES = 6 * CHUNK  # the first chunk, in which everything starts, is not counted
MODELS = ("vit_small_patch16_224", "vit_base_patch16_224")
SIDES_PX = (500, 375)


def photographs(folder: Path, images: int) -> Path:
    """JPEG files as a telephone's, shrunk: parts of scikit-learn's two photographs, in a folder for each class."""
    from PIL import Image

    from vizkit.datasets import photographs

    for name, label in (("flower", "daisy"), ("china", "palace")):
        (folder / label).mkdir()
        whole = Image.fromarray(photographs.picture(name))
        for number in range(images // 2):
            left, top = 1.1 * number % 200, 0.4 * number % 100
            part = whole.resize(SIDES_PX, Image.Resampling.BICUBIC, (left, top, left + 420, top + 315))
            part.save(folder / label / f"{number}.jpg", quality=90)
    return folder


def bare(loaded, pixels, images: int = IMAGES) -> tuple[float, float]:
    """Pictures a second of the model alone, batch after batch; and a second of this process's own computing, which
    other work on the machine does not change. The first batch is not counted."""
    import torch

    later = images // len(pixels) - 1
    with torch.inference_mode():
        loaded.model(pixels)
        finished(loaded.device)
        begin, computed = time.perf_counter(), time.process_time()
        for _ in range(later):
            loaded.model(pixels).cpu()
    done = later * len(pixels)
    return done / (time.perf_counter() - begin), done / (time.process_time() - computed)


def whole(loaded, images, workers: int, chunk: int = CHUNK) -> tuple[float, float]:
    """The same of an evaluation into an empty cache: read, prepare, ask, keep. Processes that read are not this one."""
    from vizkit.evaluation.answers import evaluate

    moments = []

    def tell(*said) -> None:
        moments.append(time.process_time())

    with tempfile.TemporaryDirectory() as cache:
        kept, os.environ["VIZKIT_CACHE"] = os.environ.get("VIZKIT_CACHE"), cache
        found = evaluate(loaded, images, workers=workers, chunk=chunk, tell=tell)
        os.environ.pop("VIZKIT_CACHE")
        os.environ |= {} if kept is None else {"VIZKIT_CACHE": kept}
    assert found is not None  # one process alone has the answers
    # The second moment: the first batch is answered, everything has started.
    return found.images_per_s, (len(images) - chunk) / (moments[-1] - moments[1])


def run() -> None:
    import torch

    import vizkit
    from vizkit.evaluation.pictures import open_pictures
    from vizkit.explanations.reading import workers_for

    with tempfile.TemporaryDirectory() as home:
        images = open_pictures(photographs(Path(home), IMAGES))
        for name in MODELS:
            loaded = vizkit.load(name, pretrained=False)
            pixels = torch.rand(CHUNK, 3, *loaded.preprocessing.size_hw, device=loaded.device)
            beside = workers_for("cpu", 1000)
            for workers in dict.fromkeys((0, beside)):
                pairs = [(bare(loaded, pixels), whole(loaded, images, workers)) for _ in range(ROUNDS)]
                wall, own = (statistics.median(ours[i] / alone[i] for alone, ours in pairs) for i in (0, 1))
                speed = statistics.median(ours[0] for _, ours in pairs)
                print(
                    f"{name:22} {workers} processes read: {speed:6.1f} images/s, {wall:.3f} × the bare forward pass, "
                    f"{own:.3f} × by this process's own computing time"
                )
