"""The view Deciding parts: do the models look at what tells one insect from another?"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from vizkit.analysis.remarks.interventions import of_deciding
from vizkit.datasets import insects
from vizkit.figure.charts import heat_map, paired_bars
from vizkit.interventions.deciding import Deciding, erased_pair
from vizkit.traces import NotApplicable
from vizkit.ui import reading
from vizkit.ui.plain import plain
from vizkit.ui.session import model_names, saved
from vizkit.ui.sidebar.inputs import chosen_insect, insect, samples
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

SHIPPED = Path(__file__).parents[3] / "bundled" / "experiments" / "deciding" / "insects.json"
KINDS = {"deciding": "without the deciding parts", "others": "without as many other pixels of it"}


def view(page: Page) -> None:
    del page
    sample = chosen_insect() or insect(samples()[0])
    example(sample)
    results = shipped()
    titles = {name: model_names.title(name) for name in results}
    whole = "all insects"
    chosen = st.selectbox("Insects", [whole, *insects.LABELS], key="deciding_of", bind="query-params", width=260)
    label = None if chosen == whole else insects.LABELS.index(chosen or whole)
    ends = {kind: [result.mean(kind, label) for result in results.values()] for kind in KINDS}
    figure = paired_bars([*titles.values()], {words: [mean for mean, _ in ends[kind]] for kind, words in KINDS.items()},
                         "logits that the class loses")  # fmt: skip
    for at, kind in enumerate(KINDS):
        figure.update_traces(error_x={"type": "data", "array": [half for _, half in ends[kind]]}, selector=at)
    chart(figure, "deciding_bars", "Logits that the class loses without its deciding parts, and without other pixels")
    differences = {titles[name]: result.mean("difference", label) for name, result in results.items()}
    remark(of_deciding(differences))
    count = len(next(iter(results.values())).labels)
    st.caption(f"{count} drawings that no model has seen; means with 95 % intervals"
               + ("." if label is None else f", here of {plain(insects.LABELS[label])} alone."))  # fmt: skip
    table = np.array([[mean for mean, _ in ends[kind]] for kind in KINDS]).T
    cells = heat_map(table, "", "", "Logits that the class loses", x_names=[*KINDS.values()],
                     y_names=[*titles.values()], digits=2, square=False)  # fmt: skip
    item = saved.charts_of("Deciding parts of insects erased", (f"{count} drawings; {chosen}",), cells)
    save("deciding", {"": item}, saved.NOTHING)
    reading.how(
        "The classes of the drawn insects differ in a few parts alone. These are painted over with the picture's mean "
        "colour, and in a second picture as many other pixels of the same insect, in one piece. A model that looks at "
        "what decides loses more by the first.",
        r"\Delta = \big(z_c(x) - z_c(x \setminus D)\big) - \big(z_c(x) - z_c(x \setminus O)\big), \quad |D| = |O|",
        "that a model uses nothing else; where the body shows the class too, both cost alike. A painted patch is also "
        "a thing that the model never met.",
        "Zeiler & Fergus 2014; python -m vizkit deciding",
    )


def example(sample: insects.Sample) -> None:
    """The chosen insect, and what is erased of it."""
    pair = erased_pair(sample)
    if pair is None:
        raise NotApplicable("Too little of this insect is seen to erase a part of it; choose another one.")
    parts = " and ".join(insects.DECIDING[insects.LABELS[sample.label]])
    pictures: list[tuple[str, Any]] = [
        (insects.LABELS[sample.label], sample.picture),
        (f"without pixels of {parts}", pair.without_deciding),
        ("without as many others", pair.without_others),
    ]
    for column, (words, rgb) in zip(st.columns(3), pictures, strict=True):
        column.image(rgb, caption=plain(words), width="stretch")


def shipped() -> dict[str, Deciding]:
    """By model, as `python -m vizkit deciding` measured it."""
    content: dict[str, Any] = json.loads(SHIPPED.read_text(encoding="utf-8"))
    return {name: Deciding(tuple(fields["labels"]), tuple(fields["deciding"]), tuple(fields["others"]),
                           fields["skipped"])
            for name, fields in content["models"].items()}  # fmt: skip
