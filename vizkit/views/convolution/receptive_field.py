"""Receptive field: what a unit can see, what it mostly uses, and the same of transformers on one axis."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
import torch

from vizkit.analysis.attention.statistics import by_layer
from vizkit.analysis.convolution.ancestors import ANCESTORS
from vizkit.analysis.convolution.field_size import MOST, half_side_of, side_holding
from vizkit.analysis.remarks import convolution
from vizkit.analysis.swin.receptive_field import receptive_fields
from vizkit.analysis.swin.shifted_windows import cut, layout
from vizkit.datasets import samples
from vizkit.figure.convolution.fields import Line as Reaches
from vizkit.figure.convolution.fields import by_depth, on_image
from vizkit.models import Loaded, family_of, load, pixels_of
from vizkit.models.probes.convolution.effective_field import EffectiveField, effective_fields
from vizkit.models.probes.convolution.field_table import formula, rows_of
from vizkit.models.probes.convolution.receptive_field import Seen, Walk, walk
from vizkit.models.probes.swin_stages import hierarchy
from vizkit.models.recording.stages import gives_features
from vizkit.percent import in_percent
from vizkit.views.blocks import (
    Blocks,
    Chart,
    Columns,
    Folded,
    Heading,
    Job,
    Later,
    Line,
    Numbers,
    Part,
    Picture,
    Said,
    Table,
    first_said,
)
from vizkit.views.bundled import title as titled
from vizkit.views.controls import choice, layer
from vizkit.views.convolution.known import data_of, samples_for
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

SAMPLES = 8
CAN_SEE, USES, ATTENDS = "can see", f"{in_percent(MOST)} of the effect", "mean attention distance"
TRANSFORMERS = ("vit", "swin")
Fields = tuple[EffectiveField, ...]
Progress = Callable[[int, int], None]
OVER_SAMPLES: "WeakKeyDictionary[torch.nn.Module, Fields]" = WeakKeyDictionary()  # the same for every picture


def most_stages(of: Sequence[Subject]) -> int:
    return max(len(each.seen.features) for each in of_kind(of, ("cnn",)))


class ReceptiveField(View):
    """How much of the image a unit can see, and uses."""

    stage: int | None = layer(
        "Unit of stage", "The unit stands in the middle of what leaves this stage.", high=most_stages, key="field_at"
    )
    over: Literal["samples", "this picture"] = choice(
        "Effect",
        ("samples", "this picture"),
        "Of the pixels of samples that the model knows, a mean; or of your picture alone.",
        key="field_over",
        runs=True,
    )

    together = True
    overlays = False
    how = How(
        "The white frame is all that can change the unit, the colours how much each pixel does, the blue frame the "
        "smallest square around the middle that holds 68 % of it. In the chart, where 50 % of the side is the edge of "
        "each model's own input, dotted lines say how far a layer can see, solid ones how far the square reaches, "
        "dashed ones the mean attention distance of a transformer, whose first layer can already see everything in its "
        "window.",
        r"r_l = r_{l-1} + d\,(f_l - 1)\, j_{l-1}, \quad j_l = s_l\, j_{l-1}, \qquad "
        r"e(p) = \sum_c \bigl| \partial \textstyle\sum_k F_k / \partial x_c(p) \bigr|",
        "what the unit looks for there. Attention distance and gradient are two measures of where a layer looks, not "
        "the same one.",
        "Araujo et al. 2019; Luo et al. 2016, § 2; Dosovitskiy et al. 2020, fig. 7 right",
    )

    def title(self, of: Sequence[Subject]) -> str:
        cnn = of_kind(of, ("cnn",))[0]
        return f"Receptive field: the unit in the middle of {cnn.seen.features[self.index(cnn)].name}"

    def index(self, of: Subject) -> int:
        count = len(of.seen.features)
        return min(self.stage or count, count) - 1

    def show(self, of: Sequence[Subject]) -> Blocks:
        cnns, transformers = of_kind(of, ("cnn",)), of_kind(of, TRANSFORMERS)
        if not set(cnns) & set(of):
            same = set(of[0].loaded.labels) == set(cnns[0].loaded.labels)
            knows = "which knows the same classes" if same else f"which was trained on {data_of(of[0].loaded)} alone"
            yield Line(f"Your models have no convolution; shown: {cnns[0].name}, {knows}.")
        pictures = [(Part(partial(self.on_picture, each, len(cnns) > 1)),) for each in cnns]
        chart = Part(partial(self.by_depth, of[0], cnns, transformers))
        if len(cnns) > 1:
            yield Columns(tuple(pictures))
            yield chart
        else:
            yield Columns((*pictures, (chart,)), (2, 3))
        for each in cnns:
            layers = walked(each).layers
            title = f"Layer by layer: {len(layers)} convolutions and pools of {each.name}"
            yield Folded(title, partial(layer_by_layer, walked(each)))
        yield Folded("Before transformers: what each network brought", ancestors)
        yield Numbers(partial(as_arrays, cnns, self.over))

    def by_depth(self, of: Subject, cnns: Sequence[Subject], transformers: Sequence[Subject]) -> Blocks:
        """When the picture is there: gradients of a transformer take seconds."""

        def lines(each: Subject, progress: Progress) -> list[Reaches]:
            return [*(of_cnn if each in cnns else of_transformer)(each, self.over)]

        def show(found: Mapping[Hashable, Any]) -> Blocks:
            if len(found) == len(jobs):
                every = [line for job in jobs for line in found[job.key]]
                yield Chart(by_depth(every), "How far units can see and how far they look, by depth of the network")

        jobs = tuple(
            Job(("reach", each.name, each.weights, self.over), f"Gradients of {each.name}", partial(lines, each))
            for each in (*cnns, *transformers)
        )
        yield Later(of, jobs, show)

    def on_picture(self, of: Subject, named: bool) -> Blocks:
        """The field on the chosen picture, with its sentence."""
        index = self.index(of)
        own, field = walked(of), effective(of, self.over)[index]
        seen, name = own.stages[index], of.seen.features[index].name
        side = side_holding(field.share, field.centre_yx, MOST)
        if named:
            yield Heading(of.name)
        yield Picture(framed(of, field, seen, side), "What the unit can see and which pixels change it most")
        if seen is None:
            yield Said(f"A unit in the middle of {name} can see the whole image.")
            return
        yield Said(first_said(convolution.field_used(name, seen.rows.size, side, min(own.size_hw), MOST)))
        whole = " · a mean over the whole map comes in too, so every pixel changes it a little" if seen.whole else ""
        apart = f"Field {seen.rows.size} px · neighbours see pixels {seen.rows.jump} px apart"
        yield Line(f"{apart} · {last_layer(own, seen)}{whole}")


# ---- models ----------------------------------------------------------------------------------------------------------
def of_kind(of: Sequence[Subject], families: Sequence[str]) -> list[Subject]:
    """Those of these families; without any the bundled ones that know the same data."""
    found = [each for each in of if family_of(each.loaded.model) in families]
    data = data_of(of[0].loaded)
    return found or [bundled(of[0], f"bundled:{data}_{kind}") for kind in families]


def bundled(beside: Subject, source: str) -> Subject:
    """On the same picture."""
    return beside.kept(("beside", source), partial(opened, beside, source))


def opened(beside: Subject, source: str) -> Subject:
    return Subject(
        partial(loaded_once, source, beside.loaded.device),
        beside.rgb,
        image=beside.image,
        model=titled(source),
        point=beside.point,
    )


@lru_cache(maxsize=6)
def loaded_once(source: str, device: torch.device) -> Loaded:
    return load(source, device=device)


# ---- what each of them sees and uses ---------------------------------------------------------------------------------
def walked(of: Subject) -> Walk:
    return of.kept("receptive fields", lambda: walk(of.loaded))


def effective(of: Subject, over: str) -> Fields:
    """A mean over samples, or of the picture alone."""
    known = None if over == "this picture" else OVER_SAMPLES.get(of.loaded.model)
    return known or of.kept(("effective fields", over), partial(measured, of, over))


def measured(of: Subject, over: str) -> Fields:
    loaded, names = of.loaded, samples_for(of.loaded)[:SAMPLES]
    pictures = [of.rgb] if over == "this picture" else [samples.picture(name) for name in names]
    with torch.enable_grad():
        found = effective_fields(loaded, (pixels_of(loaded, picture) for picture in pictures))
    if over != "this picture":
        OVER_SAMPLES[loaded.model] = found
    return found


def used(fields: Fields) -> list[float]:
    """Half of the square that holds most of the effect, as a share of the longer side."""
    return [side_holding(field.share, field.centre_yx, MOST) / 2 / max(field.share.shape) for field in fields]


def of_cnn(of: Subject, over: str) -> Iterator[Reaches]:
    """From the middle of the image: half of the field, half of the square that holds most of the effect."""
    own = walked(of)
    count, side_px = len(own.layers), max(own.size_hw)
    depth = [(i + 1) / count for i in range(count)]
    sizes_px = [1, *(each.seen.rows.size for each in own.layers)]
    yield Reaches(of.name, CAN_SEE, [0, *depth], [size_px / 2 / side_px for size_px in sizes_px])
    ends = [
        max((i + 1 for i, each in enumerate(own.layers) if stage and each.seen.rows == stage.rows), default=count)
        for stage in own.stages
    ]
    yield Reaches(of.name, USES, [end / count for end in ends], used(effective(of, over)))


def of_transformer(of: Subject, over: str) -> Iterator[Reaches]:
    found = by_layer(of.whole())
    depth = [(i + 1) / len(found) for i in range(len(found))]
    side_px = max(of.seen.image_size)
    yield Reaches(of.name, ATTENDS, depth, [float(each.distance_px.mean()) / side_px for each in found])
    reached, ends = swin_reach(of) if family_of(of.loaded.model) == "swin" else ([0.5] * len(depth), depth)
    yield Reaches(of.name, CAN_SEE, depth, reached)
    if gives_features(of.loaded.model):
        shares = used(effective(of, over))
        evenly = [(i + 1) / len(shares) for i in range(len(shares))]
        yield Reaches(of.name, USES, ends if len(ends) == len(shares) else evenly, shares)


def swin_reach(of: Subject) -> tuple[list[float], list[float]]:
    """(how far the token in the middle can see after each block, the depth at which each stage ends)."""
    size_hw = of.seen.image_size
    stages = hierarchy(of.loaded, size_hw)
    regions = [
        cut(layout(stage.grid, block.window, block.shift, pad_first=stage.pad_first).regions, block.window)
        for stage in stages
        for block in stage.blocks
    ]
    fields = receptive_fields(of.whole(), regions, (0.5, 0.5))
    ends = np.cumsum([len(stage.blocks) for stage in stages]) / len(fields)
    return [half_side_of(field.places, size_hw) / max(size_hw) for field in fields], ends.tolist()


# ---- what is drawn ---------------------------------------------------------------------------------------------------
def framed(of: Subject, field: EffectiveField, seen: Seen | None, side: float) -> np.ndarray:
    (y, x), half = field.centre_yx, side / 2
    x0, y0, x1, y1 = map(float, seen.box(field.cell)) if seen is not None else (0.0,) * 4
    box = (x0, y0, x1, y1) if seen is not None else None
    square = (x - half, y - half, x + half, y + half)
    return on_image(of.rgb, field.share.numpy(), of.box_xyxy, box, square)


def last_layer(own: Walk, seen: Seen) -> str:
    """The formula of the layer after which a stage has its field."""
    layers = [each for each in own.layers if each.seen.rows == seen.rows]
    return formula(layers[-1]) if layers else ""


def layer_by_layer(own: Walk) -> Blocks:
    rows = [{**row, "formula": formula(each)} for row, each in zip(rows_of(own), own.layers, strict=True)]
    shown = tuple(
        {name.replace("_", " "): str(value) for name, value in row.items() if name != "whole_image"} for row in rows
    )
    yield Table(shown, "The receptive field of every layer")


def ancestors() -> Blocks:
    rows = tuple(
        {
            "network": each.title,
            "year": str(each.year),
            "layers": str(each.layers),
            "parameters": f"{each.parameters:,}",
            "field, px": f"{each.field_px:,}",
            "new": each.brought,
            "source": each.source,
        }
        for each in ANCESTORS
    )
    yield Table(rows, "Networks before transformers")


def as_arrays(cnns: Sequence[Subject], over: str) -> dict[str, np.ndarray]:
    """The effect of every pixel, for each map."""
    return {
        f"effect_model{model}_stage{stage}": field.share.numpy()
        for model, each in enumerate(cnns, 1)
        for stage, field in enumerate(effective(each, over), 1)
    }
