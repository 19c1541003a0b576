"""Published: tables of papers to filter, and accuracy against cost beside models of one's own."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from vizkit.analysis.comparison.published import Row, families, matching
from vizkit.analysis.distillation.agreement import standard_error
from vizkit.analysis.remarks.evaluation import accuracy_for_cost
from vizkit.figure.evaluation.accuracy_cost import Point, accuracy_cost
from vizkit.training.recipe import RecipeError
from vizkit.training.runs.folder import RunFolder, runs
from vizkit.views import bundled
from vizkit.views.blocks import Block, Chart, Job, Later, Line, Numbers, Said, Table, side_by_side
from vizkit.views.controls import choice, several, text
from vizkit.views.evaluate.tables import MULTIPLY_ADDS, TABLES, Column, Shown
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

IMAGENET = "ImageNet-1K"


@dataclass(frozen=True)
class Tested:
    """A model and its result on the test pictures of the data that it was trained on; `accuracy` from 0 to 1."""

    source: str
    run: RunFolder
    accuracy: float
    images: int


@dataclass(frozen=True)
class Counted:
    """`multiply_adds` of one image at the model's own input, (height, width) pixels."""

    family: str
    parameters: int
    multiply_adds: int
    size_hw: tuple[int, int]


# ---- what can be chosen ----------------------------------------------------------------------------------------------
def kinds(of: Sequence[Subject], view: "Published") -> list[str]:
    return families(view.shown.rows)


def axes(kind: str) -> Callable[..., list[str]]:
    def named(of: Sequence[Subject], view: "Published") -> list[str]:
        names = list(view.shown.axes(kind))
        return sorted(names, key=lambda name: name != MULTIPLY_ADDS.title) or [""]

    return named


def tested() -> dict[str, list[Tested]]:
    """By the pictures that they were tested on: shipped models first, then runs, the latest first."""
    folders = [file.parent for file in bundled.FOLDER.glob("*/result.json")]
    shipped = {f"bundled:{each.name}": RunFolder(each) for each in folders if bundled.MODELS[each.name].compared}
    own = {f"run:{run.name}": run for run in runs() if run.has_model and run.learns_pictures}
    found: dict[str, list[Tested]] = {}
    for source, run in (dict(sorted(shipped.items())) | own).items():
        result = run.read("result.json")
        try:
            recipe = run.recipe
        except RecipeError:
            continue
        if {"test_accuracy", "test_images"} <= set(result):
            name = recipe.data.replace("\\", "/").rstrip("/").rpartition("/")[2]
            seed = f", data seed {recipe.data_seed}" if recipe.data_seed else ""
            data = f"{name}{seed}: {result['test_images']:,} test images"
            found.setdefault(data, []).append(Tested(source, run, result["test_accuracy"], result["test_images"]))
    return found


def sets(of: Sequence[Subject]) -> list[str]:
    """Those of the chosen models first, then insects."""
    every, chosen = tested(), of[0].chosen if of else ()
    own = {data for data, models in every.items() if any(model.source in chosen for model in models)}
    return sorted(every, key=lambda data: (data not in own, not data.startswith("insects:"))) or [""]


class Published(View):
    """What papers report, beside models of your own."""

    table: str = choice("Table", tuple(TABLES), key="published")
    words: str = text("Filter", "", "Rows that hold all of these words or numbers.", key="published_words")
    family: tuple[str, ...] = several("Family", kinds, follows=True, key="published_family")
    cost: str | None = choice("Cost", axes("cost"), follows=True, listed=True, key="published_cost")
    accuracy: str | None = choice("Accuracy", axes("accuracy"), follows=True, listed=True, key="published_accuracy")
    tested: str | None = choice(
        "Models here, tested on",
        sets,
        listed=True,
        key="published_yours",
        when=lambda view: view.table == IMAGENET,
    )

    by_name: ClassVar = True
    overlays: ClassVar = False
    how: ClassVar = How(
        "Type words or choose families to filter. In the plot up is better and left is cheaper (for images/s, right "
        "is): a model with another one above it and to its cheaper side costs more and achieves less. Lines join the "
        "sizes of a family at one input. The two panels show two sets of pictures: compare costs across them, "
        "accuracies only within one.",
        r"\text{top-1} = \tfrac1N \sum_i [\arg\max_c p(c \mid x_i) = y_i], \quad \text{AP} = \tfrac1{10} "
        r"\sum_{t \in \{.5, .55, \dots, .95\}} \int_0^1 \text{precision}_t(r)\,dr, \quad r = \text{recall}",
        "what the same models would reach with another recipe, on other pictures, or on another machine.",
        "Liu et al. 2021; Dosovitskiy et al. 2020; Carion et al. 2020; each table names its own",
    )

    @property
    def shown(self) -> Shown:
        return TABLES.get(self.table, TABLES[IMAGENET])

    def title(self, of: Subject) -> str:
        return self.shown.table.title

    def show(self, of: Subject) -> Iterator[Block]:
        shown = self.shown
        known = families(shown.rows)
        rows = matching(shown.rows, self.words, tuple(family for family in self.family if family in known))
        costs, accuracies = shown.axes("cost"), shown.axes("accuracy")
        cost = costs.get(self.cost or "") or costs.get(axes("cost")([of], self)[0])
        accuracy = accuracies.get(self.accuracy or "") or next(iter(accuracies.values()), None)
        yield Numbers(
            lambda: {  # as text: what a paper does not say is empty
                "columns": np.array([column.field for column in shown.columns]),
                "rows": np.array([[str(getattr(row, each.field) or "") for each in shown.columns] for row in rows]),
            }
        )
        if not rows:
            yield Line("No row holds all of these words; take some away.")
            return
        if cost and accuracy:
            yield from self.plots(of, rows, cost, accuracy)
        if len(rows) < len(shown.rows):
            yield Line(f"{len(rows)} of {len(shown.rows)} rows.")
        yield Table(
            tuple({column.title: in_unit(row, column) for column in shown.columns} for row in rows),
            shown.table.title,
            f"{shown.table.measured} Source: {shown.table.citation}. It does not show {shown.table.does_not_show}",
            helps={column.title: column.help for column in shown.columns if column.help},
        )

    def plots(self, of: Subject, rows: Sequence[Row], cost: Column, accuracy: Column) -> Iterator[Block]:
        """Papers' models left; one's own right, on axes of their own: they answer other pictures."""
        drawn = [row for row in rows if getattr(row, accuracy.field) is not None]
        if not drawn:
            yield Line("No row to draw.")
            return
        points = [point(row, self.shown, cost, accuracy) for row in drawn]
        said = accuracy_for_cost([(each.name, each.cost, each.accuracy) for each in points], cost.title, accuracy.title)
        yield Said(said)
        chart = Chart(
            accuracy_cost(points, cost.title, accuracy.title),
            f"{accuracy.title} against {cost.title}: {', '.join(f'{p.name} {p.accuracy:g}' for p in points)}",
            f"Published, {self.table}",
        )
        if self.table != IMAGENET:
            yield chart
            return
        yield side_by_side(chart, self.here(of, cost))
        yield Line(
            "Two panels, because two sets of pictures: 90 % of the drawn insects says nothing about ImageNet, whose "
            "1,000 classes are photographs. Compare costs across the panels, accuracies only within one."
        )

    def here(self, of: Subject, cost: Column) -> Iterator[Block]:
        every = tested()
        data = self.tested or sets([of])[0]
        if cost.field == "images_per_s":
            yield Line(
                "Images/s in the table are a V100's. The Compare page measures your models on your own device; the "
                "two do not belong on one axis."
            )
        elif data in every:
            jobs = tuple(job_of(model) for model in every[data])
            yield Later(of, jobs, partial(plot, every[data], cost, data))
        else:
            yield Line("No model here has a test result yet; train one on the Train page.")


