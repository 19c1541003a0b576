"""One block of a transformer drawn as boxes and arrows, each with its tensor of this very image."""

import inspect
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vizkit.analysis.remarks.compute import adds
from vizkit.figure.architecture.block_diagram import Diagram, Node, diagram, marks
from vizkit.figure.canvas.rows import Rows, cell_box, text64
from vizkit.figure.numbers import limit_of, squares
from vizkit.figure.saved.plate import Drawn
from vizkit.figure.scales import Scale, robust
from vizkit.geometry import Box as Xyxy
from vizkit.geometry import cell_of, id_at, name_of
from vizkit.image import data_url
from vizkit.models import family_of
from vizkit.models.probes.block_parts import BlockParts, block_parts
from vizkit.traces import NotApplicable, Tokens
from vizkit.views.architecture.boxes import Box
from vizkit.views.architecture.tnt import words_and_patches
from vizkit.views.blocks import (
    Block,
    Canvas,
    Code,
    Folded,
    Formula,
    Heading,
    Line,
    Map,
    Paper,
    Part,
    Picture,
    Said,
    side_by_side,
)
from vizkit.views.rows_of import rows_for_browser
from vizkit.views.rules import one_of
from vizkit.views.subject import Subject

WIDE, PHONE = (800.0, 110.0), (340.0, 58.0)  # a line, and how high a tensor is drawn
PARTS = {  # its title, its formula, what it is
    "tokens": ("X", "X", "The tokens that enter the block: the residual stream."),
    "norm": ("norm", r"\mathrm{LN}(X)", "Each token for itself, with mean 0 and variance 1, scaled and shifted."),
    "query": ("Q", r"Q = \mathrm{LN}(X)\,W_Q", "What each token asks for, in this head."),
    "key": ("K", r"K = \mathrm{LN}(X)\,W_K", "What each token answers to, in this head."),
    "value": ("V", r"V = \mathrm{LN}(X)\,W_V", "What each token hands on, in this head."),
    "scores": ("scores", r"S = \frac{Q K^\top}{\sqrt{d_k}} \;(+\,B)", "How well each query fits each key."),
    "weights": ("softmax", r"A = \mathrm{softmax}(S)", "How much each query, a row, takes of each key, a column."),
    "heads": ("A · V, all heads", r"[A_1 V_1; \dots; A_h V_h]", "The values weighed, all heads side by side."),
    "attention": ("attention", r"[A_1 V_1; \dots; A_h V_h]\,W_O", "What attention adds to the tokens."),
    "scaled": ("scaled", r"\text{scaled or normalised}", "The same as this model adds it."),
    "sum": ("X′", r"X' = X + \mathrm{MSA}", "The tokens with what attention has added."),
    "norm2": ("norm", r"\mathrm{LN}(X')", "Each token for itself, with mean 0 and variance 1, scaled and shifted."),
    "hidden": ("MLP inside", r"\mathrm{GELU}(\mathrm{LN}(X')\,W_1)", "Between the two layers of the MLP."),
    "mlp": ("MLP", r"\mathrm{GELU}(\mathrm{LN}(X')\,W_1)\,W_2", "What the MLP adds to the tokens."),
    "scaled2": ("scaled", r"\text{scaled or normalised}", "The same as this model adds it."),
    "leaving": ("X″", r"X'' = X' + \mathrm{MLP}", "The tokens that leave the block."),
}
SQUARE, OF_A_HEAD = ("scores", "weights"), ("query", "key", "value", "scores", "weights")
MASKED = -50.0  # Swin adds −100 to pairs of two regions
TENSOR_PX = 520


def opened(of: Subject, box: Box, scale: Scale, head: int, part: str) -> Iterator[Block]:
    """A block of the network with its tensors of this image; of one without attention its map. `head` from 1."""
    yield Heading(f"{box.title.capitalize()} of {of.name}")
    if box.layer is None:
        yield from without_attention(of, box, scale)
    elif family_of(of.loaded.model) == "tnt":
        yield from words_and_patches(of, box.layer)
    else:
        yield Part(lambda: with_attention(of, box.layer or 0, head, part))


