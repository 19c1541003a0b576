"""A ViT in code: each module of `networks.vit_from_parts` beside what really goes in and comes out on this image."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from torch import Tensor

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.remarks.patches import grown
from vizkit.figure.numbers import numbers
from vizkit.image import Picture, prepare, unprepare
from vizkit.models import pixels_of
from vizkit.models.networks.vit_from_parts import MLP, EncoderBlock, MultiHeadSelfAttention, ViT
from vizkit.models.probes.from_parts import Inside, inside
from vizkit.ui import reading
from vizkit.ui.plain import plain
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown, keep_valid, title
from vizkit.ui.views import Page
from vizkit.ui.widgets.known import chip
from vizkit.ui.widgets.remark import remark

PICTURE_PX = 230


@dataclass(frozen=True)
class Value:
    """One thing that goes in or comes out: what it is, its axes in words, its numbers (rows, columns)."""

    what: str
    axes: str
    numbers: Tensor | None


def view(page: Page) -> None:
    shown, picture = page.focus, page.picture
    inside = _inside_of(shown, picture)
    depth = len(inside.model.blocks)
    keep_valid("parts_block", range(1, depth + 1))
    with st.container(width=300):
        block = st.slider("Block", 1, max(2, depth), 1, key="parts_block", bind="query-params")
    index = min(int(block), depth) - 1
    proof(shown, inside)
    remark(grown(inside.embedded, inside.passed["norm"].given, depth))
    for number, (name, code, values) in enumerate(_sections(shown, inside, index), 1):
        st.subheader(f"{number} · {name}", anchor=False)
        left, right = st.columns([3, 2])
        with left:
            st.code(code, language="python", wrap_lines=True)
        with right:
            if number == 1:
                image(shown, picture, inside)
            for value in values:
                draw(value)
            if name == "ViT":
                logits(shown, inside)
    reading.how(
        "Read it from top to bottom: this is all the code of a ViT, from pixels to logits. Beside each module stand "
        "the tensors of this image: a line for each token, a column for each number; blue lies below zero, red above. "
        "One colour means different numbers in different pictures.",
        r"z_0 = [x_{\mathrm{cls}};\, x^1E;\, \dots;\, x^NE] + E_{\mathrm{pos}}, \quad z'_l = z_{l-1} + "
        r"\mathrm{MSA}(\mathrm{LN}(z_{l-1})), \quad z_l = z'_l + \mathrm{MLP}(\mathrm{LN}(z'_l))",
        "which of the numbers matter. Where a picture has more numbers than pixels, only the largest of neighbours is "
        "seen.",
        "Dosovitskiy et al. 2020, eq. 1 to 4; code: vizkit/models/networks/vit_from_parts.py",
    )


def _inside_of(shown: Shown, picture: Picture) -> Inside:
    """Every part's input and output: the model runs once for each image, whichever block is looked at."""

    def make() -> Inside:
        with cached.device_lock():
            return inside(shown.loaded, pixels_of(shown.loaded, picture.rgb))

    return cached.made(shown.source, picture, shown.loaded, ("from parts",), make)


def proof(shown: Shown, inside: Inside) -> None:
    if isinstance(shown.loaded.model, ViT):
        text = "this code is the model"
    else:
        text = f"rebuilt from these parts with its weights: {reading.within('logits', inside.logit_error)}"
    st.caption(
        f":green[:material/verified: {plain(title(shown.source))}, {text}]",
        help="The model was built again from the code on this page and given its own weights. The difference is the "
        "largest between the logits of both on this image.",
    )


