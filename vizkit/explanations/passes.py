"""What is computed of every picture: what the model answers, and where the answer came from."""

from collections.abc import Sequence
from functools import cache
from timeit import timeit

import numpy as np
import pyarrow
import torch
from torch import Tensor

from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.comparison.class_names import match
from vizkit.explanations.batched import Explained, Explainer
from vizkit.explanations.job import Columns, Seen
from vizkit.explanations.reading import Pixels
from vizkit.explanations.table import PATCH_FEATURES, Kind, encoded, map_fields
from vizkit.explanations.vectors import PatchVectors
from vizkit.models import Loaded

NUMBERS = pyarrow.list_(pyarrow.float32())
ANSWER, LABEL = "answer", "label"  # what may be explained besides one class
NO_LABEL = "The model knows no class of the image's label."
FAILED = "The check failed: the recorded weights do not give what a layer itself gave."


class Answers:
    """`truth`: the model's class of a picture's label; `answer`: the most probable one; `logits`: of every class."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.truth = cache(self._truth)
        self.fields = [*ANSWERED, pyarrow.field("logits", NUMBERS)]

    def _noise(self) -> Pixels:
        """A picture of chance, to learn the shapes of what comes."""
        needs, chance = self.loaded.preprocessing, torch.Generator().manual_seed(0)
        return torch.randn(1, needs.channels, *needs.size_hw, generator=chance).to(self.loaded.device)

    @torch.no_grad()
    def forward(self, pixels: Pixels) -> Tensor:
        return self.loaded.logits_of(self.loaded.model(pixels.to(self.loaded.dtype)), len(pixels))

    def of(self, seen: Seen) -> Columns:
        logits = self.forward(seen.pixels).float().cpu()
        return self.answered(logits, seen.labels) | {"logits": lists(logits)}

    def most_within(self, seconds: float) -> int:
        """So many pictures are surely done in this time: by what one takes that goes through alone, at least 1."""
        alone = Seen(self._noise(), [None], [""])
        taken = timeit(lambda: self.of(alone), number=1)
        if taken < 1:  # the first time it may have begun something
            taken = timeit(lambda: self.of(alone), number=1)
        return max(1, int(seconds / taken))

    def answered(self, logits: Tensor, labels: Sequence[str | None]) -> Columns:
        truth = pyarrow.array([self.truth(label) for label in labels], pyarrow.int32())
        if not self.loaded.classifies:
            return {"truth": truth}
        top = self.loaded.head.values(logits).max(-1)
        return {
            "truth": truth,
            "answer": pyarrow.array(top.indices.numpy().astype(np.int32)),
            "probability": pyarrow.array(top.values.numpy().astype(np.float32)),
        }

    def _truth(self, label: str | None) -> int | None:
        if label is None:
            return None
        (found,) = match([label], self.loaded.labels)
        number = int(label) if label.isdigit() and len(label) < 9 else -1
        return number if found is None and 0 <= number < len(self.loaded.labels) else found


def lists(rows: Tensor) -> pyarrow.Array:
    """A list of numbers for each picture, of the type NUMBERS."""
    return pyarrow.array([*rows.float().cpu().numpy()], NUMBERS)


ANSWERED = pyarrow.schema({"truth": pyarrow.int32(), "answer": pyarrow.int32(), "probability": pyarrow.float32()})


class Maps(Answers):
    """Maps of `methods`, of the class `explained`: the answer, the label's, or one class. `against`: less that of
    another class. `features`: with the vectors of patches (`vectors`), for a pass more. `without`: method → why this
    model has no such map. `no_map`: why a picture has none, in sentences.

    Raises NotApplicable where no method applies, or the places of the vectors are not known.
    """

    def __init__(
        self,
        loaded: Loaded,
        methods: Sequence[str],
        kind: Kind = "uint8",
        target: str | int = ANSWER,
        against: int | None = None,
        layer: str = "",
        features: bool = False,
    ) -> None:
        super().__init__(loaded)
        self.kind: Kind = kind
        self.target, self.against, self.layer = target, against, layer
        self.explainer = Explainer(loaded, methods, self._noise().to(loaded.dtype), against, layer)
        self.without = self.explainer.without
        like = self.explainer.like
        self.shapes = {method: tuple(one.heat.shape) for method, one in like.items()}
        self.signed = {method: one.signed for method, one in like.items()}
        self.cells = next(iter(like.values())).cells
        trace = self.explainer.many.like
        self.vectors = PatchVectors(loaded, trace, self._noise().to(loaded.dtype)) if features and trace else None
        own = {"explained": pyarrow.int32(), "proof_error": pyarrow.float32(), "no_map": pyarrow.string()}
        if self.explainer.special:
            own["rollout_special"] = pyarrow.struct([(name, pyarrow.float32()) for name in self.explainer.special])
        self.fields = [
            *ANSWERED,
            *pyarrow.schema(own),
            *(field for method, shape in self.shapes.items() for field in map_fields(method, shape, kind)),
            *([self.vectors.field] if self.vectors else []),
        ]

    def of(self, seen: Seen) -> Columns:
        own = {PATCH_FEATURES: self.vectors.of(seen.pixels.to(self.loaded.dtype))} if self.vectors else {}
        return self.columns(self.explained(seen), seen.labels) | own

    def explained(self, seen: Seen) -> Explained:
        truths = [self.truth(label) for label in seen.labels]

        def targets(logits: Tensor) -> list[int]:
            if self.target not in (ANSWER, LABEL):
                return [int(self.target)] * len(logits)
            wanted = truths if self.target == LABEL else [None] * len(logits)
            own = self.loaded.head.target
            return [own(each) if goal is None else goal for each, goal in zip(logits, wanted, strict=True)]

        return self.explainer.of(seen.pixels.to(self.loaded.dtype), targets)

    def columns(self, found: Explained, labels: Sequence[str | None]) -> Columns:
        said = [self._said(found, row, self.truth(label)) for row, label in enumerate(labels)]
        none = np.array([FAILED in words or NO_LABEL in words for words in said])
        explained = [None if NO_LABEL in words else goal for words, goal in zip(said, found.targets, strict=True)]
        errors = found.proof_error.numpy()
        own: Columns = {
            "explained": pyarrow.array(explained, pyarrow.int32()),
            "proof_error": pyarrow.array(errors.astype(np.float32), mask=np.isnan(errors)),
            "no_map": pyarrow.array([" ".join(words) or None for words in said], pyarrow.string()),
        }
        if found.special:
            masses = [pyarrow.array(mass.float().numpy()) for mass in found.special.values()]
            own["rollout_special"] = pyarrow.StructArray.from_arrays(masses, [*found.special])
        for method, heats in found.heats.items():
            maps = np.array(heats.float().numpy())
            maps[none | np.array([why is not None for why in found.reasons[method]])] = np.nan
            own |= encoded(method, maps, self.kind)
        return self.answered(found.logits, labels) | own

    def _said(self, found: Explained, row: int, truth: int | None) -> list[str]:
        """Why a picture lacks maps."""
        if self.target == LABEL and truth is None:
            return [NO_LABEL]
        if found.proof_error[row] > found.allowed:
            return [FAILED]
        reasons = {METHODS[method].title: reasons[row] for method, reasons in found.reasons.items()}
        return [f"{title}: {reason}" for title, reason in reasons.items() if reason]
