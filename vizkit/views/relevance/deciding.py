"""Deciding parts: do the models look at what tells one insect from another?"""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from vizkit.analysis.remarks.interventions import of_deciding
from vizkit.datasets import samples
from vizkit.figure.charts import paired_bars
from vizkit.traces import NotApplicable
from vizkit.views import bundled
from vizkit.views.blocks import Block, Blocks, Chart, Columns, Line, Numbers, Picture, Said
from vizkit.views.controls import choice
from vizkit.views.measured_with import EXPERIMENTS, refuse_others
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

RECORD = "deciding/insects.json"
KINDS = {"deciding": "without the deciding parts", "others": "without as many other pixels of it"}
WHOLE = "all insects"


class DecidingParts(View):
    """How much more it costs models when gills, case or wing pads are erased than other pixels."""

    insects: str = choice("Insects", (WHOLE, *samples.INSECTS), "Whose drawings are counted.", key="deciding_of")

    together = True
    overlays = False
    how = How(
        "The classes of the drawn insects differ in a few parts alone. These are painted over with the image's mean "
        "colour, and in a second image as many other pixels of the same insect, in one piece. A model that looks at "
        "what decides loses more by the first. Both are measured on the same drawings, so what counts is the mean of "
        "the differences, drawing by drawing: it can be sure where the intervals of the two bars overlap.",
        r"\Delta = \big(z_c(x) - z_c(x \setminus D)\big) - \big(z_c(x) - z_c(x \setminus O)\big), \quad |D| = |O|",
        "that a model uses nothing else; where the body shows the class too, both cost alike. A painted patch is also "
        "a thing that the model never met.",
        "Zeiler & Fergus 2014; python -m vizkit deciding",
    )

    def title(self, of: Any) -> str:
        return f"Deciding parts of {'insects' if self.insects == WHOLE else self.insects} erased"

    def shown(self, image: str) -> str:
        """The insect that is drawn: the one chosen, else that of the image, else the first."""
        if self.insects != WHOLE:
            return self.insects
        return image if image in samples.INSECTS else samples.INSECTS[0]

    def show(self, of: Any) -> Blocks:
        label = None if self.insects == WHOLE else samples.INSECTS.index(self.insects)
        refuse_others(RECORD)
        results = shipped()
        ends = {kind: [each.mean(kind, label) for each in results.values()] for kind in (*KINDS, "difference")}
        bars = {words: [mean for mean, _ in ends[kind]] for kind, words in KINDS.items()}
        figure = paired_bars([*results], bars, "logits that the class loses")
        for at, kind in enumerate(KINDS):
            error = {"type": "data", "array": [half for _, half in ends[kind]], "color": "#888", "thickness": 2.5}
            figure.update_traces(error_x=error, selector=at)
        yield Said(of_deciding(dict(zip(results, ends["difference"], strict=True))))
        yield Chart(figure, "Logits that the class loses without its deciding parts, and without other pixels")
        image = next((each.image for each in ([of] if isinstance(of, Subject) else of)), "")
        shown = self.shown(image)
        yield Columns(tuple(example(shown)))
        if image not in ("", shown):
            yield Line(f"{image} is not among these insects, so another drawing is shown, of the {shown}.")
        count = len(next(iter(results.values())).labels)
        alone = "" if label is None else f", here of {self.insects} alone"
        yield Line(
            f"{count} drawings that no model has seen; means with 95 % intervals{alone}. The sentence compares "
            "the two drawing by drawing."
        )
        arrays = {kind: np.array([mean for mean, _ in each]) for kind, each in ends.items()}
        halves = {f"{kind}_half": np.array([half for _, half in each]) for kind, each in ends.items()}
        yield Numbers(lambda: {"models": np.array([*results]), **arrays, **halves})


def example(name: str) -> Iterator[tuple[Block, ...]]:
    """An insect, and what is erased of it."""
    from vizkit.datasets import insects
    from vizkit.interventions.deciding import erased_pair

    sample = samples.insect(name)
    pair = erased_pair(sample)
    if pair is None:
        raise NotApplicable("Too little of this insect is seen to erase a part of it; choose another one.")
    parts = " and ".join(insects.DECIDING[insects.LABELS[sample.label]])
    pictures = {
        name: sample.picture,
        f"without pixels of its {parts}": pair.without_deciding,
        "without as many others": pair.without_others,
    }
    yield from ((Picture(rgb, words, words),) for words, rgb in pictures.items())


@cache
def shipped() -> dict[str, Any]:
    """By what people call the model, as `python -m vizkit deciding` measured it."""
    from vizkit.interventions.deciding import Deciding

    content: dict[str, Any] = json.loads((EXPERIMENTS / RECORD).read_text(encoding="utf-8"))
    return {
        bundled.title(name): Deciding(
            tuple(fields["labels"]), tuple(fields["deciding"]), tuple(fields["others"]), fields["skipped"]
        )
        for name, fields in content["models"].items()
    }
