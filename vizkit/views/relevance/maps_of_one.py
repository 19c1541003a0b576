"""The maps of one model: one large, all of them small in the order in which they are to be believed."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from vizkit.analysis.attribution.explaining import Explanation, on_patches
from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.remarks import places
from vizkit.analysis.remarks.maps import best_map, nearly_even, without_brightest
from vizkit.analysis.trust.deletion import Erased
from vizkit.analysis.trust.scores import Score
from vizkit.analysis.trust.table import gain_of, signed
from vizkit.analysis.trust.verdict import MARGIN
from vizkit.figure.scales import DOUBLINGS, Scale, of_evidence
from vizkit.views.blocks import Answered, Blocks, Heading, Job, Later, Line, Proof, Said, Tile, Tiles, first_said
from vizkit.views.controls import scale
from vizkit.views.relevance.decision import in_words
from vizkit.views.relevance.erasing import erasing, followed
from vizkit.views.relevance.explained import SLOW, TITLES, Explained, Found
from vizkit.views.subject import Subject

if TYPE_CHECKING:
    from vizkit.models import Loaded

LARGE_PX, SMALL_PX, FEW_PX = 2000, 104, 170  # the first is as wide as its place
FEW = 4  # maps


class Coloured(Explained):
    """How the values of maps become colours."""

    scale: Literal["doublings", "linear"] = scale(key="relevance_scale")

    def race(self, of: Subject, methods: Sequence[str]) -> dict[str, Job]:
        """What measures how much better than chance these maps are; nothing where that has no meaning."""
        return self.measured(of, methods) if followed(of, self.answer(of)[0]) else {}


def gains_of(scores: Mapping[str, Score]) -> tuple[dict[str, float], str]:
    """(how much better than chance each map is that was measured, or why none of them is ranked)."""
    if reason := next((each.undecided for each in scores.values() if each.undecided), ""):
        return {}, reason
    return {name: gap for name, each in scores.items() if (gap := gain_of(each)) is not None}, ""


@dataclass(frozen=True, eq=False)
class OfOne:
    """The maps of the model `of`, one `among` several. `method`: of its large map, "" where that is another model's."""

    view: Coloured
    of: Subject
    among: Sequence[Subject]
    method: str

    @property
    def named(self) -> str:
        """Before what is said of this model."""
        return f"{self.of.name}: " if len(self.among) > 1 else ""

    @property
    def loaded(self) -> "Loaded":
        return self.view.answer(self.of)[0]

    @property
    def asked(self) -> tuple[int, int | None]:
        return self.view.asked(self.of)

    # ---- the large one -----------------------------------------------------------------------------------------------
    def large(self) -> Blocks:
        if self.method in SLOW:
            job = self.view.slow_job(self.of, self.method)
            yield Later(self.of, (job,), lambda found: self._large(found[job.key]) if found else ())
        elif self.method:
            yield from self._large(self.view.made(self.of, self.method))

    def _large(self, found: Explanation | str) -> Blocks:
        if isinstance(found, str):
            yield Line(found)
        elif followed(self.of, self.loaded):
            job = erasing(self.of, self.view.key(self.of, self.method), lambda: on_patches(found), *self.asked)
            yield Later(self.of, (job,), lambda done: self._checked(found, done.get(job.key)))
        else:
            yield from self._checked(found)

    def _checked(self, found: Explanation, erased: Erased | None = None) -> Blocks:
        """The map below where its evidence is, and what is left of the answer without it."""
        method, heat, of = METHODS[self.method], on_patches(found), self.of
        layer, place = self.view.place(of, self.method)
        covered, what = of.covered(tuple(heat.shape)), f"the evidence for {self.view.what(of)}"
        nouns = "patches" if of.layers and tuple(heat.shape) == found.cells else "places"
        lies = first_said(places.where(heat, covered, what, nouns), places.spread(heat, what, nouns)).removesuffix(".")
        yield Said(f"{'; '.join(filter(None, (lies, erased and without_brightest(erased, self.loaded.head))))}.")
        named = f"{self.named}{method.title}{f' at {layer}' if place else ''}"
        shares = not found.signed and self.view.scale == DOUBLINGS
        unit = "times an equal share" if shares else method.measures(self.loaded.head.number)
        yield self._drawn((named,), {self.method: found}, (unit,), LARGE_PX)
        yield Line(f"{' '.join((method.asks, method.caveat, *found.notes))} {method.source}.")

    # ---- all of them -------------------------------------------------------------------------------------------------
    def small(self) -> Blocks:
        """In the order in which they are to be believed, once that is known."""
        of, view = self.of, self.view
        what = in_words(*view.answer(of), *self.asked)
        yield Heading(f"{self.named}{what}") if self.named else Line(what)
        fast, _ = view.fast(of)
        slow = {name: view.slow_job(of, name) for name in view.slow}
        race = view.race(of, [*fast, *slow])
        jobs = (*slow.values(), *([view.chance(of), *race.values()] if race else ()))
        yield Later(of, jobs, partial(self._small, fast, slow, race))

    def _small(
        self, fast: Found, slow: Mapping[str, Job], race: Mapping[str, Job], results: Mapping[Hashable, Any]
    ) -> Blocks:
        late = {name: results[job.key] for name, job in slow.items() if job.key in results}
        maps = {**fast, **{name: each for name, each in late.items() if isinstance(each, Explanation)}}
        complete = all(job.key in results for job in race.values())  # so that the order changes once
        scores = {name: results[job.key] for name, job in race.items()} if complete else {}
        gains, reason = gains_of(scores)
        order = sorted(maps, key=lambda name: -gains.get(name, -1.0))
        names = [TITLES[name] for name in order]
        notes = [_worth(gains[name]) if name in gains else "" for name in order]
        ranked = {TITLES[name]: gains[name] for name in order if name in gains}
        best = best_map(ranked, MARGIN, TITLES.get(self.method, ""))
        if race:
            yield Said(best or "")
        side_px = SMALL_PX if len(maps) > FEW else FEW_PX
        yield self._drawn(names, {name: maps[name] for name in order}, notes, side_px, pick=True)
        even = (nearly_even(maps[name].heat, TITLES[name], METHODS[name].even) for name in order)
        yield from (Line(sentence) for sentence in even if sentence)
        if ranked:
            yield Line("Below a name: by how much the order of the map is better than a random one, on this image.")
        if reason:
            yield Line(f"No map is ranked here: {reason}.")
        yield from (Line(each) for each in late.values() if isinstance(each, str))

    def _drawn(
        self, names: Sequence[str], maps: Found, notes: Sequence[str], tile_px: int, *, pick: bool = False
    ) -> Tiles:
        """`pick`: a click makes a map large."""
        of, view = self.of, self.view
        tiles = [
            Tile(name, each.heat.numpy(), note, METHODS[method].asks, self._scale(method, each))
            for name, note, (method, each) in zip(names, notes, maps.items(), strict=True)
        ]
        alt = f"Evidence for {view.what(of)}, in times an equal share, or on each map's own scale"
        model = of.name if len(self.among) > 1 else ""
        if not pick:
            return Tiles("", tuple(tiles), alt, tile_px=tile_px, of=of)
        values = tuple((method, model) for method in maps)
        return Tiles("", tuple(tiles), alt, ("method", "whose"), values, (self.method, model), tile_px, of)

    def _scale(self, method: str, found: Explanation) -> Scale:
        unit = "%" if METHODS[method].shares else ""
        return of_evidence(found.heat.numpy(), unit, self.view.scale, signed=found.signed)

    # ---- beside them -------------------------------------------------------------------------------------------------
    def more(self) -> Blocks:
        """What is to be known of the model, and why some maps are not there."""
        _, without = self.view.fast(self.of)
        yield from (Line(f"{self.named}{words}") for words in self.of.loaded.notes)
        yield from lost(without, self.of.name if self.named else "this model")
        yield Answered(self.of.loaded)
        yield Proof(self.of.seen)


def _worth(gain: float) -> str:
    return f"{signed(gain)}{' over chance' if gain > MARGIN else ', no better than chance'}"


def lost(without: Mapping[str, str], model: str) -> Iterator[Line]:
    """Why there are no maps of some methods, each reason once."""
    for sentence in dict.fromkeys(without.values()):
        names = ", ".join(TITLES[name] for name, reason in without.items() if reason == sentence)
        yield Line(f"Not for {model}: {names}. {sentence}")
