"""A DETR of random weights that is small enough for any test."""

import timm
import torch

from vizkit.image import Preprocessing
from vizkit.models.detection.opening import Detector
from vizkit.models.networks.detr import DETR

LABELS = ("mayfly nymph", "midge larva", "water strider")
NEEDS = Preprocessing((64, 96), (0.5,) * 3, (0.5,) * 3, crop_pct=1.0, crop_mode="squash", interpolation="bilinear")


def tiny(*, conditional, seed=0):
    """Two encoder and two decoder layers of two heads, five queries; on 64 × 96 pixels a memory of 2 × 3 cells."""
    torch.manual_seed(seed)
    backbone = timm.create_model("resnet10t", channels=(8, 16, 16, 32), num_classes=0)
    model = DETR(
        backbone,
        int(backbone.num_features),
        len(LABELS),
        dim=16,
        heads=2,
        hidden=16,
        encoder_depth=2,
        decoder_depth=2,
        queries=5,
        conditional=conditional,
    )
    model.eval().requires_grad_(False)
    return Detector("tiny", model, LABELS, NEEDS, "none")
