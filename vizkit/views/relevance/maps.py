"""Maps: where the evidence for a class is, by every method that applies, the most faithful first."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from vizkit.analysis.attribution.explaining import Explanation
from vizkit.analysis.attribution.methods import METHODS, PREFERRED
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Columns, Numbers, Part
from vizkit.views.controls import choice
from vizkit.views.relevance.explained import SLOW, TITLES, now
from vizkit.views.relevance.layers import HEAD, layer_names, places_of
from vizkit.views.relevance.maps_of_one import Coloured, OfOne, gains_of
from vizkit.views.subject import Subject
from vizkit.views.view import How

FIRST = "a map for the class"


def models(of: Sequence[Subject]) -> list[str]:
    return ["", *dict.fromkeys(each.name for each in of)]


class Maps(Coloured):
    """Where the evidence for a class is, by every method that applies."""

    method: str = choice(
        "Large map",
        (FIRST, *METHODS),
        "The map that is drawn large, and saved first; a click on a small one chooses it.",
        words={FIRST: "one for the answer"} | TITLES,
        runs=True,
    )
    whose: str = choice(
        "Of model", models, "Whose map is large; the first model's by default.", default="", inside=True
    )
    layer: str = choice(
        "Layer of Grad-CAM and HiResCAM",
        places_of,
        "Earlier layers have finer cells that have seen less of the image, and know less of the class.",
        default=HEAD,
        key="cam_layer",
        more=True,
        listed=True,
        runs=True,
    )
    together = True
    how = How(
        "Every map answers a different question about the same decision, written below it when it is large; bright or "
        "red places are evidence for the answer, blue ones against it. The number below a name says how much better "
        "than a random order it knows which places the model needs on this image: the probability of the class when "
        "they are taken away and put back in the order of the map, as a difference to chance.",
        r"y_A \ \text{ or } \ y_A - y_B \ \text{ is explained, } y \text{ being the logits or values; "
        r"of an embedding } y \cdot y_0 / |y_0|, \ y_0 \text{ being that of the image}",
        "proof that the model used what is marked. Of the attention maps only those with a gradient depend on the "
        "class; colours of two methods cannot be compared, because their units differ; one image says little of a "
        "method, so open Trust for many.",
        "the paper below each large map; the order: Petsiuk et al. 2018, § 4",
    )

    def title(self, of: Sequence[Subject]) -> str:
        return f"Evidence for {self.what(self.shown(of))}"

    def shown(self, of: Sequence[Subject]) -> Subject:
        """Whose map is large."""
        return next((each for each in of if each.name == self.whose), next(filter(self.knows, of), of[0]))

    def knows(self, of: Subject) -> bool:
        """Whether this model knows the classes."""
        return not self.unknown(of)

    def unknown(self, of: Subject) -> str:
        """Why this model cannot be asked for the classes, "" where it can."""
        try:
            self.asked(of)
        except NotApplicable as sentence:
            return str(sentence)
        return ""

    def show(self, of: Sequence[Subject]) -> Blocks:
        if not any(map(self.knows, of)):
            raise NotApplicable(" ".join(map(self.unknown, of)))
        large = self.shown(of)
        if len(of) == 1 and not self.slow:  # its sentence is that of the view
            fast, without = self.fast(large)
            if not fast:
                raise NotApplicable(next(iter(without.values())))
        parts = [OfOne(self, each, of, self.chosen(each) if each is large else "") for each in of]
        beside = tuple(Part(show) for part in parts for show in (part.small, part.more))
        yield Columns((tuple(Part(part.large) for part in parts if part.of is large), beside), (2, 3))
        yield Numbers(partial(self.numbers, of))

    # ---- what is computed --------------------------------------------------------------------------------------------
    def place(self, of: Subject, method: str) -> tuple[str, str]:
        return (self.layer, layer_names(of).get(self.layer, "")) if METHODS[method].layered else ("", "")

    def chosen(self, of: Subject) -> str:
        """The method that is large; "" where there is none."""
        fast, _ = self.fast(of)
        if self.method in fast or self.method in SLOW:
            return self.method
        ours = [name for name in PREFERRED if name in fast and METHODS[name].needs != "trace"]
        return next(iter([*ours, *fast]), "")

    def numbers(self, of: Sequence[Subject]) -> dict[str, np.ndarray]:
        """Every map under the name of its method, without places where there is none, and behind "_gain" by how much
        it is better than chance, where that was measured; "class" is what is explained, "value" its probability; of
        several models with "_1", "_2" after it."""
        every: dict[str, np.ndarray] = {}
        for index, each in enumerate(of, 1):
            try:
                own = self.numbers_of(each)
            except NotApplicable:
                continue
            every |= {name if len(of) == 1 else f"{name}_{index}": array for name, array in own.items()}
        return every

    def numbers_of(self, of: Subject) -> dict[str, np.ndarray]:
        target, against = self.asked(of)
        every = {name: self.made(of, name) for name in METHODS if not METHODS[name].slow or name in self.slow}
        maps = {name: each.heat.numpy() for name, each in every.items() if isinstance(each, Explanation)}
        race = self.race(of, [*self.fast(of)[0], *self.slow])
        gains, _ = gains_of({name: now(of, job) for name, job in race.items()})
        measured = {f"{name}_gain": np.array([gains[name]] if name in gains else []) for name in METHODS}
        loaded, logits = self.answer(of)
        numbers = measured | {"target": np.array(target), "against": np.array(-1 if against is None else against)}
        numbers |= {"class": np.array(self.what(of)), "value": np.array(float(loaded.head.values(logits)[target]))}
        return numbers | {name: maps.get(name, np.zeros((0, 0), np.float32)) for name in METHODS}
