"""What is known of the heads of a model: shipped with vizkit, or measured here, stopped and gone on with."""

import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING

from vizkit.analysis.attention.head_atlas import HeadAtlas, from_json
from vizkit.analysis.attention.head_importance import HeadImportance
from vizkit.analysis.attention.pruning import Pruning
from vizkit.datasets import photographs
from vizkit.explanations.parts import RunError
from vizkit.heads import EMBEDDING, LIKENESS
from vizkit.models import EditError
from vizkit.traces import not_applicable
from vizkit.views import bundled
from vizkit.views.measured_with import EXPERIMENTS, others
from vizkit.views.subject import OfModel, Subject

if TYPE_CHECKING:
    from vizkit.evaluation.inside.heads import Ablation
    from vizkit.explanations.kept import Kept
    from vizkit.models import Loaded

IMAGES = 200
BEHAVIOURS, PRUNING = "behaviours", "pruning"
WITHOUT = {"mean": "its mean", "zero": "nothing"}
ABLATION: "dict[str, Ablation]" = {"mean": "mean", "zero": "zero"}
IMPORTANCE = ("lost", "flipped", "estimate")


def names_of(of: Subject) -> tuple[tuple[int, int], ...]:
    return tuple((at, head) for at, layer in enumerate(of.layers) for head in range(layer.heads))


@cache
def shipped(name: str) -> HeadAtlas | None:
    """Of a model that comes with vizkit, as `python -m vizkit heads` measured it with these weights; a page calls it by
    its title."""
    source = next((each for each in bundled.names() if name in (each, bundled.title(each))), "")
    record = f"heads/{source.removeprefix('bundled:')}.json"
    there = source and (EXPERIMENTS / record).is_file() and not others(record)
    return from_json((EXPERIMENTS / record).read_text(encoding="utf-8")) if there else None


def first_kind(atlas: HeadAtlas) -> str:
    return next((kind for kind in WITHOUT if kind in atlas.importance), "mean")


def values_of(atlas: HeadAtlas, what: str, kind: str) -> tuple[float, ...] | None:
    if what in IMPORTANCE:
        importance = atlas.importance.get(kind)
        return None if importance is None else getattr(importance, what)
    values = atlas.behaviours.get(what)
    return None if values is None or all(map(math.isnan, values)) else values


def known_of(loaded: "Loaded", names: Iterable[str]) -> list[str]:
    """Which of these numbers a model has: one without classes loses likeness and nothing else, which takes a pass for
    each head and comes last."""
    if loaded.classifies:
        return [*names]
    losses = ["lost"] if loaded.head in (EMBEDDING, LIKENESS) else []
    return [*(name for name in names if name not in IMPORTANCE), *losses]


def data_for(of: Subject, kind: str) -> tuple[str, int]:
    """What a model is measured on, and how many of them: where one without classes looks is seen on the photographs at
    hand, which are too few for what it loses."""
    if kind == BEHAVIOURS and not of.loaded.classifies:
        return "photographs", min(IMAGES, len(photographs.NAMES))
    return "digits" if of.loaded.preprocessing.channels == 1 else "insects", IMAGES


def rows_of(of: Subject, kind: str) -> "Kept":
    """What each does, or what is lost without each, over IMAGES images: rows that are there, and how to make them."""
    from vizkit.evaluation.inside import heads

    given = of.opened, *data_for(of, kind)
    if kind == BEHAVIOURS:
        return heads.behaviours(*given, weights=of.weights)
    return heads.importance(*given, ABLATION[kind], weights=of.weights)


def measured_here(of: Subject, kind: str) -> HeadAtlas:
    """Everything that is known so far of the images of what is shown."""
    from vizkit.evaluation.inside.heads import means, summed

    data, _ = alike = data_for(of, kind)
    found = {each: rows_of(of, each).rows() for each in (BEHAVIOURS, *ABLATION) if data_for(of, each) == alike}
    rows = {each: one for each, one in found.items() if one is not None}
    importance = {each: summed(rows[each], names_of(of)) for each in ABLATION if each in rows}
    behaviours = means(rows[BEHAVIOURS]) if BEHAVIOURS in rows else {}
    images = max(map(len, rows.values()), default=0)
    pruning = {
        kind: found
        for kind, each in importance.items()
        if (found := of.find(OfModel(("heads", kind, PRUNING, each.images)))) is not None
    }
    return HeadAtlas(names_of(of), data, images, behaviours, importance, pruning)


def measured(kept: "Kept", progress: Callable[[int, int], None]) -> int:
    """Makes what is missing; gives how many images there are."""
    with not_applicable(EditError, RunError):
        kept.fill(tell=lambda done, total, _: progress(done, total or done))
    return kept.done


def pruned(of: Subject, order: HeadImportance, kind: str, progress: Callable[[int, int], None]) -> Pruning:
    from vizkit.evaluation.inside import heads

    kept = heads.without(of.opened, *data_for(of, kind), order, ABLATION[kind], weights=of.weights)
    measured(kept, progress)
    return heads.pruned(kept.every(), order)
