"""What a data set is looked over by: a picture's answer, what its classifier read, where it looked, and its thumbnail.

`features`: what the last layer, a linear one that gives the logits, is given; of a model without one its outputs.
`entropy`: of the class token's attention to the places in the last layer, 0 (one place) to 1 (all alike).
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow
import torch
from jaxtyping import Float
from torch import Tensor, nn

from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.data_set import picture
from vizkit.explanations.job import Columns, Seen
from vizkit.explanations.passes import NUMBERS, Maps, lists
from vizkit.explanations.reading import Pixels
from vizkit.explanations.table import fixed
from vizkit.models import Loaded
from vizkit.models.probes.multiply_adds import copy_with
from vizkit.traces import NotApplicable

METHOD, ELSE = "rollout", next(name for name, method in METHODS.items() if method.layered)
SIDE = 48  # of a thumbnail
CLASS_TOKEN = "attention"
SAME = 1e-4  # of the largest logit


def method_for(loaded: Loaded) -> str:
    """Of the map: rollout, which needs no gradients, and Grad-CAM where it does not apply."""
    try:
        Overview(loaded, METHOD)
    except NotApplicable:
        return ELSE
    return METHOD


class Overview(Maps):
    """Columns `logits`, `features`, `entropy`, `thumbnail`, `scores` and `hash` (see `analysis.data_set.picture`)
    besides those of `Maps`. `classifier`: the last layer, None where none is found.

    Raises NotApplicable where the model has no map of the method.
    """

    def __init__(self, loaded: Loaded, method: str) -> None:
        # A second model that shares all weights, so that other threads see nothing of the hook.
        mine = replace(loaded, model=copy_with(loaded.model, lambda tensor: tensor), compared={})
        super().__init__(mine, [*dict.fromkeys((method, CLASS_TOKEN))])
        if method in self.without:
            raise NotApplicable(self.without[method])
        self.read: list[Tensor] = []
        self.classifier = self._classifier()
        if self.classifier is not None:
            self.classifier.register_forward_pre_hook(lambda _, given: self.read.append(given[0].detach()))
        thumbnail = pyarrow.list_(pyarrow.uint8(), SIDE * SIDE * 3)
        own = {"logits": NUMBERS, "features": NUMBERS, "entropy": pyarrow.float32(), "thumbnail": thumbnail}
        own |= {"scores": pyarrow.list_(pyarrow.float32(), 3), "hash": pyarrow.uint64()}
        self.fields = [*self.fields, *pyarrow.schema(own)]

    def _classifier(self) -> nn.Module | None:
        """The linear layer, or convolution of single places, whose output for a picture of chance are the logits."""
        seen: dict[nn.Module, Any] = {}

        def linear(layer: nn.Module) -> bool:
            return isinstance(layer, nn.Linear) or (isinstance(layer, nn.Conv2d) and layer.kernel_size == (1, 1))

        layers = [each for each in self.loaded.model.modules() if linear(each)]
        hooks = [each.register_forward_hook(lambda layer, _, out: seen.__setitem__(layer, out)) for each in layers]
        try:
            logits = self.forward(self._noise())
        finally:
            for hook in hooks:
                hook.remove()
        near = SAME * float(logits.abs().max())
        given = (
            layer
            for layer, out in seen.items()
            if out.numel() == logits.numel() and float((out.reshape(logits.shape) - logits).abs().max()) <= near
        )
        return next(given, None)

    def of(self, seen: Seen) -> Columns:
        self.read.clear()
        found, pixels = self.explained(seen), seen.pixels
        read = next((each for each in self.read if len(each) == len(pixels)), None)
        if read is None and self.classifier is not None:  # the pictures went through one by one
            self.read.clear()
            self.forward(pixels)
            (read,) = self.read
        features = found.logits if read is None else read.reshape(len(pixels), -1)
        shown = self._shown(pixels)
        small, scores = picture.thumbnails(shown, SIDE), picture.scores(shown)
        own = {"logits": lists(found.logits), "features": lists(features), "thumbnail": fixed(small)}
        own |= {"scores": fixed(scores), "hash": pyarrow.array(picture.hashes(shown))}
        if CLASS_TOKEN in found.heats:
            entropy = evenness(found.heats[CLASS_TOKEN].flatten(1)).numpy()
            missing = np.array([bool(why) for why in found.reasons[CLASS_TOKEN]])
            own["entropy"] = pyarrow.array(entropy, pyarrow.float32(), mask=missing)
        return self.columns(found, seen.labels) | own

    def _shown(self, pixels: Pixels) -> picture.Pictures:
        """As they looked before the model's preprocessing."""
        needs = self.loaded.preprocessing
        mean, std = (torch.tensor(each, device=pixels.device)[:, None, None] for each in (needs.mean, needs.std))
        shown = ((pixels.float() * std + mean) * 255).round().clamp(0, 255).byte()
        return shown.expand(-1, 3, -1, -1)


def evenness(weights: Float[Tensor, "picture place"]) -> Float[Tensor, " picture"]:
    """The entropy of each row, divided by its sum, over that of equal weights: 0 where one place has all, to 1."""
    shares = weights.float() / weights.float().sum(1, keepdim=True)
    return -torch.special.xlogy(shares, shares).sum(1) / math.log(max(2, shares.shape[1]))