def without_attention(of: Subject, box: Box, scale: Scale) -> Iterator[Block]:
    code = list(code_of(of.loaded.model.get_submodule(box.step.path)))
    if box.places is None:
        yield from code
        return
    rows = Rows(box.places.reshape(1, -1), box.places.shape, query_ids=np.array([0]), scale=scale, kind="features")
    yield side_by_side(Map(rows, of.asked, "Strength of the places in", "times the median", of=of, room=False), code)


def with_attention(of: Subject, index: int, head: int, part: str) -> Iterator[Block]:
    parts = taken_apart(of, index)
    head = min(head, len(parts.attention.weights)) - 1
    tensors = tensors_of(parts, head)
    part = part if part in tensors else "weights"
    nodes = list(nodes_of(tensors))
    wide, narrow = (placed(nodes, *size) for size in (WIDE, PHONE))
    yield Said(sentence(tensors, index + 1))
    if (count := len(of.layers[index].query_ids)) > 1:
        yield Line(f"Of window {window_of(of, index) + 1} of {count}, which holds the patch under the cursor.")
    drawn = Canvas(
        "vizkit_block",
        {"nodes": [packed(each) for each in nodes], "diagrams": [sent(wide), sent(narrow)], "part": part},
        f"Block {index + 1} of {of.name} as boxes and arrows",
        {"part": (one_of(list(PARTS)), "part")},
        (Paper(partial(on_paper, nodes, part)),),
    )
    over = list(over_picture(of, parts, tensors[part], part))
    yield side_by_side(drawn, over, widths=(3, 1.2)) if over else drawn
    yield from tensor(of, parts, tensors[part], part, head)


def sentence(tensors: dict[str, Tensor], number: int) -> str:
    stream, after, leaving = (tensors[name] for name in ("tokens", "sum", "leaving"))
    return adds(stream, after - stream, leaving - after, number)


def taken_apart(of: Subject, index: int) -> BlockParts:
    """The block of this layer; of a layer with windows in that under the cursor."""
    if not of.layers:
        raise NotApplicable(of.seen.no_attention + ".")
    if of.changes.model:
        raise NotApplicable("A block is taken apart in the model as it is, without changes of its attention.")
    window = window_of(of, index)
    return of.kept(("block", index, window), lambda: block_parts(of.loaded, of.pixels, index, window=window))


def window_of(of: Subject, index: int) -> int:
    """That of a layer in which the patch under the cursor stands, from 0."""
    recorded = of.layers[index]
    token = id_at(recorded.query, of.asked) if recorded.query.grid else None
    found = (recorded.query_ids == token).any(1).nonzero().flatten().tolist() if token is not None else []
    return found[0] if found else 0


def tensors_of(parts: BlockParts, head: int) -> dict[str, Tensor]:
    """By the names of PARTS in their order, (row, column); what changes nothing in this model is left out."""
    attention, stream, mlp = parts.attention, parts.stream, parts.mlp
    arriving, rest = attention.arriving, mlp.leaving - stream.after[attention.query_ids >= 0]
    assert arriving is not None
    kept = attention.query_ids >= 0  # the rest is padding
    every = {
        "tokens": stream.before[kept],
        "norm": arriving[kept],
        "query": attention.query[head],
        "key": attention.key[head],
        "value": attention.value[head],
        "scores": attention.biased[head],
        "weights": attention.weights[head],
        "heads": attention.concatenated[kept],
        "attention": attention.projected[kept],
        "scaled": stream.branch[kept],
        "sum": stream.after[kept],
        "norm2": mlp.given,
        "hidden": mlp.hidden,
        "mlp": mlp.made,
        "scaled2": rest,
        "leaving": mlp.leaving,
    }
    same = {"norm": "tokens", "scaled": "attention", "norm2": "sum", "scaled2": "mlp"}
    return {name: each for name, each in every.items() if name not in same or not alike(each, every[same[name]])}


def alike(one: Tensor, other: Tensor) -> bool:
    """Up to what another order of additions leaves."""
    return one.shape == other.shape and torch.allclose(one, other, rtol=1e-3, atol=1e-4 * float(other.abs().max()))


