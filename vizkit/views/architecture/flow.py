"""Flow: models from the image to the logits, block by block, on one scale of cost."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from vizkit.analysis.remarks.compute import by_part, most_and_least
from vizkit.models import Loaded
from vizkit.models.probes.flow import Group, Shape, Step, folded, unfolded
from vizkit.views.architecture.counted import amount, between, shape, share, steps_of, tokens, total
from vizkit.views.blocks import Block, Canvas, Columns, Heading, Line, Numbers, Part, Said, Table, first_said
from vizkit.views.controls import switch
from vizkit.views.subject import Subject
from vizkit.views.view import How, View


class Flow(View):
    """Models from the image to the logits, block by block, on one scale of cost."""

    every: bool = switch(
        "Every block by itself",
        "Otherwise equal blocks that follow each other are drawn once; click a block to see each of them.",
        key="flow_every",
    )

    together: ClassVar = True
    overlays: ClassVar = False
    how: ClassVar = How(
        "From the image at the top to the logits at the bottom, every block with what leaves it. The bar is its cost "
        "in multiply–adds, on one scale for all models: a full bar is all of the costliest one. Its orange part are "
        "products of two activations (QKᵀ and weights · V), which grow with the square of the number of tokens. Click "
        "a block for all its tensors.",
        r"\text{ViT block: } 12\,N D^2 + 2\,N^2 D \text{ multiply–adds, for } N \text{ tokens of } D \text{ numbers}",
        "time: memory traffic, small kernels and your hardware decide it too. Sums, norms and softmax are not counted, "
        "nor is what happens outside of blocks, such as averaging tokens.",
        "Dosovitskiy et al. 2020, § 3.1; counting as in Liu et al. 2021, table 1 (papers call multiply–adds FLOPs)",
    )

    def title(self, of: Sequence[Subject]) -> str:
        return "Blocks and their multiply–adds"

    def show(self, of: Sequence[Subject]) -> Iterator[Block]:
        costs = {each.name: total(steps_of(each))[0] for each in of}
        most = max(costs, key=lambda name: costs[name])
        yield Said(sentence(of, costs))
        yield Line(
            f"Bars of all models: blue are products with weights, orange those of attention (QKᵀ and weights · V). A "
            f"full bar is {amount(costs[most])} multiply–adds{f', all of {most}' if len(costs) > 1 else ''}."
        )
        yield Columns(tuple(tuple(self.column(each, costs[most])) for each in of))
        yield Numbers(partial(arrays, of))

    def column(self, of: Subject, scale: int) -> Iterator[Block]:
        yield Heading(of.name)
        yield Part(partial(self.blocks, of, scale))

    def blocks(self, of: Subject, scale: int) -> Iterator[Block]:
        steps = steps_of(of)
        whole, products = total(steps)
        inside, parameters = sum(step.parameters for step in steps), of.loaded.parameters
        attention = f", {share(products, whole)} of them in products of attention" if products else ""
        yield Line(f"{amount(whole)} multiply–adds{attention} · {amount(parameters)} parameters")
        groups = unfolded(steps) if self.every else folded(steps)
        rows, last = rows_of(groups, whole, scale)
        label = f"{of.name} as a flow of {len(steps)} blocks, {amount(whole)} multiply–adds"
        yield Canvas("vizkit_flow", {"rows": rows}, label, still=(Table(on_paper(rows), label, last),))
        if inside != parameters:
            yield Line(
                f"The other {amount(parameters - inside)} parameters lie outside of blocks: class token, positions."
                if inside < parameters
                else "Some blocks share parameters."
            )


def sentence(of: Sequence[Subject], costs: Mapping[str, int]) -> str:
    """Of several models how far their costs are apart, else where the parameters are."""
    first = of[0].loaded
    attention, mlp = (parameters_in(first, part) for part in ("attn", "mlp"))
    steps = steps_of(of[0])
    costliest = max(steps, key=lambda step: step.multiply_adds)
    return first_said(
        most_and_least(costs, "multiply–adds"), by_part(attention, mlp, first.parameters, "parameters")
    ) or (
        f"The costliest of {len(steps)} blocks is {costliest.path}: {share(costliest.multiply_adds, total(steps)[0])} "
        "of all multiply–adds."
    )


def parameters_in(loaded: Loaded, part: str) -> int:
    """Of all modules whose name has this part, in the words of timm."""
    return sum(weight.numel() for name, weight in loaded.model.named_parameters() if part in name.split("."))


def rows_of(groups: Sequence[Group], whole: int, scale: int) -> tuple[list[dict[str, Any]], str]:
    """(one entry for each box with what happened on the way to it, in words; what leaves the model)."""
    image = next(iter(groups[0].first.shapes_in), ())
    rows: list[dict[str, Any]] = []
    for before, after in zip((None, *groups), (*groups, None), strict=True):
        words, changed = between(before, after, image)
        rows += [{"arrow": words, "changed": changed}, *([row_of(after, whole, scale, image)] if after else [])]
    return rows, str(rows[-1]["arrow"])


def row_of(group: Group, whole: int, scale: int, image: Shape) -> dict[str, Any]:
    first, last, count = group.first, group.steps[-1], len(group.steps)
    where, _, end = last.path.rpartition(".")
    near = where == first.path.rpartition(".")[0]
    return {
        "kind": first.kind,
        "path": first.path if count == 1 else f"{first.path} to {end if near else last.path}",
        "times": f"× {count}" if count > 1 else "",
        "streams": f"runs {first.calls} times" if first.calls > 1 else "",
        "tokens": tokens(first, image),
        "cost": amount(group.multiply_adds) if group.multiply_adds else "–",
        "share": group.multiply_adds / (scale or 1),
        "products": group.attention_multiply_adds / (scale or 1),
        "facts": facts(group, whole),
        "blocks": [step.path for step in group.steps] if count > 1 else [],
    }


def facts(group: Group, whole: int) -> list[tuple[str, str]]:
    """What a click on the block shows."""
    first, each = group.first, " each" if len(group.steps) > 1 else ""
    attention = share(first.attention_multiply_adds, first.multiply_adds)
    return [
        ("in", " and ".join(map(shape, first.shapes_in)) or "no tensor"),
        ("out", " and ".join(map(shape, first.shapes_out)) or "no tensor"),
        (f"multiply–adds{each}", f"{first.multiply_adds:,}"),
        *([("of them products of attention", attention)] if first.attention_multiply_adds else []),
        (f"parameters{each}", f"{first.parameters:,}"),
        ("share of the model's multiply–adds", share(group.multiply_adds, whole)),
    ]


def on_paper(rows: Sequence[Mapping[str, Any]]) -> tuple[dict[str, str], ...]:
    return tuple(
        {
            "Comes in": before["arrow"],
            "Block": " ".join(filter(None, (row["kind"], row["times"], row["streams"]))),
            "Tokens": row["tokens"],
            "Multiply–adds": row["cost"],
        }
        for before, row in zip(rows[::2], rows[1::2], strict=False)
    )


def arrays(of: Sequence[Subject]) -> dict[str, list[int] | list[str]]:
    """Of every model block by block."""

    def columns(number: int, steps: Sequence[Step]) -> dict[str, Any]:
        names = ("path", "multiply_adds", "attention_multiply_adds", "parameters", "calls")
        return {f"model{number} {name}": [getattr(step, name) for step in steps] for name in names}

    return {key: values for at, each in enumerate(of, 1) for key, values in columns(at, steps_of(each)).items()}
