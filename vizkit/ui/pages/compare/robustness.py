"""What the models' answers withstand: one image changed in eight ways, from not at all to far too much.

Everything is computed once, beside the page; the slider only chooses among what is there.
"""

import pandas as pd
import streamlit as st

from vizkit.analysis.comparison.perturbation import CELLS, LEVELS, PERTURBATIONS, Perturbation
from vizkit.analysis.remarks.answers import flips
from vizkit.figure.evaluation.strength_curves import legend, strength_curves
from vizkit.image import Picture
from vizkit.traces import NotApplicable
from vizkit.ui import reading
from vizkit.ui.pages.compare import images
from vizkit.ui.pages.compare.changes import SHOWN_PX, Request, as_csv, compute, followed
from vizkit.ui.plain import plain
from vizkit.ui.session import background, cached, chosen
from vizkit.ui.session.remembered import shelf
from vizkit.ui.session.shown import title
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.known import chip, chips
from vizkit.ui.widgets.remark import remark

TASK = "robustness"
BEGIN_AT = 3


def view(page: Page) -> None:
    reading.guarded(strip_of, page.picture, page.sources)
    reading.how(
        "Each chart follows the class that a model named for the image as it is: how probable does it stay while the "
        "image is changed more and more? Move the strength: the pictures show the changed image, and the line in the "
        "charts marks the strength; no model is run.",
        r"p_m\!\left(\arg\max_c p_m(c \mid x) \;\middle|\; T_s(x)\right), \qquad T_0(x) = x",
        "robustness in general: it is one image, and noise, occlusion and shuffle are one random draw (change the "
        "seed). A model that is wrong and keeps its prediction looks robust here. All changes are made before a "
        "model's own resizing and crop, so the same change may reach two models differently.",
        "Hendrycks & Dietterich 2019 (noise, blur, JPEG); Naseer et al. 2021, § 3 (occlusion, shuffle); Azulay & Weiss "
        "2019 (shift, scale)",
    )


def strip_of(picture: Picture, sources: list[str]) -> None:
    height, width = picture.rgb.shape[:2]
    if min(height, width) < CELLS:
        raise NotApplicable(f"This image has fewer than {CELLS} pixels on a side: no cells to shuffle; choose another.")
    opened = {}
    for source, loaded in images.models(sources, picture if chosen.whole_image() else None).items():
        if loaded.classifies:
            opened[source] = loaded
        else:
            st.info(
                f"{plain(title(source))} gives {loaded.head.gives}, so there is no probability to follow.",
                icon=":material/block:",
            )
    if not opened:
        return
    seed = int(
        st.number_input(
            "Seed",
            0,
            9999,
            0,
            key="robust_seed",
            bind="query-params",
            width=130,
            help="Of noise, occlusion and shuffle.",
        )
    )
    request = Request(opened, {source: cached.weights_of(source) for source in opened}, picture, seed)
    work(request)
    panels(request)


def work(request: Request) -> None:
    """Begin what is not there yet, and show its progress."""
    todo = request.todo()
    settings = (request.picture.digest, tuple(request.opened), request.seed, chosen.whole_image())
    if todo and st.session_state.get("_robust_begun") != settings:
        st.session_state["_robust_begun"] = settings
        background.start(TASK, lambda task: compute(request, todo, task))
    elif todo and not background.at_work(TASK):
        st.button(
            "Go on",
            icon=":material/play_arrow:",
            key="robust_go_on",
            on_click=background.start,
            args=(TASK, lambda task: compute(request, todo, task)),
        )
    background.show(TASK)


# ---- what is shown ---------------------------------------------------------------------------------------------------
def panels(request: Request) -> None:
    """No fragment: beside the progress, which is one, the browser now and then lost the strength in the address."""
    level = int(
        st.slider(
            "Strength",
            0,
            LEVELS - 1,
            BEGIN_AT,
            key="robust_level",
            bind="query-params",
            width=360,
            help="0 is the image itself; each chart says what a step means.",
        )
    )
    st.html(legend([title(source) for source in request.opened]))
    chips({title(source): chip(loaded) for source, loaded in request.opened.items()})
    kinds = list(PERTURBATIONS.values())
    for start in range(0, len(kinds), 4):
        for column, kind in zip(st.columns(4), kinds[start : start + 4], strict=True):
            with column:
                panel(request, kind, level)
    means(request)
    save(request)


def panel(request: Request, kind: Perturbation, level: int) -> None:
    words = kind.in_words(level)
    st.markdown(f"**{kind.title}** · {words}", help=f"{kind.about[0].upper()}{kind.about[1:]}.")
    changed = shelf().find(request.picture_key(kind.name))
    if changed is None:
        st.caption("Not computed yet.")
        return
    st.image(changed[level], output_format="PNG", width=SHOWN_PX, alt=f"{kind.title}, {words}")
    names, shares, same, answers = [], [], 0, {}
    for source, loaded in request.opened.items():
        logits, head = request.logits(source, kind.name), loaded.head
        names.append(title(source))
        shares.append(None if logits is None else followed(logits, head))
        if logits is not None:
            answers[title(source)] = [head.answers(each) for each in logits]
        same += logits is not None and head.answers(logits[level]) == head.answers(logits[0])
    known = sum(curve is not None for curve in shares)
    st.caption(f"{same} of {known} keep their answer")
    figure = strength_curves(names, kind.strengths, shares, level, kind.unit, percent=kind.percent)
    chart(figure, f"robust_{kind.name}", f"{kind.title}: probability of each model's first answer")
    if answers:
        remark(flips(answers, [kind.in_words(step) for step in range(LEVELS)]))


def means(request: Request) -> None:
    """The mean of every curve beyond strength 0."""
    rows = []
    for source, loaded in request.opened.items():
        every = {kind.title: request.logits(source, name) for name, kind in PERTURBATIONS.items()}
        there = next((logits for logits in every.values() if logits is not None), None)
        if there is None:
            continue
        head = loaded.head
        first = head.target(there[0])
        means = {
            name: None if logits is None else 100 * float(followed(logits, loaded.head)[1:].mean())
            for name, logits in every.items()
        }
        rows.append(
            {
                "model": title(source),
                "answer": loaded.label(first),
                "unchanged": 100 * float(followed(there, head)[0]),
                **means,
            }
        )
    if rows:
        st.markdown("**Mean probability of the first answer over all strengths beyond 0**")
        percent = st.column_config.NumberColumn(format="%.0f %%", width="small")
        columns = {name: percent for name in rows[0] if name not in ("model", "answer")}
        st.dataframe(pd.DataFrame(rows), hide_index=True, height="content", placeholder="–", column_config=columns)


def save(request: Request) -> None:
    with st.popover("Save", icon=":material/download:"):
        st.download_button(
            "Curves (CSV)",
            lambda: as_csv(request),
            "compare_robustness.csv",
            "text/csv",
            key="robust_csv",
            on_click="ignore",
        )
