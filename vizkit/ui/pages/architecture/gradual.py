"""A gradual-reduction ViT: what is left of the image after each averaging, and what that saves."""

from itertools import groupby
from typing import Any

import numpy as np
import streamlit as st

from vizkit.analysis.remarks import compute
from vizkit.figure.charts import curves
from vizkit.figure.token_colours import token_colours
from vizkit.geometry import cell_of, id_at, id_of, name_of, pixel_box
from vizkit.image import Picture, prepare, unprepare
from vizkit.models.families.gradual_reduction import token_sets
from vizkit.models.probes.flow import Step
from vizkit.models.probes.unreduced import unreduced
from vizkit.traces import Tokens
from vizkit.ui import reading
from vizkit.ui.pages.architecture import worth
from vizkit.ui.session import saved as subjects
from vizkit.ui.session.shown import Shown
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.remark import remark
from vizkit.views import rows_of
from vizkit.views.architecture.counted import amount, steps_of


def view(page: Page) -> None:
    shown, picture = page.focus, page.picture
    model: Any = shown.loaded.model
    sets = token_sets(model, shown.trace.image_size)
    # One entry for each set of tokens: the set, and how many blocks lie before it.
    numbered = [list(group) for _, group in groupby(enumerate(sets), lambda pair: pair[1].name)]
    stages = [(group[0][1], group[0][0], len(group)) for group in numbered]
    left, right = st.columns([2, 3])
    with left:
        st.markdown("**Click a patch: which token represents it?**")
        show_map("gradual_pick", rows_of.grid_for_browser(sets[0]), shown, picture, "image only", "Patches of")
        _own_pixels(shown, picture, [tokens for tokens, _, _ in stages])
        summary = st.container()
    with right:
        _seen_by(shown, picture, stages, len(sets) - 1)
    with st.spinner("Counting the model with and without reduction …"):
        of = subjects.subject_of(shown, picture)
        steps, plain = steps_of(of), steps_of(of, unreduced(shown.loaded))
    with summary:
        saved(shown, steps, plain)
    by_block(steps, plain)
    reading.how(
        "Each picture is the image as coarsely as the blocks of that stage see it: one flat colour, the mean of its "
        "pixels, for every token that is left. After the named blocks neighbours are averaged in pairs, by turns left "
        "and right, above and below, so a token always stands for one rectangle; special tokens are not averaged.",
        r"N \to \tfrac{N}{2}: \quad z'_{k} = \tfrac12\,(z_{2k-1} + z_{2k}), \qquad \text{attention costs } 2N^2D "
        r"\to \tfrac14 \cdot 2N^2D",
        "what a token knows: attention has already mixed in the rest of the image, and vectors are averaged, not "
        "colours.",
        "Badzohreh 2024, a thesis without code; where it is silent, our reading: see networks/gradual_reduction.py",
    )
    worth.section()


def seen(shown: Shown, picture: Picture) -> np.ndarray:
    return unprepare(prepare(picture.rgb, shown.loaded.preprocessing)[0], shown.loaded.preprocessing)


def _chosen_cell(shown: Shown, tokens: Tokens) -> tuple[int, int]:
    token = id_at(tokens, shown.query if isinstance(shown.query, tuple) else (0.5, 0.5))
    cell = None if token is None else cell_of(tokens, token)
    assert cell is not None
    return cell


def _seen_by(shown: Shown, picture: Picture, stages: list[tuple[Tokens, int, int]], depth: int) -> None:
    """The image after every reduction, two in a row."""
    pixels = seen(shown, picture)
    for start in range(0, len(stages), 2):
        for column, (tokens, before, count) in zip(st.columns(2), stages[start : start + 2], strict=False):
            assert tokens.grid is not None
            rows, columns = tokens.grid
            special = "".join(f" + [{name}]" for name in tokens.special)
            when = "At first" if not before else f"After block {before}"
            with column:
                st.markdown(f"**{when}: {rows * columns}{special}**")
                drawn = token_colours(pixels, tokens.grid, _chosen_cell(shown, tokens))
                st.image(
                    drawn, alt=f"{rows} × {columns} tokens, each in the mean colour of its pixels", width="stretch"
                )
                st.caption(f"{rows} × {columns} tokens of {size_of(tokens)} pixels · {who(before, count, depth)}")


