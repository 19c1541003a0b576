"""From parts: the code of a ViT, part by part, beside what really goes in and comes out on this image."""

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from torch import Tensor, nn

from vizkit.analysis.remarks.patches import grown
from vizkit.analysis.remarks.remark import joined
from vizkit.figure.numbers import numbers, squares
from vizkit.image import data_url
from vizkit.models.networks.vit_from_parts import MLP, MultiHeadSelfAttention, ViT
from vizkit.models.probes.from_parts import Inside, Made, inside, made_by_lines
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Answered, Block, Canvas, Code, Heading, Numbers, Picture, Proof, Said
from vizkit.views.controls import choice, deepest, number
from vizkit.views.rules import whole
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
TENSOR_PX = 300


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
    line: int = number(
        "Line", 0, 999, 0, "Whose tensors are marked; 0 for the usual one.", key="parts_line", inside=True
    )

    alone: ClassVar = True
    overlays: ClassVar = False
    how: ClassVar = How(
        "Go through the parts: together they are all the code of a ViT, from pixels to logits. Click a line that makes "
        "something, and its tensors of this image are marked, or a tensor, and its line is. In them a line is a token, "
        "a column a number, heads lie side by side; blue is below zero, red above. One colour means different numbers "
        "in different pictures.",
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
        name, shown, module = described(found, self.part, index)
        made = of.kept(("lines", self.part, index), lambda: tensors_of(found, self.part, shown, module, index))
        code, lines = source(shown), [each.line for each in made]
        line = self.line if self.line in lines else usual(made)
        marked = [each for each in made if each.line == line]
        yield Said(sentence(of, found, self.part, index))
        yield Heading(name)
        yield Canvas(
            "vizkit_code",
            {"code": code, "made": [packed(of, each) for each in made], "line": line},
            f"The code of {name}, with the tensors that its lines make",
            {"line": (whole(1, len(code.splitlines())), "line")},
            (
                Code(code),
                Heading(f"Line {line}: {code.splitlines()[line - 1].strip()}"),
                *(drawn(of, each) for each in marked),
            ),
        )
        if self.part == "ViT" and of.loaded.classifies:
            yield Answered(of.loaded)
        yield Proof(None, proof(found))
        yield Numbers(partial(arrays, found))


def described(found: Inside, part: str, index: int) -> tuple[str, type | Callable, nn.Module]:
    """Its name, the code that is shown, and the module that is run to see it at work."""
    model: Any = found.model
    block = model.blocks[index]
    match part:
        case "embedding":
            return type(model.patch_embed).__name__, type(model.patch_embed), model.patch_embed
        case "positions":
            return "ViT.embedded", ViT.embedded, model
        case "attention":
            heads = f"{block.attn.num_heads} heads of {block.attn.d_k} channels"
            return f"MultiHeadSelfAttention of block {index + 1}, {heads}", MultiHeadSelfAttention, block.attn
        case "MLP":
            return f"MLP of block {index + 1}", MLP, block.mlp
        case "block":
            return f"{type(block).__name__} {index + 1}", type(block), block
    return "ViT", ViT, model


def tensors_of(found: Inside, part: str, shown: type | Callable, module: nn.Module, index: int) -> list[Made]:
    """What the lines of the part make of this image, in the order of the code."""
    model: Any = found.model
    paths = {"attention": f"blocks.{index}.attn", "MLP": f"blocks.{index}.mlp", "block": f"blocks.{index}"}
    given = found.passed[paths[part]].given if part in paths else found.pixels
    weight = next(model.parameters())
    made = made_by_lines(lambda: module(given[None].to(weight.device, weight.dtype)), shown)
    if part == "positions":
        made.insert(-1, Made(made[-1].line, "self.pos_embed", model.pos_embed[0].detach().float().cpu()))
    return sorted(made, key=lambda each: each.line)


def usual(made: Sequence[Made]) -> int:
    """The line that is marked at first: that of the weights of attention, else the last of the pass."""
    return next((each.line for each in made if each.name == "weights"), made[-1].line)


def source(what: type | Callable) -> str:
    """The code as it stands in the file, to the left edge."""
    return inspect.cleandoc("\n" + inspect.getsource(what))


def sentence(of: Subject, found: Inside, part: str, index: int) -> str:
    """What the part does with this image, in its own numbers."""
    if part == "ViT":
        if of.loaded.classifies:
            head = of.loaded.head
            lines = [f"“{name}” {text}" for name, text in head.lines(found.logits, of.loaded.label, 3)]
            return f"Of these logits the {head.name} makes {joined(lines)}."
        remark = grown(found.embedded, found.passed["norm"].given, len(found.model.blocks))
        return remark or ""
    block, attention, mlp = (found.passed[f"blocks.{index}{path}"] for path in ("", ".attn", ".mlp"))
    patches, model = found.passed["patch_embed"].made, found.model
    ends = {
        "embedding": (patches, patches),
        "positions": (model.pos_embed[0].detach().float().cpu(), found.embedded),
        "attention": (attention.given, attention.made),
        "MLP": (mlp.given, mlp.made),
        "block": (block.given, block.made),
    }
    first, last = (float(each.norm(dim=-1).mean()) for each in ends[part])
    match part:
        case "embedding":
            count, channels = patches.shape
            return f"{count} patches become {count} tokens of {channels} numbers, of mean length {last:.3g}."
        case "positions":
            return f"To each token a position of mean length {first:.3g} is added: the tokens are {last:.3g} long then."
        case "block":
            return f"Block {index + 1} changes the mean length of the tokens from {first:.3g} to {last:.3g}."
    before = float(block.given.norm(dim=-1).mean())
    what = f"{'the ' * (part == 'MLP')}{part}"
    return f"In block {index + 1} {what} adds vectors of mean length {last:.3g} to tokens {before:.3g} long."


def flat(values: Tensor) -> np.ndarray:
    """As one table: heads and channels side by side, in as many rows as make it about square."""
    table = values.numpy()
    if table.ndim < 3:
        return np.atleast_2d(table)
    count, tall, wide = table.shape
    across = count if count == 3 else min(count, max(1, round(math.sqrt(count * tall / wide))))
    padded = np.pad(table, ((0, -count % across), (0, 1), (0, 1)))  # a white line between two
    rows = padded.reshape(-1, across, tall + 1, wide + 1).swapaxes(1, 2)
    return rows.reshape(-1, across * (wide + 1))[:-1, :-1]


def picture_of(of: Subject, made: Made) -> np.ndarray:
    """Its numbers; of pixels what the model sees."""
    if made.name == "pixels":
        return of.seen_rgb
    table = flat(made.values)
    return numbers(table, most_px=(18, TENSOR_PX)) if len(table) == 1 else squares(table, TENSOR_PX)


def packed(of: Subject, made: Made) -> dict[str, Any]:
    picture = data_url(picture_of(of, made))
    return {"line": made.line, "name": made.name, "shape": shape(made), "said": spread(made.values), "picture": picture}


def shape(made: Made) -> str:
    return " × ".join(f"{side:,}" for side in made.values.shape)


def drawn(of: Subject, made: Made) -> Picture:
    picture, words = picture_of(of, made), f"{made.name}, {shape(made)}"
    return Picture(picture, words, f"{words}; {spread(made.values)}", share=picture.shape[1] / 1000)


def spread(values: Tensor) -> str:
    low, high = float(values.min()), float(values.max())
    deviation = float(values.std()) if values.numel() > 1 else 0.0
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
