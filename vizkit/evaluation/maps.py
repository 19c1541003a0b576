"""Maps scored over many pictures of a set, as a pass: see `analysis.trust` for what a score is."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow

from vizkit.analysis.trust.scores import score_case
from vizkit.analysis.trust.table import Tally
from vizkit.datasets.image_set import ImageSet
from vizkit.explanations.job import Columns, Seen
from vizkit.explanations.kept import Kept
from vizkit.models import Loaded
from vizkit.models.probes.model_functions import randomised
from vizkit.scoring import case_of, scorable


class Scored:
    """A line of every method in JSON: its figures, those of chance, and why nothing is ranked on the picture. `asked`:
    of `score_case`. Scores need the picture itself and its truth, so that every picture is opened again."""

    fields = [pyarrow.field("scores", pyarrow.string())]  # noqa: RUF012  (nobody changes it)

    def __init__(
        self, loaded: Loaded, images: ImageSet, methods: Sequence[str], layer: str, asked: Mapping[str, Any]
    ) -> None:
        self.loaded, self.images, self.methods, self.layer, self.asked = loaded, images, methods, layer, asked
        self.rows = {images.place(row): row for row in range(len(images))}
        self.shuffled = randomised(loaded) if "randomisation" in asked["measures"] else None

    def of(self, seen: Seen) -> Columns:
        return {"scores": pyarrow.array(map(self._scored, seen.keys), pyarrow.string())}

    def _scored(self, key: str) -> str:
        again = "sensitivity" in self.asked["measures"]
        case = case_of(self.loaded, self.images, self.rows[key], self.shuffled, again=again, layer=self.layer)
        scores = score_case(case, self.methods, **self.asked)
        return json.dumps([(one.method, one.figures(), one.by_chance(), one.undecided) for one in scores])


def scored(loaded: Loaded, images: ImageSet, methods: Sequence[str], layer: str, asked: Mapping[str, Any]) -> Kept:
    """A picture a part. NotApplicable as `scorable`."""
    scorable(loaded)
    make = partial(Scored, loaded, images, methods, layer, asked)
    return Kept.of(loaded, images, 1, make, "scores", methods, layer, sorted(asked.items()))


def tally_of(rows: pyarrow.Table | None) -> Tally:
    """Of the pictures that could be read."""
    tally = Tally()
    for line in [] if rows is None else filter(None, rows["scores"].to_pylist()):
        lines = json.loads(line)
        reason = next((why for *_, why in lines if why), "")
        tally.add_figures({method: (figures, chance) for method, figures, chance, _ in lines}, reason)
    return tally
