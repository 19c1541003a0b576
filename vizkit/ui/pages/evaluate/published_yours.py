"""Models of one's own beside the published ones: the shipped models and finished runs, by the pictures they were tested
on. Their test accuracy stands in their folders; what they cost is counted once."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

import vizkit
from vizkit.analysis.distillation.agreement import standard_error
from vizkit.figure.evaluation.accuracy_cost import Point, accuracy_cost
from vizkit.training.recipe import RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.ui.pages.evaluate.published_columns import Column
from vizkit.ui.plain import plain
from vizkit.ui.session.model_names import BUNDLED, trained
from vizkit.ui.session.shown import keep_valid, title
from vizkit.ui.widgets.chart import chart


@dataclass(frozen=True)
class Tested:
    """A model and its result on the test pictures of the data that it was trained on; `accuracy` from 0 to 1."""

    source: str
    folder: Path
    data: str
    accuracy: float
    images: int


@dataclass(frozen=True)
class Counted:
    """`multiply_adds` of one image at the model's own input, (height, width) pixels."""

    family: str
    parameters: int
    multiply_adds: int
    size_hw: tuple[int, int]


def tested() -> Iterator[Tested]:
    """Shipped models first, then runs, the latest first; what has no test result is left out."""
    shipped = {f"bundled:{file.parent.name}": file.parent for file in sorted(BUNDLED.glob("*/result.json"))}
    for source, folder in (shipped | trained()).items():
        run = RunFolder(folder)
        result = run.read("result.json")
        try:
            recipe = run.recipe
        except RecipeError:
            continue
        if {"test_accuracy", "test_images"} <= set(result):
            name = recipe.data.replace("\\", "/").rstrip("/").rpartition("/")[2]
            seed = f", data seed {recipe.data_seed}" if recipe.data_seed else ""
            data = f"{name}{seed}: {result['test_images']:,} test images"
            yield Tested(source, folder, data, result["test_accuracy"], result["test_images"])


@dataclass(frozen=True)
class Chosen:
    """The models that were tested on one set of pictures."""

    data: str
    models: tuple[Tested, ...]


def choose(sources: list[str]) -> Chosen | None:
    """One set of pictures by name, at first one of the models `sources`, or insects; None where no model here has a
    test result."""
    by_data: dict[str, list[Tested]] = {}
    for model in tested():
        by_data.setdefault(model.data, []).append(model)
    if not by_data:
        return None
    keep_valid("published_yours", by_data)
    own = {data for data, models in by_data.items() if any(model.source in sources for model in models)}
    names = sorted(by_data, key=lambda data: (data not in own, not data.startswith("insects:")))
    data = str(st.selectbox("Models here, tested on", names, key="published_yours", bind="query-params", width=300))
    return Chosen(data, tuple(by_data[data]))


def panel(chosen: Chosen | None, cost: Column) -> None:
    if chosen is None:
        st.markdown("**Here**")
        st.info("No model here has a test result yet; train one on the Train page.", icon=":material/model_training:")
        return
    st.markdown(f"**Here**, on {plain(chosen.data)}")
    if cost.field == "images_per_s":
        st.info(
            "Images/s in the table are a V100's. The Compare page measures your models on your own device; the two "
            "do not belong on one axis.",
            icon=":material/timer:",
        )
        return
    plot(chosen.models, cost, chosen.data)


def plot(models: tuple[Tested, ...], cost: Column, data: str) -> None:
    points, refused = list[Point](), list[str]()
    with st.spinner("Counting what the models cost …"):
        for model in models:
            counts = counted(model)
            if counts is None:
                refused.append(title(model.source))
                continue
            height, width = counts.size_hw
            error = standard_error(model.accuracy, model.images)
            source = "bundled" if model.source.startswith("bundled:") else "yours"
            points.append(
                Point(
                    title(model.source).removeprefix("run:"),
                    counts.family,
                    getattr(counts, cost.field) / cost.unit,
                    100 * model.accuracy,
                    100 * error,
                    source,
                    note=f"{height} × {width} px, {counts.parameters:,} parameters, "
                    f"{counts.multiply_adds / 1e6:,.0f} M multiply–adds",
                )
            )
    y_title = "Test accuracy (%)"
    numbers = ", ".join(f"{point.name} {point.accuracy:.1f}" for point in points)
    chart(
        accuracy_cost(points, cost.title, y_title),
        "published_yours_chart",
        f"{y_title} against {cost.title} on {data}: {numbers}",
    )
    if refused:
        st.caption(f"Not drawn, because its weights cannot be opened: {plain(', '.join(refused))}.")


def counted(model: Tested) -> Counted | None:
    """None where the model cannot be opened."""
    weights = model.folder / "model.safetensors"
    try:
        facts = weights.stat()
        return _counted(str(model.folder), (facts.st_mtime_ns, facts.st_size))
    except Exception:
        logging.getLogger("vizkit").exception("%s could not be counted", model.source)
        return None


@st.cache_data(max_entries=256, show_spinner=False)
def _counted(folder: str, weights: tuple[int, int]) -> Counted:
    from vizkit.models import family
    from vizkit.models.probes import multiply_adds
    from vizkit.models.probes.two_heads import has_two_tokens

    loaded = vizkit.load(folder, device="cpu")
    title = family(loaded.model).TITLE
    if title == "ViT" and has_two_tokens(loaded.model):
        title = "DeiT"
    return Counted(title, loaded.parameters, multiply_adds.counted(loaded), loaded.preprocessing.size_hw)
