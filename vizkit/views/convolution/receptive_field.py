"""Reach: what one cell of each layer can see of the image, in a CNN, a Swin and a ViT, and which pixels change it."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Any, Literal

import numpy as np
import torch

from vizkit.analysis.convolution.ancestors import ANCESTORS
from vizkit.analysis.convolution.field_size import MOST, side_holding
from vizkit.analysis.remarks import convolution
from vizkit.analysis.swin.receptive_field import receptive_fields
from vizkit.analysis.swin.shifted_windows import cut, layout
from vizkit.figure.convolution.fields import framed
from vizkit.geometry import Box
from vizkit.image import whole_box
from vizkit.models import family_of, pixels_of
from vizkit.models.probes.convolution.effective_field import EffectiveField, effective_fields
from vizkit.models.probes.convolution.field_table import formula, rows_of
from vizkit.models.probes.convolution.receptive_field import Walk, walk
from vizkit.models.probes.swin_stages import hierarchy
from vizkit.models.recording.stages import gives_features
from vizkit.percent import in_percent
from vizkit.traces import Tokens
from vizkit.views.blocks import (
    Block,
    Blocks,
    Columns,
    Folded,
    Heading,
    Job,
    Later,
    Line,
    Map,
    Numbers,
    Picture,
    Said,
    Table,
    first_said,
)
from vizkit.views.controls import choice, layer
from vizkit.views.convolution.known import of_kind, standing
from vizkit.views.rows_of import grid_for_browser
from vizkit.views.subject import CENTRE, Subject
from vizkit.views.view import How, View

USES = "what it uses"
START = (0.4, 0.4)
KINDS = {"cnn": "stage", "swin": "block", "vit": "layer"}  # what is counted in a network of each kind
Frame = tuple[str, Box]
"""(the layer after which a cell sees it, x0, y0, x1, y1 in pixels of the model's input)."""


def most_stages(of: Sequence[Subject]) -> int:
    return max(len(frames_of(each, "cnn")) for each in of_kind(of, "cnn"))


class ReceptiveField(View):
    """What one cell of each layer can see of the image: in a CNN, a Swin and a ViT."""

    shows: Literal["what it can see", "what it uses"] = choice(
        "Shown",
        ("what it can see", USES),
        "All that can change the cell; or how much each pixel does, by the gradient on this image.",
        key="field_shows",
        runs=True,
    )
    stage: int | None = layer(
        "Up to stage",
        "Of the CNN; the others are shown at the same share of their depth.",
        high=most_stages,
        plays=True,
        key="field_at",
    )

    together = True
    overlays = False
    how = How(
        "Click a cell to mark it. Each frame is all that can change this cell of a layer, the first dark and the last "
        "bright: whatever the "
        "weights are, nothing outside it can. A convolution adds a few pixels in every layer, a Swin one "
        "window and then the shifted ones, and a token of a ViT sees the whole image in its first layer. “What it "
        "uses” shows how much each pixel of this image changes the cell; the blue frame is the smallest square "
        f"around its middle that holds {in_percent(MOST)} of that.",
        r"r_l = r_{l-1} + d\,(f_l - 1)\, j_{l-1}, \quad j_l = s_l\, j_{l-1}, \qquad "
        r"e(p) = \sum_c \bigl| \partial \textstyle\sum_k F_k / \partial x_c(p) \bigr|",
        "what the cell looks for there.",
        "Araujo et al. 2019; Luo et al. 2016, § 2; Liu et al. 2021, § 3.2",
    )

    def title(self, of: Sequence[Subject]) -> str:
        return f"Reach: {self.shows} up to stage {self.stage or most_stages(of)} of the CNN"

    def show(self, of: Sequence[Subject]) -> Blocks:
        shown = [(each, kind) for kind in KINDS for each in of_kind(of, kind) if each in of or not self.staged]
        every = {each: frames_of(each, kind) for each, kind in shown}
        share = (self.stage or most_stages(of)) / most_stages(of)
        upto = {each: min(len(frames), max(1, ceil(share * len(frames) - 1e-9))) for each, frames in every.items()}
        whole = {each.name: whole_after(each, KINDS[kind], every[each]) for each, kind in shown}
        if not self.staged or (self.stage is None and self.shows != USES):  # it is about all stages
            yield Said(convolution.reached(whole))
        elif self.shows != USES:
            last = {each: every[each][upto[each] - 1] for each, _ in shown}
            yield Said(convolution.seen({each.name: (name, seen(each, box)) for each, (name, box) in last.items()}))
        if others := [each for each, _ in shown if each not in of]:
            yield Line(
                f"{standing(others)}: what a cell can see depends on how a network is built, not on what it has "
                "learned."
            )
        pictures = Columns(tuple(drawn(each, kind, every[each][: upto[each]]) for each, kind in shown))
        if self.shows == USES:
            yield self.used(of[0], [*every], share)
        else:
            yield pictures
        for each in of_kind(of, "cnn"):
            own = walked(each)
            title = f"Layer by layer: {len(own.layers)} convolutions and pools of {each.name}, {own.depth} in a row"
            yield Folded(title, partial(layer_by_layer, own))
        yield Folded("Before transformers: what each network brought", ancestors)
        arrays = {f"{each.name}: pixels seen": np.array([box for _, box in frames]) for each, frames in every.items()}
        yield Numbers(lambda: arrays)

    def used(self, first: Subject, of: Sequence[Subject], share: float) -> Later:
        """One pass backwards for each model that hands out what leaves its layers; `first` keeps what they find."""
        by_key: dict[Hashable, Subject] = {
            ("effect", each.name, each.weights, each.point, share): each
            for each in of
            if gives_features(each.loaded.model)
        }
        jobs = tuple(
            Job(key, f"The gradient of {each.name}", partial(effect, each, share)) for key, each in by_key.items()
        )

        def show(found: Mapping[Hashable, Any]) -> Blocks:
            yield Columns(tuple(tuple(coloured(by_key[key], *each)) for key, each in found.items()))

        return Later(first, jobs, show)


# ---- what a cell of each layer can see, and uses ---------------------------------------------------------------------
def walked(of: Subject) -> Walk:
    return of.kept("receptive fields", lambda: walk(of.loaded))


def frames_of(of: Subject, kind: str) -> list[Frame]:
    """From the first layer to the last, of the cell in the middle."""
    return of.kept(("frames", point_of(of)), partial({"cnn": of_cnn, "swin": of_swin, "vit": of_vit}[kind], of))


def of_cnn(of: Subject) -> list[Frame]:
    own, features, (x, y) = walked(of), of.seen.features, point_of(of)
    frames = []
    for each, seen in zip(features, own.stages, strict=False):
        box = whole_of(of) if seen is None else seen.box((int(y * seen.grid[0]), int(x * seen.grid[1])))
        x0, y0, x1, y1 = map(float, box)
        frames.append((each.name, (x0, y0, x1, y1)))
    return frames


def of_swin(of: Subject) -> list[Frame]:
    stages = hierarchy(of.loaded, of.seen.image_size)
    regions = [
        cut(layout(stage.grid, block.window, block.shift, pad_first=stage.pad_first).regions, block.window)
        for stage in stages
        for block in stage.blocks
    ]
    frames, (height, width), trace = [], of.seen.image_size, of.seen
    for number in range(1, len(regions) + 1):
        last = next(at for at, each in enumerate(trace.attention) if each is of.layers[number - 1])
        found = replace(trace.check, layers_found=number, layers_expected=number)
        upto = replace(trace, attention=trace.attention[: last + 1], check=found)  # a cell of this very block
        places = receptive_fields(upto, regions[:number], point_of(of))[-1].places
        rows, columns = (places.any(axis).nonzero().flatten().tolist() for axis in (1, 0))
        down, across = height / places.shape[0], width / places.shape[1]
        box = columns[0] * across, rows[0] * down, (columns[-1] + 1) * across, (rows[-1] + 1) * down
        frames.append((f"block {number}", box))
    return frames


def of_vit(of: Subject) -> list[Frame]:
    """Every layer sees everything."""
    return [("layer 1", whole_of(of))]


def whole_of(of: Subject) -> Box:
    height, width = of.loaded.preprocessing.size_hw
    return 0.0, 0.0, float(width), float(height)


def point_of(of: Subject) -> tuple[float, float]:
    """Where the cell is, in fractions of what the model sees. Before anybody has set the cursor not in the middle, for
    there the windows of a Swin meet."""
    return START if of.point == CENTRE else of.asked


def cells_of(of: Subject, kind: str) -> Tokens:
    """The cells of the first layer: that of a later one holds several of them, more than the first frame shows."""
    layers = [each.tokens for each in of.seen.features] if kind == "cnn" else [each.query for each in of.layers]
    return next(tokens for tokens in layers if tokens.grid)


def whole_after(of: Subject, noun: str, frames: Sequence[Frame]) -> tuple[str, int | None, int, float]:
    """(what is counted, the first after which the whole image is seen, how many there are, the share of the image that
    is seen after the first)."""
    areas = [seen(of, box) for _, box in frames]
    return noun, next((number for number, area in enumerate(areas, 1) if area > 1 - 1e-9), None), len(frames), areas[0]


def seen(of: Subject, box: Box) -> float:
    """The share of the image that lies in a frame."""
    (_, _, width, height), (x0, y0, x1, y1) = whole_of(of), box
    return max(0.0, min(x1, width) - max(x0, 0)) * max(0.0, min(y1, height) - max(y0, 0)) / width / height


def effect(of: Subject, share: float, progress: object = None) -> tuple[EffectiveField, str, float]:
    """How much each pixel changes the cell at this share of the depth, after which layer, and the side of the square
    that holds most of it."""
    names = [each.name for each in of.seen.features]
    index = max(0, ceil(share * len(names) - 1e-9) - 1)
    with torch.enable_grad():
        (field,) = effective_fields(of.loaded, [pixels_of(of.loaded, of.rgb)], index, point_of(of))
    return field, names[index], side_holding(field.share, field.centre_yx, MOST)


# ---- what is drawn ---------------------------------------------------------------------------------------------------
def drawn(of: Subject, kind: str, frames: Sequence[Frame]) -> tuple[Block, ...]:
    distinct = [each for at, each in enumerate(frames) if not at or each[1] != frames[at - 1][1]]
    x0, y0, x1, y1 = map(round, of.box_xyxy)
    seen = np.ascontiguousarray(of.rgb[max(y0, 0) : y1, max(x0, 0) : x1])
    picture = framed(seen, whole_box(seen), of.loaded.preprocessing.size_hw, distinct)
    cells = Map(
        grid_for_browser(cells_of(of, kind)),
        point_of(of),
        "Click a cell to see how far it reaches, in",
        "",
        of=of,
        room=False,
        instead=picture,
    )
    sides = [f"{name}: {box[2] - box[0]:.0f}" for name, box in distinct]
    words = f"Width of what a cell can see, of {whole_of(of)[2]:.0f} pixels · {' · '.join(sides)}"
    return Heading(of.name), cells, Line(words)


def coloured(of: Subject, field: EffectiveField, name: str, side: float) -> Blocks:
    (y, x), half = field.centre_yx, side / 2
    square = (x - half, y - half, x + half, y + half)
    seen = next((box for layer_name, box in frames_of(of, family_of(of.loaded.model)) if layer_name == name), None)
    width = min(of.seen.image_size) if seen is None else round(seen[2] - seen[0])
    yield Heading(of.name)
    yield Said(first_said(convolution.field_used(name, width, side, min(of.seen.image_size), MOST)))
    frames = [("", square)] if seen is None else [("", seen), ("", square)]
    picture = framed(of.rgb, of.box_xyxy, of.loaded.preprocessing.size_hw, frames, field.share.numpy())
    yield Picture(picture, f"How much each pixel changes a cell of {of.name}")


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
