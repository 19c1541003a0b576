"""Slide: a kernel walks over the image, and every number of the output is seen to be made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from vizkit.analysis.convolution.kernels import KERNELS
from vizkit.analysis.convolution.sliding import Kind, Steps
from vizkit.analysis.convolution.walk import CHANNELS, PICTURE_AGAIN, Walk, Walked, walked
from vizkit.analysis.remarks import convolution
from vizkit.figure.canvas.rows import text64
from vizkit.figure.palette import SIGNED, colours
from vizkit.image import Pixels, digest_of, zoomed
from vizkit.models.probes.convolution.first_layer import first_layer
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Canvas, Columns, Heading, Line, Numbers, Picture, Said, first_said
from vizkit.views.controls import choice, number, query, text
from vizkit.views.convolution.known import bundled, data_of
from vizkit.views.rules import below, tuple_of, whole, words
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

POOLS: dict[str, Kind] = {"max pooling": "max", "average pooling": "mean"}
OWN, OF_MODEL = "the model’s own filter", "first layer of "
LARGEST, MOST = 7, 1e4  # side of a kernel; of a number that was typed
MOST_STRIDE, MOST_PADDING, MOST_DILATION = 4, 3, 3
MOST_FILTERS = 64  # that are offered
MOST_CHARACTERS = 700  # of all numbers of a kernel
Square = Float[np.ndarray, "channel f f2"]


@dataclass(frozen=True, eq=False)
class Chosen:
    """What slides, by its side f: its weights (None: the largest pixel wins); and a model's own numbers for it, with
    all filters of its first layer among the `others` that can be chosen, and what it does `in_model`."""

    name: str
    kind: Kind
    by_size: Mapping[int, Square | None]
    bias: float = 0.0
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    others: dict[str, Any] | None = None
    in_model: str = ""


def kernels(of: Sequence[Subject]) -> list[str]:
    return [OWN, *KERNELS, *POOLS, *dict.fromkeys(f"{OF_MODEL}{called(each)}" for each in of)]


def most_filters(of: Sequence[Subject]) -> int:
    return max((len(first_layer(each.loaded).weight) for each in of if looks_at_pixels(each)), default=1)


def looks_at_pixels(of: Subject) -> bool:
    try:
        return len(first_layer(of.loaded).weight) > 0
    except NotApplicable:
        return False


class Slide(View):
    """A kernel walks over the image: pixels times weights, summed."""

    kernel: str = choice("Kernel", kernels, "What walks over the image.", default=OWN, key="slide_kernel")
    filter: int = number(
        "Filter",
        1,
        most_filters,
        1,
        "Of the model's first layer.",
        key="slide_filter",
        inside=True,
    )
    size: int = number("Size f", 3, LARGEST, 3, "Side of a kernel; odd.", key="slide_size", inside=True)
    stride: int = number("Stride s", 1, MOST_STRIDE, 1, "Pixels between two places.", key="slide_stride", inside=True)
    pool_size: int = number("Size of a pool", 2, 4, 2, "Its side.", key="pool_size", inside=True)
    pool_stride: int = number(
        "Stride of a pool", 1, MOST_STRIDE, 2, "Pixels between two places.", key="pool_stride", inside=True
    )
    padding: int = number(
        "Padding p",
        0,
        MOST_PADDING,
        0,
        "Zeros around the image; of a pool at most half its side.",
        key="slide_padding",
        inside=True,
    )
    dilation: int = number(
        "Dilation d", 1, MOST_DILATION, 1, "Pixels between two weights.", key="slide_dilation", inside=True
    )
    numbers: str = text(
        "Weights",
        "",
        "The kernel's name and its edited weights row by row: “blur: 0, 1, 0, …”.",
        longest=MOST_CHARACTERS,
        key="slide_numbers",
        inside=True,
    )
    place: str | tuple[int, int] = query(
        "Place", "Of the output; else a third from the top left.", options=("patch",), key="slide_at", inside=True
    )
    side: Literal["24", "32", "48"] = choice(
        "Pixels a side", ("24", "32", "48"), "So few that they can be seen.", default="32", more=True, key="slide_side"
    )
    channel: Literal["grey", "red", "green", "blue"] = choice(
        "Channel", tuple(CHANNELS), "The filters of a model read all of them.", more=True, key="slide_channel"
    )

    together = True
    overlays = False
    how = How(
        "The orange window stands on the image: each of its pixels is multiplied by the weight at the same place, "
        "and their sum is one number of the output. The same few weights are used everywhere; type another one.",
        r"S(i, j) = \sum_{m, n} I(i s - p + m d,\; j s - p + n d)\, K(m, n)",
        "how a kernel is learned: training changes these weights, and nothing else.",
        "LeCun et al. 1998; Dumoulin & Visin 2016",
    )

    def title(self, of: Sequence[Subject]) -> str:
        walk = self.walk(self.chosen(of))
        return f"A kernel walks: {walk.name}, {walk.steps.f} × {walk.steps.f}, over {self.side} × {self.side} pixels"

    def show(self, of: Sequence[Subject]) -> Blocks:
        chosen = self.chosen(of)
        walk = self.walk(chosen)
        made = walked(of[0].rgb, walk)
        strongest = convolution.strongest(made.output, walk.kind) if walk.white is None else None
        pool, editable = walk.kind != "convolution", chosen.name in KERNELS
        names = ("pool_size", "pool_stride") if pool else ("size", "stride")
        data = sent(walk, made, chosen.by_size) | {
            "names": [*names, "padding", "dilation"],
            "edited": self.weights(walk.steps.f) is not None,
            "editable": editable,
            "kernel": chosen.name,
            "at": self.at(*made.output.shape),
            "filters": chosen.others,
        }
        tells = {
            names[0]: (whole(min(chosen.by_size), max(chosen.by_size)), names[0]),
            names[1]: (whole(1, MOST_STRIDE), names[1]),
            "padding": (whole(0, MOST_PADDING), "padding"),
            "dilation": (whole(1, MOST_DILATION), "dilation"),
            "numbers": (words(MOST_CHARACTERS), "numbers"),
            "filter": (whole(1, MOST_FILTERS), "filter"),
            "place": (tuple_of(below(10_000), below(10_000)), "place"),  # the browser may be ahead of the output
        }
        yield Said(first_said(strongest, convolution.contrast(made.image, made.output)))
        if chosen.others is not None:
            yield Line(f"Shown is {chosen.name} on few pixels, normalised as the model gets them. {chosen.in_model}")
        yield Canvas("vizkit_slide", data, walk.name, tells, tuple(on_paper(walk, made)))
        yield Numbers(partial(as_arrays, walk, made))

    # ---- what walks, and how ----------------------------------------------------------------------------------------
    def chosen(self, of: Sequence[Subject]) -> Chosen:
        if self.kernel in POOLS:
            mean = POOLS[self.kernel] == "mean"
            squares = {f: np.full((1, f, f), 1 / f**2) if mean else None for f in (2, 3, 4)}
            return Chosen(self.kernel, POOLS[self.kernel], squares)
        kernel = self.edited_kernel if self.kernel == OWN and self.numbers else self.kernel
        if kernel in KERNELS:
            return Chosen(kernel, "convolution", {f: KERNELS[kernel](f)[None] for f in (3, 5, 7)})
        if self.kernel == OWN:
            own = next((each for each in of if slides(each)), None)
            return filter_of(own or bundled(of[0], f"bundled:{data_of(of[0].loaded)}_cnn"), self.filter)
        name = self.kernel.removeprefix(OF_MODEL)
        owner = next((each for each in of if called(each) == name), None)
        if owner is None:
            raise NotApplicable(f"No model here is called {name[:60]!r}.")
        return filter_of(owner, self.filter)

    def walk(self, chosen: Chosen) -> Walk:
        pool = chosen.kind != "convolution"
        first, stride = (self.pool_size, self.pool_stride) if pool else (self.size, self.stride)
        f = max((size for size in chosen.by_size if size <= first), default=min(chosen.by_size))
        steps = Steps(f, stride, min(self.padding, f // 2) if pool else self.padding, self.dilation)
        own = self.weights(f)
        name, weights = (chosen.name, chosen.by_size[f]) if own is None else (f"{chosen.name}, edited", own)
        rows = () if weights is None else tuple(tuple(map(tuple, plane)) for plane in weights.tolist())
        how = int(self.side), self.channel, chosen.bias, chosen.mean, chosen.std
        return Walk(name, chosen.kind, rows, steps, *how)

    @property
    def edited_kernel(self) -> str:
        """Whose weights were typed; earlier links name none."""
        return self.numbers.rpartition(":")[0] or "edges"

    def weights(self, f: int) -> Square | None:
        """Those that were typed into this kernel; None where there are none of this size."""
        typed = self.numbers.rpartition(":")[2]
        try:
            values = np.array([float(part) for part in typed.split(",")])
        except ValueError:
            return None
        own = self.kernel in (OWN, self.edited_kernel) and self.edited_kernel in KERNELS and len(values) == f * f
        return values.reshape(1, f, f) if own and (np.abs(values) <= MOST).all() else None

    def at(self, rows: int, columns: int) -> tuple[int, int]:
        row, column = self.place if isinstance(self.place, tuple) else (rows // 3, columns // 3)
        return min(row, rows - 1), min(column, columns - 1)


def called(of: Subject) -> str:
    """A model in an option: without the colon of its source, which a button writes with a backslash."""
    return of.name.replace(":", " ")


def filter_of(of: Subject, number: int) -> Chosen:
    """A filter of a model's first layer, from 1; beyond the last the last."""
    layer = first_layer(of.loaded)
    count, _, height, width = layer.weight.shape
    if height != width or height > LARGEST:
        raise NotApplicable(
            f"The filters of the first layer of {of.name} are {height} × {width} pixels; up to {LARGEST} × "
            f"{LARGEST} can be followed here."
        )
    index, given = min(number, count) - 1, of.loaded.preprocessing
    weights = {height: layer.weight[index].double().numpy()}
    name, bias = f"filter {index + 1} of {of.name}", float(layer.bias[index])
    shown = layer.weight[:MOST_FILTERS].numpy().astype("<f4")
    others = {"values": text64(shown), "count": len(shown), "chosen": index, "names": of.name}
    does = f"stands once on every patch and gives number {index + 1} of {count} of its embedding"
    if layer.stride != height:
        does = f"has stride {layer.stride} and padding {layer.padding} and gives channel {index + 1} of {count}; the "
        does += "next layer reads all of them"
    normalised = tuple(given.mean), tuple(given.std)
    return Chosen(name, "convolution", weights, bias, *normalised, others, f"In the model it {does}.")


