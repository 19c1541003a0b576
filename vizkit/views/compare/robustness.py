"""Robustness: what the answers withstand of one image, changed in eight ways from not at all to far too much."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.comparison.perturbation import CELLS, LEVELS, PERTURBATIONS, Perturbation, perturbed
from vizkit.analysis.remarks.answers import stayed_alike, withstood
from vizkit.analysis.remarks.remark import percent
from vizkit.figure.evaluation.strength_curves import strength_curves
from vizkit.figure.palette import CLASSES
from vizkit.image import RGB, data_url, prepare_all
from vizkit.traces import NotApplicable
from vizkit.views.blocks import (
    Blocks,
    Canvas,
    Chart,
    Columns,
    Download,
    Heading,
    Job,
    Later,
    Line,
    Numbers,
    Picture,
    Said,
    Table,
)
from vizkit.views.compare.images import Progress, known
from vizkit.views.controls import number
from vizkit.views.rules import whole
from vizkit.views.subject import Subject
from vizkit.views.view import How, View
from vizkit.writing import csv_rows

PICTURE_PX, EXACT_PX = 176, 64
BY_TIME = sorted(PERTURBATIONS.items(), key=lambda each: each[1].chance)  # what is drawn several times comes last
Logits = Mapping[str, Tensor]  # of every change, (draw, strength, label)


class Robustness(View):
    """What the answers withstand when the image is changed, and how much of that is chance."""

    level: int = number(
        "Strength",
        0,
        LEVELS - 1,
        3,
        "0 is the image itself; each chart says the step.",
        key="robust_level",
        inside=True,
    )
    draws: int = number(
        "Draws",
        1,
        20,
        5,
        "Of noise, occlusion and patch shuffle, in which chance has a part.",
        at=(1, 5, 10, 20),
        runs=True,
    )

    together = True
    overlays = False
    how = How(
        "Each chart follows the class that a model named for the image as it is: how probable does it stay while the "
        "image is changed more and more? Move the strength: images and marks follow. Noise, occlusion and shuffle "
        "are drawn several times: the line is their mean, the band goes from the lowest to the highest of them; the "
        "image and what stands beside it are the first.",
        r"\frac1R \sum_{r=1}^{R} p_m\!\left(\arg\max_c p_m(c \mid x) \;\middle|\; T_{s,r}(x)\right), \qquad T_0(x) = x",
        "robustness in general: it is one image. A model that is wrong and keeps its prediction looks robust here. All "
        "changes are made before a model's own resizing and crop, so the same change may reach two models differently.",
        "Hendrycks & Dietterich 2019 (noise, blur, JPEG); Naseer et al. 2021, § 3 (occlusion, shuffle); Azulay & Weiss "
        "2019 (shift, scale)",
    )

    def title(self, of: Sequence[Subject]) -> str:
        return "What the answers withstand"

    def show(self, of: Sequence[Subject]) -> Blocks:
        if min(of[0].rgb.shape[:2]) < CELLS:
            raise NotApplicable(
                f"This image has fewer than {CELLS} pixels on a side: no cells to shuffle; choose another."
            )
        able = [each for each in of if each.loaded.head.bounded]
        silent = [
            f"{each.name} gives {each.loaded.head.gives}, so there is no probability to follow."
            for each in of
            if each not in able
        ]
        if not able:
            raise NotApplicable(silent[0])
        jobs = {
            (each.name, name): Job(
                (*self.key(each), name), f"{each.name}: {kind.title}", partial(answers, self.draws, name, each)
            )
            for name, kind in BY_TIME
            for each in able
        }
        pictures = of[0].kept("changed images", partial(changed_pictures, of[0].rgb))

        def show(found: Mapping[Hashable, Any]) -> Blocks:
            logits = {
                each: {
                    name: found[jobs[each.name, name].key]
                    for name in PERTURBATIONS
                    if jobs[each.name, name].key in found
                }
                for each in able
            }
            there = [Withstood(each, some) for each, some in logits.items() if some]
            whole = [each for each in there if each.whole]
            yield Said(said(whole)) if whole else Line(f"So far: {len(found)} of {len(jobs)} curves.")
            yield self.canvas(able, there, pictures, of[0].rgb)
            if whole:
                yield from below(whole, self.draws)

        yield Later(of[0], (*jobs.values(),), show)
        yield from map(Line, silent)
        yield from known(able)

    def key(self, of: Subject) -> tuple[Hashable, ...]:
        return "withstood", of.weights, of.loaded.preprocessing.size_hw, self.draws

    def canvas(
        self, of: Sequence[Subject], there: "Sequence[Withstood]", pictures: Mapping[str, Sequence[str]], rgb: RGB
    ) -> Canvas:
        by_name = {each.of.name: each for each in there}
        models = [
            {"name": each.name, "colour": colour, **({} if each.loaded.head.probable else {"likeness": True})}
            for each, colour in zip(of, CLASSES, strict=False)
        ]
        kinds = [
            {
                "title": kind.title,
                "about": f"{kind.about[:1].upper()}{kind.about[1:]}.",
                "unit": kind.unit,
                "percent": kind.percent,
                "strengths": kind.strengths,
                "words": [kind.in_words(level) for level in range(LEVELS)],
                "pictures": pictures[name],
                "curves": [by_name[each.name].sent(name) if each.name in by_name else None for each in of],
            }
            for name, kind in PERTURBATIONS.items()
        ]
        exact = max(rgb.shape[:2]) <= EXACT_PX
        data = {"models": models, "kinds": kinds, "level": self.level, "exact": exact}
        tells = {"level": (whole(0, LEVELS - 1), "level")}
        still = tuple(self.on_paper([each for each in there if each.whole], rgb))
        return Canvas("vizkit_withstands", data, f"{quantities(of)} of each model's first answer", tells, still)

    def on_paper(self, there: "Sequence[Withstood]", rgb: RGB) -> Blocks:
        kinds = list(PERTURBATIONS.items())
        for start in range(0, len(kinds) if there else 0, 2):
            yield Columns(tuple(tuple(self.panel(there, *each, rgb)) for each in kinds[start : start + 2]))

    def panel(self, there: "Sequence[Withstood]", name: str, kind: Perturbation, rgb: RGB) -> Blocks:
        words = f"{kind.title} · {kind.in_words(self.level)}"
        shares, what = {each.of.name: each.shares(name) for each in there}, quantities([each.of for each in there])
        yield Heading(words)
        yield Picture(perturbed(rgb, name, kind.strengths[self.level]), words, share=0.5)
        figure = strength_curves(shares, kind.strengths, self.level, kind.unit, percent=kind.percent, quantity=what)
        yield Chart(figure, f"{kind.title}: {what} of each model's first answer")


# ---- one model -------------------------------------------------------------------------------------------------------
def answers(draws: int, name: str, of: Subject, progress: Progress) -> Float[Tensor, "draw strength label"]:
    """To the image changed in one way at every strength, and where chance has a part so often, each time otherwise."""
    from vizkit.models.probes.model_functions import batch_within, logits_of_batch

    loaded, kind = of.loaded, PERTURBATIONS[name]
    seeds, found = range(draws if kind.chance else 1), list[Tensor]()
    for seed in seeds:
        progress(seed, len(seeds))
        changed = [perturbed(of.rgb, name, strength, seed) for strength in kind.strengths]
        pixels = torch.from_numpy(prepare_all(changed, loaded.preprocessing))
        with torch.no_grad():
            found.append(
                torch.cat([logits_of_batch(loaded)(part).cpu() for part in pixels.split(batch_within(loaded))])
            )
    return torch.stack(found)


@dataclass(frozen=True, eq=False)
class Withstood:
    """What one model says of the changed images."""

    of: Subject
    logits: Logits

    @property
    def target(self) -> int:
        """The class that is first for the image itself."""
        return self.of.loaded.head.target(next(iter(self.logits.values()))[0, 0])

    @property
    def whole(self) -> bool:
        """Whether it has answered to all changes."""
        return len(self.logits) == len(PERTURBATIONS)

    def shares(self, kind: str) -> Float[np.ndarray, "draw strength"]:
        """Its probability, or its likeness."""
        return self.of.loaded.head.values(self.logits[kind])[..., self.target].numpy()

    def answers(self, kind: str) -> list[list[str]]:
        """In words, draw by draw and strength by strength."""
        head, label = self.of.loaded.head, self.of.loaded.label
        if not head.probable:
            return [[f"{head.quantity} {head.text(float(value))}" for value in draw] for draw in self.shares(kind)]
        return [
            [" · ".join(map(label, head.answers(each))) or "nothing" for each in draw] for draw in self.logits[kind]
        ]

    def kept(self, kind: str) -> Float[np.ndarray, " draw"]:
        """In how many of the changed images the answer stays, 0 to 1; of a likeness, how much of it does."""
        if not self.of.loaded.head.probable:
            return self.shares(kind)[:, 1:].mean(1)
        return np.array([np.mean([each == draw[0] for each in draw[1:]]) for draw in self.answers(kind)])

    @property
    def kept_of_all(self) -> Float[np.ndarray, " draw"]:
        """The same, the mean over all kinds of change; where chance has no part every draw is the same."""
        return np.mean(np.broadcast_arrays(*map(self.kept, PERTURBATIONS)), 0)

    def text(self, kept: Float[np.ndarray, " draw"]) -> str:
        """The mean, and of several draws the lowest and the highest."""
        write = percent if self.of.loaded.head.probable else self.of.loaded.head.text
        mean, low, high = (write(float(each)) for each in (kept.mean(), kept.min(), kept.max()))
        return mean if len(kept) == 1 else f"{mean} ({low} to {high})"

    def sent(self, kind: str) -> dict[str, Any] | None:
        """As the script reads it, None until it is there; answers are those to the image that is drawn."""
        if kind not in self.logits:
            return None
        shares = self.shares(kind)
        ends = {"low": shares.min(0).tolist(), "high": shares.max(0).tolist()} if len(shares) > 1 else {}
        return {"mean": shares.mean(0).tolist(), "answers": self.answers(kind)[0], **ends}


def changed_pictures(rgb: RGB) -> dict[str, list[str]]:
    """Of every change at all strengths, as a page loads them; of several draws the first."""
    return {
        name: [data_url(perturbed(rgb, name, strength), PICTURE_PX, EXACT_PX) for strength in kind.strengths]
        for name, kind in PERTURBATIONS.items()
    }


# ---- what is said and saved ------------------------------------------------------------------------------------------
def said(there: Sequence[Withstood]) -> str:
    """Of the models that name something, and of those that are like themselves."""
    kept = [
        (each, {kind.title: float(each.kept(name).mean()) for name, kind in PERTURBATIONS.items()}) for each in there
    ]
    naming = {each.of.name: kinds for each, kinds in kept if each.of.loaded.head.probable}
    alike = {each.of.name: kinds for each, kinds in kept if each.of.name not in naming}
    ranges = {
        each.of.name: (float(all_.min()), float(all_.max())) for each in there if len(all_ := each.kept_of_all) > 1
    }
    drawn = {name: ranges[name] for name in naming if name in ranges}
    return " ".join([*([withstood(naming, drawn)] if naming else []), *([stayed_alike(alike)] if alike else [])])


def quantities(of: Sequence[Subject]) -> str:
    return " or ".join(dict.fromkeys(each.loaded.head.quantity for each in of))


def below(there: Sequence[Withstood], draws: int) -> Blocks:
    """How much of every answer stays, and the numbers."""
    if draws > 1:
        yield Line(f"Line: mean of {draws} draws; band: all of them; the image and what stands beside it: the first.")
    columns = {
        each.of.name: {
            "Answer": each.of.loaded.label(each.target),
            "Unchanged": each.of.loaded.head.text(float(each.shares("shift")[0, 0])),
            "All changes": each.text(each.kept_of_all),
            **{kind.title: each.text(each.kept(name)) for name, kind in PERTURBATIONS.items()},
        }
        for each in there
    }
    rows = tuple(
        {"": what} | {model: cells[what] for model, cells in columns.items()} for what in next(iter(columns.values()))
    )
    kept = {True: "in how many of the changed images the answer stays", False: "their mean likeness to the image"}
    asked = dict.fromkeys(each.of.loaded.head.probable for each in there)
    words = f"Over all strengths beyond 0: {' or '.join(kept[each] for each in asked)}"
    words += f"; in brackets the lowest and the highest of {draws} draws." if draws > 1 else "."
    yield Table(rows, words, words)
    yield Numbers(
        lambda: {f"{name}_{at}": each.shares(name) for at, each in enumerate(there, 1) for name in PERTURBATIONS}
    )
    yield Download("Curves (CSV)", lambda: csv_rows(listed(there)).encode())


def listed(there: Sequence[Withstood]) -> Iterator[Mapping[str, object]]:
    """A line for each change, model, draw and strength."""
    for (name, kind), each in product(PERTURBATIONS.items(), there):
        which = {
            "change": name,
            "unit": kind.unit,
            "model": each.of.name,
            "first_class": each.of.loaded.label(each.target),
        }
        for draw, (shares, words) in enumerate(zip(each.shares(name), each.answers(name), strict=True)):
            for strength, share, answer in zip(kind.strengths, shares, words, strict=True):
                yield (
                    which
                    | {"draw": draw, "strength": strength, each.of.loaded.head.quantity: float(share)}
                    | {"answer": answer}
                )
