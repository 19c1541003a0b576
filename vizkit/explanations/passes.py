"""What is computed of every picture: what the model answers, and where the answer came from."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow
import torch
from torch import Tensor

from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.attribution.rollout import rollout_masses
from vizkit.analysis.comparison.class_names import match
from vizkit.explanations.job import Columns
from vizkit.explanations.reading import Pixels
from vizkit.explanations.table import Kind, encoded, map_fields
from vizkit.image import unprepare
from vizkit.models import Loaded
from vizkit.scoring import Question
from vizkit.traces import NotApplicable

ANSWER, LABEL = "answer", "label"  # what may be explained besides one class
NO_LABEL = "The model knows no class of the picture's label."


class Answers:
    """`truth`: the model's class of a picture's label; `answer`: the most probable one; `logits`: of every class."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.known: dict[str | None, int | None] = {None: None}
        self.fields = [*ANSWERED, pyarrow.field("logits", pyarrow.list_(pyarrow.float32()))]

    def _noise(self) -> Pixels:
        """A picture of chance, to learn the shapes of what comes."""
        needs, chance = self.loaded.preprocessing, torch.Generator().manual_seed(0)
        return torch.randn(1, needs.channels, *needs.size_hw, generator=chance).to(self.loaded.device)

    @torch.no_grad()
    def forward(self, pixels: Pixels) -> Tensor:
        logits = self.loaded.model(pixels.to(self.loaded.dtype))
        return logits if isinstance(logits, Tensor) else next(iter(logits.values()))

    def of(self, pixels: Pixels, labels: Sequence[str | None]) -> Columns:
        logits = self.forward(pixels).float().cpu()
        every = pyarrow.array([*logits.numpy()], pyarrow.list_(pyarrow.float32()))
        return self.answered(logits, labels) | {"logits": every}

    def answered(self, logits: Tensor, labels: Sequence[str | None]) -> Columns:
        truth = pyarrow.array([self.truth(label) for label in labels], pyarrow.int32())
        if not self.loaded.classifies:
            nothing = [pyarrow.nulls(len(labels), each.type) for each in ANSWERED[1:]]
            return dict(zip(("truth", "answer", "probability"), (truth, *nothing), strict=True))
        top = self.loaded.head.values(logits).max(-1)
        return {
            "truth": truth,
            "answer": pyarrow.array(top.indices.numpy().astype(np.int32)),
            "probability": pyarrow.array(top.values.numpy().astype(np.float32)),
        }

    def truth(self, label: str | None) -> int | None:
        if label not in self.known:
            (found,) = match([label or ""], self.loaded.labels)
            number = int(label) if label and label.isdigit() and len(label) < 9 else -1
            inside = 0 <= number < len(self.loaded.labels)
            self.known[label] = number if found is None and inside else found
        return self.known[label]


ANSWERED = [
    pyarrow.field("truth", pyarrow.int32()),
    pyarrow.field("answer", pyarrow.int32()),
    pyarrow.field("probability", pyarrow.float32()),
]


class Maps(Answers):
    """Maps of `methods`, of the class `explained`: the answer, the label's, or one class. `against`: less that of
    another class. `without`: method → why this model has no such map. `no_map`: why a picture has none, in sentences.

    Raises NotApplicable where no method applies.
    """

    def __init__(
        self,
        loaded: Loaded,
        methods: Sequence[str],
        kind: Kind = "uint8",
        target: str | int = ANSWER,
        against: int | None = None,
        layer: str = "",
    ) -> None:
        super().__init__(loaded)
        self.kind: Kind = kind
        self.target, self.against, self.layer = target, against, layer
        self.seen = replace(loaded, preprocessing=loaded.preprocessing.of_seen)  # what is cut and resized already
        question = self._question(self._noise()[0], target if isinstance(target, int) else None)
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.signed: dict[str, bool] = {}
        self.without: dict[str, str] = {}
        for method in methods:
            try:
                one = question.explain(method)
                self.shapes[method], self.signed[method] = tuple(one.heat.shape), one.signed
                self.cells, self.image_size = one.cells, one.image_size
            except NotApplicable as reason:
                self.without[method] = str(reason)
        if not self.shapes:
            raise NotApplicable(next(iter(self.without.values())))
        maps = [field for method, shape in self.shapes.items() for field in map_fields(method, shape, kind)]
        self.special = [*rollout_masses(question.trace).special] if "rollout" in self.shapes else []
        special = pyarrow.struct([(name, pyarrow.float32()) for name in self.special])
        self.fields = [
            *ANSWERED,
            pyarrow.field("explained", pyarrow.int32()),
            pyarrow.field("proof_error", pyarrow.float32()),
            pyarrow.field("no_map", pyarrow.string()),
            *([pyarrow.field("rollout_special", special)] if self.special else []),
            *maps,
        ]

    def _question(self, pixels: Tensor, target: int | None) -> Question:
        picture = unprepare(pixels.cpu().numpy(), self.loaded.preprocessing)
        return Question.of(self.seen, picture, target, self.against, self.layer)

    def of(self, pixels: Pixels, labels: Sequence[str | None]) -> Columns:
        maps = {name: np.full((len(pixels), *shape), np.nan, np.float32) for name, shape in self.shapes.items()}
        logits, rows = [], []
        for row, label in enumerate(labels):
            wanted = {ANSWER: None, LABEL: self.truth(label)}.get(str(self.target), self.target)
            question = self._question(pixels[row], None if wanted is None else int(wanted))
            logits.append(question.trace.logits.float().cpu())
            why = [NO_LABEL] if self.target == LABEL and wanted is None else []
            for method in self.shapes if not why else ():
                try:
                    maps[method][row] = question.explain(method).heat.numpy()
                except NotApplicable as reason:
                    why.append(f"{METHODS[method].title}: {reason}")
            taken = rollout_masses(question.trace).special if self.special else {}
            explained, error = None if NO_LABEL in why else question.subject.target, question.trace.check.output_error
            rows.append((explained, error, " ".join(why) or None, {name: float(mass) for name, mass in taken.items()}))
        fields = (field for field in self.fields[3:] if not field.name.startswith(("map_", "low_", "high_")))
        columns = zip(fields, zip(*rows, strict=True), strict=False)  # without masses where nothing rolls
        own = {one.name: pyarrow.array(each, one.type) for one, each in columns}
        every = [encoded(method, each, self.kind) for method, each in maps.items()]
        return self.answered(torch.stack(logits), labels) | own | {k: v for each in every for k, v in each.items()}
