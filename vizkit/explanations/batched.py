"""Maps of many pictures at once: one pass of the model for all of them, and each method's code once (`models.many`).

Methods that run the model again, such as occlusion, take the pictures one by one: their own passes fill a batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attribution.explaining import Explanation, checked, explain
from vizkit.analysis.attribution.grad_cam import at_layer
from vizkit.analysis.attribution.layer_product import read_by_head
from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.attribution.rollout import rollout_masses, shares
from vizkit.analysis.attribution.subject import Subject
from vizkit.models import Keep, Loaded
from vizkit.models.many import Many
from vizkit.models.probes.model_functions import batch_within, logits_of_batch
from vizkit.models.recording.forward import Targets
from vizkit.traces import NotApplicable, Trace, refusals

Pixels = Float[Tensor, "image channel height width"]


@dataclass(frozen=True)
class Explained:
    """Of every picture of a batch. `heats`: by method, and in `reasons` why a picture has none, whose map then means
    nothing. `special`: what special tokens take of rollout. `proof_error`: see `many.Batch`."""

    logits: Float[Tensor, "image label"]
    targets: list[int]
    heats: dict[str, Float[Tensor, "image row column"]]
    reasons: dict[str, list[str | None]]
    special: dict[str, Float[Tensor, " image"]]
    proof_error: Float[Tensor, " image"]
    allowed: float


class Explainer:
    """A model and some methods, which are asked about the class `against` another one where that is given; `layer` as
    in `grad_cam.at_layer`. `without`: method → why this model has no such map.

    The first picture decides what applies: give one, (1, channel, height, width). Raises NotApplicable where nothing
    does, and where the recording of the model is refused.
    """

    def __init__(
        self, loaded: Loaded, methods: Sequence[str], first: Pixels, against: int | None = None, layer: str = ""
    ) -> None:
        self.loaded, self.against, self.layer = loaded, against, layer
        needs = {METHODS[method].needs for method in methods}
        self.gradients = "target" in needs
        keep = None if self.gradients else Keep(heads="mean")
        self.many = Many(loaded, keep, bool(layer))
        self.rival = None if against is None or not self.gradients else Many(loaded, keep, bool(layer))
        self.like: dict[str, Explanation] = {}
        self.without: dict[str, str] = {}
        head = loaded.head
        trace = self.many.begin(first, (lambda logits: [head.target(logits[0])]) if self.gradients else None)
        if trace.check.refused:
            raise NotApplicable(trace.check.refused)
        rival = self.rival and self.rival.begin(first, self._against)
        subject = self._subject(first, head.target(trace.logits)) if "model" in needs else None
        for method in methods:
            try:
                with refusals():  # what this very picture lacks is nothing that the model lacks
                    self.like[method] = self._explained(method, trace, rival, subject)
            except NotApplicable as reason:
                self.without[method] = str(reason)
        if not self.like:
            raise NotApplicable(next(iter(self.without.values())))
        self.special = rollout_masses(trace).tokens.special if "rollout" in self.like else ()

    def _against(self, logits: Tensor) -> list[Any]:
        return [self.against] * len(logits)

    def _subject(self, pixels: Pixels, target: int) -> Subject:
        loaded = self.loaded
        seen = pixels.to(loaded.device)
        return Subject(logits_of_batch(loaded), seen, target, self.against, batch_within(loaded), loaded.head)

    def _explained(self, method: str, trace: Trace, rival: Trace | None, subject: Subject | None) -> Explanation:
        if METHODS[method].needs == "trace" and self.against is not None:
            raise NotApplicable(f"{METHODS[method].title} knows no class, so it cannot tell one from another.")
        trace, rival = at_layer(trace, self.layer), rival and at_layer(rival, self.layer)
        return explain(method, trace, against=rival, subject=subject)

    def of(self, pixels: Pixels, targets: Targets) -> Explained:
        """`targets`: the class of each picture, from the logits."""
        found: list[int] = []

        def chosen(logits: Tensor) -> list[int]:
            found[:] = targets(logits)
            return found

        batch = self.many.traces(pixels, chosen if self.gradients else None)
        goals = found if self.gradients else targets(batch.logits)
        others = [self.rival.traces(pixels, self._against)] if self.rival else []
        heats, reasons, special = {}, {}, {}
        for method in self.like:
            if method == "rollout":
                (heats[method], masses), reasons[method] = batch.each(self._rolled)
                special = dict(zip(self.special, masses.cpu().T, strict=True))
            elif METHODS[method].needs == "model":
                heats[method], reasons[method] = self._singly(method, batch.like, pixels, goals)
            else:
                heats[method], reasons[method] = batch.each(partial(self._heat, method), *others)
        on_cpu = {method: heat.cpu() for method, heat in heats.items()}
        return Explained(batch.logits, goals, on_cpu, reasons, special, batch.proof_error, batch.allowed)

    def _rolled(self, trace: Trace) -> tuple[Tensor, Tensor]:
        """The map of rollout, and what special tokens take."""
        rolled = rollout_masses(trace, read_by_head(trace))
        taken = rolled.mass.rows[0, : len(rolled.tokens.special)]
        return checked(shares(rolled.grid), METHODS["rollout"].title), taken

    def _heat(self, method: str, trace: Trace, rival: Trace | None = None, subject: Subject | None = None) -> Tensor:
        return self._explained(method, trace, rival, subject).heat

    def _singly(self, method: str, like: Trace, pixels: Pixels, goals: list[int]) -> tuple[Tensor, list[str | None]]:
        heats, reasons = [], []
        for one, target in zip(pixels, goals, strict=True):
            try:
                heats.append(self._heat(method, like, None, self._subject(one[None], target)))
                reasons.append(None)
            except NotApplicable as reason:
                heats.append(torch.zeros_like(self.like[method].heat))
                reasons.append(str(reason))
        return torch.stack(heats), reasons
