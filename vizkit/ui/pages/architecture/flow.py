"""The chosen models as flows of blocks, counted at their input size."""

import logging
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import streamlit as st

from vizkit.analysis.remarks.compute import by_part
from vizkit.image import ImageError, Picture
from vizkit.models import Loaded, ModelError, OfflineError
from vizkit.models.probes.flow import Shape, Step, flow, tokens_in
from vizkit.models.probes.flow_groups import Group, changed_between, folded, unfolded
from vizkit.traces import NotApplicable, TraceError
from vizkit.ui import reading
from vizkit.ui.canvas import Canvas
from vizkit.ui.plain import plain
from vizkit.ui.session import cached
from vizkit.ui.session.chosen import whole_image
from vizkit.ui.session.shown import explain_refusal, title
from vizkit.ui.views import Page
from vizkit.ui.widgets.remark import remark

HERE = Path(__file__).parent

FLOW = Canvas("vizkit_flow", "<ol></ol>\n", HERE / "flow.css", HERE / "flow.js")


@dataclass(frozen=True)
class Measured:
    """A model and its blocks in the order of the forward pass."""

    loaded: Loaded
    steps: tuple[Step, ...]


def view(page: Page) -> None:
    every = st.toggle(
        "Every block by itself",
        key="flow_every",
        bind="query-params",
        help="Otherwise equal blocks that follow each other are drawn once; click a block to see each of them.",
    )
    for index, (source, column) in enumerate(
        zip(page.sources, st.columns(len(page.sources), border=True), strict=True)
    ):
        with column:
            st.markdown(f"**{plain(title(source))}**")
            with st.spinner(f"Running {plain(title(source))} …"):
                result = measured(source, page.picture)
            if isinstance(result, Measured):
                flow_of(index, source, result, every)
            else:
                explain_refusal(source, *result)
    reading.how(
        "From the image at the top to the logits at the bottom, every block with what leaves it. The bar is its share "
        "of this model's multiply–adds; its orange part are products of two activations (QKᵀ and weights · V), which "
        "grow with the square of the number of tokens. Click a block for all its tensors.",
        r"\text{ViT block: } 12\,N D^2 + 2\,N^2 D \text{ multiply–adds, for } N \text{ tokens of } D \text{ numbers}",
        "time: memory traffic, small kernels and your hardware decide it too. Sums, norms and softmax are not counted, "
        "nor is what happens outside of blocks, such as averaging tokens.",
        "Dosovitskiy et al. 2020, § 3.1; counting as in Liu et al. 2021, table 1 (papers call multiply–adds FLOPs)",
    )


def measured(source: str, picture: Picture) -> Measured | tuple[str, bool]:
    """The blocks, or (a sentence, whether the network was missing). No traceback reaches the page."""
    try:
        loaded = cached.model(source, picture if whole_image() else None)
        return Measured(loaded, steps_of(source, loaded, picture))
    except (ModelError, TraceError, NotApplicable, ImageError) as error:
        return str(error), isinstance(error, OfflineError)
    except Exception as error:
        logging.getLogger("vizkit").exception("flow of %s on an image of %s", source, picture.rgb.shape)
        return f"This model's blocks could not be measured ({type(error).__name__}). Choose another one.", False


def steps_of(source: str, loaded: Loaded, picture: Picture) -> tuple[Step, ...]:
    """Counted once and kept, at the model's input size for this picture."""

    def make() -> tuple[Step, ...]:
        with cached.device_lock():
            return flow(loaded)

    return cached.made(source, picture, loaded, ("flow", loaded.name), make)


def flow_of(index: int, source: str, counted: Measured, every: bool) -> None:
    loaded, steps = counted.loaded, counted.steps
    groups = unfolded(steps) if every else folded(steps)
    total = sum(step.multiply_adds for step in steps)
    products = sum(step.attention_multiply_adds for step in steps)
    inside, all_of_them = sum(step.parameters for step in steps), loaded.parameters
    st.caption(
        f"**{amount(total)}** multiply–adds"
        + (f", {share(products, total)} of them in products of attention" if products else "")
        + f" · **{amount(all_of_them)}** parameters"
    )
    remark(by_part(parameters_in(loaded, "attn"), parameters_in(loaded, "mlp"), all_of_them, "parameters"))
    label = f"{title(source)} as a flow of {len(steps)} blocks, {amount(total)} multiply–adds"
    FLOW(f"flow_{index}_{source}", {"label": label, "rows": rows_of(groups, total)})
    if inside != all_of_them:
        st.caption(
            f"The other {amount(all_of_them - inside)} parameters lie outside of blocks: class token, positions."
            if inside < all_of_them
            else "Some blocks share parameters."
        )