def slides(of: Subject) -> bool:
    """Whether the filters of its first layer are small enough to be followed."""
    return looks_at_pixels(of) and max(first_layer(of.loaded).weight.shape[2:]) <= LARGEST


# ---- what is drawn ---------------------------------------------------------------------------------------------------
def sent(walk: Walk, made: Walked, by_size: Mapping[int, Square | None]) -> dict[str, Any]:
    """What the script draws: it computes every product and sum again, in any size."""
    image, steps = made.image.numpy().astype("<f4"), walk.steps
    own = None if walk.weights is None else walk.weights.numpy()
    packed = {
        str(f): None if weights is None else text64(weights, "<f4") for f, weights in {**by_size, steps.f: own}.items()
    }
    return {
        "of": f"{digest_of(made.shades)} {walk.name} {walk.kind} {packed} {walk.bias}",
        "input": text64(image),
        "input_size": image.shape,
        "shades": text64(made.shades),
        "kernels": packed,
        "bias": walk.bias,
        "steps": (steps.f, steps.stride, steps.padding, steps.dilation),
        "most": (MOST_STRIDE, MOST_PADDING, MOST_DILATION),
        "kind": walk.kind,
        "expected": text64(made.output, "<f4"),
        "picture_again": None if walk.mean else PICTURE_AGAIN,
        "signed": text64(colours(SIGNED)),
        "digits": 3 if walk.mean else 0,
    }


