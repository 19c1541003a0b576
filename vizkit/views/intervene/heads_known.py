"""What is known of the heads of a model: shipped with vizkit, or measured here, stopped and gone on with."""

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from vizkit.analysis.attention.head_atlas import HeadAtlas, from_json
from vizkit.analysis.attention.pruning import Pruning
from vizkit.models import EditError
from vizkit.traces import NotApplicable
from vizkit.views import bundled
from vizkit.views.subject import OfModel, Subject

SHIPPED = Path(__file__).parents[2] / "bundled" / "experiments" / "heads"
IMAGES = 200
BEHAVIOURS, PRUNING = "behaviours", "pruning"
WITHOUT = {"mean": "its mean", "zero": "nothing"}
IMPORTANCE = ("lost", "flipped", "estimate")


def names_of(of: Subject) -> tuple[tuple[int, int], ...]:
    return tuple((at, head) for at, layer in enumerate(of.layers) for head in range(layer.heads))


@cache
def shipped(name: str) -> HeadAtlas | None:
    """Of a model that comes with vizkit, as `python -m vizkit heads` measured it; a page calls it by its title."""
    source = next((each for each in bundled.names() if name in (each, bundled.title(each))), "")
    file = SHIPPED / f"{source.removeprefix('bundled:')}.json"
    return from_json(file.read_text(encoding="utf-8")) if source and file.is_file() else None


def first_kind(atlas: HeadAtlas) -> str:
    return next((kind for kind in WITHOUT if kind in atlas.importance), "mean")


def values_of(atlas: HeadAtlas, what: str, kind: str) -> tuple[float, ...] | None:
    if what in IMPORTANCE:
        importance = atlas.importance.get(kind)
        return None if importance is None else getattr(importance, what)
    values = atlas.behaviours.get(what)
    return None if values is None or all(map(math.isnan, values)) else values


def data_for(of: Subject) -> str:
    return "digits" if of.loaded.preprocessing.channels == 1 else "insects"


def measured_here(of: Subject) -> HeadAtlas:
    """Everything that is known so far."""
    from vizkit.evaluation.inside.head_behaviour import means
    from vizkit.evaluation.inside.head_importance import ABLATIONS, gathered

    so_far = {kind: of.find(OfModel(("heads so far", kind))) or () for kind in (BEHAVIOURS, *ABLATIONS)}
    importance = {kind: gathered(so_far[kind]) for kind in ABLATIONS if so_far[kind]}
    behaviours = means(list(so_far[BEHAVIOURS])) if so_far[BEHAVIOURS] else {}
    images = max([len(so_far[BEHAVIOURS]), *(each.images for each in importance.values())])
    pruning = {
        kind: found
        for kind, each in importance.items()
        if (found := of.find(OfModel(("heads", kind, PRUNING, each.images)))) is not None
    }
    return HeadAtlas(names_of(of), data_for(of), images, behaviours, importance, pruning)


def measured(of: Subject, kind: str, parts: list[Any], progress: Callable[[int, int], None]) -> int:
    """Fills `parts`, batch by batch, and goes on with those that are there; gives how many there are."""
    from vizkit.evaluation.inside.head_behaviour import behaviours_of
    from vizkit.evaluation.inside.head_importance import heads_of as importance_of

    def tell(share: float) -> None:
        progress(round(1000 * share), 1000)

    given = of.loaded, data_for(of), IMAGES
    try:
        if kind == BEHAVIOURS:
            behaviours_of(*given, tell=tell, parts=parts)
        else:
            importance_of(*given, ablation="zero" if kind == "zero" else "mean", tell=tell, parts=parts)
    except EditError as sentence:
        raise NotApplicable(str(sentence)) from None
    return len(parts)


def pruned(of: Subject, atlas: HeadAtlas, kind: str, progress: Callable[[int, int], None]) -> Pruning:
    from vizkit.evaluation.inside.head_pruning import pruned as fewer

    importance = atlas.importance[kind]
    parts: list[Any] = of.kept(OfModel(("heads so far", kind, PRUNING, importance.images)), list)
    return fewer(
        of.loaded,
        atlas.data,
        IMAGES,
        importance,
        ablation="zero" if kind == "zero" else "mean",
        tell=lambda share: progress(round(1000 * share), 1000),
        parts=parts,
    )
