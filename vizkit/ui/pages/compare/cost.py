"""What every model takes: parameters, multiply–adds, memory, time on this device; beside the published numbers."""

import csv
import io
import logging
from dataclasses import dataclass
from functools import partial

import pandas as pd
import streamlit as st

from vizkit.analysis.comparison.published import IMAGENET, Classifier
from vizkit.analysis.remarks.compute import most_and_least
from vizkit.image import Picture
from vizkit.models import Loaded, pixels_of
from vizkit.models.probes.cost import Measured, tokens_of
from vizkit.ui import reading
from vizkit.ui.pages.compare import images
from vizkit.ui.plain import plain
from vizkit.ui.session import background, cached, chosen
from vizkit.ui.session.remembered import shelf
from vizkit.ui.session.shown import title
from vizkit.ui.views import Page
from vizkit.ui.widgets.remark import remark

TASK = "compare_cost"
BATCHES = (2, 4, 8, 16, 32)


@dataclass(frozen=True, eq=False)
class Cost:
    """Of one model at its input size. `tokens`: in words. `measured`: None until somebody asks for it."""

    source: str
    loaded: Loaded
    multiply_adds: int
    tokens: str
    published: Classifier | None
    measured: Measured | None


def view(page: Page) -> None:
    picture, sources = page.picture, page.sources
    # A model made for the shape of this picture costs something else.
    opened = images.models(sources, picture if chosen.whole_image() else None)
    if not opened:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        batch = int(st.select_slider("Images at once", BATCHES, 8, key="cost_batch", bind="query-params", width=240))
        if not background.at_work(TASK):
            st.button(
                "Measure on this device",
                icon=":material/timer:",
                key="compare_measure",
                type="primary",
                on_click=begin,
                args=(opened, picture, batch),
            )
    background.show(TASK)
    costs = [cost for source, loaded in opened.items() if (cost := _cost_of(source, loaded, batch)) is not None]
    if costs:
        table(costs, batch)
        remark(most_and_least({title(cost.source): cost.multiply_adds for cost in costs}, "multiply–adds"))
        save(costs, batch)
    reading.how(
        "Multiply–adds are counted operation by operation for one image at the model's own input size: matrix "
        "products, convolutions and attention, a multiplication with its addition as one, as papers count. Time is the "
        "median wall-clock time of up to nine passes after a warm-up pass, fastest to slowest in brackets.",
        None,
        "accuracy, or what another device, another precision or a compiled model would take. Memory of inference is "
        "the peak of all tensors of a pass; memory of training is what autograd saves for the backward pass, without "
        "dropout. Both leave out the weights, the input, and what kernels need for themselves.",
        "Counted as in Liu et al. 2021; tensors as PyTorch makes and frees them. Published: Liu et al. 2021, table 1a",
    )


# ---- counted ---------------------------------------------------------------------------------------------------------
def _cost_of(source: str, loaded: Loaded, batch: int) -> Cost | None:
    """None, and a sentence on the page, where a model of a stranger cannot be run on an empty image."""
    try:
        counted, tokens = _counted((source, cached.weights_of(source), loaded.preprocessing.size_hw), loaded)
    except Exception as error:
        logging.getLogger("vizkit").exception("counting %s", source)
        st.warning(f"{plain(title(source))} could not be counted ({type(error).__name__}).", icon=":material/warning:")
        return None
    return Cost(source, loaded, counted, tokens, published(loaded), shelf().find(key_of(source, loaded, batch)))


@st.cache_resource(max_entries=64, show_spinner="Counting …")
def _counted(key: tuple, _loaded: Loaded) -> tuple[int, str]:
    from vizkit.models.probes.multiply_adds import counted

    with cached.device_lock():
        return counted(_loaded), " → ".join(f"{count:,}" for count in tokens_of(_loaded)) or "–"


def published(loaded: Loaded) -> Classifier | None:
    """The paper's numbers for this architecture at this size."""
    name = loaded.name.removeprefix("random:").partition(".")[0]
    side = set(loaded.preprocessing.size_hw)
    return next((row for row in IMAGENET if row.timm == name and side == {row.side_px}), None)


# ---- measured --------------------------------------------------------------------------------------------------------
def key_of(source: str, loaded: Loaded, batch: int) -> tuple:
    return "cost", source, cached.weights_of(source), loaded.preprocessing.size_hw, str(loaded.device), batch


def begin(opened: dict[str, Loaded], picture: Picture, batch: int) -> None:
    models = [(title(source), loaded, key_of(source, loaded, batch)) for source, loaded in opened.items()]
    background.start(TASK, partial(_measure_all, models, picture, batch))


