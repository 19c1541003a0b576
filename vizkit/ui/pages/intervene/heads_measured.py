"""What is known of the heads of a model: shipped with vizkit, or measured here, stopped and gone on with."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.attention.head_atlas import HeadAtlas, from_json
from vizkit.ui.plain import plain
from vizkit.ui.session import background, cached
from vizkit.ui.session.remembered import shelf
from vizkit.ui.session.shown import Shown, title

if TYPE_CHECKING:
    from vizkit.evaluation.inside.head_importance import Ablation

SHIPPED = Path(__file__).parents[3] / "bundled" / "experiments" / "heads"
IMAGES = 200
TASK = "heads"
BEHAVIOURS, PRUNING = "behaviours", "pruning"
WORDS = {
    BEHAVIOURS: "{images} pictures of {data} go through {name}, each once.",
    "mean": "{images} pictures of {data} go through {name} once for every head, which gives its mean.",
    "zero": "{images} pictures of {data} go through {name} once for every head, which gives nothing.",
    PRUNING: "{images} pictures of {data} go through {name} with more and more heads taken away, in five orders.",
}


def shipped(name: str) -> HeadAtlas | None:
    """Of a model that comes with vizkit, as `python -m vizkit heads` measured it."""
    file = SHIPPED / f"{name.removeprefix('bundled:')}.json"
    if not name.startswith("bundled:") or not file.is_file():
        return None
    return from_json(file.read_text(encoding="utf-8"))


def atlas_of(shown: Shown) -> HeadAtlas:
    """Everything that is known so far."""
    return shipped(shown.name) or measured_here(shown)


def data_for(shown: Shown) -> str:
    return "digits" if shown.loaded.preprocessing.channels == 1 else "insects"


def measured_here(shown: Shown) -> HeadAtlas:
    from vizkit.evaluation.inside.head_behaviour import means
    from vizkit.evaluation.inside.head_importance import ABLATIONS, gathered

    names = tuple((at, head) for at, layer in enumerate(layers(shown.trace)) for head in range(layer.heads))
    behaviours = parts_of(shown, BEHAVIOURS)
    importance = {kind: gathered(parts) for kind in ABLATIONS if (parts := parts_of(shown, kind))}
    pruning = {kind: result for kind in ABLATIONS if (result := shelf().find(key_of(shown, kind, PRUNING)))}
    images = max([len(behaviours), *(each.images for each in importance.values())])
    return HeadAtlas(names, data_for(shown), images, means(behaviours) if behaviours else {}, importance, pruning)


def key_of(shown: Shown, *what: str) -> tuple:
    source = shown.source
    return ("heads", source, cached.weights_of(source), shown.loaded.preprocessing, data_for(shown), IMAGES, *what)


def parts_of(shown: Shown, kind: str) -> list[Any]:
    """What was measured, batch by batch."""
    return list(shelf().find(key_of(shown, kind)) or ())


def done(shown: Shown, kind: str) -> int:
    """Pictures that were measured."""
    return sum(1 if kind == BEHAVIOURS else len(part.plain) for part in parts_of(shown, kind))


def measure(shown: Shown, kind: str) -> None:
    """The button that starts or goes on, and the progress. `kind`: "behaviours", "mean" or "zero"."""
    if shipped(shown.name):
        return
    images = done(shown, kind)
    if images < IMAGES and not background.at_work(TASK):
        words = WORDS[kind].format(images=IMAGES, data=data_for(shown), name=plain(title(shown.source)))
        label = f"Measure on {IMAGES} pictures" if not images else f"Go on after {images} pictures"
        st.button(label, key=f"heads_measure_{kind}", icon=":material/play_arrow:", type="primary", help=words,
                  on_click=background.start, args=(TASK, work(shown, kind)))  # fmt: skip
        st.caption(words)
    background.show(TASK)


def work(shown: Shown, kind: str) -> Callable[[background.Task], None]:
    from vizkit.evaluation.inside.head_behaviour import behaviours_of
    from vizkit.evaluation.inside.head_importance import heads_of

    data, loaded, key, parts = data_for(shown), shown.loaded, key_of(shown, kind), parts_of(shown, kind)
    every = 1 if kind != BEHAVIOURS else 20

    def measured(task: background.Task) -> None:
        known = len(parts)

        def tell(share: float) -> None:
            nonlocal known
            if len(parts) > known:
                shelf().put(key, tuple(parts))
                if len(parts) // every > known // every:
                    task.results += 1
                known = len(parts)
            task.report(f"{share:.0%} of {IMAGES} pictures", round(1000 * share), 1000)

        try:
            if kind == BEHAVIOURS:
                behaviours_of(loaded, data, IMAGES, tell=tell, parts=parts)
            else:
                heads_of(loaded, data, IMAGES, ablation=_ablation(kind), tell=tell, parts=parts)
        finally:
            shelf().put(key, tuple(parts))

    return measured


def measure_pruning(shown: Shown, atlas: HeadAtlas, ablation: str) -> None:
    """The same for the accuracy with fewer and fewer heads."""
    if shipped(shown.name) or ablation not in atlas.importance:
        return
    name = f"{TASK}_{PRUNING}"
    if ablation not in atlas.pruning and not background.at_work(name):
        words = WORDS[PRUNING].format(images=IMAGES, data=atlas.data, name=plain(title(shown.source)))
        st.button("Measure", key="heads_prune", icon=":material/play_arrow:", on_click=background.start, help=words,
                  args=(name, prune(shown, atlas, ablation)))  # fmt: skip
    background.show(name)


def prune(shown: Shown, atlas: HeadAtlas, ablation: str) -> Callable[[background.Task], None]:
    from vizkit.evaluation.inside.head_pruning import pruned

    key, partly = key_of(shown, ablation, PRUNING), key_of(shown, ablation, PRUNING, "parts")
    importance, loaded = atlas.importance[ablation], shown.loaded
    parts = list((shelf().find(partly) or {}).get(importance.images, ()))

    def measured(task: background.Task) -> None:
        def tell(share: float) -> None:
            shelf().put(partly, {importance.images: tuple(parts)})  # of this order only
            task.report(f"{share:.0%} of all steps", round(1000 * share), 1000)

        result = pruned(loaded, atlas.data, IMAGES, importance, ablation=_ablation(ablation), tell=tell, parts=parts)
        shelf().put(key, result)
        task.results += 1

    return measured


def _ablation(kind: str) -> "Ablation":
    return "zero" if kind == "zero" else "mean"