def parameters_in(loaded: Loaded, part: str) -> int:
    """Of all modules whose name has this part, in the words of timm."""
    return sum(weight.numel() for name, weight in loaded.model.named_parameters() if part in name.split("."))


def rows_of(groups: tuple[Group, ...], total: int) -> list[dict[str, Any]]:
    """What the browser draws: one entry for each box, in words, with what happened on the way to it."""
    image = next(iter(groups[0].first.shapes_in), ())
    rows: list[dict[str, Any]] = [{"arrow": f"image {shape(image)}"}]
    for index, group in enumerate(groups):
        if index:
            rows.append(arrow(groups[index - 1].steps[-1], group.first, image))
        rows.append(row_of(group, total, image))
    last = next(iter(groups[-1].first.shapes_out[-1:]), ())
    return [*rows, {"arrow": f"{prod(last):,} logits" if len(last) == 1 else shape(last)}]


def arrow(before: Step, after: Step, image: Shape) -> dict[str, Any]:
    """What goes from one block to the next, and whether something happened to it outside of both."""
    if image in after.shapes_in:
        return {"arrow": f"once more the image {shape(image)}"}
    changed = changed_between(before, after)
    if changed:
        return {"arrow": f"{shape(changed[0])} becomes {shape(changed[1])}", "changed": True}
    return {"arrow": shape(next(iter((before.shapes_out or after.shapes_in)[-1:]), ()))}


def row_of(group: Group, total: int, image: Shape) -> dict[str, Any]:
    first, count = group.first, len(group.steps)
    path = first.path if count == 1 else f"{first.path} to {group.steps[-1].path.rpartition('.')[2]}"
    if count > 1 and group.steps[-1].path.rpartition(".")[0] != first.path.rpartition(".")[0]:
        path = f"{first.path} to {group.steps[-1].path}"
    return {
        "kind": first.kind,
        "path": path,
        "times": f"× {count}" if count > 1 else "",
        "streams": f"runs {first.calls} times" if first.calls > 1 else "",
        "tokens": tokens(first, image),
        "cost": amount(group.multiply_adds) if group.multiply_adds else "–",
        "share": group.multiply_adds / (total or 1),
        "products": group.attention_multiply_adds / (total or 1),
        "facts": facts(group, total),
        "blocks": [step.path for step in group.steps] if count > 1 else [],
    }


def facts(group: Group, total: int) -> list[tuple[str, str]]:
    """What a click on the block shows."""
    first, per_block = group.first, " each" if len(group.steps) > 1 else ""
    entries = [
        ("in", " and ".join(shape(s) for s in first.shapes_in) or "no tensor"),
        ("out", " and ".join(shape(s) for s in first.shapes_out) or "no tensor"),
        (f"multiply–adds{per_block}", f"{first.multiply_adds:,}"),
        ("of them products of attention", share(first.attention_multiply_adds, first.multiply_adds)),
        (f"parameters{per_block}", f"{first.parameters:,}"),
        ("share of the model's multiply–adds", share(group.multiply_adds, total)),
    ]
    return [fact for fact in entries if fact[0] != "of them products of attention" or first.attention_multiply_adds]


def tokens(step: Step, image: Shape) -> str:
    """How many go in and come out, where the shapes say so."""
    if not step.shapes_out:
        return "one number"
    into = tokens_in(step.shapes_in[-1], image) if step.shapes_in and image not in step.shapes_in else None
    out = tokens_in(step.shapes_out[-1], image)
    if out is None:
        return ""
    return f"{out[0]:,} {out[1]}" if into is None or into == out else f"{into[0]:,} → {out[0]:,} {out[1]}"


def shape(numbers: Shape) -> str:
    return " × ".join(f"{n:,}" for n in numbers)


def share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole and (part == 0 or part / whole >= 0.005) else "under 1%" if whole else "none"


def amount(count: int) -> str:
    for size, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:.3g} {name}" if count < 999.5 * size else f"{count / size:,.0f} {name}"
    return str(count)
