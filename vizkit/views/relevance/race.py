"""The maps of one decision erase the image together: their images and curves, the winner, the table of scores."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch

from vizkit.analysis.attribution.explaining import Explanation, on_patches
from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.attribution.subject import cell_of_pixel, cells_of, filled
from vizkit.analysis.remarks.remark import begun
from vizkit.analysis.trust.deletion import ends_of, order_of, random_orders
from vizkit.analysis.trust.scores import Measure, Score, merged
from vizkit.analysis.trust.table import CHANCE, FIGURES, Row, Tally, gain_of, signed
from vizkit.analysis.trust.verdict import verdict
from vizkit.figure.canvas.rows import text64
from vizkit.figure.evaluation.removal_curves import removal_curves
from vizkit.figure.palette import CLASSES, OTHERS
from vizkit.heads import LIKENED_IN_WORDS
from vizkit.image import RGB, data_url, unprepare
from vizkit.percent import in_percent
from vizkit.views.blocks import Blocks, Canvas, Chart, Columns, Folded, Later, Line, Part, Picture, Said
from vizkit.views.controls import choice, number, several
from vizkit.views.relevance.erasing import RANDOM_ORDERS
from vizkit.views.relevance.explained import STEPS, TITLES, Explained, now
from vizkit.views.relevance.scores_table import as_csv, best_first, caveats, scores_table
from vizkit.views.rules import one_of, whole
from vizkit.views.subject import Subject

FURTHER: dict[Measure, str] = {
    "road": "ROAD",
    "randomisation": "random weights",
    "infidelity": "infidelity",
    "sensitivity": "sensitivity",
}
AWAY, BACK = "taken away", "put back"
BESIDE = 5  # pictures in a row on paper
SIDE_PX = 384
Results = Mapping[Hashable, Any]
Curves = Mapping[str, Score | None]  # None of what is not measured yet


class Racing(Explained):
    """How far the maps have erased the image, and what else is measured."""

    test: Literal["taken away", "put back"] = choice(
        "Places are",
        (AWAY, BACK),
        "Taken away, the most important first: a good map makes the probability fall early (deletion). Or put back "
        "into the blurred image: a good map makes it rise early (insertion).",
    )
    removed: int = number(
        "Places (%)", 0, 100, 10, "How many, in the order of each map.", step=100 // STEPS, plays=True
    )
    scores: tuple[str, ...] = several(
        "More scores",
        tuple(FURTHER),
        "Columns of the table. Infidelity and sensitivity run the model hundreds of times more.",
        default=("randomisation",),
        words=FURTHER,
        key="trust_scores",
        more=True,
        runs=True,
    )
    lit: str = choice(
        "Curve",
        ("", *METHODS, CHANCE),
        "The map whose curve stands out; a click on an image.",
        default="",
        words={"": "that of the best", **TITLES},
        inside=True,
    )


class Race:
    """The maps of a decision, by the names of their `methods`. `more`: what else is said beside the winner. `jobs`:
    what gives their curves, `further` the other scores, by measure and map."""

    def __init__(self, view: Racing, of: Subject, methods: Sequence[str], more: str = "") -> None:
        self.view, self.of, self.methods, self.more = view, of, tuple(methods), more
        head = of.loaded.head
        self.what = f"for {view.what(of)}"
        self.text = head.text
        self.quantity = "probability of the class" if head.probable else head.quantity
        self.measured = begun(f"probability {self.what}" if head.probable else LIKENED_IN_WORDS)
        slow = [view.slow_job(of, name) for name in methods if METHODS[name].slow]
        self.start, self.scored = view.chance(of), view.measured(of, methods)
        self.further = [view.measured(of, methods, (each,)) for each in FURTHER if each in view.scores]
        self.jobs = (self.start, *slow, *self.scored.values())
        self.all = (*self.jobs, *(job for measure in self.further for job in measure.values()))

    def found(self) -> Results:
        """What is there of the jobs of the race."""
        return {job.key: found for job in self.jobs if (found := self.of.find(job.key)) is not None}

    def done(self) -> Results:
        """What all jobs give, done here where it is not there."""
        return {job.key: now(self.of, job) for job in self.all}

    # ---- what is seen ------------------------------------------------------------------------------------------------
    def show(self, results: Results) -> Blocks:
        """At once what every map takes away, the curves as they come, and the winner and the table when all are in."""
        rows, start = self.rows(results), results.get(self.start.key)
        complete = all(job.key in results for job in self.jobs)
        order = [row.method for row in rows if row.method != CHANCE] if complete else self.methods
        running = [name for name in order if self.runs(name, results)]
        if not running:
            return
        curves = {name: results.get(self.scored[name].key) for name in running} | {CHANCE: start}
        first = self.winner(rows, start) if start and complete else self.so_far(results)
        yield Said(" ".join(filter(None, (first, self.more if complete else ""))))
        yield self.canvas(curves, ranked=complete and start is not None and not start.undecided)
        yield Line(self.at_step(curves))
        notes = [note for name in self.methods if (one := results.get(self.scored[name].key)) for note in one.notes]
        yield from map(Line, dict.fromkeys(notes))
        if complete:
            more = [job for measure in self.further for job in measure.values()]
            yield Later(self.of, tuple(more), lambda late: self.table({**results, **late}))

    def runs(self, method: str, results: Results) -> bool:
        """Whether there is a map, and nothing that keeps it from being measured."""
        score = results.get(self.scored[method].key)
        has_map = isinstance(self.of.find(self.view.key(self.of, method)), Explanation)
        return has_map if score is None else score.curves is not None

    def table(self, results: Results) -> Blocks:
        rows = self.rows(results)
        asked = [name for name in FURTHER if name in self.view.scores]
        yield scores_table(rows, asked, 1)
        late = [note for job in self.all[len(self.jobs) :] if job.key in results for note in results[job.key].notes]
        yield from map(Line, dict.fromkeys(late))
        yield Folded("What each score tells, and what it does not", lambda: caveats(rows))

    def rows(self, results: Results) -> list[Row]:
        """A measure counts when it is there for every map, so that none is ahead by what others do not have yet."""
        whole = [measure for measure in self.further if all(job.key in results for job in measure.values())]
        tally = Tally()
        tally.add(
            [
                merged(
                    name,
                    [results[measure[name].key] for measure in (self.scored, *whole) if measure[name].key in results],
                )
                for name in self.methods
            ]
        )
        return best_first(tally.rows())

    def so_far(self, results: Results) -> str:
        scored = sum(job.key in results for job in self.scored.values())
        is_ = "is" if scored == 1 else "are"
        return f"{scored} of {len(self.methods)} maps {is_} scored; which is best is said when all are."

    def winner(self, rows: Sequence[Row], start: Score) -> str:
        if start.undecided:
            return f"Not one of the {len(self.methods)} maps is ranked here: {start.undecided}."
        judged = verdict(rows)
        return judged.said() if judged else ""

    # ---- one step ----------------------------------------------------------------------------------------------------
    def step(self, share: torch.Tensor) -> int:
        """The step that is next to what is asked for: where there are few places, several have the same."""
        return int((share - self.view.removed / 100).abs().argmin())

    def values(self, score: Score | None) -> np.ndarray:
        """NaN of what is not measured yet."""
        both = score and (score.curves or score.chance)
        if both is None:
            return np.full(len(self.share), np.nan, np.float32)
        return (both.deletion if self.view.test == AWAY else both.insertion).numpy()

    @property
    def share(self) -> torch.Tensor:
        """Of the places that are gone after each step: as it was measured, or will be."""
        if (start := self.of.find(self.start.key)) is not None and start.chance:
            return start.chance.share
        cells = cells_of(self.of.seen)
        return ends_of(cells, STEPS) / (cells[0] * cells[1])

    def at_step(self, curves: Curves) -> str:
        """What the map that stands out has come to, beside chance."""
        share = self.share
        at, main = self.step(share), self.view.lit if self.view.lit in curves else next(iter(curves))
        if curves[main] is None or curves[CHANCE] is None:
            return f"{in_percent(float(share[at]))} of the places {self.view.test}; the curves are on their way."
        left, chance = (self.text(float(self.values(curves[name])[at])) for name in (main, CHANCE))
        order = "a random order" if main == CHANCE else f"the order of {TITLES[main]}"
        beside = "" if main == CHANCE else f", in a random order {chance}"
        what = f" {self.what}" if self.of.loaded.classifies else ""
        return f"{in_percent(float(share[at]))} of the places {self.view.test} in {order}: {left}{what}{beside}."

    def orders(self, names: Sequence[str]) -> dict[str, torch.Tensor]:
        """When each place is erased, by map; of the random orders the first."""
        cells = cells_of(self.of.seen)
        maps = {name: self.of.find(self.view.key(self.of, name)) for name in names if name != CHANCE}
        orders = {name: order_of(on_patches(each), cells) for name, each in maps.items()}
        return {name: order.argsort() for name, order in orders.items()} | {
            CHANCE: random_orders(cells, RANDOM_ORDERS)[0].argsort()
        }

    def pictures(self) -> tuple[RGB, RGB]:
        """(what the model sees, what stands in its place)."""
        preprocessing, pixels = self.of.loaded.preprocessing, self.of.pixels.cpu()
        whole, ground = (unprepare(each[0].numpy(), preprocessing) for each in (pixels, filled(pixels, "blur")))
        return whole, ground

    def canvas(self, curves: Curves, *, ranked: bool) -> Canvas:
        of, view, share, orders = self.of, self.view, self.share, self.orders([*curves])
        urls = of.kept(("race images",), lambda: [data_url(each, SIDE_PX) for each in self.pictures()])
        lanes = [
            {
                "name": name,
                "title": self.titled(name, score if ranked else None),
                "more": METHODS[name].asks
                if name in METHODS
                else f"The mean of {RANDOM_ORDERS} random orders; the image shows the first of them.",
                "colour": colour_of(name),
                "random": name == CHANCE,
                "dotted": colour_of(name) in map(colour_of, [*curves][:place]),
            }
            for place, (name, score) in enumerate(curves.items())
        ]
        early = "falls" if view.test == AWAY else "rises"
        data = {
            "lanes": lanes,
            "ranks": text64(np.stack([orders[name].numpy() for name in curves]).astype("<u2")),
            "curves": text64(np.stack([self.values(score) for score in curves.values()]).astype("<f4")),
            "share": share.tolist(),
            "at": self.step(share),
            "values": list(range(0, 101, 100 // STEPS)),
            "cells": cells_of(of.seen),
            "probable": of.loaded.head.probable,
            "whole": urls[0],
            "ground": urls[1],
            "back": view.test == BACK,
            "lit": view.lit if view.lit in curves else "",
            "title": f"{self.measured}: that of a good map {early} early",
            "axis": f"places {view.test}, the most important first",
        }
        told = {"lit": (one_of(["", *curves]), "lit"), "removed": (whole(0, 100), "removed")}
        alt = f"{len(curves) - 1} maps and a random order, {view.removed} % of the places {view.test}"
        return Canvas("vizkit_race", data, alt, told, (Part(lambda: self.still(curves, ranked=ranked)),))

    def titled(self, name: str, score: Score | None) -> str:
        gap = None if score is None or name == CHANCE else gain_of(score)
        named = TITLES.get(name, "Random order")
        return named if gap is None else f"{named} {signed(gap)}"

    def still(self, curves: Curves, *, ranked: bool) -> Blocks:
        """On paper: the images of this step in rows, and the curves with a mark at it."""
        share, orders, cells = self.share, self.orders([*curves]), cells_of(self.of.seen)
        at, (whole, ground) = self.step(share), self.pictures()
        index = cell_of_pixel((whole.shape[0], whole.shape[1]), cells).numpy()
        gone = round(float(share[at]) * cells[0] * cells[1])
        shown = []
        for name, score in curves.items():
            erased = (orders[name].numpy() < gone) == (self.view.test == AWAY)
            words = f"{self.titled(name, score if ranked else None)}: {self.text(float(self.values(score)[at]))}"
            shown.append((Picture(np.where(erased[index][..., None], ground, whole), words, words),))
        blank = (Line(""),)
        for row in range(0, len(shown), BESIDE):
            yield Columns((*shown[row : row + BESIDE], *[blank] * (row + BESIDE - len(shown))))
        lines = {TITLES[name]: self.values(score) for name, score in curves.items() if name != CHANCE}
        yield Chart(
            removal_curves(
                lines,
                share.numpy(),
                self.values(curves[CHANCE]),
                f"places {self.view.test}",
                "",
                colours=[colour_of(name) for name in curves],
                at=float(share[at]),
                y=self.quantity,
                percent=self.of.loaded.head.probable,
            ),
            f"{self.measured} by map",
        )

    # ---- what is saved -----------------------------------------------------------------------------------------------
    def numbers(self) -> dict[str, np.ndarray]:
        """The curves of every map and what the table says of it, empty where there is none, and those of chance."""
        results = self.done()
        arrays: dict[str, np.ndarray] = {}
        both = {name: results[job.key].curves for name, job in self.scored.items()}
        chance = results[self.start.key].chance
        for name in (*METHODS, CHANCE):
            curves = chance if name == CHANCE else both.get(name)
            arrays[f"{name}_deletion"] = np.zeros(0, np.float32) if curves is None else curves.deletion.numpy()
            arrays[f"{name}_insertion"] = np.zeros(0, np.float32) if curves is None else curves.insertion.numpy()
        figures = {row.method: row.figures for row in self.rows(results)}
        for name in (*METHODS, CHANCE):
            own = figures.get(name, {})
            arrays |= {f"{name}_{each}_score": np.array([own[each].mean] if each in own else []) for each in FIGURES}
        return arrays | {"share": chance.share.numpy()}

    def csv(self) -> bytes:
        return as_csv(self.rows(self.done()))


def colour_of(method: str) -> str:
    """The same wherever a map stands."""
    return OTHERS if method == CHANCE else CLASSES[list(METHODS).index(method) % len(CLASSES)]
