"""Maps: where the evidence for a class is, by every method that applies, the most faithful first."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from vizkit.analysis.attention.attention_map import layers as attention_layers
from vizkit.analysis.attribution.explaining import Explanation, quantile_of
from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.remarks.maps import agreement, best_map
from vizkit.analysis.trust.table import gain_of, signed
from vizkit.analysis.trust.verdict import MARGIN
from vizkit.figure.overlay import top_of
from vizkit.models import family_of
from vizkit.traces import NotApplicable
from vizkit.views.blocks import (
    Answered,
    Block,
    Columns,
    Heading,
    Job,
    Later,
    Line,
    Numbers,
    Part,
    Proof,
    Said,
    Tile,
    Tiles,
)
from vizkit.views.controls import choice
from vizkit.views.relevance.decision import in_words
from vizkit.views.relevance.explained import SLOW, TITLES, Explained, Found
from vizkit.views.subject import Subject
from vizkit.views.view import How

HEAD = "before the head"
LAYERED_FAMILIES = ("vit", "swin", "gradual_reduction", "cnn")
FIRST = "a map for the class"
PREFERRED = ("generic_relevance", *METHODS)  # of those that know the class
LARGE_PX, SMALL_PX = 2000, 104  # the first is as wide as its place


def layer_names(of: Subject) -> dict[str, str]:
    """What a reader calls the layers at which class activation maps can be made, and their names in the trace."""
    family, trace = family_of(of.loaded.model), of.seen
    if family not in LAYERED_FAMILIES:
        return {}
    if family == "cnn" and not trace.attention:
        return {_with_cells(each.name, each.tokens.grid): each.name for each in trace.features}
    placed = [(i, each) for i, each in enumerate(attention_layers(trace), 1) if each.key.grid]
    return {_with_cells(f"layer {i}", each.key.grid): each.name for i, each in placed}


def _with_cells(name: str, grid: tuple[int, int] | None) -> str:
    return f"{name} · {' × '.join(map(str, grid))} cells" if grid else name


def places_of(of: Sequence[Subject]) -> list[str]:
    return list(dict.fromkeys([HEAD, *(name for each in of for name in layer_names(each))]))


def models(of: Sequence[Subject]) -> list[str]:
    return ["", *dict.fromkeys(each.name for each in of)]


@dataclass(frozen=True)
class Maps(Explained):
    """Where the evidence for a class is, by every method that applies."""

    method: str = choice(
        "Large map",
        (FIRST, *METHODS),
        "The map that is drawn large, and saved first; a click on a small one chooses it.",
        words=TITLES,
        runs=True,
    )
    model: str = choice(
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
    scale: Literal["from 0", "from lowest", "one per method"] = choice(
        "Colours",
        ("from 0", "from lowest", "one per method"),
        "From 0 to each map's largest value; from its lowest, which shows small differences; or one scale for a method "
        "in all models. Different methods have different units, so no scale is right for all.",
        key="relevance_scale",
        more=True,
    )

    together: ClassVar = True
    how: ClassVar = How(
        "Every map answers a different question about the same decision, written below it when it is large; bright or "
        "red places are evidence for the class, blue ones against it. The number beside a name says how much better "
        "than a random order it knows which places the model needs on this picture: the probability of the class when "
        "they are taken away and put back in the order of the map, as a difference to chance.",
        r"y_A \ \text{ or } \ y_A - y_B \ \text{ is explained, } y \text{ being the logits or values; "
        r"of an embedding } y \cdot y_0 / |y_0|, \ y_0 \text{ being that of the picture}",
        "proof that the model used what is marked. Of the attention maps only those with a gradient depend on the "
        "class; colours of two methods cannot be compared, because their units differ; one picture says little of a "
        "method, so open Trust for many.",
        "the paper below each large map; the order: Petsiuk et al. 2018, § 4",
    )

    def title(self, of: Sequence[Subject]) -> str:
        return f"Evidence for {self.shown(of).loaded.label(self.asked(self.shown(of))[0])}{self.rival(self.shown(of))}"

    def rival(self, of: Subject) -> str:
        against = self.asked(of)[1]
        return "" if against is None else f" against {of.loaded.label(against)}"

    def shown(self, of: Sequence[Subject]) -> Subject:
        """Whose map is large."""
        return next((each for each in of if each.name == self.model), next(filter(self.knows, of), of[0]))

    def knows(self, of: Subject) -> bool:
        """Whether this model knows the classes."""
        try:
            self.asked(of)
        except NotApplicable:
            return False
        return True

    def show(self, of: Sequence[Subject]) -> Iterator[Block]:
        large = self.shown(of)
        if len(of) == 1:  # whose sentence is that of the view
            self.asked(large)
            fast, without = self.fast(large)
            if not fast and not self.slow:
                raise NotApplicable(next(iter(without.values())))
        rest = [Part(partial(self.rest, of, each)) for each in of]
        yield Columns(((Part(partial(self.large_of, large)),), tuple(rest)), (2, 3))
        beside = "Beside a name: by how much the order of the map is better than a random one, on this picture alone"
        yield Line(f"{beside}. Colours {SCALES[self.scale]}, so those of two methods cannot be compared.")
        for each in of:
            yield Part(partial(self.more, each))
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
        """Every map under the name of its method, of several models with "_1", "_2" after it; without places where
        there is none."""
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
        numbers = {"target": np.array(target), "against": np.array(-1 if against is None else against)}
        return numbers | {name: maps.get(name, np.zeros((0, 0), np.float32)) for name in METHODS}

    # ---- what is seen ------------------------------------------------------------------------------------------------
    def large_of(self, of: Subject) -> Iterator[Block]:
        name = self.chosen(of)
        if name in SLOW:
            job = self.slow_job(of, name)
            yield Later(of, (job,), lambda found: self.large(of, name, found[job.key]) if found else ())
        elif name:
            yield from self.large(of, name, self.made(of, name))

    def large(self, of: Subject, name: str, found: Explanation | str) -> Iterator[Block]:
        method = METHODS[name]
        if isinstance(found, str):
            yield Line(found)
            return
        unit = method.measures("logit" if of.loaded.head.probable else "value")
        place = f" at {self.layer}" if self.place(of, name)[1] else ""
        named = f"{method.title}{place}{f' · {of.name}' if of.beside else ''}"
        yield self.drawn(of, (named,), {name: found}, (unit,), LARGE_PX)
        words = [method.asks, method.caveat, method.differs, *found.notes]
        yield Line(f"{' '.join(filter(None, words))} {method.source}.")

    def rest(self, of: Sequence[Subject], each: Subject) -> Iterator[Block]:
        """All maps of one model, small, in the order in which they are to be believed, once that is known."""
        what = in_words(each.loaded, each.seen.logits, *self.asked(each))
        yield Heading(f"{each.name}: {what}") if each.beside else Line(what)
        fast, _ = self.fast(each)
        chosen = (self.chosen(each), each.name if each.beside else "") if each is self.shown(of) else None
        slow = {name: self.slow_job(each, name) for name in self.slow}
        race = {} if each.changes.model or not each.loaded.classifies else self.measured(each, [*fast, *slow])
        jobs = (*slow.values(), *([self.chance(each), *race.values()] if race else ()))
        yield Later(each, jobs, partial(self.small, each, chosen, fast, slow, race))

    def more(self, of: Subject) -> Iterator[Block]:
        """Which maps are alike, and why some are not there."""
        named = f"{of.name}: " if of.beside else ""
        fast, without = self.fast(of)
        if same := self.alike(fast):
            yield Line(f"{named}{same}")
        yield from (Line(f"{named}{note}") for note in of.loaded.notes)
        for sentence in dict.fromkeys(without.values()):
            names = ", ".join(TITLES[name] for name, reason in without.items() if reason == sentence)
            yield Line(f"Not for {of.name if of.beside else 'this model'}: {names}. {sentence}")
        yield Answered(of.loaded)
        yield Proof(of.seen)

    def alike(self, maps: Found) -> str:
        same = agreement({TITLES[name]: each.heat for name, each in maps.items()})
        return same.words if same else ""

    def small(
        self,
        of: Subject,
        chosen: tuple[str, str] | None,
        fast: Found,
        slow: Mapping[str, Job],
        race: Mapping[str, Job],
        results: Mapping[Hashable, Any],
    ) -> Iterator[Block]:
        late = {name: results[job.key] for name, job in slow.items() if job.key in results}
        maps = {**fast, **{name: each for name, each in late.items() if isinstance(each, Explanation)}}
        gains: dict[str, float] = {}
        reason = ""
        if race and all(job.key in results for job in race.values()):  # so that the order changes once
            scores = {name: results[job.key] for name, job in race.items()}
            reason = next((each.undecided for each in scores.values() if each.undecided), "")
            found = {} if reason else {name: gain_of(each) for name, each in scores.items()}
            gains = {name: gap for name, gap in found.items() if gap is not None}
        order = sorted(maps, key=lambda name: -gains.get(name, -1.0))
        names = [f"{TITLES[name]} {signed(gains[name])}" if name in gains else TITLES[name] for name in order]
        notes = ["no better than chance" if name in gains and gains[name] <= MARGIN else "" for name in order]
        best = best_map({TITLES[name]: gains[name] for name in order if name in gains}, MARGIN)
        yield Said(best.words if best else self.alike(maps))
        yield self.drawn(of, names, {name: maps[name] for name in order}, notes, SMALL_PX, chosen, pick=True)
        if reason:
            yield Line(f"No map is ranked here: {reason}.")
        yield from (Line(each) for each in late.values() if isinstance(each, str))

    def drawn(
        self,
        of: Subject,
        names: Sequence[str],
        maps: Found,
        notes: Sequence[str],
        tile_px: int,
        chosen: tuple[str, str] | None = None,
        *,
        pick: bool = False,
    ) -> Tiles:
        """`pick`: a click makes a map large, and `chosen` is the one that is: (method, model)."""
        tiles = [
            Tile(name, each.heat.numpy(), note, METHODS[method].asks, each.signed, unit_of(method))
            for name, note, (method, each) in zip(names, notes, maps.items(), strict=True)
        ]
        limits = tuple(self.limits(of, method, each) for method, each in maps.items())
        alt = f"Evidence for {of.loaded.label(self.asked(of)[0])}{self.rival(of)}, colours {SCALES[self.scale]}"
        fields = ("method", "model") if pick else ""
        values = tuple((method, of.name if of.beside else "") for method in maps)
        return Tiles("", tuple(tiles), limits, alt, fields, values if pick else (), chosen, tile_px, of)

    def limits(self, of: Subject, method: str, found: Explanation) -> tuple[float, float]:
        """The values at the two ends of the colours."""
        every = [found]
        if self.scale == "one per method":
            every += [each for each in self.in_others(of, method) if isinstance(each, Explanation)]
        top = max(top_of(each.heat.numpy(), quantile_of(each)) for each in every)
        low = min(float(found.heat.min()), top) if self.scale == "from lowest" else 0.0
        return -top if found.signed else low, top

    def in_others(self, of: Subject, method: str) -> Iterator[Explanation | str]:
        """The same map of the models beside it, as far as they know the class."""
        for other in of.beside:
            try:
                yield self.made(other, method) if not METHODS[method].slow else other.find(self.key(other, method))
            except NotApplicable:
                continue


SCALES = {
    "from 0": "from 0 to each map's own largest value",
    "from lowest": "from each map's lowest value to its largest",
    "one per method": "of a method the same in all models",
}


def unit_of(method: str) -> str:
    return "%" if METHODS[method].shares else ""
