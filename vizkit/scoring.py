"""Explaining one image, scoring many: where models, images and analyses meet, for the page and the terminal.

opened = pictures(loaded, "insects", 200)
scores = score_case(case_of(loaded, opened, 0), ["rollout", "grad_cam"])
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from vizkit.heads import EMBEDDING, ITSELF, LIKENESS

if TYPE_CHECKING:
    from jaxtyping import UInt8
    from torch import Tensor

    from vizkit.analysis.attribution.explaining import Explanation
    from vizkit.analysis.attribution.subject import Progress, Subject
    from vizkit.analysis.trust.scores import Case
    from vizkit.analysis.trust.truth_score import Truth
    from vizkit.datasets.image_set import ImageSet
    from vizkit.datasets.insects import Sample
    from vizkit.models import Loaded
    from vizkit.traces import Trace

GRADIENT_BYTES = 2**30  # of attention weights; their gradients and the graph take as much again, each
FRESH_SEED = 5
"""Insects drawn with it were in no training, validation or test of the bundled models, which use seed 0."""


def subject_of(
    loaded: "Loaded", picture: "UInt8[np.ndarray, 'height width 3']", target: int, against: int | None = None
) -> "Subject":
    """A model that can be run again on an image, prepared as the model wants it."""
    from vizkit.analysis.attribution.subject import Subject
    from vizkit.models import pixels_of
    from vizkit.models.probes.model_functions import batch_within, logits_of_batch

    pixels = pixels_of(loaded, picture).to(loaded.device)
    return Subject(logits_of_batch(loaded), pixels, target, against, batch_within(loaded), loaded.head)


@dataclass(frozen=True, eq=False)
class Question:
    """Why does this model see `target` in this image, or rather than `against`? Its traces, made once.

    `without_gradients`: where the weights are too many for gradients, the sentence that methods with a target get.
    `changed`: whether the model is changed on the way.
    """

    trace: "Trace"
    against: "Trace | None"
    subject: "Subject"
    without_gradients: str = ""
    changed: bool = False

    @classmethod
    def of(
        cls,
        loaded: "Loaded",
        picture: "UInt8[np.ndarray, 'height width 3']",
        target: int | str | None = None,
        against: int | str | None = None,
        layer: str = "",
        edits: Sequence[str] = (),
    ) -> "Question":
        """`layer`: where class activation maps are made, see `grad_cam.at_layer`. `edits`: changes of the image and
        of the model (`interventions.Changes`), ValueError for one that cannot be made.

        `target`, `against`: by number or name (`Loaded.number_of`); without a target the most probable class, or what
        else the head says (`Head.target`). ValueError for classes that do not exist or are the same; NotApplicable for
        a rival where they do not exclude one another.

        Where all attention weights would take more than 1 GiB, only the mean over heads is kept, without gradients.
        """
        from vizkit import models
        from vizkit.interventions import Changes
        from vizkit.models import Keep
        from vizkit.models.probes.budget import weights_bytes

        changes = Changes.parse(edits)
        loaded, picture = changes.given(loaded, picture)
        target, against = loaded.number_of(target), loaded.number_of(against)
        trace = partial(models.trace, edits=changes.model)
        size = weights_bytes(loaded)
        small = size <= GRADIENT_BYTES
        if target is None or not small:
            plain = trace(loaded, picture, keep=Keep(heads="mean"))
            target = loaded.head.target(plain.logits) if target is None else target
        first = trace(loaded, picture, target=target) if small else plain
        for label in (target, against or 0):
            if label != ITSELF and not 0 <= label < len(first.logits):
                raise ValueError(f"Class {label} does not exist: {loaded.name} has {len(first.logits)} classes.")
        if target == against:
            raise ValueError(f"{loaded.label(target)} cannot be compared with itself; name another class.")
        rival = trace(loaded, picture, target=against) if small and against is not None else None
        sentence = f"The gradients of all attention weights would take {size / 2**30:.0f} GiB and more here."
        subject, sentence = subject_of(loaded, picture, target, against), "" if small else sentence
        return cls(first, rival, subject, sentence, bool(changes.model)).at(layer)

    def at(self, layer: str) -> "Question":
        """The same with class activation maps at another layer, "" for before the head."""
        from vizkit.analysis.attribution.grad_cam import at_layer

        if not layer or self.without_gradients:
            return self
        return replace(self, trace=at_layer(self.trace, layer), against=self.against and at_layer(self.against, layer))

    def explain(self, method: str, progress: "Progress | None" = None) -> "Explanation":
        """The map of one method, see `analysis.explaining.explain`. Raises NotApplicable."""
        from vizkit.analysis.attribution.explaining import METHODS, explain
        from vizkit.traces import NotApplicable

        needs = METHODS[method].needs
        if needs == "target" and self.without_gradients:
            raise NotApplicable(self.without_gradients)
        if needs == "trace" and self.subject.against is not None:
            raise NotApplicable(f"{METHODS[method].title} knows no class, so it cannot tell one from another.")
        if needs == "model" and self.changed:
            raise NotApplicable(
                f"{METHODS[method].title} runs the model again, as it is: without changes of the model."
            )
        return explain(method, self.trace, against=self.against, subject=self.subject, progress=progress)


def explain(
    loaded: object,
    image: object,
    method: str = "rollout",
    target: int | str | None = None,
    against: int | str | None = None,
) -> "Explanation":
    """Where a model's answer to one image came from, by a published method.

    `loaded`, `image`: as of `vizkit.trace`. `method`: a name in `vizkit.analysis.attribution.methods.METHODS`, each
    with its paper. `target`: the class to explain, by its number from 0 or its name (`Loaded.number_of`); None takes
    the most probable one. `against`: explain the target's logit less that of this class. Attention and rollout know no
    class.

    The map is `heat`, (row, column), over the part of the image that the model sees (`vizkit.image.seen_box`); `words`
    says what it answers and cannot tell, `scale` what its numbers are and how far they go. Raises ValueError for a
    model, image, method or class that is none, and NotApplicable, a ValueError too, with the reason why there is no
    such map here.
    """
    from vizkit.analysis.attribution.methods import METHODS
    from vizkit.datasets.samples import image_of
    from vizkit.models.sources.loaded import model_of

    if method not in METHODS:
        raise ValueError(f"There is no method {str(method)[:40]!r}; there are {', '.join(METHODS)}.")
    return Question.of(model_of(loaded), image_of(image)[0], target, against).explain(method)


def pictures(loaded: "Loaded", data: str, images: int, split: str = "test", seed: int = FRESH_SEED) -> "ImageSet":
    """At most `images` images of a set (`datasets.open_set`); insects are drawn at the size of the model's input."""
    from vizkit.datasets.insects import SIZES_PX
    from vizkit.datasets.opening import open_set

    side = max(loaded.preprocessing.size_hw)
    return open_set(data, split, images=images, size_px=min(max(side, SIZES_PX[0]), SIZES_PX[1]), seed=seed)