def in_unit(row: Row, column: Column) -> Any:
    value = getattr(row, column.field)
    return value if column.digits is None or value is None else round(value / column.unit, column.digits)


def point(row: Row, shown: Shown, cost: Column, accuracy: Column) -> Point:
    """Rows of one name differ by their detail; those that differ in size alone are joined."""
    detail = str(getattr(row, shown.detail)) if shown.detail else ""
    twin = sum(other.name == row.name for other in shown.rows) > 1
    name = f"{row.name} {detail}".removesuffix("px") if twin else row.name
    sized = shown.detail == "side_px"
    return Point(
        name,
        row.family,
        getattr(row, cost.field) / cost.unit,
        getattr(row, accuracy.field),
        line=f"{row.family} {detail}" if sized else "",
        note=f"{detail} px" if sized else detail,
    )


# ---- models of one's own ---------------------------------------------------------------------------------------------
def job_of(model: Tested) -> Job:
    """The key changes with the weights."""
    weights = model.run.path / "model.safetensors"
    facts = (weights.stat().st_mtime_ns, weights.stat().st_size) if weights.is_file() else (0, 0)
    work = partial(_counting, str(model.run.path), model.source, facts)
    return Job(("counted", model.source, *facts), "Counting what the models cost", work)


def _counting(folder: str, source: str, weights: tuple[int, int], progress: object) -> Counted | str:
    """A sentence where the model cannot be opened."""
    try:
        return counted(folder, weights)
    except Exception:
        logging.getLogger("vizkit").exception("%s could not be counted", source)
        return f"{bundled.title(source)} is not drawn, because its weights cannot be opened."


@lru_cache(256)
def counted(folder: str, weights: tuple[int, int]) -> Counted:
    """`weights`: when they were written, and their size."""
    import vizkit
    from vizkit.models import family
    from vizkit.models.probes import multiply_adds
    from vizkit.models.probes.two_heads import has_two_tokens

    loaded = vizkit.load(folder, device="cpu")
    title = family(loaded.model).TITLE
    title = "DeiT" if title == "ViT" and has_two_tokens(loaded.model) else title
    return Counted(title, loaded.parameters, multiply_adds.counted(loaded), loaded.preprocessing.size_hw)


def plot(models: Sequence[Tested], cost: Column, data: str, known: Mapping[Any, Any]) -> Iterator[Block]:
    found = [(model, known[key]) for model in models if (key := job_of(model).key) in known]
    points = [own_point(model, counts, cost) for model, counts in found if isinstance(counts, Counted)]
    if points:
        numbers = ", ".join(f"{each.name} {each.accuracy:.1f}" for each in points)
        figure = accuracy_cost(points, cost.title, "Test accuracy (%)")
        yield Chart(figure, f"Test accuracy against {cost.title} on {data}: {numbers}", f"Here, on {data}")
    yield from (Line(counts) for _, counts in found if isinstance(counts, str))


def own_point(model: Tested, counts: Counted, cost: Column) -> Point:
    height, width = counts.size_hw
    return Point(
        bundled.title(model.source).removeprefix("run:"),
        counts.family,
        getattr(counts, cost.field) / cost.unit,
        100 * model.accuracy,
        100 * standard_error(model.accuracy, model.images),
        "bundled" if model.source.startswith("bundled:") else "yours",
        note=f"{height} × {width} px, {counts.parameters:,} parameters, {counts.multiply_adds / 1e6:,.0f} M "
        "multiply–adds",
    )