def _measure_all(models: list[tuple[str, Loaded, tuple]], picture: Picture, batch: int, task: background.Task) -> None:
    from vizkit.models.probes.cost import measure

    for done, (name, loaded, key) in enumerate(models):

        def tell(words: str, done: int = done, name: str = name) -> None:
            task.report(f"{name}: {words}", done, len(models))

        shelf().put(key, measure(loaded, pixels_of(loaded, picture.rgb), batch, tell))
        task.results += 1


# ---- shown -----------------------------------------------------------------------------------------------------------
def table(costs: list[Cost], batch: int) -> None:
    columns = {title(cost.source): lines(cost, batch) for cost in costs}
    st.dataframe(pd.DataFrame(columns), height="content")
    if any(cost.published for cost in costs):
        st.caption("In brackets: as published. V100: the paper's images per second on that GPU; yours is another one.")
    where = {cost.measured.where for cost in costs if cost.measured}
    if where:
        st.caption(f"Measured on: {'; '.join(sorted(where))}, in float32, with the sidebar's image.")
    else:
        st.caption(
            "Memory and time are measured when you ask for it: seconds for small models, a minute for large ones."
        )


def lines(cost: Cost, batch: int) -> dict[str, str]:
    loaded, paper, measured = cost.loaded, cost.published, cost.measured
    height, width = loaded.preprocessing.size_hw

    def beside(value: str, printed: str) -> str:
        return f"{value} ({printed})" if paper else value

    entries = {
        "Parameters": beside(counted_in(loaded.parameters), f"{paper.parameters / 1e6:g} M" if paper else ""),
        "Multiply–adds": beside(counted_in(cost.multiply_adds), f"{paper.multiply_adds / 1e9:g} G" if paper else ""),
        "Memory, inference": size(measured.answering_bytes) if measured else "–",
        "Memory, training": size(measured.learning_bytes) if measured and measured.learning_bytes is not None else "–",
    }
    for count in (1, batch):
        words = "Time, one image" if count == 1 else f"Time per image, {count} at once"
        entries[words] = spread(measured.seconds[count]) if measured else "–"
    if measured:
        fastest = min(median for median, *_ in measured.seconds.values())
        entries["Images per second"] = f"{1 / fastest:,.0f}" if fastest < 0.1 else f"{1 / fastest:.2g}"
    else:
        entries["Images per second"] = "–"
    if paper:
        entries["Images per second"] += f" (V100: {paper.images_per_s:g})"
    return entries | {
        "Input": f"{width} × {height} pixels",
        "Tokens or places": cost.tokens,
        "Licence": loaded.licence,
        "Source": loaded.source,
    }


def counted_in(count: int) -> str:
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}" if count < 1000 * scale else f"{count / scale:,.0f} {unit}"
    return f"{count:.0f}"


def size(count: int) -> str:
    return f"{count / 2**30:.2f} GiB" if count >= 2**30 else f"{count / 2**20:.1f} MiB"


def spread(seconds: tuple[float, float, float]) -> str:
    median, low, high = (f"{ms:,.0f}" if (ms := 1e3 * value) >= 100 else f"{ms:.3g}" for value in seconds)
    return f"{median} ms ({low}–{high})"


# ---- saved -----------------------------------------------------------------------------------------------------------
def save(costs: list[Cost], batch: int) -> None:
    with st.popover("Save", icon=":material/download:"):
        st.download_button(
            "Table (CSV)", as_csv(costs, batch), "compare_cost.csv", "text/csv", key="cost_csv", on_click="ignore"
        )


def as_csv(costs: list[Cost], batch: int) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        (
            "model",
            "parameters",
            "multiply_adds",
            "answering_bytes",
            "learning_bytes",
            "seconds_1",
            f"seconds_{batch}",
            "height_px",
            "width_px",
            "tokens",
            "licence",
            "source",
            "device",
        )
    )
    for cost in costs:
        measured = cost.measured
        values = (
            (measured.answering_bytes, measured.learning_bytes, measured.seconds[1][0], measured.seconds[batch][0])
            if measured
            else ("",) * 4
        )
        writer.writerow(
            (
                cost.source,
                cost.loaded.parameters,
                cost.multiply_adds,
                *values,
                *cost.loaded.preprocessing.size_hw,
                cost.tokens,
                cost.loaded.licence,
                cost.loaded.source,
                measured.where if measured else "",
            )
        )
    return out.getvalue()