def nodes_of(tensors: dict[str, Tensor]) -> Iterator[Node]:
    """With a sum before each tensor that is one; the second half is on a line of its own."""
    for name, values in tensors.items():
        if name in ("sum", "leaving"):
            yield Node("", "+")
        group = "heads" if name in ("query", "key", "value") else ""
        yield Node(name, PARTS[name][0], plain(values), group, name in SQUARE, name == "sum")


def plain(values: Tensor) -> np.ndarray:
    """Without what a mask takes away."""
    return values.masked_fill(values <= MASKED, 0.0).numpy() if (values <= MASKED).any() else values.numpy()


def placed(nodes: Sequence[Node], width: float, tall: float) -> Diagram:
    names = [node.name for node in nodes]
    sums = [at for at, node in enumerate(nodes) if node.values is None]
    residual = list(zip((names.index("tokens"), names.index("sum")), sums, strict=True))
    return diagram(nodes, width, tall, residual, [(names.index("value"), names.index("heads"))])


def on_paper(nodes: Sequence[Node], part: str, width: float) -> Drawn:
    drawn = placed(nodes, width, PHONE[1])
    return marks(nodes, drawn, part), drawn.height


def packed(node: Node) -> dict[str, Any]:
    if node.values is None:
        return {"name": "", "picture": ""}
    words = f"{node.title}: {PARTS[node.name][2]}"
    noted = not node.group or node.name == "key"
    return {
        "name": node.name,
        "title": node.title,
        "shape": f"{'each ' * bool(node.group)}{node.shape}",
        "noted": noted,
        "words": words,
        "picture": data_url(node.picture),
    }


def sent(drawn: Diagram) -> dict[str, Any]:
    boxes = [(each.left, each.top, each.width, each.height) for each in drawn.boxes]
    return {"width": drawn.width, "height": drawn.height, "boxes": boxes, "arrows": drawn.arrows, "paths": drawn.paths}


# ---- the opened part -------------------------------------------------------------------------------------------------
def tensor(of: Subject, parts: BlockParts, values: Tensor, part: str, head: int) -> Iterator[Block]:
    """The opened tensor itself, what it is, and the model's own code for it."""
    title, formula, words = PARTS[part]
    whose = f" of head {head + 1}" if part in OF_A_HEAD else ""
    axes, shape = "query × key" if part in SQUARE else "token × channel", " × ".join(f"{n:,}" for n in values.shape)
    drawn = plain(values)
    colours = "blue below 0, red above, strongest from ±" if (drawn < 0).any() else "white 0, the strongest red from "
    caption = f"{spread(values[values.isfinite()])}; {colours}{limit_of(drawn):.3g}"
    yield Heading(f"{title}{whose}: {axes}, {shape}")
    said = [Line(words), Formula(formula), *code_of(module_of(of, parts, part))]
    pixels = squares(drawn, TENSOR_PX)
    picture = Picture(pixels, f"{title}, {shape} numbers", caption, pixels.shape[1] / 1000)
    yield side_by_side(products(of, parts, head, picture) if part in SQUARE else picture, said)


def products(of: Subject, parts: BlockParts, head: int, picture: Picture) -> Iterator[Block]:
    """The matrix (query, key), of which every cell tells its products."""
    part = parts.attention
    bias = None if part.bias is None else part.bias[head].nan_to_num(neginf=-math.inf)
    data = {
        "picture": data_url(picture.rgb),
        "query": text64(part.query[head], "<f4"),
        "key": text64(part.key[head], "<f4"),
        "weights": text64(part.weights[head], "<f4"),
        "bias": None if bias is None else text64(bias, "<f4"),
        "scale": float(part.scale[head]),
        "channels": part.query.shape[-1],
        "queries": names_of(part.tokens, part.query_ids),
        "keys": names_of(part.key_tokens, part.key_ids),
    }
    yield Canvas("vizkit_products", data, f"{picture.alt} of {of.name}", still=(picture,), of=of)
    yield Line(picture.caption)


