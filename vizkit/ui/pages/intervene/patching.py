"""The view Patching: what of a clean run, put into a corrupted one, brings the answer back."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from vizkit.analysis.attribution.logit_lens import runner_up
from vizkit.analysis.attribution.restored import best_layer, restored
from vizkit.analysis.comparison.corruption import CORRUPTIONS, corrupted, erased
from vizkit.analysis.remarks.interventions import of_patching
from vizkit.figure.patch_cells import layer_cells, restored_cells
from vizkit.image import RGB
from vizkit.models import attention_places, pixels_of
from vizkit.ui import reading
from vizkit.ui.pages.intervene.patching_parts import by_block, head_map, keep, opened, pictures, seen_by
from vizkit.ui.session import background
from vizkit.ui.session.address import put
from vizkit.ui.session.explained import Request
from vizkit.ui.session.remembered import shelf
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.sidebar import inputs
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.class_choice import choose, in_words, request_for
from vizkit.ui.widgets.remark import remark
from vizkit.views.rules import below, maybe, number, tuple_of

if TYPE_CHECKING:
    from vizkit.models.probes.interventions.patching import Patched

TASK = "patching"
ERASED, OTHER = "erased insect", "another picture"
COARSE, FINE = 8, 16  # rows of regions at most
CELL = "patching_cell"
LITTLE = 0.02  # of the logit; where a region restores less after every block, no best one is written


@dataclass(frozen=True, eq=False)
class Run:
    """`name` says which corruption; `rgb` is the corrupted picture."""

    request: Request
    name: str
    rgb: RGB
    most: int

    @property
    def key(self) -> tuple[Any, ...]:
        return TASK, self.request.of, self.name, self.most


def view(page: Page) -> None:
    shown = page.focus
    with st.container(horizontal=True, vertical_alignment="bottom"):
        request = request_for(shown, page.picture, choose([shown]))
        name, rgb = corruption(page)
        fine = st.toggle("Finer regions", key="patching_fine", bind="query-params")
    run = Run(request, name, rgb, FINE if fine else COARSE)
    made: Patched | None = shelf().find(run.key)
    pictures(request, run.name, run.rgb, made)
    if made is None and not background.at_work(TASK):
        if st.session_state.get("_patching_begun") == run.key:  # it was stopped, or failed
            st.button("Measure again", icon=":material/play_arrow:", on_click=background.start, args=(TASK, work(run)))
        else:
            st.session_state["_patching_begun"] = run.key
            background.start(TASK, work(run))
    background.show(TASK)
    if made is not None:
        draw(run, made)
    reading.how(
        "One region of the clean run's stream is put into the run on the corrupted picture after a block, and the "
        "model goes on from there. Red regions bring the logit back: there, after that block, the evidence is. Click "
        "a region to see its run. A head is exchanged inside its block, at all tokens.",
        r"\frac{z(\text{corrupted, patched}) - z(\text{corrupted})}{z(\text{clean}) - z(\text{corrupted})}",
        "what several regions restore together: that may be more than the sum of what each does.",
        "Meng et al. 2022; Heimersheim & Nanda 2024",
    )


def corruption(page: Page) -> tuple[str, RGB]:
    """Its name, by which it is remembered, and the picture."""
    insect, rgb = inputs.chosen_insect(), page.picture.rgb
    kinds = [*CORRUPTIONS, *([ERASED] if insect is not None else []), OTHER]
    keep_valid("patching_how", kinds)
    kind = st.segmented_control("Corrupted by", kinds, default=kinds[0], required=True, key="patching_how",
                                bind="query-params")  # fmt: skip
    if kind == OTHER:
        other = st.selectbox("Picture", inputs.samples(), key="patching_other", bind="query-params", width=195)
        return f"{OTHER} {other}", inputs.sample(other).rgb
    if kind == ERASED and insect is not None:
        return ERASED, erased(rgb, insect.insect)
    return str(kind), corrupted(rgb, str(kind))


def work(run: Run) -> Callable[[background.Task], None]:
    from vizkit.models.probes.interventions.patching import patch

    loaded, picture = run.request.shown.loaded, run.request.picture

    def at_work(task: background.Task) -> None:
        clean, other = pixels_of(loaded, picture.rgb), pixels_of(loaded, run.rgb)
        places = attention_places(loaded, clean)

        def done(share: float) -> None:
            task.report("Regions are put in, block by block …", round(100 * share), 100)

        shelf().put(run.key, patch(loaded, clean, other, places, run.most, done))
        task.results += 1

    return at_work


def draw(run: Run, made: "Patched") -> None:
    request = run.request
    loaded, target, against = request.shown.loaded, request.target, request.against
    against = runner_of(made, target) if against is None else against
    share = partial(restored, clean=made.clean, corrupted=made.corrupted, target=target, against=against)
    regions, special = share(made.regions), share(made.special)
    depth = len(regions)
    keep_valid("patching_layer", range(1, depth + 1))
    st.markdown(in_words(replace(request, against=against)))
    layer = int(st.slider("After block", 1, max(depth, 2), 1, key="patching_layer", bind="query-params", width=400))
    layer = min(layer, depth)
    seen, size_hw = seen_by(request.shown, request.picture.rgb)
    left, right = st.columns(2)
    with left:
        cell = chosen_cell(regions.shape[1:])
        figure = restored_cells(seen, size_hw, regions[layer - 1].numpy(), cell)
        chart(figure, "patching_map", f"What each region restores after block {layer}",
              (tuple_of(*map(below, regions.shape[1:]), maybe(number(-math.inf, math.inf))), picked))  # fmt: skip
        st.caption(f"What each region restores after block {layer}. Click one to see its run.")
    with right:
        best = (best_layer(regions) + 1).float()
        best[regions.amax(0) < LITTLE] = float("nan")
        figure = layer_cells(seen, size_hw, best.numpy(), depth)
        chart(figure, "patching_best", "After which block each region restores the most")
        st.caption("After which block each region restores the most.")
    clean, worse = (float(loaded.head.values(logits)[target]) for logits in (made.clean, made.corrupted))
    remark(of_patching(loaded.label(target), clean, worse, regions, special, made.names))
    error = float(max((share(made.everything) - 1).abs().max(), share(made.nothing).abs().max()))
    st.caption(f":green[:material/verified: {reading.within('everything put in restores 1, nothing 0', error)}]",
               help="Measured after every block, on this picture.")  # fmt: skip
    if cell is not None:
        opened(request, made, layer - 1, cell)
    heads = None if made.heads is None else [share(logits).numpy() for logits in made.heads]
    left, right = st.columns(2)
    with left:
        lines = by_block(regions.flatten(1).amax(1).numpy(), special.numpy(), made.names)
        chart(lines, "patching_by_block", "What the best region and the special tokens restore after each block")
    with right:
        if heads is None:
            st.info(made.no_heads, icon=":material/info:")
        else:
            chart(head_map(heads), "patching_heads", "What each head of each layer restores")
    keep(request, run.name, made, lines, regions.numpy(), special.numpy(), heads)


def runner_of(made: "Patched", target: int) -> int | None:
    """What the corrupted run says instead; None where it says the same."""
    said = int(made.corrupted.argmax())
    return runner_up(made.corrupted, target) if said == target else said


def picked(cell: tuple[int, int, float | None]) -> None:
    st.session_state[CELL] = f"{cell[0] + 1}.{cell[1] + 1}"


def chosen_cell(shape: tuple[int, ...]) -> tuple[int, int] | None:
    """(row, column) from 0 of the session, else of the link."""
    text = st.session_state.get(CELL) or st.query_params.get(CELL, "")
    row, _, column = text.partition(".")
    if not (row.isdecimal() and column.isdecimal() and len(text) < 8):
        return None
    cell = int(row) - 1, int(column) - 1
    if not all(0 <= at < size for at, size in zip(cell, shape, strict=True)):
        return None
    put(CELL, text)
    return cell
