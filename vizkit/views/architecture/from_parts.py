"""From parts: the code of a ViT, part by part, beside what really goes in and comes out on this image."""

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.remarks.patches import grown
from vizkit.analysis.remarks.remark import joined
from vizkit.figure.numbers import numbers, squares
from vizkit.models.networks.vit_from_parts import MLP, EncoderBlock, MultiHeadSelfAttention, ViT
from vizkit.models.probes.from_parts import Inside, inside
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Answered, Block, Code, Heading, Numbers, Picture, Proof, Said, side_by_side
from vizkit.views.controls import choice, deepest, number
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

PARTS = {
    "embedding": "1 · patches",
    "positions": "2 · positions",
    "attention": "3 · attention",
    "MLP": "4 · MLP",
    "block": "5 · block",
    "ViT": "6 · whole model",
}


@dataclass(frozen=True, eq=False)
class Value:
    """One thing that goes in or comes out: what it is, its axes in words, its numbers (row, column)."""

    what: str
    axes: str
    numbers: Tensor

    @property
    def shape(self) -> str:
        return " × ".join(str(side) for side in self.numbers.shape[-len(self.axes.split(" × ")) :])


def parts_of(of: Subject) -> Inside:
    if of.changes.model:
        raise NotApplicable("A model is rebuilt from its parts as it is, without changes of its attention.")
    return of.kept("from parts", lambda: inside(of.loaded, of.pixels))


class FromParts(View):
    """The code of a ViT, part by part, beside the tensors of this image."""

    part: str = choice(
        "Part", tuple(PARTS), "In the order of the pass.", default="attention", words=PARTS, key="parts", listed=True
    )
    block: int = number("Block", 1, deepest, 1, "Whose tensors are shown.", key="parts_block")

    alone: ClassVar = True
    overlays: ClassVar = False
    how: ClassVar = How(
        "Go through the parts: together they are all the code of a ViT, from pixels to logits. Beside each part stand "
        "its tensors for this image: a line for each token, a column for each number; blue lies below zero, red above. "
        "One colour means different numbers in different pictures.",
        r"z_0 = [x_{\mathrm{cls}};\, x^1E;\, \dots;\, x^NE] + E_{\mathrm{pos}}, \quad z'_l = z_{l-1} + "
        r"\mathrm{MSA}(\mathrm{LN}(z_{l-1})), \quad z_l = z'_l + \mathrm{MLP}(\mathrm{LN}(z'_l))",
        "which of the numbers matter. Where a picture has more numbers than pixels, only the largest of neighbours is "
        "seen.",
        "Dosovitskiy et al. 2020, eq. 1 to 4; code: vizkit/models/networks/vit_from_parts.py",
    )

    def title(self, of: Subject) -> str:
        return f"From parts: {PARTS[self.part][4:]}"

    def show(self, of: Subject) -> Iterator[Block]:
        found = parts_of(of)
        index = min(self.block, len(found.model.blocks)) - 1
        name, code, values = described(of, found, self.part, index)
        yield Said(sentence(of, found, self.part, index, values))
        tensors: list[Block] = [Picture(of.seen_rgb, "The model's input", pixels(found), share=0.4)]
        tensors = tensors if self.part == "embedding" else []
        tensors += [drawn(each) for each in values]
        yield side_by_side((Heading(name), Code(code)), tensors, widths=(3, 2))
        if self.part == "ViT" and of.loaded.classifies:
            yield Answered(of.loaded)
        yield Proof(None, proof(found))
        yield Numbers(partial(arrays, found))


