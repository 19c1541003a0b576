"""Inside: what changed in a network from checkpoint to checkpoint, as curves on one axis of steps."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float

from vizkit.analysis.remarks import evaluation as remarks
from vizkit.analysis.remarks.remark import joined
from vizkit.datasets.image_set import DatasetError
from vizkit.evaluation.inside.growth import ASKED, Growth, Snapshot, growth, snapshot
from vizkit.evaluation.learning import Watched, watched
from vizkit.figure.charts import heat_map
from vizkit.figure.scales import between
from vizkit.figure.training.by_step import by_step, filter_pixels
from vizkit.models import ModelError
from vizkit.percent import in_percent
from vizkit.traces import NotApplicable
from vizkit.training.recipe import RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.views import bundled
from vizkit.views.blocks import Blocks, Chart, Job, Later, Line, Numbers, Picture, Said
from vizkit.views.controls import choice, run_with_checkpoints
from vizkit.views.subject import Subject
from vizkit.views.train.learned import Learned, key_of
from vizkit.views.view import How, View
from vizkit.writing import read_record

WHAT = {
    "images": "images learned and forgotten",
    "distance": "attention distance",
    "entropy": "attention entropy",
    "importance": "head importance",
    "positions": "positions",
    "layers": "layers",
    "object": "map on the object",
    "weights": "weight norms",
    "gradients": "gradient norms",
    "filters": "filters",
}
FLAT, HALF = 0.05, 0.5
"""Of the whole range of a quantity: lines within it would seem to be one flat line; many would hide one another."""
NEAR = 1.1  # times as many steps, or less
COLOURED = 3  # heads: those that changed most
Drawn = tuple[str, Any, str]
"""A sentence, a figure, and what is to be known beside it."""


class Inside(View):
    """What changed inside a network while it learned."""

    run: str = run_with_checkpoints(*bundled.TABLES)
    what: str = choice(
        "What", tuple(WHAT), "One quantity at each step that the run has kept.", words=WHAT, key="inside"
    )

    how = How(
        f"{ASKED} test images, which the run never learned from, go through the network of each checkpoint. Steps lie "
        "on a logarithmic axis, for most changes early: the kept ones are powers of two and ends of epochs. A head's "
        "importance is how fast log p of the true class changes with what the head adds; CKA 1 is a layer as it ends, "
        "whatever its axes; a forgotten image was right after one kept step and wrong after the next.",
        r"\theta_1, \theta_2, \theta_4, \dots \;\mapsto\; \bar d_h, \; H_h, \; "
        r"|\partial \log p_y / \partial \xi_h|, \; \mathrm{CKA}(X_t, X_T), \; \lVert\nabla L\rVert",
        "that a change caused what was learned, or anything between two checkpoints.",
        "Dosovitskiy et al. 2020; Michel et al. 2019; Kornblith et al. 2019; Raghu et al. 2017; Toneva et al. 2019",
    )

    def title(self, of: Subject) -> str:
        return f"{bundled.title(self.run)}: {WHAT[self.what]} while it learned"

    def show(self, of: Subject) -> Blocks:
        if self.run in bundled.TABLES:
            yield from self.drawn(recorded(bundled.TABLES[self.run]))
            return
        run, steps = Learned(run=self.run).with_steps(of)
        try:
            asked = of.kept(key_of(run, steps[-1], "inside images"), partial(watched, run, steps[-1], ASKED))
        except (DatasetError, RecipeError, ModelError) as sentence:
            raise NotApplicable(str(sentence)) from None
        jobs = tuple(
            Job(
                key_of(run, step, "inside"),
                f"{bundled.title(self.run)} after step {step:,}",
                partial(_measured, run, step, asked),
            )
            for step in steps
        )
        yield Later(of, jobs, partial(self.gathered, steps, asked, jobs))

    def gathered(
        self, steps: Sequence[int], asked: Watched, jobs: Sequence[Job], found: Mapping[Hashable, Any]
    ) -> Blocks:
        """Nothing before all are there."""
        if len(found) == len(jobs):
            yield from self.drawn(growth(steps, [found[job.key] for job in jobs], asked))

    def drawn(self, of: Growth) -> Blocks:
        said, figure, beside = DRAWN[self.what](of)
        yield Said(said)
        alt = f"{WHAT[self.what]} at each kept step of {bundled.title(self.run)}. {said}"
        yield Picture(figure, alt) if isinstance(figure, np.ndarray) else Chart(figure, alt)
        yield Line(beside if self.what in ("filters", "images") else beside + _near(of.steps.tolist()))
        yield Numbers(partial(_numbers, of))


@lru_cache(maxsize=8)
def recorded(name: str) -> Growth:
    """One of `bundled.TABLES`."""
    return read_record(bundled.FOLDER / "learning" / f"{name}.npz", Growth)


def _measured(run: RunFolder, step: int, asked: Watched, progress: Any) -> Snapshot:
    try:
        return snapshot(run, step, asked)
    except (DatasetError, ModelError) as sentence:
        raise NotApplicable(str(sentence)) from None


def _numbers(of: Growth) -> dict[str, Any]:
    """As `Growth` has it, of the heads that there are: a column for each, `heads_of_layers_…` of them in each layer."""
    numbers = dict(vars(of))
    for name in ("distance_px", "entropy", "importance"):
        values = numbers[name]
        known = np.asarray(np.isfinite(values).all(axis=0))
        numbers[name], numbers[f"heads_of_layers_{name}"] = values[:, known], known.sum(-1)
    numbers["nearness"] = of.nearness[np.isfinite(of.nearness)]
    numbers["on_object"] = np.nan_to_num(of.on_object)
    return numbers


# ---- one quantity each -----------------------------------------------------------------------------------------------
def _whole(
    values: Float[np.ndarray, "..."], y: str, low: float = 0.0, top: float = 1.0, least: float = FLAT
) -> tuple[tuple[float, float] | None, str, str]:
    """(the y axis of what lies between `low` and `top`, its title, what is to be known of it): whole, but where the
    lines take less than `least` of it; that it is cut stands on the axis itself."""
    share = float(np.nanmax(values) - np.nanmin(values)) / (top - low)
    if share < least:
        words = f" The axis is cut: all lines lie within {in_percent(share)} of the range from {low:g} to {top:.3g}."
        return None, f"{y} (axis cut)", words
    return (low, 1.02 * top), y, ""


def _near(steps: Sequence[int]) -> str:
    """Why lines have kinks where kept steps lie close together on the axis."""
    near = [f"{one:,} and {next_:,}" for one, next_ in pairwise(steps) if next_ < NEAR * one]
    words = "an end of an epoch and a power of two close together: even a small change between them is a kink."
    return f" Steps {joined(near)} are {words}" if near else ""


def _heads(
    field: str, what: str, unit: str, y: str, digits: int, beside: str, of: Growth, top: float | None = 1.0
) -> Drawn:
    """`top` of the y axis, from 0; None of a logarithmic one."""
    values: Float[np.ndarray, "step layer head"] = getattr(of, field)
    if not values.size:
        raise NotApplicable("This network has no attention, so no heads.")
    said = remarks.heads_over_steps(what, unit, of.steps.tolist(), values, digits)
    heads = [
        (f"head {head + 1} of layer {layer + 1}", values[:, layer, head])
        for layer, head in remarks.changed_most(values)
    ]
    lines, others = dict(heads[:COLOURED]), dict(heads[COLOURED:])
    reach, y, cut = _whole(values, y, top=top, least=HALF) if top else (None, y, "")
    figure = by_step(of.steps, lines, y, others=others, log=top is None, reach=reach)
    return said, figure, f"{beside} A line is a head; those that changed most are in colour.{cut}"


def _distance(of: Growth) -> Drawn:
    beside = f"The input has {of.size_hw[1]} × {of.size_hw[0]} pixels."
    top = float(np.nanmax(of.distance_px)) if of.distance_px.size else None
    return _heads("distance_px", "attention distance", " px", "mean attention distance, pixels", 1, beside, of, top)


def _positions(of: Growth) -> Drawn:
    if not np.isfinite(of.nearness).all():
        raise NotApplicable("This network has no learned table of positions.")
    low = -1.0 if of.nearness.min() < -FLAT else 0.0
    reach, y, cut = _whole(of.nearness, "rank correlation with nearness", low)
    figure = by_step(of.steps, {"positions": of.nearness}, y, reach=reach)
    beside = "Over all pairs of places: the cosine of their position vectors against minus their distance on the grid."
    return remarks.near_alike(of.steps.tolist(), of.nearness), figure, beside + cut


def _layers(of: Growth) -> Drawn:
    if not of.layers:
        raise NotApplicable("This network has no blocks or stages whose features could be compared.")
    lines = {f"layer {at}": values for at, values in enumerate(of.cka.T, 1)}
    beside = (
        f"CKA over {of.right.shape[1]} images; at the last step it is 1 by definition. Layers: the network's blocks."
    )
    reach, y, cut = _whole(of.cka, "CKA with its own end")
    figure = by_step(of.steps, lines, y, reach=reach)
    return remarks.settling(of.steps.tolist(), of.cka), figure, beside + cut


def _object(of: Growth) -> Drawn:
    if not of.called:
        raise NotApplicable("Nobody has said where the object lies in these images, so no share can be counted.")
    if not np.isfinite(of.on_object).any():
        raise NotApplicable("This network has no attention and no features in places, so no map.")
    shares = np.nan_to_num(of.on_object)  # where nothing speaks for the class, nothing of it is on the object
    quarters = {"upper quartile": 75, "median": 50, "lower quartile": 25}
    lines = {name: np.percentile(shares, at, axis=1) for name, at in quarters.items()}
    level, words = (of.area, "by chance"), f"share of the map on the {of.called}"
    figure = by_step(of.steps, lines, words, level=level, reach=(0.0, 1.02), percent=True)
    beside = f"Of {of.right.shape[1]} images, each with the map of what speaks for its own class."
    return remarks.on_the_object(of.steps.tolist(), of.on_object, of.called, of.area), figure, beside


def _norms(field: str, what: str, beside: str, of: Growth) -> Drawn:
    values = getattr(of, field)
    inner = iter(range(1, len(of.parts) + 1))
    names = [part if part in ("input", "output", "all weights") else f"layer {next(inner)}" for part in of.parts]
    said = remarks.norms_over_steps(what, of.steps.tolist(), values, names)
    lines = dict(zip(names, values.T, strict=True))
    return said, by_step(of.steps, lines, f"norm of {what}", log=True), beside


def _filters(of: Growth) -> Drawn:
    if not of.filters.size:
        raise NotApplicable("This network has no convolution that looks at pixels, so no filters to see.")
    rows = ", ".join(f"{step:,}" for step in of.steps.tolist())
    beside = f"A column for each filter; rows, from the top: steps {rows}. Grey is 0, and all have one scale."
    return remarks.filters_over_steps(of.steps.tolist(), of.filters), filter_pixels(of.filters), beside


def _images(of: Growth) -> Drawn:
    since, times = remarks.forgotten(of.right)
    order = np.lexsort((times, since))
    names = [f"{of.labels[of.targets[row]]} · {row + 1}" for row in order]
    columns = [f"{step:,}" for step in of.steps.tolist()]
    figure = heat_map(
        of.right.T[order],
        "step, one column for each that is kept",
        "",
        x_names=columns,
        y_names=names,
        scale=between(0.0, 1.0),
        bar=False,
        square=False,
        height=620,
    )
    figure.update_xaxes(type="category")
    beside = "Bright: right. Those that stay right from early on are on top; dark behind bright is an image forgotten."
    return remarks.learned_when(of.steps.tolist(), of.right), figure, beside


DRAWN: dict[str, Callable[[Growth], Drawn]] = {
    "distance": _distance,
    "entropy": partial(
        _heads,
        "entropy",
        "attention entropy",
        "",
        "entropy ÷ log N",
        3,
        "1 is equal attention to all tokens, 0 attention to one. Whether answers depend on it: lesson 10 makes "
        "attention even by force.",
    ),
    "importance": partial(
        _heads,
        "importance",
        "importance",
        "",
        "|∂ log p / ∂ξ|, nats",
        3,
        "How fast log p of the true class changes with what a head adds.",
        top=None,
    ),
    "positions": _positions,
    "layers": _layers,
    "object": _object,
    "weights": partial(
        _norms, "weight", "the weights", "Input: all before the first layer, as positions; output: all after the last."
    ),
    "gradients": partial(
        _norms,
        "gradient",
        "the gradient",
        "Of the mean cross-entropy of the test images, without augmentation: no step was made with this gradient.",
    ),
    "filters": _filters,
    "images": _images,
}
