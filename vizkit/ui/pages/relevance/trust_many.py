"""Methods compared over many images: mean and spread of every score, each for its predicted class."""

import streamlit as st

from vizkit.analysis.attribution.explaining import METHODS, why_not
from vizkit.analysis.trust.scores import Score, score_many
from vizkit.datasets.image_set import ImageSet
from vizkit.scoring import cases, pictures
from vizkit.ui import export
from vizkit.ui.pages.relevance import trust_table
from vizkit.ui.pages.relevance.trust_choice import Choice, opened
from vizkit.ui.plain import plain
from vizkit.ui.session import background, cached, chosen
from vizkit.ui.session.explained import Request, key_of, target_trace
from vizkit.ui.session.remembered import shelf
from vizkit.ui.session.shown import Shown, title
from vizkit.ui.sidebar import inputs

TASK = "trust many"
UPDATES = 12  # the page is drawn again so many times on the way


def show(shown: Shown, choice: Choice) -> None:
    images = pictures(shown.loaded, choice.over, choice.images) if choice.images else opened(inputs.read_uploads()[0])
    methods = _methods_of(shown, choice)
    measures = tuple(m for m in choice.measures if m != "truth" or choice.over == "insects")
    key = (
        "many",
        shown.source,
        cached.weights_of(shown.source),
        shown.loaded.preprocessing,
        images.digest,
        methods,
        measures,
    )
    done: tuple[list[Score], ...] = shelf().find(key) or ()
    st.caption(
        f"{plain(title(shown.source))} · {len(images)} images, each for its predicted class · "
        + ("newly drawn, seen by no bundled model" if choice.over == "insects" else images.name)
    )

    def work(task: background.Task) -> None:
        score_all(shown, images, methods, measures, key, task)

    if len(done) < len(images) and not background.at_work(TASK):
        words = f"Score {len(images)} images" if not done else "Score again"
        st.button(words, icon=":material/play_arrow:", key="score_many", on_click=background.start, args=(TASK, work))
    background.show(TASK)
    if done:
        rows = trust_table.show(done, "trust_many")
        st.caption(f"mean ± standard deviation over {len(done)} of {len(images)} images")
        stem = export.name_of_file(f"{shown.trace.model}_{images.name}_{len(done)}_trust")
        st.download_button("Save (CSV)", trust_table.as_csv(rows), f"{stem}.csv", "text/csv", key="trust_many_csv",
                           icon=":material/download:", on_click="ignore")  # fmt: skip
        trust_table.caveats(rows)


def _methods_of(shown: Shown, choice: Choice) -> tuple[str, ...]:
    picture = chosen.picture()
    request = Request(shown, picture, key_of(shown, picture), shown.loaded.head.target(shown.trace.logits))
    without = why_not(target_trace(request, request.target))
    return tuple(n for n, method in METHODS.items() if n not in without and (not method.slow or n in choice.slow))


def score_all(
    shown: Shown,
    images: ImageSet,
    methods: tuple[str, ...],
    measures: tuple[str, ...],
    key: tuple,
    task: background.Task,
) -> None:
    """In a thread. What was scored is kept when the work is stopped."""
    scored: list[list[Score]] = []

    def progress(done: int, total: int) -> None:
        task.report(f"image {len(scored) + 1} of {len(images)}", len(scored) * total + done, len(images) * total)

    progress(0, 1)
    every = cases(shown.loaded, images, randomised="randomisation" in measures, again="sensitivity" in measures)
    for scores in score_many(every, methods, measures=measures, progress=progress):  # pyright: ignore[reportArgumentType]
        scored.append(scores)
        shelf().put(key, tuple(scored))
        if len(scored) % max(1, len(images) // UPDATES) == 0:
            task.results += 1
