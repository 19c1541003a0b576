"""Network: models from the image to the answer as one figure, every block with its map of this image."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, get_args

from vizkit.analysis.remarks.compute import gathers, most_and_least, narrows, strongest
from vizkit.figure.canvas.rows import text64
from vizkit.figure.palette import OPACITIES
from vizkit.figure.scales import SHARES, Scale, robust
from vizkit.views.architecture.block import PARTS, opened
from vizkit.views.architecture.block import arrays as tensors
from vizkit.views.architecture.boxes import Box, Quantity, boxes_of, number_of
from vizkit.views.architecture.counted import amount, shapes, share, steps_of, total
from vizkit.views.blocks import Answered, Block, Canvas, Heading, Line, Numbers, Proof, Said, Tile, Tiles, first_said
from vizkit.views.compare.images import truth_of
from vizkit.views.controls import choice, number
from vizkit.views.rules import tuple_of, whole
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

TOP = 3  # answers
QUANTITIES: dict[Quantity, str] = {
    "attention": "attention received, times an equal share",
    "strength": "strength, times the median",
}


def heads_of(of: Sequence[Subject], view: "Network") -> int:
    """Of the opened block."""
    at = min(view.model, len(of)) - 1
    boxes = boxes_of(of[at], "attention") if of else []
    layer = boxes[number_of(boxes, view.block)].layer if boxes else None
    return 1 if layer is None else of[at].layers[layer].shape[1]


class Network(View):
    """Models from the image to the answer as one figure, every block with its map of this image."""

    quantity: Literal["attention", "strength"] = choice(
        "Maps",
        ("attention", "strength"),
        "Attention: how much of it each patch receives from all tokens. Strength: how long the vectors are that leave "
        "the block; of a network without attention always this.",
        words={"attention": "attention received", "strength": "strength"},
        key="network_maps",
    )
    model: int = number("Model", 1, lambda of: len(of) or 1, 1, "Of which a block is opened.", key="net", inside=True)
    block: int | None = number(
        "Block",
        1,
        lambda of: max((len(boxes_of(each, "attention")) for each in of), default=1) or 1,
        None,
        "Which box of the figure is opened, counted from the image.",
        key="network_block",
        inside=True,
        runs=True,
    )
    head: int = number(
        "Head of the opened block",
        1,
        heads_of,
        1,
        "Whose Q, K and V are drawn; the maps above are of all heads.",
        follows=True,
        key="block_head",
    )
    part: str = choice(
        "Part",
        tuple(PARTS),
        "Of the opened block: which tensor is opened.",
        default="weights",
        words={name: title for name, (title, _, _) in PARTS.items()} | {"norm2": "norm of X′", "scaled2": "scaled MLP"},
        key="block_part",
        inside=True,
    )

    together: ClassVar = True
    overlays: ClassVar = False
    how: ClassVar = How(
        "Follow each model from the image to its answer. Over the image lies what every block makes of it: how much "
        "attention each patch receives, in times an equal share, or how long its vector is, in times the median; cells "
        "are the tokens, or the places of a CNN's maps, as large as they are. Steps without attention are the image "
        "cut into their tokens. White lines are the windows of a Swin, and merging makes one token of four. The bar "
        "under a map is the cost of the block in multiply–adds, the orange part of it products of two activations (QKᵀ "
        "and weights · V). A click opens a block below: its tensors as boxes, blue below zero, white zero, "
        "red above, 99 of 100 numbers within the strongest colours.",
        r"X' = X + \mathrm{MSA}(\mathrm{LN}(X)), \quad X'' = X' + \mathrm{MLP}(\mathrm{LN}(X')), \quad "
        r"12\,N D^2 + 2\,N^2 D \text{ multiply–adds}",
        "which of it matters for the answer, nor time. Sums, norms and softmax are not counted.",
        "Dosovitskiy et al. 2020, eq. 1 to 4; Liu et al. 2021, fig. 3; Vaswani et al. 2017, eq. 1",
    )

    def title(self, of: Sequence[Subject]) -> str:
        return "The whole network, block by block"

    def show(self, of: Sequence[Subject]) -> Iterator[Block]:
        boxes = [boxes_of(each, self.quantity) for each in of]
        scales: dict[Quantity, Scale] = {"attention": SHARES, "strength": strength_scale(of)}
        most = max((box.step.multiply_adds for each in boxes for box in each), default=1)
        several, chosen = len(of) > 1, min(self.model, len(of)) - 1
        findings = [finding(each.name, own) for each, own in zip(of, boxes, strict=True)]
        yield Said(first_said(compared(of, boxes) if several else None, findings[0]))
        number = number_of(boxes[chosen], self.block) if boxes and boxes[chosen] else None
        for at, (each, own) in enumerate(zip(of, boxes, strict=True)):
            yield Heading(each.name)
            if several and findings[at]:
                yield Line(findings[at] or "")
            yield drawn(each, own, scales, most, at, number if at == chosen else None, beside=several)
            if each.loaded.classifies:
                yield Answered(each.loaded)
        saved: dict[str, Any] = {}
        if number is not None:  # below all networks, which one compares
            own, box = of[chosen], boxes[chosen][number]
            box = box if box.layer is not None else boxes_of(own, "strength")[number]
            yield from opened(own, box, scales["strength"], self.head, self.part)
            saved = tensors(own, box, self.head)
        yield from (Proof(each.seen) for each in of if each.layers)
        yield Numbers(lambda: arrays(of) | saved)


def strength_scale(of: Sequence[Subject]) -> Scale:
    """One for all maps of all models, in times the median place of a map."""
    maps = (box.places for each in of for box in boxes_of(each, "strength"))
    return robust([places for places in maps if places is not None], "×")


def compared(of: Sequence[Subject], boxes: Sequence[Sequence[Box]]) -> str | None:
    """Several networks: on how many places their blocks work, and what they cost."""
    grids = {
        each.name: [box.grid for box in own if box.numbered and box.grid] for each, own in zip(of, boxes, strict=True)
    }
    ends = {name: (several[0], several[-1]) for name, several in grids.items() if several}
    costs = most_and_least({each.name: total(steps_of(each))[0] for each in of}, "multiply–adds")
    return " ".join(filter(None, (narrows(ends) if len(ends) > 1 else None, costs))) or None


def finding(name: str, boxes: Sequence[Box]) -> str | None:
    """Where attention gathers most; of a model without attention, where one place stands out."""
    maps = {box.title: box.places for box in boxes if box.quantity == "attention" and box.places is not None}
    if maps:
        return gathers(name, maps)
    maps = {box.title: box.places for box in boxes if box.places is not None and box.places.size > 1}
    return strongest(name, maps) if maps else None


def summary(of: Subject) -> str:
    cost, products = total(steps_of(of))
    attention = f", {share(products, cost)} of them in QKᵀ and weights · V" if products else ""
    return f"{amount(cost)} multiply–adds{attention} · {amount(of.loaded.parameters)} parameters"


def answers_of(of: Subject) -> list[dict[str, Any]]:
    """The first answers, each with whether it is right, where the truth is known."""
    loaded, truth = of.loaded, truth_of(of.image)
    if not loaded.classifies:
        return [{"name": loaded.head.title, "value": "", "right": None}]
    lines = loaded.head.lines(of.seen.logits, loaded.label, TOP)
    known = truth if truth in loaded.labels else ""
    return [{"name": name, "value": value, "right": name == known if known else None} for name, value in lines]


def drawn(
    of: Subject,
    boxes: Sequence[Box],
    scales: Mapping[Quantity, Scale],
    most: int,
    model: int,
    chosen: int | None,
    *,
    beside: bool,
) -> Canvas:
    """`most`: multiply–adds of the longest bar; `model`: its number from 0; `beside`: there are other models, whose
    maps are as large."""
    floor, ceiling = OPACITIES["over image"]
    quantity: Quantity | None = next((box.quantity for box in boxes if box.places is not None), None)
    data = {
        "boxes": [packed(box, scales[box.quantity], most) for box in boxes],
        "model": model + 1,
        "chosen": chosen,
        "answers": answers_of(of),
        "summary": summary(of),
        "bar": quantity and (QUANTITIES[quantity], scales[quantity].packed()),
        "costs": f"a bar: multiply–adds of the block, the longest {amount(most)};",
        "beside": beside,
        "floor": floor,
        "ceiling": ceiling,
    }
    tiles = [
        Tile(box.title, box.places, words(box), scale=scales[box.quantity]) for box in boxes if box.places is not None
    ]
    label = f"{of.name} from the image over {len(boxes)} blocks to its answer"
    rule = tuple_of(whole(model + 1, model + 1), whole(1, max(1, len(boxes))))
    still = (Tiles(QUANTITIES[quantity], tuple(tiles), label, of=of),) if quantity else ()
    return Canvas("vizkit_flow", data, label, {"block": (rule, ("model", "block"))}, still, of)


def packed(box: Box, scale: Scale, most: int) -> dict[str, Any]:
    step, places = box.step, box.places
    sent: dict[str, Any] = {
        "title": box.title,
        "words": words(box),
        "facts": facts(box),
        "share": step.multiply_adds / (most or 1),
        "products": step.attention_multiply_adds / (most or 1),
    }
    if box.grid is None:
        return sent
    sent |= {"rows": box.grid[0], "columns": box.grid[1]}
    if places is not None:
        windows = None if box.windows is None else text64(box.windows, "<i4")
        sent |= {"values": text64(places, "<f4"), "scale": scale.of(places).packed(), "windows": windows}
    return sent


def words(box: Box) -> str:
    """What stands under its map."""
    size = " × ".join(map(str, box.grid)) if box.grid is not None else shapes(box.step.shapes_out[-1:])
    windows = "" if box.windows is None else ", shifted windows" if box.shifted else ", windows"
    step = box.step
    merged = (
        f", {step.tokens_in // step.tokens_out} into 1" if box.merges and step.tokens_in and step.tokens_out else ""
    )
    return f"{size}{windows}{merged}"


def facts(box: Box) -> str:
    step = box.step
    products = f", {share(step.attention_multiply_adds, step.multiply_adds)} of them in QKᵀ and weights · V"
    return (
        f"{box.title}: {shapes(step.shapes_in)} → {shapes(step.shapes_out)}; "
        f"{step.multiply_adds:,} multiply–adds{products * bool(step.attention_multiply_adds)}; "
        f"{step.parameters:,} parameters{f'; runs {step.calls} times' * (step.calls > 1)}; {step.kind} in the code"
    )


def arrays(of: Sequence[Subject]) -> dict[str, Any]:
    """Of every model the maps of both kinds, and the costs block by block."""
    found: dict[str, Any] = {}
    for at, each in enumerate(of, 1):
        steps = steps_of(each)
        for name in ("path", "multiply_adds", "attention_multiply_adds", "parameters", "calls"):
            found[f"model{at} {name}"] = [getattr(step, name) for step in steps]
        both = [box for quantity in get_args(Quantity) for box in boxes_of(each, quantity) if box.places is not None]
        found |= {f"model{at} {box.step.path} {box.quantity}": box.places for box in both}
    return found
