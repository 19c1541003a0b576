"""Cost: what every model takes, against how often it is right."""

import csv
import io
import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from typing import Any, ClassVar, Literal, NamedTuple

from vizkit.analysis.comparison.published import IMAGENET, Classifier
from vizkit.analysis.distillation.agreement import standard_error
from vizkit.analysis.remarks.compute import most_and_least, worth
from vizkit.figure.charts import bars
from vizkit.figure.evaluation.accuracy_cost import Point, accuracy_cost
from vizkit.figure.palette import CLASSES, OTHERS
from vizkit.models import family
from vizkit.models.probes.cost import Measured, measure, tokens_of
from vizkit.models.probes.multiply_adds import counted
from vizkit.models.probes.two_heads import has_two_tokens
from vizkit.views import bundled
from vizkit.views.architecture.counted import amount
from vizkit.views.blocks import Block, Chart, Download, Job, Later, Line, Numbers, Said, Table, first_said
from vizkit.views.compare.predictions import safe
from vizkit.views.controls import choice, number
from vizkit.views.licences import licence_words
from vizkit.views.of_model import OfModel
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

BATCHES = (2, 4, 8, 16, 32)
AT_ONCE = 30_000_000  # parameters of all models; larger ones are measured when it is asked for
YARDSTICKS = 3
PASSES = 20  # about so many of one model
AXES = {
    "multiply_adds": ("Multiply–adds", 1e6, "multiply–adds", "M, one image"),
    "parameters": ("Parameters", 1e6, "parameters", "M"),
    "seconds": ("Time", 1e-3, "time", "ms, one image"),
    "answering_bytes": ("Memory", 2**20, "memory", "MiB, one image"),
}


class Tested(NamedTuple):
    """`share` from 0 to 1 of so many `images` of `data` on which a model was right."""

    share: float
    images: int
    data: str


@dataclass(frozen=True)
class Taken:
    """By one model at its input size. `tokens`: in words. `paper`: what was published of its architecture."""

    name: str
    family: str
    parameters: int
    multiply_adds: int
    tokens: str
    size_hw: tuple[int, int]
    licence: str
    source: str
    tested: Tested | None
    paper: Classifier | None

    def of(self, axis: str, measured: Measured | None) -> float | None:
        """The cost of an axis, in its unit; None where it has not been measured."""
        if axis == "seconds":
            value = measured and measured.seconds[1][0]
        else:
            value = getattr(self if hasattr(self, axis) else measured, axis, None)
        return None if value is None else value / AXES[axis][1]