def names_of(tokens: Tokens, ids: Tensor) -> list[tuple[str, Xyxy | None]]:
    """Of each token its name, and where it lies in shares of what the model saw."""
    grid = tokens.grid or (1, 1)
    real = ((at, cell_of(tokens, at) if at >= 0 else None) for at in ids.tolist())
    return [
        (name_of(tokens, at) if at >= 0 else "padding", None if cell is None else cell_box(cell, grid))
        for at, cell in real
    ]


def module_of(of: Subject, parts: BlockParts, part: str) -> nn.Module:
    """Whose code makes this tensor."""
    model, path = of.loaded.model, parts.attention.name
    block = model.get_submodule(path.rpartition(".")[0])
    if part in (*OF_A_HEAD, "heads", "attention"):
        return model.get_submodule(path)
    return block.get_submodule("mlp") if part in ("hidden", "mlp") else block


def code_of(module: nn.Module) -> Iterator[Block]:
    """Its own `forward`, as the model runs it; nothing where the source is not at hand."""
    try:
        code = inspect.cleandoc("\n" + inspect.getsource(type(module).forward))
    except (OSError, TypeError):
        return
    yield Folded(f"Its code: {type(module).__module__}.{type(module).__qualname__}", lambda: (Code(code),))


def spread(values: Tensor) -> str:
    low, high = float(values.min()), float(values.max())
    deviation = float(values.std()) if values.numel() > 1 else 0.0
    digits = max(0, 2 - math.floor(math.log10(max(abs(low), abs(high), 1e-9))))
    return f"from {low:.{digits}f} to {high:.{digits}f}, deviation {deviation:.{digits}f}".replace("-", "−")


def over_picture(of: Subject, parts: BlockParts, values: Tensor, part: str) -> Iterator[Block]:
    """Scores and weights of the query under the cursor; of other tensors how long each token's vector is."""
    tokens = parts.attention.tokens
    token = id_at(tokens, of.asked) if tokens.grid else None
    if tokens.grid is None or token is None:
        return
    own = parts.attention.query_ids
    asked: dict[str, Any] = {
        "query_ids": np.array([token]),
        "query_special": tokens.special,
        "key_special": tokens.special,
    }
    if part == "weights":
        words = f"Softmax: what {name_of(tokens, token)} attends to"
        rows, drawn = rows_for_browser(values, parts.attention), ("A row of the softmax in", "weight of a key")
    elif part == "scores":
        row = values[own == token]  # rows differ by what no softmax sees, so each has its scale
        reached = row[row.isfinite() & (row > MASKED)]
        low, top = float(reached.min()), float(reached.max())
        words = f"Scores of {name_of(tokens, token)} with every key, {low:.2f} to {top:.2f}".replace("-", "−")
        asked |= {"key_ids": parts.attention.key_ids.numpy(), "bounds": (low, top), "scale": robust([reached.numpy()])}
        rows = Rows(row.clamp(min=low).numpy(), tokens.grid, tokens.grid, kind="similarity", **asked)
        drawn = "A row of the scores in", "score of a key"
    else:
        words = f"{PARTS[part][0]}: how long each token’s vector is"
        lengths = values.norm(dim=-1)
        lengths = (lengths[own >= 0] if len(lengths) == len(own) else lengths).numpy()
        asked |= {"key_ids": own[own >= 0].numpy(), "scale": robust([lengths])}
        rows = Rows(lengths[None], tokens.grid, tokens.grid, kind="features", **asked)
        drawn = "Lengths of vectors in", "length of a token's vector"
    yield Heading(words)
    yield Map(rows, of.asked, *drawn, of=of, room=False)


def arrays(of: Subject, box: Box, head: int) -> dict[str, np.ndarray]:
    """By the names of PARTS; empty where this block has no such tensor."""
    try:
        parts = taken_apart(of, box.layer or 0) if box.layer is not None else None
    except NotApplicable:
        parts = None
    found = tensors_of(parts, min(head, len(parts.attention.weights)) - 1) if parts else {}
    return {name: found[name].nan_to_num(neginf=-1e9).numpy() if name in found else np.zeros(0) for name in PARTS}