def _sections(shown: Shown, inside: Inside, index: int) -> list[tuple[str, str, list[Value]]]:
    """(name, code, what goes in and comes out) in reading order."""
    model: Any = inside.model
    block, attn, mlp = (inside.passed[f"blocks.{index}{part}"] for part in ("", ".attn", ".mlp"))
    patches, normed = inside.passed["patch_embed"].made, inside.passed["norm"].made
    table = model.pos_embed[0].detach().float().cpu()
    embedding = type(model.patch_embed)
    heads = f"{model.blocks[index].attn.num_heads} heads of {model.blocks[index].attn.d_k} channels"
    weights = _mean_weights(shown, index)
    extra = " and a class token in front" if model.cls_token is not None else ""
    block_name, out = f"block {index + 1}", inside.embedded
    return [
        (embedding.__name__, source(embedding), [Value("out: patches as tokens", "patch × dim", patches)]),
        (
            "ViT.embedded",
            source(ViT.embedded),
            [Value("positions", "token × dim", table), Value(f"out: positions added{extra}", "token × dim", out)],
        ),
        (
            f"MultiHeadSelfAttention of {block_name}, {heads}",
            source(MultiHeadSelfAttention),
            [
                Value("in: the normalised stream", "token × dim", attn.given),
                *([Value("weights, mean over heads", "query × key", weights)] if weights is not None else []),
                Value("out", "token × dim", attn.made),
            ],
        ),
        (
            f"MLP of {block_name}",
            source(MLP),
            [Value("in: the normalised stream", "token × dim", mlp.given), Value("out", "token × dim", mlp.made)],
        ),
        (
            f"EncoderBlock {index + 1}",
            source(EncoderBlock),
            [Value("in: the residual stream", "token × dim", block.given), Value("out", "token × dim", block.made)],
        ),
        (
            "ViT",
            source(ViT),
            [
                Value("after all blocks", "token × dim", inside.passed["norm"].given),
                Value("normalised: what the head reads from", "token × dim", normed),
                Value("out: logits", "label", inside.logits[None]),
            ],
        ),
    ]


def source(what: type | Callable) -> str:
    """The code as it stands in the file, to the left edge."""
    return inspect.cleandoc("\n" + inspect.getsource(what))


def _mean_weights(shown: Shown, index: int) -> Tensor | None:
    """The recorded attention of the layer, where all rows were kept."""
    recorded = layers(shown.trace)
    if index >= len(recorded) or recorded[index].weights.shape[-2] != recorded[index].weights.shape[-1]:
        return None
    return recorded[index].weights[0].float().mean(0)


def image(shown: Shown, picture: Picture, inside: Inside) -> None:
    seen = unprepare(prepare(picture.rgb, shown.loaded.preprocessing)[0], shown.loaded.preprocessing)
    channels, height, width = inside.pixels.shape
    st.markdown(f"in: pixels, channel × height × width: `{channels} × {height} × {width}`")
    zoom = max(1, PICTURE_PX // max(height, width))
    st.image(np.ascontiguousarray(seen.repeat(zoom, 0).repeat(zoom, 1)), alt="The model's input", width=PICTURE_PX)
    st.caption(spread(inside.pixels.flatten(1)))


def draw(value: Value) -> None:
    assert value.numbers is not None
    shape = " × ".join(str(n) for n in value.numbers.shape[-len(value.axes.split(" × ")) :])
    st.markdown(f"{value.what}, {value.axes}: `{shape}`")
    drawn = numbers(value.numbers.numpy(), most_px=(18, 560) if len(value.numbers) == 1 else (200, 560))
    st.image(drawn, alt=f"{value.what}, {shape} numbers", width="stretch")
    st.caption(spread(value.numbers))


def spread(numbers: Tensor) -> str:
    return f"from {float(numbers.min()):.3g} to {float(numbers.max()):.3g}, deviation {float(numbers.std()):.3g}"


def logits(shown: Shown, inside: Inside) -> None:
    if not shown.loaded.classifies:
        return
    head = shown.loaded.head
    classes = ", ".join(f"{plain(name)} {text}" for name, text in head.lines(inside.logits, shown.loaded.label, 3))
    st.markdown(
        f"A {head.name} makes of these logits: **{classes}**. {chip(shown.loaded)}"
        + ("" if shown.loaded.trained else " It is untrained.")
    )