@dataclass(frozen=True)
class Cost(View):
    """What every model takes, and how often it is right for that."""

    against: Literal["multiply_adds", "parameters", "seconds", "answering_bytes"] = choice(
        "Against", tuple(AXES), words={name: words for name, (words, *_) in AXES.items()}
    )
    batch: int = number("Images at once", 2, 32, 8, "For the time of many.", at=BATCHES, key="cost_batch", runs=True)

    together: ClassVar = True
    overlays: ClassVar = False
    how: ClassVar = How(
        "Further up is right more often, further to the left is cheaper: a model with another one above it on the left "
        "costs more and achieves less. Open marks are the other models of the same classes that come with vizkit. "
        "Multiply–adds are counted operation by operation for one image at the model's own input size, a "
        "multiplication with its addition as one, as papers count. Time is the median of up to nine passes after one "
        "to get warm, fastest to slowest in brackets.",
        r"\text{a product of } (n \times k) \text{ and } (k \times m)\text{: } n\,k\,m \text{ multiply–adds}",
        "what another device, another precision or a compiled model would take. Memory of inference is the peak of all "
        "tensors of a pass; memory of training is what autograd saves for the backward pass, without dropout. Both "
        "leave out the weights, the input, and what kernels need for themselves.",
        "Counted as in Liu et al. 2021; tensors as PyTorch makes and frees them. Published: Liu et al. 2021, table 1a",
    )

    def title(self, of: Sequence[Subject]) -> str:
        return f"How often models are right, against {AXES[self.against][2]}"

    def show(self, of: Sequence[Subject]) -> Iterator[Block]:
        chosen = [taken(each) for each in of]
        beside = [taken(each) for each in others(of)]
        jobs = [Job(self.key(each), each.name, partial(measured, each, self.batch)) for each in of]
        large = sum(each.parameters for each in chosen) > AT_ONCE
        button = "Measure time and memory on this device" if large else ""

        def show(found: Mapping[Hashable, Any]) -> Iterator[Block]:
            known: list[Measured | None] = [found.get(job.key) for job in jobs]
            yield from self.picture(chosen, beside, known)
            yield Table(tuple(rows(chosen, known, self.batch)), "What every model takes", caption(chosen, known))
            yield Download("Table (CSV)", lambda: as_csv(chosen, known, self.batch).encode())

        yield Said(self.said(chosen, beside))
        yield Later(of[0], tuple(jobs), show, button, only_asked=large)
        yield Numbers(partial(numbers, [*chosen, *beside]))

    def said(self, chosen: Sequence[Taken], beside: Sequence[Taken]) -> str:
        """Of the chosen models, or of one and those beside it, which is right most often and which takes least."""
        every = [*chosen, *(beside if len(chosen) == 1 else ())]
        axis = "parameters" if self.against == "parameters" else "multiply_adds"
        what, costs = AXES[axis][2], {each.name: getattr(each, axis) for each in every}
        first = next((each.tested for each in every if each.tested), None)
        shares = {
            each.name: each.tested.share for each in every if each.tested and first and each.tested[1:] == first[1:]
        }
        one = f"{chosen[0].name} takes {amount(costs[chosen[0].name])} {what} for one image."
        return first_said(worth(costs, shares, what), most_and_least(costs, what)) or one

    def key(self, of: Subject) -> Hashable:
        return OfModel(("cost", of.weights, of.loaded.preprocessing.size_hw, str(of.loaded.device), self.batch))

    def picture(
        self, chosen: Sequence[Taken], beside: Sequence[Taken], known: Sequence[Measured | None]
    ) -> Iterator[Block]:
        """Accuracy against cost, of what was tested on the same images; else what each model takes."""
        words, _, what, unit = AXES[self.against]
        axis = f"{words} ({unit})"
        every = [
            (each, cost, source)
            for each, one, source in (
                *((each, one, "chosen") for each, one in zip(chosen, known, strict=True)),
                *((each, None, "beside") for each in beside),
            )
            if (cost := each.of(self.against, one)) is not None
        ]
        tested = next((each.tested for each in chosen if each.tested), None)
        points = [
            Point(each.name, each.family, cost, 100 * share, 100 * standard_error(share, images), source)
            for each, cost, source in every
            if tested and each.tested and each.tested[1:] == tested[1:]
            for share, images in [each.tested[:2]]
        ]
        if tested and points:
            on = f"how many of {tested.images:,} test images ({tested.data}) are answered right, ± one standard error"
            figure = accuracy_cost(points, axis, "right answers (%)")
            alt = ", ".join(f"{point.name} {point.accuracy:.1f} % for {point.cost:.3g}" for point in points)
            yield Chart(figure.update_layout(showlegend=False), f"{words}: {alt}")
            open_marks = "; open marks: others that come with vizkit" if len(every) > len(chosen) else ""
            yield Line(f"Up: {on}. To the right: {what}, logarithmic. Filled marks: your models{open_marks}.")
        elif every:
            names, costs = [each.name for each, *_ in every], [cost for _, cost, _ in every]
            ground = [CLASSES[0] if source == "chosen" else OTHERS for *_, source in every]
            figure = bars(names, costs, axis).update_traces(marker_color=ground)
            yield Chart(figure, f"{words} of {', '.join(names)}")


# ---- one model -------------------------------------------------------------------------------------------------------
def taken(of: Subject) -> Taken:
    return of.kept(OfModel("taken"), partial(_taken, of))


def _taken(of: Subject) -> Taken:
    loaded, size_hw = of.loaded, of.loaded.preprocessing.size_hw
    kind = "DeiT" if has_two_tokens(loaded.model) else family(loaded.model).TITLE
    tokens = " → ".join(f"{each:,}" for each in tokens_of(loaded)) or "–"
    name = loaded.name.removeprefix("random:").partition(".")[0]
    paper = next((row for row in IMAGENET if row.timm == name and {row.side_px} == set(size_hw)), None)
    facts = (tokens, size_hw, licence_words(loaded.licence), loaded.source, tested_on(of), paper)
    return Taken(of.name, kind, loaded.parameters, counted(loaded), *facts)


def source_of(of: Subject) -> str:
    """Of a model that comes with vizkit, as `vizkit.load` takes it; "" of another one."""
    return next((each for each in bundled.names() if of.loaded.name in (each, bundled.title(each))), "")


def tested_on(of: Subject) -> Tested | None:
    name = source_of(of).partition(":")[2]
    if not name:
        return None
    result = json.loads((bundled.FOLDER / name / "result.json").read_text(encoding="utf-8"))
    return Tested(result["test_accuracy"], result["test_images"], name.partition("_")[0])


