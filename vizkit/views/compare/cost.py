"""Cost: what every model takes, against how often it is right."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Literal

from torch import nn

from vizkit.analysis.comparison.published import IMAGENET, Classifier
from vizkit.analysis.distillation.agreement import standard_error
from vizkit.analysis.remarks.compute import most_and_least
from vizkit.analysis.remarks.compute import worth as for_its_cost
from vizkit.analysis.remarks.remark import joined
from vizkit.figure.charts import bars
from vizkit.figure.evaluation.accuracy_cost import Point, accuracy_cost
from vizkit.figure.palette import CLASSES, OTHERS
from vizkit.models import family
from vizkit.models.probes.cost import Measured, measure, tokens_of
from vizkit.models.probes.multiply_adds import counted
from vizkit.models.probes.two_heads import has_two_tokens
from vizkit.percent import in_percent
from vizkit.training.recipe import RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.views import bundled
from vizkit.views.architecture.counted import amount
from vizkit.views.blocks import Blocks, Chart, Download, Heading, Line, Numbers, Said, Table, first_said, side_by_side
from vizkit.views.compare import worth
from vizkit.views.compare.images import Progress, every_model
from vizkit.views.compare.papers import Papers, accuracies
from vizkit.views.compare.tables import TABLES
from vizkit.views.controls import choice, number
from vizkit.views.licences import licence_words
from vizkit.views.subject import OfModel, Subject
from vizkit.views.view import How, View
from vizkit.writing import csv_rows

AT_ONCE = 30_000_000  # parameters of all models; larger ones are measured when it is asked for
YARDSTICKS = 3  # models that stand beside one of unknown accuracy
PASSES = 20  # about so many of one model
AXES = {
    "multiply_adds": ("Multiply–adds", "M", 1e6),
    "parameters": ("Parameters", "M", 1e6),
    "seconds": ("Time", "ms", 1e-3),
    "answering_bytes": ("Memory", "MiB", 2**20),
}
Facts = Mapping[str, Any]
"""Of one model, by the names of QUANTITIES and some more; what is not known is not there."""


def size(bytes_: int) -> str:
    return f"{bytes_ / 2**30:.2f} GiB" if bytes_ >= 2**30 else f"{bytes_ / 2**20:.1f} MiB"


QUANTITIES: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "right": ("Right answers", partial(in_percent, decimals=1)),
    "test": ("Tested on", str),
    "parameters": ("Parameters", amount),
    "multiply_adds": ("Multiply–adds", amount),
    "published": ("As published", str),
    "weights": ("Weights", str),
    "answering_bytes": ("Memory of a pass, beside the weights", size),
    "learning_bytes": ("Memory of a training step, beside the weights", size),
    "one": ("Time, one image", str),
    "many": ("Time of each of many at once", str),
    "images_per_s": ("Images per second", str),
    "input": ("Input", str),
    "tokens": ("Tokens or places", str),
    "licence": ("Licence", str),
    "source": ("Source", str),
}
DRAWN = ("right", "parameters", "multiply_adds", "test", "input")
COUNTED = ("model", "parameters", "multiply_adds")
CHOSEN = "the chosen ones"


def offered(of: Sequence[Subject]) -> list[str]:
    return [CHOSEN, *worth.studies()[0]]


def of_chosen(view: Any) -> bool:
    return view.trained in (None, CHOSEN)


class Cost(View):
    """What every model takes, and how often it is right for that, here and in papers."""

    trained: str | None = choice(
        "Models",
        offered,
        "The chosen ones, beside others of the same classes; or a study: five models that differ in nothing but what "
        "is asked, on the same images; your own runs of it come from the Train page.",
        key="worth",
        listed=True,
        words={CHOSEN: "the chosen ones and those beside them"},
    )
    against: Literal["multiply_adds", "parameters", "seconds", "answering_bytes"] = choice(
        "Against", tuple(AXES), words={name: words for name, (words, *_) in AXES.items()}, when=of_chosen
    )
    table: str = choice(
        "Beside them", tuple(TABLES), "What papers report.", key="published", listed=True, when=of_chosen
    )
    batch: int = number(
        "Images at once",
        2,
        32,
        8,
        "For the time of many.",
        at=(2, 4, 8, 16, 32),
        key="cost_batch",
        runs=True,
        when=of_chosen,
        more=True,
    )
    accuracy: str | None = choice(
        "Accuracy in papers",
        accuracies,
        follows=True,
        listed=True,
        key="published_accuracy",
        more=True,
        when=of_chosen,
    )

    together = True
    bare = True
    overlays = False
    how = How(
        "Further up is right more often, further to the left is cheaper: a model with another one above it on the left "
        "costs more and achieves less. Open marks are the other models of the same classes that come with vizkit. What "
        "papers report has a panel of its own, for its images are others: compare costs across the two panels, "
        "accuracies only within one; there lines join the sizes of a family at one input. "
        "Multiply–adds are counted operation by operation for one image at the model's own input size, a "
        "multiplication with its addition as one, as papers count. Time is that of the fastest of up to 25 passes "
        "after one to get warm, for whatever else a machine does only makes a pass slower; the median is in brackets.",
        r"\text{a product of } (n \times k) \text{ and } (k \times m)\text{: } n\,k\,m \text{ multiply–adds}",
        "what another device, another precision or a compiled model would take. Memory of inference is the peak of all "
        "tensors of a pass; memory of training is what autograd saves for the backward pass, without dropout. Both "
        "leave out the weights, the input, and what kernels need for themselves.",
        "Counted as in Liu et al. 2021; tensors as PyTorch makes and frees them; each table of papers names its own "
        "source. Two grids and fewer tokens: Badzohreh 2024, in our reading",
    )

    def title(self, of: Sequence[Subject]) -> str:
        if not of_chosen(self):
            return f"Accuracy and cost of two grids and of fewer tokens: {self.trained}"
        if not any(each.has_model for each in of):
            return TABLES[self.table].table.title
        return f"How often models are right, against {AXES[self.against][0].lower()}"

    def show(self, of: Sequence[Subject]) -> Blocks:
        yield from self.chosen(of) if of_chosen(self) else worth.shown(str(self.trained))

    @property
    def papers(self) -> Papers:
        return Papers(self.table, self.accuracy)

    def chosen(self, of: Sequence[Subject]) -> Blocks:
        of = [each for each in of if each.has_model]
        if not of:
            yield from (*self.papers.plotted(self.against), *self.papers.tabled(), Numbers(self.papers.cells))
            return
        chosen, beside = (
            [each.kept(OfModel("facts"), partial(facts, each)) for each in row] for row in (of, others(of))
        )
        large = sum(each["parameters"] for each in chosen) > AT_ONCE

        def show(found: Mapping[str, Measured]) -> Blocks:
            measured = {name: times(each, self.batch) for name, each in found.items()}
            known = [{**each, **measured.get(each["model"], {})} for each in chosen]
            yield from self.panels(known, beside)
            yield Table(tuple(rows(known)), "What every model takes", where(known))
            if beside:
                yield Table(tuple(map(row_of, beside)), "Those beside them in the figure")
            yield from self.papers.tabled()
            yield Download("Table (CSV)", lambda: csv_rows((*known, *beside)).encode())

        button = "Measure time and memory on this device" if large else ""  # other hosts have what a page has measured
        asked = {"button": button, "only_asked": True, "again": "Measure again"}
        yield every_model(of, "Time and memory", self.key, self.measured, show, **asked)
        every = (*chosen, *beside)
        yield Numbers(lambda: {name: [each[name] for each in every] for name in COUNTED})

    def panels(self, chosen: Sequence[Facts], beside: Sequence[Facts]) -> Blocks:
        """The models here, and beside them those of papers, where these say what theirs cost."""
        here = [Said(self.said(chosen, beside)), *self.picture(chosen, beside)]
        papers = [*self.papers.plotted(self.against)]
        yield from [side_by_side((Heading("Models here"), *here), papers)] if papers else here

    def key(self, of: Subject) -> Hashable:
        return OfModel(("cost", of.weights, of.loaded.preprocessing.size_hw, str(of.loaded.device), self.batch))

    def measured(self, of: Subject, progress: Progress) -> Measured:
        steps = count()
        return measure(of.loaded, of.pixels, self.batch, lambda words: progress(min(next(steps), PASSES), PASSES + 1))

    def said(self, chosen: Sequence[Facts], beside: Sequence[Facts]) -> str:
        """Of all that the image shows which is right most often and which takes least."""
        axis = self.against if self.against in chosen[0] else "multiply_adds"
        every = [each for each in (*chosen, *beside) if axis in each]
        what, costs = AXES[axis][0].lower(), {each["model"]: each[axis] for each in every}
        shares = {each["model"]: each["right"] for each in tested_alike(every)} if "right" in chosen[0] else {}
        one = f"{chosen[0]['model']} takes {amount(chosen[0]['multiply_adds'])} multiply–adds for one image."
        measured = most_and_least(costs, what, least_is(every, beside, axis))
        those = "" if len(every) == len(chosen) + len(beside) else "Of the models that are measured "
        words = first_said(for_its_cost(costs, shares, what), measured)
        return f"{those}{words}" if words else one

    def picture(self, chosen: Sequence[Facts], beside: Sequence[Facts]) -> Blocks:
        """Accuracy against cost, of what was tested on the same images; else what each model takes."""
        words, unit, scale = AXES[self.against]
        every = [each for each in (*chosen, *beside) if self.against in each]
        costs, names = [each[self.against] / scale for each in every], [each["model"] for each in every]
        marks = ["chosen" if each in chosen else "beside" for each in every]
        alike = tested_alike(every) if "right" in chosen[0] else []
        if alike:
            points = [
                Point(name, each["family"], cost, 100 * each["right"], 100 * each["half"], mark)
                for each, name, cost, mark in zip(every, names, costs, marks, strict=True)
                if each in alike
            ]
            figure = accuracy_cost(points, f"{words} ({unit})", "right answers (%)").update_layout(showlegend=False)
            yield Chart(
                figure, ", ".join(f"{each.name}: {each.accuracy:.1f} % for {each.cost:.3g} {unit}" for each in points)
            )
            others = "; open: others that come with vizkit" if "beside" in marks else ""
            yield Line(
                f"Up: right answers to {alike[0]['test']}, with 95 % intervals. To the right: {words.lower()}, "
                f"logarithmic. Filled marks: your models{others}."
            )
            yield from drawn_small(alike)
            if left := [each["model"] for each in chosen if each in every and each not in alike]:
                yield Line(f"Without such a test, and not drawn: {joined(left)}.")
            if left := [each["model"] for each in (*chosen, *beside) if each not in every]:
                yield Line(f"Measured of chosen models alone, so not drawn: {joined(left)}.")
        elif every:
            figure = bars(names, costs, f"{words} ({unit})")
            figure.update_traces(marker_color=[CLASSES[0] if mark == "chosen" else OTHERS for mark in marks])
            yield Chart(figure, f"{words} of {', '.join(names)}")
            grey = "Grey: models that come with vizkit, as a measure of cost. " if "beside" in marks else ""
            yield Line(f"{grey}{chosen[0]['model']} {chosen[0]['untested']}.")
        else:
            yield Line(f"{words} has not been measured yet.")


def weights_in_words(model: nn.Module) -> str:
    """What they take as they are loaded, and at which precision."""
    parameters = [*model.parameters()]
    kinds = sorted({str(each.dtype).removeprefix("torch.") for each in parameters})
    return f"{size(sum(each.nbytes for each in parameters))}, {' and '.join(kinds)}"


# ---- one model -------------------------------------------------------------------------------------------------------
def facts(of: Subject) -> Facts:
    """What is known of a model without asking it."""
    loaded, (height, width) = of.loaded, of.loaded.preprocessing.size_hw
    name = loaded.name.removeprefix("random:").partition(".")[0]
    paper = next((row for row in IMAGENET if row.timm == name and {row.side_px} == {height, width}), None)
    own = source_of(of).partition(":")[2]
    folder = bundled.FOLDER / own if own else Path(loaded.name) if loaded.source.startswith("run folder") else None
    right = tested(RunFolder(folder)) if folder else {}
    gives = f"gives {loaded.head.gives}" if loaded.head.unjudged else "comes without a test that is known"
    return {
        "model": of.name,
        "untested": "" if right else f"{gives}, so it is not known how often it is right",
        "family": "DeiT" if has_two_tokens(loaded.model) else family(loaded.model).TITLE,
        **right,
        "parameters": loaded.parameters,
        "multiply_adds": counted(loaded),
        "weights": weights_in_words(loaded.model),
        **({"published": published(paper)} if paper else {}),
        "input": f"{width} × {height} pixels",
        "tokens": " → ".join(f"{each:,}" for each in tokens_of(loaded)) or "–",
        "licence": licence_words(loaded.licence),
        "source": loaded.source,
    }


def published(paper: Classifier) -> str:
    counts = f"{paper.parameters / 1e6:g} M parameters, {paper.multiply_adds / 1e9:g} G multiply–adds"
    return f"{counts}, {paper.images_per_s:g} images/s on a V100"


def source_of(of: Subject) -> str:
    """Of a model that comes with vizkit, as `vizkit.load` takes it; "" of another one."""
    return next((each for each in bundled.names() if of.loaded.name in (each, bundled.title(each))), "")


def tested(run: RunFolder) -> Facts:
    """How often a model is right on the test images of its own data, 0 to 1, with half of its 95 % interval. Nothing
    of one without classes, or that no recipe made."""
    result = run.read("result.json")
    try:
        recipe = run.recipe
        right, images = float(result["test_accuracy"]), int(result["test_images"])
    except (RecipeError, KeyError, TypeError, ValueError):
        return {}
    name = recipe.data.replace("\\", "/").rstrip("/").rpartition("/")[2]
    seed = f" of data seed {recipe.data_seed}" if recipe.data_seed else ""
    on = f"{images:,} test images of {name}{seed}"
    return {"right": right, "half": 1.96 * standard_error(right, images), "test": on}


def tested_alike(every: Sequence[Facts]) -> list[Facts]:
    """Those that were tested on the images of the first that was tested."""
    known = [each for each in every if "right" in each]
    return [each for each in known if each["test"] == known[0]["test"]]


def drawn_small(alike: Sequence[Facts]) -> Iterator[Line]:
    """Why Evaluate, which draws all images of one size, counts other right answers of a model of smaller ones."""
    inputs = [each["input"] for each in alike]
    usual = max(inputs, key=inputs.count)
    small = [f"{each['model']} {each['input']}" for each in alike if each["input"] != usual]
    if small and "insects" in alike[0]["test"]:
        sizes = f"{usual}, of {joined(small)}"
        why = "Evaluate draws them larger and makes them smaller, which gives another accuracy."
        yield Line(f"Tested on images drawn at each model's own input: {sizes}. {why}")


def others(of: Sequence[Subject]) -> list[Subject]:
    """What comes with vizkit and tells the same classes apart as the first model that does; else, as a measure of what
    little costs, those of the first classes."""
    own = [source_of(each) for each in of]
    first = next((each for each, source in zip(of, own, strict=True) if source), None)
    alike = (bundled.knowing(first.loaded.labels) if first else []) or bundled.names("insects")[:YARDSTICKS]
    return [of[0].other(each) for each in alike if each not in own]


def least_is(every: Sequence[Facts], beside: Sequence[Facts], axis: str) -> str:
    """A clause on the one that takes least, where nobody has chosen it or it reads other images than the dearest."""
    most, least = (pick(every, key=lambda each: each[axis]) for pick in (max, min))
    drawn = ["stands beside as a measure"] if least in beside else []
    reads = [f"reads images of {least['input']} against {most['input']}"] if least["input"] != most["input"] else []
    return f"which {joined([*drawn, *reads])}" if drawn or reads else ""


def times(found: Measured, batch: int) -> Facts:
    more = {} if found.learning_bytes is None else {"learning_bytes": found.learning_bytes}
    spreads = {"one": spread(found.seconds[1]), "many": f"{spread(found.seconds[batch])} of {batch}"}
    one, many = (found.seconds[images][1] for images in (1, batch))  # the fastest of each
    fast = {"seconds": one, "images_per_s": f"{1 / many:.3g}, {batch} at once", "device": found.where}
    return {"answering_bytes": found.answering_bytes, **more, **spreads, **fast}


def spread(seconds: tuple[float, float, float]) -> str:
    """The fastest, and in brackets the median."""
    median, low = (f"{ms:,.0f}" if (ms := 1e3 * value) >= 100 else f"{ms:.3g}" for value in seconds[:2])
    return f"{low} ms (median {median} ms)"


# ---- all of them -----------------------------------------------------------------------------------------------------
def rows(every: Sequence[Facts]) -> Iterator[dict[str, str | None]]:
    """A row for each quantity that is known, a column for each model; of right answers also why they are not."""
    for name, (title, write) in QUANTITIES.items():
        if name == "right" or any(name in each for each in every):
            untested = "not tested" if name == "right" else None
            yield {"": title} | {each["model"]: write(each[name]) if name in each else untested for each in every}


def row_of(each: Facts) -> dict[str, str]:
    """What the figure shows of one that nobody chose."""
    drawn = {name: QUANTITIES[name] for name in DRAWN}
    return {"Beside them": each["model"]} | {
        title: write(each[name]) if name in each else "not tested" for name, (title, write) in drawn.items()
    }


def where(every: Sequence[Facts]) -> str:
    devices = dict.fromkeys(each["device"] for each in every if "device" in each)
    return f"Measured on: {'; '.join(devices)}, in float32, with this image." if devices else ""