def on_paper(walk: Walk, made: Walked) -> Blocks:
    """Input, kernel and output beside one another."""
    output, white, steps = made.output.numpy(), walk.white, walk.steps
    grey = None if white is None else np.repeat((output / white).clip(0, 1)[..., None] * 255, 3, 2).astype(np.uint8)
    parts = [(Heading("Input"), Picture(large(made.shades), "The image in few pixels"))]
    if walk.weights is not None:
        planes = np.concatenate([signed(plane) for plane in walk.weights.numpy()])
        parts.append((Heading("Kernel"), Picture(large(planes), "The weights, blue below 0, red above")))
    parts.append((Heading("Output"), Picture(large(signed(output) if grey is None else grey), "What the kernel gives")))
    yield Columns(tuple(parts), (4, 2, 4) if len(parts) == 3 else ())
    low, high = (f"{end:.4g}".replace("-", "−") for end in (output.min(), output.max()))
    colour = ": blue below 0, red above" if white is None else ""
    yield Line(f"stride {steps.stride} · padding {steps.padding} · dilation {steps.dilation}")
    yield Line(f"output {output.shape[0]} × {output.shape[1]}, {low} to {high}{colour}")


def signed(values: np.ndarray) -> Pixels:
    share = values / (float(np.abs(values).max()) or 1.0)
    return colours(SIGNED)[((share + 1) / 2 * 255).round().astype(np.uint8)]


def large(pixels: np.ndarray) -> Pixels:
    """With its pixels seen."""
    zoom = max(1, 480 // max(pixels.shape[:2]))
    return zoomed(pixels, zoom)


def as_arrays(walk: Walk, made: Walked) -> dict[str, np.ndarray]:
    kernel = np.zeros((1, walk.steps.f, walk.steps.f)) if walk.weights is None else walk.weights.numpy()
    arrays = {"input": made.image.numpy(), "kernel": kernel, "output": made.output.numpy()}
    return arrays | {"bias": np.array(walk.bias)}