def others(of: Sequence[Subject]) -> list[Subject]:
    """What comes with vizkit and tells the same classes apart as the first model that does; else, as a measure of what
    little costs, those of the first classes."""
    own = [source_of(each) for each in of]
    first = next((each for each, source in zip(of, own, strict=True) if source), None)
    alike = bundled.knowing(first.loaded.labels) if first else bundled.names()[:YARDSTICKS]
    return [of[0].other(each) for each in alike if each not in own]


def measured(of: Subject, batch: int, progress: Callable[[int, int], None]) -> Measured:
    steps = count()
    return measure(of.loaded, of.pixels, batch, lambda words: progress(min(next(steps), PASSES), PASSES + 1))


# ---- words -----------------------------------------------------------------------------------------------------------
def caption(chosen: Sequence[Taken], known: Sequence[Measured | None]) -> str:
    paper = "In brackets: as published; V100: the paper's images per second on that GPU. "
    where = dict.fromkeys(each.where for each in known if each)
    device = f"Measured on: {'; '.join(where)}, in float32, with this image." if where else ""
    return f"{paper if any(each.paper for each in chosen) else ''}{device}".strip()


def rows(chosen: Sequence[Taken], known: Sequence[Measured | None], batch: int) -> Iterator[dict[str, str | None]]:
    """A row for each quantity that is known of a model, a column for each model."""
    columns = [dict(lines(each, one, batch)) for each, one in zip(chosen, known, strict=True)]
    for what in dict.fromkeys(name for column in columns for name in column):
        yield {"": what} | {each.name: column.get(what) for each, column in zip(chosen, columns, strict=True)}


def lines(of: Taken, measured: Measured | None, batch: int) -> Iterator[tuple[str, str]]:
    paper, (height, width) = of.paper, of.size_hw

    def beside(value: str, printed: str) -> str:
        return f"{value} ({printed})" if paper else value

    if of.tested:
        yield f"Right on {of.tested.images:,} test images ({of.tested.data})", f"{100 * of.tested.share:.1f} %"
    yield "Parameters", beside(amount(of.parameters), f"{paper.parameters / 1e6:g} M" if paper else "")
    yield "Multiply–adds", beside(amount(of.multiply_adds), f"{paper.multiply_adds / 1e9:g} G" if paper else "")
    if measured:
        yield "Memory, inference", size(measured.answering_bytes)
        if measured.learning_bytes is not None:
            yield "Memory, training", size(measured.learning_bytes)
        yield "Time, one image", spread(measured.seconds[1])
        yield f"Time per image, {batch} at once", spread(measured.seconds[batch])
        fast = 1 / min(median for median, *_ in measured.seconds.values())
        printed = f"V100: {paper.images_per_s:g}" if paper else ""
        yield "Images per second", beside(f"{fast:,.0f}" if fast > 10 else f"{fast:.2g}", printed)
    yield "Input", f"{width} × {height} pixels"
    yield "Tokens or places", of.tokens
    yield "Licence", of.licence
    yield "Source", of.source


def size(bytes_: int) -> str:
    return f"{bytes_ / 2**30:.2f} GiB" if bytes_ >= 2**30 else f"{bytes_ / 2**20:.1f} MiB"


def spread(seconds: tuple[float, float, float]) -> str:
    median, low, high = (f"{ms:,.0f}" if (ms := 1e3 * value) >= 100 else f"{ms:.3g}" for value in seconds)
    return f"{median} ms ({low}–{high})"


# ---- saved -----------------------------------------------------------------------------------------------------------
def numbers(every: Sequence[Taken]) -> dict[str, Any]:
    """What is counted, the chosen models first; an accuracy below 0 where none is known."""
    shares = [each.tested.share if each.tested else -1.0 for each in every]
    columns = ("name", "parameters", "multiply_adds", "size_hw")
    return {name: [getattr(each, name) for each in every] for name in columns} | {"accuracy": shares}


def as_csv(chosen: Sequence[Taken], known: Sequence[Measured | None], batch: int) -> str:
    out = io.StringIO()
    counts = ("parameters", "multiply_adds", "tokens", "licence", "source")
    timed = ("answering_bytes", "learning_bytes", "seconds_1", f"seconds_{batch}", "device")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("model", *counts, "height_px", "width_px", *timed))
    for each, one in zip(chosen, known, strict=True):
        found = asdict(one) if one else {}
        times = [found["seconds"][at][0] for at in (1, batch)] if one else ["", ""]
        memory = [found.get(name, "") for name in timed[:2]]
        values = (safe(str(getattr(each, name))) for name in counts)
        writer.writerow((safe(each.name), *values, *each.size_hw, *memory, *times, found.get("where", "")))
    return out.getvalue()
