"""The view Similarity: how alike the layers of one model, or of two, represent the same pictures."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import streamlit as st

from vizkit.analysis.remarks.interventions import of_alignment
from vizkit.figure.charts import heat_map, lying
from vizkit.ui import export, reading
from vizkit.ui.plain import plain
from vizkit.ui.session import background, cached, saved
from vizkit.ui.session.remembered import shelf
from vizkit.ui.session.shown import Shown, keep_valid, title
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from vizkit.models import Loaded

SHIPPED = Path(__file__).parents[3] / "bundled" / "experiments" / "similarity"
IMAGES = 256
TASK = "similarity"
MOST_NUMBERED = 12
ITSELF = "itself"


class Alike(NamedTuple):
    """CKA of every layer of one model (rows) with every layer of another one."""

    values: np.ndarray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    data: str
    images: int


def view(page: Page) -> None:
    shown = page.focus
    other = beside(page, shown)
    name = title(shown.name)
    alike = shipped(shown.name, other) or measured(shown, other)
    if alike is None:
        return
    figure = map_of(alike, name, title(other))
    st.markdown(f"**How alike two layers represent pictures, 0 to 1**: {plain(name)} and {plain(_named(shown, other))}")
    with st.container(width=640):
        chart(figure, "similarity_map", f"CKA of the layers of {name} with those of {title(other)}")
    remark(of_alignment(alike.values, name, "" if other == shown.name else title(other)))
    st.caption(f"{alike.images} test pictures of {alike.data}. Hover a cell for the names of its blocks.")
    keep(shown, other, alike, figure)
    reading.how(
        "Every layer says of each pair of pictures how alike they are; CKA says how far two layers agree in that: "
        "1 for a layer and itself, turned or scaled as one likes. ViTs are alike all through; CNNs fall in two blocks.",
        r"\mathrm{CKA}(K, L) = \frac{\mathrm{HSIC}_1(K, L)}{\sqrt{\mathrm{HSIC}_1(K, K)\,\mathrm{HSIC}_1(L, L)}}, "
        r"\quad K = X X^\top",
        "what is alike: a few directions of large variance can decide it.",
        "Kornblith et al. 2019; Nguyen et al. 2021; Raghu et al. 2021",
    )


def beside(page: Page, shown: Shown) -> str:
    """The other model: of those chosen in the sidebar, and of the bundled ones that were measured with this one."""
    names = dict.fromkeys([*(each.name for each in page.shown), *_models_with(shown.name)])
    options = [ITSELF, *(name for name in names if name != shown.name)]
    keep_valid("similarity_with", options)
    chosen = st.selectbox("Compared with", options, key="similarity_with", bind="query-params", width=280,
                          format_func=lambda name: name if name == ITSELF else title(name))  # fmt: skip
    return shown.name if chosen == ITSELF else str(chosen)


def _named(shown: Shown, other: str) -> str:
    return ITSELF if other == shown.name else title(other)


# ---- what is shipped ---------------------------------------------------------------------------------------------
def _files() -> list[dict]:
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted(SHIPPED.glob("*.json"))]


def _models_with(name: str) -> list[str]:
    return next((content["models"] for content in _files() if name in content["models"]), [])


def shipped(name: str, other: str) -> Alike | None:
    """Of two models that come with vizkit, as `python -m vizkit cka` measured them."""
    for content in _files():
        models: list[str] = content["models"]
        if name in models and other in models:
            return picked(content["layers"], np.array(content["cka"]), models.index(name), models.index(other),
                          content["data"], content["images"])  # fmt: skip
    return None


def picked(layers: list, values: np.ndarray, first: int, second: int, data: str, images: int) -> Alike:
    """The part of all pairs that belongs to two models by their numbers."""
    rows, columns = ([at for at, (model, _) in enumerate(layers) if model == own] for own in (first, second))
    names = [tuple(layers[at][1] for at in places) for places in (rows, columns)]
    return Alike(values[np.ix_(rows, columns)], names[0], names[1], data, images)


# ---- what is measured here ---------------------------------------------------------------------------------------
def measured(shown: Shown, other: str) -> Alike | None:
    """Any other pair, once it is asked for."""
    from vizkit.evaluation.inside.similarity import gathered

    data = "digits" if shown.loaded.preprocessing.channels == 1 else "insects"
    key = ("cka", shown.source, cached.weights_of(shown.source), shown.loaded.preprocessing, other,
           cached.weights_of(other), data)  # fmt: skip
    models = [shown.loaded] if other == shown.name else [shown.loaded, cached.model(other)]
    parts = shelf().find(key) or ()
    images = sum(part.images for part in parts)
    if images < IMAGES and not background.at_work(TASK):
        words = f"{IMAGES} pictures of {data} go through {'both models' if len(models) > 1 else 'the model'}, once."
        st.button(f"Go on after {images} pictures" if images else f"Measure on {IMAGES} pictures",
                  key="similarity_measure", icon=":material/play_arrow:", type="primary", help=words,
                  on_click=background.start, args=(TASK, partial(_measure, models, data, key)))  # fmt: skip
        st.caption(words)
    background.show(TASK)
    if not parts:
        return None
    result = gathered(models, parts)
    layers = [*result.layers]
    return picked(layers, result.values.numpy(), 0, len(models) - 1, data, result.images)


def _measure(models: "list[Loaded]", data: str, key: tuple, task: background.Task) -> None:
    from vizkit.evaluation.inside.similarity import similarity

    parts: list[Any] = [*(shelf().find(key) or ())]

    def tell(share: float) -> None:
        if parts:
            shelf().put(key, tuple(parts))
            task.results = len(parts)
        task.report(f"{share:.0%} of {IMAGES} pictures", round(1000 * share), 1000)

    similarity(models, data, IMAGES, tell=tell, parts=parts)


# ---- pictures and files ------------------------------------------------------------------------------------------
def map_of(alike: Alike, name: str, other: str) -> "object":
    """Layers from below upwards and from left to right, as published."""
    digits = 2 if max(alike.values.shape) <= MOST_NUMBERED else None
    figure = heat_map(alike.values, f"layer of {other}", f"layer of {name}", limit=1.0, digits=digits, height=480)
    rows, columns = (list(range(1, len(names) + 1)) for names in (alike.rows, alike.columns))
    figure.update_traces(x=columns, y=rows, customdata=[[(r, c) for c in alike.columns] for r in alike.rows],
                         hovertemplate="%{customdata[0]} and %{customdata[1]}: %{z:.2f}<extra></extra>",
                         colorbar=lying("CKA"))  # fmt: skip
    figure.update_xaxes(dtick=1 if len(columns) <= MOST_NUMBERED else None)
    return figure.update_yaxes(autorange=True, dtick=1 if len(rows) <= MOST_NUMBERED else None)


def keep(shown: Shown, other: str, alike: Alike, figure: "object") -> None:
    lines = (f"{shown.name} and {_named(shown, other)}; {alike.images} test pictures of {alike.data}",)
    columns = {name: alike.values[:, at].tolist() for at, name in enumerate(alike.columns)}
    numbers: Callable[[], bytes] = partial(export.npz_of, cka=alike.values, rows=np.array(alike.rows),
                                           columns=np.array(alike.columns))  # fmt: skip
    with st.container(horizontal=True):
        save("similarity", {"": saved.charts_of("CKA of layers", lines, figure)}, saved.NOTHING,
             {"All pairs (NPZ)": numbers})  # fmt: skip
        st.download_button("All pairs (CSV)", lambda: export.csv_of(columns),
                           f"{export.name_of_file(shown.name)}_cka.csv", "text/csv", key="similarity_csv",
                           icon=":material/download:", on_click="ignore")  # fmt: skip