def who(before: int, count: int, depth: int) -> str:
    """Which blocks see the tokens of a stage; the last set may be for the head alone."""
    last = min(before + count, depth)
    if before == depth:
        return "seen by the head"
    return f"seen by block {last}" if last == before + 1 else f"seen by blocks {before + 1} to {last}"


def size_of(tokens: Tokens) -> str:
    return f"{tokens.stride * tokens.aspect:g} × {tokens.stride:g}"


def _own_pixels(shown: Shown, picture: Picture, sets: list[Tokens]) -> None:
    """The pixels of the chosen token at every stage, all at one scale."""
    pixels = seen(shown, picture)
    lines = []
    boxes = []
    for tokens in sets:
        token = id_of(tokens, _chosen_cell(shown, tokens))
        box = pixel_box(tokens, token, (pixels.shape[0], pixels.shape[1]))
        assert box is not None
        boxes.append(tuple(round(edge) for edge in box))
        lines.append(f"{size_of(tokens)} ({name_of(tokens, token)})")
    zoom = max(1, 96 // max(boxes[-1][2] - boxes[-1][0], boxes[-1][3] - boxes[-1][1]))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for (x0, y0, x1, y1), line in zip(boxes, lines, strict=True):
            crop = np.ascontiguousarray(pixels[y0:y1, x0:x1])
            drawn = token_colours(crop, (y1 - y0, x1 - x0), side_px=zoom * max(y1 - y0, x1 - x0))
            st.image(drawn, alt=f"Its pixels: {line}", width=zoom * (x1 - x0))
    st.caption(f"The pixels of its token, larger and larger: {', '.join(lines)}.")


# ---- cost ------------------------------------------------------------------------------------------------------------
def saved(shown: Shown, steps: tuple[Step, ...], plain: tuple[Step, ...]) -> None:
    """What averaging saves: the same weights with nothing averaged are a plain ViT."""
    own, other = (sum(step.multiply_adds for step in counted) for counted in (steps, plain))
    inner, outer = (sum(step.attention_multiply_adds for step in counted) for counted in (steps, plain))
    st.markdown("**Against the plain ViT of the same weights**")
    with st.container(horizontal=True):
        st.metric("Multiply–adds", amount(own), f"{own / other - 1:.0%} of {amount(other)}", "inverse", border=True)
        st.metric(
            "of them attention", amount(inner), f"{inner / outer - 1:.0%} of {amount(outer)}", "inverse", border=True
        )
    remark(compute.saved(own, other, "multiply–adds", "the plain ViT"))
    st.caption(
        f"Both have {amount(shown.loaded.parameters)} parameters: no weight depends on the number of tokens. "
        "Attention: the products QKᵀ and weights · V."
    )


def by_block(steps: tuple[Step, ...], plain: tuple[Step, ...]) -> None:
    """Tokens and multiply–adds by block, against the same weights with nothing averaged."""
    models = {"this model": blocks(steps), "nothing averaged: a plain ViT": blocks(plain)}
    charts = (
        ("tokens", "Tokens by block", lambda step: step.tokens_in),
        ("multiply–adds", "Multiply–adds by block", lambda step: step.multiply_adds),
        ("multiply–adds", "Products of attention by block", lambda step: step.attention_multiply_adds),
    )
    for column, (y, name, pick) in zip(st.columns(3), charts, strict=True):
        lines = {
            model: (np.arange(1, len(model_steps) + 1), np.array([pick(step) for step in model_steps]))
            for model, model_steps in models.items()
        }
        figure = curves(lines, "block", y, name, mode="lines+markers")
        figure.update_traces(line_shape="hvh")  # nothing lies between two blocks
        figure.update_yaxes(rangemode="tozero")
        figure.update_xaxes(dtick=1 if len(steps) <= 16 else None)
        with column:
            chart(figure, f"gradual_{name}", f"{name}: this model and a plain ViT")


def blocks(steps: tuple[Step, ...]) -> list[Step]:
    return [step for step in steps if step.path.startswith("blocks.")]
