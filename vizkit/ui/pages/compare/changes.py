"""One image changed in eight ways and strengths, and what every model answers: the work behind the view Robustness."""

import csv
import io
from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from vizkit.analysis.comparison.perturbation import PERTURBATIONS, perturbed
from vizkit.heads import Head
from vizkit.image import Picture, prepare
from vizkit.models import Loaded
from vizkit.views.compare.predictions import safe
from vizkit.ui.session import background
from vizkit.ui.session.remembered import shelf
from vizkit.ui.session.shown import title

SHOWN_PX = 220


@dataclass(frozen=True, eq=False)
class Request:
    """Models by source, the picture, the seed. Threads have no session, so all that they need is here."""

    opened: dict[str, Loaded]
    weights: dict[str, tuple[int, int] | None]
    picture: Picture
    seed: int

    def logits_key(self, source: str, kind: str) -> tuple:
        size_hw = self.opened[source].preprocessing.size_hw
        return "withstands", source, self.weights[source], size_hw, self.picture.digest, kind, self.seed_of(kind)

    def picture_key(self, kind: str) -> tuple:
        return "changed", self.picture.digest, kind, self.seed_of(kind)

    def seed_of(self, kind: str) -> int:
        """Another seed changes nothing where chance has no part."""
        return self.seed if PERTURBATIONS[kind].chance else 0

    def logits(self, source: str, kind: str) -> Tensor | None:
        return shelf().find(self.logits_key(source, kind))

    def todo(self) -> list[str]:
        """Kinds that some model has not answered, or of which there are no pictures."""
        return [
            kind
            for kind in PERTURBATIONS
            if shelf().find(self.picture_key(kind)) is None
            or any(self.logits(source, kind) is None for source in self.opened)
        ]


def compute(request: Request, todo: list[str], task: background.Task) -> None:
    """Kind by kind, so that the first charts appear while the rest is computed."""
    from vizkit.models.probes.model_functions import batch_within, logits_of_batch

    total, done = len(todo) * (len(request.opened) + 1), 0
    for name in todo:
        kind = PERTURBATIONS[name]
        changed = []
        for strength in kind.strengths:  # half a second each for a large photograph
            task.report(f"{kind.title}: changing the picture", done, total)
            changed.append(perturbed(request.picture.rgb, name, strength, request.seed))
        done += 1
        for source, loaded in request.opened.items():
            if request.logits(source, name) is None:
                batches, most = [], batch_within(loaded)
                for start in range(0, len(changed), most):
                    task.report(f"{kind.title}: {title(source)}", done, total)
                    part = [prepare(rgb, loaded.preprocessing)[0] for rgb in changed[start : start + most]]
                    with torch.no_grad():
                        batches.append(logits_of_batch(loaded)(torch.from_numpy(np.stack(part))).cpu())
                shelf().put(request.logits_key(source, name), torch.cat(batches))
            done += 1
        shelf().put(request.picture_key(name), [shown(rgb) for rgb in changed])
        task.results += 1


def shown(rgb: np.ndarray) -> bytes:
    """A picture as the page shows it: PNG, about 220 pixels, small ones enlarged as squares."""
    image = Image.fromarray(rgb)
    factor = SHOWN_PX / max(image.size)
    size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
    buffer = io.BytesIO()
    image.resize(size, Image.Resampling.NEAREST if factor > 2 else Image.Resampling.LANCZOS).save(buffer, "PNG")
    return buffer.getvalue()


def followed(logits: Tensor, head: Head) -> np.ndarray:
    """Probability of the class that is first at strength 0, at all strengths."""
    return head.values(logits)[:, head.target(logits[0])].numpy()


def as_csv(request: Request) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("change", "strength", "unit", "seed", "model", "first_class", "probability", "answer"))
    for name, kind in PERTURBATIONS.items():
        for source, loaded in request.opened.items():
            logits = request.logits(source, name)
            if logits is None:
                continue
            first = safe(loaded.label(loaded.head.target(logits[0])))
            for strength, share, answer_logits in zip(
                kind.strengths, followed(logits, loaded.head), logits, strict=True
            ):
                answer = safe(" · ".join(map(loaded.label, loaded.head.answers(answer_logits))))
                writer.writerow(
                    (name, f"{strength:.6g}", kind.unit, request.seed, source, first, f"{share:.6g}", answer)
                )
    return out.getvalue()