def truth_of(loaded: "Loaded", sample: "Sample | None") -> "Truth | None":
    """Where a drawn insect and its deciding parts are in the model's input; None for other images."""
    from vizkit.analysis.trust.truth_score import Truth, seen_mask
    from vizkit.datasets.insects import DECIDING, LABELS

    if sample is None:
        return None
    deciding = np.logical_or.reduce([sample.mask(part) for part in DECIDING[LABELS[sample.label]]])
    return Truth(*(seen_mask(mask, loaded.preprocessing) for mask in (sample.insect, deciding)))


def scorable(loaded: "Loaded") -> None:
    """NotApplicable for a model that gives neither probabilities nor an embedding: what is measured is how they fall
    and rise."""
    from vizkit.traces import NotApplicable

    if not loaded.head.bounded and loaded.head is not EMBEDDING:
        raise NotApplicable(f"{loaded.name} gives {loaded.head.gives}, so there is no probability to score maps by.")


def answering(loaded: "Loaded", picture: "UInt8[np.ndarray, 'height width 3']") -> "Loaded":
    """The same model; without classes its answer is how like an embedding is that of this very image."""
    from vizkit.models import pixels_of
    from vizkit.models.probes.model_functions import embedding_of
    from vizkit.models.sources.loaded import likened

    embeds = loaded.head in (EMBEDDING, LIKENESS)
    return likened(loaded, embedding_of(loaded, pixels_of(loaded, picture))) if embeds else loaded


def case_of(
    loaded: "Loaded",
    images: "ImageSet",
    index: int,
    shuffled: "Loaded | None" = None,
    *,
    again: bool = False,
    layer: str = "",
) -> "Case":
    """One image of a set with its trace and truth; the target is the class that the model gives it, without classes
    the likeness to its own embedding. `shuffled`: the model with random weights, traced for the same target. `again`:
    allow sensitivity. `layer`: where class activation maps are made."""
    from vizkit.analysis.attribution.grad_cam import at_layer
    from vizkit.analysis.trust.scores import Case
    from vizkit.models import families, pixels_of, trace
    from vizkit.models.probes.model_functions import logits_of_batch

    picture, _ = images[index]
    loaded = answering(loaded, picture)
    shuffled = shuffled and answering(shuffled, picture)
    target = loaded.head.target(logits_of_batch(loaded)(pixels_of(loaded, picture))[0])

    def trace_again(pixels: "Tensor") -> "Trace":
        return at_layer(families.trace(loaded, pixels, target=target), layer)

    return Case(
        at_layer(trace(loaded, picture, target=target), layer),
        subject_of(loaded, picture, target),
        truth_of(loaded, images.source.insect(index)),
        shuffled and at_layer(trace(shuffled, picture, target=target), layer),
        shuffled and subject_of(shuffled, picture, target),
        trace_again if again else None,
        images.place(index),
    )
