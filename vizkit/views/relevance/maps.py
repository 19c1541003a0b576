"""Maps: where the evidence for a class is, by every method that applies, the most faithful first."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from vizkit.analysis.attention.attention_map import layers as attention_layers
from vizkit.analysis.attribution.explaining import Explanation, quantile_of
from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.remarks.maps import agreement, at_chance
from vizkit.analysis.trust.quick import Trusted, quick_trust
from vizkit.analysis.trust.table import signed
from vizkit.analysis.trust.verdict import MARGIN
from vizkit.figure.overlay import top_of
from vizkit.models import family_of
from vizkit.scoring import subject_of
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Answered, Block, Columns, Job, Later, Line, Numbers, Proof, Said, Tile, Tiles
from vizkit.views.controls import choice, several
from vizkit.views.relevance.decision import Decision, in_words
from vizkit.views.subject import Subject
from vizkit.views.view import How

HEAD = "before the head"
LAYERED_FAMILIES = ("vit", "swin", "gradual_reduction", "cnn")
FIRST = "a map for the class"
PREFERRED = ("generic_relevance", *METHODS)  # of those that know the class
TITLES = {name: method.title for name, method in METHODS.items()}
SLOW = tuple(name for name, method in METHODS.items() if method.slow)
LARGE_PX, SMALL_PX = 2000, 112  # the first is as wide as its place
Found = Mapping[str, Explanation]
Progress = Callable[[int, int], None]


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


@dataclass(frozen=True)
class Maps(Decision):
    """Where the evidence for a class is, by every method that applies."""

    method: str = choice(
        "Large map",
        (FIRST, *METHODS),
        "The map that is drawn large, and saved first; a click on a small one chooses it.",
        words=TITLES,
        runs=True,
    )
    slow: tuple[str, ...] = several(
        "More maps",
        SLOW,
        "They run the model on changed pictures, some dozen times each; Stop keeps what is ready.",
        words=TITLES,
        key="slow_maps",
        more=True,
        runs=True,
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

    def title(self, of: Subject) -> str:
        target, against = self.asked(of)
        rival = "" if against is None else f" against {of.loaded.label(against)}"
        return f"Evidence for {of.loaded.label(target)}{rival}"

    def show(self, of: Subject) -> Iterator[Block]:
        target, against = self.asked(of)
        yield Line(in_words(of.loaded, of.seen.logits, target, against))
        yield from map(Line, of.loaded.notes)
        yield Answered(of.loaded)
        fast, without = self.fast(of)
        if not fast and not self.slow:
            raise NotApplicable(next(iter(without.values())))
        chosen = self.chosen(fast)
        large = list(self.large_of(of, chosen, fast))
        rest = [self.rest(of, chosen, fast)] if fast or self.slow else []
        if of.beside:  # its column is narrow
            yield from (*large, *rest)
        else:
            yield Columns((tuple(large), tuple(rest)), (2, 3))
        for sentence in dict.fromkeys(without.values()):
            names = ", ".join(TITLES[name] for name, reason in without.items() if reason == sentence)
            yield Line(f"Not for this model: {names}. {sentence}")
        yield Proof(of.seen)
        yield Numbers(partial(self.numbers, of))

    # ---- what is computed --------------------------------------------------------------------------------------------
    def key(self, of: Subject, method: str = "") -> tuple[Hashable, ...]:
        """What a map of a method depends on, or all maps together."""
        at_layer = self.layer if not method or METHODS[method].layered else HEAD
        return (method or "trust", *self.asked(of), at_layer)

    def explained(self, of: Subject, method: str, progress: Progress | None = None) -> Explanation | str:
        """The map, or the sentence why there is none."""
        place = layer_names(of).get(self.layer, "") if METHODS[method].layered else ""
        try:
            return of.explanation(method, *self.asked(of), place, progress)
        except NotApplicable as sentence:
            return str(sentence)

    def made(self, of: Subject, method: str) -> Explanation | str:
        return of.kept(self.key(of, method), partial(self.explained, of, method))

    def fast(self, of: Subject) -> tuple[dict[str, Explanation], dict[str, str]]:
        """(the maps that take no time, why there are no others)."""
        every = {name: self.made(of, name) for name, method in METHODS.items() if not method.slow}
        return (
            {name: found for name, found in every.items() if isinstance(found, Explanation)},
            {name: found for name, found in every.items() if isinstance(found, str)},
        )

    def chosen(self, fast: Found) -> str:
        """The method that is large; "" where there is none."""
        if self.method in fast or self.method in SLOW:
            return self.method
        ours = [name for name in PREFERRED if name in fast and METHODS[name].needs != "trace"]
        return next(iter([*ours, *fast]), "")

    def trusted(self, of: Subject, maps: Found, progress: Progress) -> Trusted:
        """How much better than chance each map is on this picture."""
        return quick_trust(subject_of(of.loaded, of.rgb, *self.asked(of)), maps, progress)

    def slow_job(self, of: Subject, method: str) -> Job:
        return Job(self.key(of, method), TITLES[method], partial(self.explained, of, method))

    def numbers(self, of: Subject) -> dict[str, np.ndarray]:
        """Every map under the name of its method; without places where there is none."""
        target, against = self.asked(of)
        every = {name: self.made(of, name) for name in METHODS if not METHODS[name].slow or name in self.slow}
        maps = {name: each.heat.numpy() for name, each in every.items() if isinstance(each, Explanation)}
        numbers = {"target": np.array(target), "against": np.array(-1 if against is None else against)}
        return numbers | {name: maps.get(name, np.zeros((0, 0), np.float32)) for name in METHODS}

    # ---- what is seen ------------------------------------------------------------------------------------------------
    def large_of(self, of: Subject, name: str, fast: Found) -> Iterator[Block]:
        if name in SLOW:
            job = self.slow_job(of, name)
            yield Later(of, (job,), lambda found: self.large(of, name, found[job.key]) if found else ())
        elif name:
            yield from self.large(of, name, fast[name])

    def large(self, of: Subject, name: str, found: Explanation | str) -> Iterator[Block]:
        method = METHODS[name]
        if isinstance(found, str):
            yield Line(found)
            return
        unit = method.measures("logit" if of.loaded.head.probable else "value")
        place = layer_names(of).get(self.layer, "") if method.layered else ""
        named = f"{method.title}{f' at {self.layer}' if place else ''}"
        yield self.drawn(of, "", (named,), {name: found}, (unit,), LARGE_PX)
        words = [method.asks, method.caveat, method.differs, *found.notes]
        yield Line(f"{' '.join(filter(None, words))} {method.source}.")

    def rest(self, of: Subject, chosen: str, fast: Found) -> Later:
        """All maps, small, in the order in which they are to be believed, once that is known."""
        slow = [self.slow_job(of, name) for name in self.slow]
        key = (*self.key(of), *self.slow)

        def every(results: Mapping[Hashable, Any]) -> Found:
            more = {name: results.get(job.key) for name, job in zip(self.slow, slow, strict=True)}
            return {**fast, **{name: each for name, each in more.items() if isinstance(each, Explanation)}}

        def work(progress: Progress) -> Trusted:
            return self.trusted(of, every({job.key: of.find(job.key) for job in slow}), progress)

        measured = () if of.changes.model else (Job(key, "Trust on this picture", work),)

        def show(results: Mapping[Hashable, Any]) -> Iterator[Block]:
            yield from self.small(of, chosen, every(results), results.get(key))
            for job in slow:
                if isinstance(results.get(job.key), str):
                    yield Line(results[job.key])

        return Later(of, (*slow, *measured), show)

    def small(self, of: Subject, chosen: str, maps: Found, trust: Trusted | None) -> Iterator[Block]:
        gains = trust.gains if trust else {}
        order = sorted(maps, key=lambda name: -gains.get(name, 0.0))
        same = agreement({TITLES[name]: each.heat for name, each in maps.items()})
        none = at_chance({TITLES[name]: gain for name, gain in gains.items()}, MARGIN)
        undecided = f"No map is ranked here: {trust.undecided}." if trust and trust.undecided else ""
        yield Said(" ".join(filter(None, (same and same.words, none and none.words, undecided))))
        names = [f"{TITLES[name]} {signed(gains[name])}" if name in gains else TITLES[name] for name in order]
        notes = ["no better than chance" if name in gains and gains[name] <= MARGIN else "" for name in order]
        yield self.drawn(of, "", names, {name: maps[name] for name in order}, notes, SMALL_PX, chosen)
        beside = "beside a name: better than a random order by so much, on this picture alone; " if gains else ""
        yield Line(f"{beside}colours {SCALES[self.scale]}, so those of two methods cannot be compared")

    def drawn(
        self,
        of: Subject,
        title: str,
        names: Sequence[str],
        maps: Found,
        notes: Sequence[str],
        tile_px: int,
        chosen: str | None = None,
    ) -> Tiles:
        """`chosen`: the one that is large, of maps that can be clicked on."""
        tiles = [
            Tile(name, each.heat.numpy(), note, METHODS[method].asks, each.signed, unit_of(method))
            for name, note, (method, each) in zip(names, notes, maps.items(), strict=True)
        ]
        limits = tuple(self.limits(of, method, each) for method, each in maps.items())
        field = "" if chosen is None else "method"
        alt = f"{self.title(of)}, colours {SCALES[self.scale]}"
        return Tiles(title, tuple(tiles), limits, alt, field, tuple(maps), chosen, tile_px)

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
