"""A small DETR with random weights, as a detector and as a run folder."""

import json

from safetensors.torch import save_file

from tests.drawn import seeded
from vizkit.image import Preprocessing
from vizkit.models.detection.building import Backbone, backbone_of, build
from vizkit.models.detection.opening import Detector, config_of

PLAN = Backbone("resnet18")
SIZES = {
    "dim": 16,
    "heads": 2,
    "hidden": 16,
    "encoder_depth": 1,
    "decoder_depth": 2,
    "queries": 6,
    "groups": 1,
    "dense": False,
}
NEEDS = Preprocessing((64, 64), (0.5,) * 3, (0.5,) * 3, 1.0, "squash", "bilinear")
LABELS = ("ant", "bee", "wasp")


def small_detector(labels=LABELS, seed=0):
    with seeded(seed):
        model = build("detr_small", len(labels), backbone_of(PLAN), SIZES).eval().requires_grad_(False)
    return Detector("small", model, tuple(labels), NEEDS, "mit")


def small_run(folder, labels=LABELS, seed=0):
    detector = small_detector(labels, seed)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(detector.model.state_dict(), folder / "model.safetensors")
    config = config_of("detr_small", detector.model, PLAN, detector.labels, NEEDS, "mit")
    (folder / "config.json").write_text(json.dumps(config))
    return folder