def described(of: Subject, found: Inside, part: str, index: int) -> tuple[str, str, list[Value]]:
    """Its name, its code, and what goes in and comes out."""
    model: Any = found.model
    block, attention, mlp = (found.passed[f"blocks.{index}{path}"] for path in ("", ".attn", ".mlp"))
    heads, extra = model.blocks[index].attn, " and a class token in front" if model.cls_token is not None else ""
    weights, stream = mean_weights(of, index), "token × dim"
    match part:
        case "embedding":
            of_patches = Value("out: patches as tokens", "patch × dim", found.passed["patch_embed"].made)
            return type(model.patch_embed).__name__, source(type(model.patch_embed)), [of_patches]
        case "positions":
            table = Value("positions", stream, model.pos_embed[0].detach().float().cpu())
            out = Value(f"out: positions added{extra}", stream, found.embedded)
            return "ViT.embedded", source(ViT.embedded), [table, out]
        case "attention":
            name = f"MultiHeadSelfAttention of block {index + 1}, {heads.num_heads} heads of {heads.d_k} channels"
            middle = [] if weights is None else [Value("weights, mean over heads", "query × key", weights)]
            values = [Value("in: the normalised stream", stream, attention.given), *middle]
            return name, source(MultiHeadSelfAttention), [*values, Value("out", stream, attention.made)]
        case "MLP":
            values = [Value("in: the normalised stream", stream, mlp.given), Value("out", stream, mlp.made)]
            return f"MLP of block {index + 1}", source(MLP), values
        case "block":
            values = [Value("in: the residual stream", stream, block.given), Value("out", stream, block.made)]
            return f"EncoderBlock {index + 1}", source(EncoderBlock), values
    last = found.passed["norm"]
    ends = [Value("after all blocks", stream, last.given), Value("normalised: what the head reads", stream, last.made)]
    return "ViT", source(ViT), [*ends, Value("out: logits", "label", found.logits[None])]


def source(what: type | Callable) -> str:
    """The code as it stands in the file, to the left edge."""
    return inspect.cleandoc("\n" + inspect.getsource(what))


def mean_weights(of: Subject, index: int) -> Tensor | None:
    """The recorded attention of the layer, where all rows were kept."""
    recorded = layers(of.whole())
    return recorded[index].weights[0].float().mean(0) if index < len(recorded) else None


def sentence(of: Subject, found: Inside, part: str, index: int, values: Sequence[Value]) -> str:
    """What the part does with this image, in its own numbers."""
    if part == "ViT":
        if of.loaded.classifies:
            head = of.loaded.head
            lines = [f"“{name}” {text}" for name, text in head.lines(found.logits, of.loaded.label, 3)]
            return f"Of these logits the {head.name} makes {joined(lines)}."
        remark = grown(found.embedded, found.passed["norm"].given, len(found.model.blocks))
        return remark or ""
    first, last = (float(each.numbers.norm(dim=-1).mean()) for each in (values[0], values[-1]))
    match part:
        case "embedding":
            count, channels = values[0].numbers.shape
            return f"{count} patches become {count} tokens of {channels} numbers, of mean length {last:.3g}."
        case "positions":
            return f"To each token a position of mean length {first:.3g} is added: the tokens are {last:.3g} long then."
        case "block":
            return f"Block {index + 1} changes the mean length of the tokens from {first:.3g} to {last:.3g}."
    before = float(found.passed[f"blocks.{index}"].given.norm(dim=-1).mean())
    what = f"{'the ' * (part == 'MLP')}{part}"
    return f"In block {index + 1} {what} adds vectors of mean length {last:.3g} to tokens {before:.3g} long."


def pixels(found: Inside) -> str:
    channels, height, width = found.pixels.shape
    return f"in: pixels, channel × height × width: {channels} × {height} × {width}; {spread(found.pixels)}"


def drawn(value: Value) -> Picture:
    single = len(value.numbers) == 1
    table = value.numbers.numpy()
    picture = numbers(table, most_px=(18, 400)) if single else squares(table)
    words = f"{value.what}, {value.axes}: {value.shape}"
    return Picture(picture, words, f"{words}; {spread(value.numbers)}", share=picture.shape[1] / 1000)


def spread(values: Tensor) -> str:
    low, high, deviation = (float(each) for each in (values.min(), values.max(), values.std()))
    digits = max(0, 2 - math.floor(math.log10(max(abs(low), abs(high), 1e-9))))
    return f"from {low:.{digits}f} to {high:.{digits}f}, deviation {deviation:.{digits}f}".replace("-", "−")


def proof(found: Inside) -> str:
    if not found.logit_error:
        return "This code gives the model's logits of this image exactly."
    return (
        "The model was built again from this code with its own weights: on this image its logits are the same to "
        f"within {found.logit_error:.0e}."
    )


def arrays(found: Inside) -> dict[str, np.ndarray]:
    """What goes in and comes out of every part, by the path of its module."""
    ends = {"pixels": found.pixels, "embedded": found.embedded, "logits": found.logits}
    passed = {f"{path} {end}": getattr(both, end) for path, both in found.passed.items() for end in ("given", "made")}
    return {name: each.numpy() for name, each in (ends | passed).items()}
