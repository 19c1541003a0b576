"""The layers at which class activation maps can be made."""

from collections.abc import Sequence

from vizkit.analysis.attention.attention_map import layers as attention_layers
from vizkit.models import family_of
from vizkit.views.subject import Subject

HEAD = "before the head"
LAYERED_FAMILIES = ("vit", "swin", "gradual_reduction", "cnn")


def layer_names(of: Subject) -> dict[str, str]:
    """What a reader calls the layers at which class activation maps can be made, and their names in the trace."""
    family, trace = family_of(of.loaded.model), of.seen
    if family not in LAYERED_FAMILIES:
        return {}
    if family == "cnn" and not trace.attention:
        return {_with_cells(each.name, each.tokens.grid): each.name for each in trace.features}
    placed = [(i, each) for i, each in enumerate(attention_layers(trace), 1) if each.key.grid]
    return {_with_cells(f"layer {i}", each.key.grid): each.name for i, each in placed}


def _with_cells(name: str, grid: tuple[int, int] | None) -> str:
    return f"{name} · {' × '.join(map(str, grid))} cells" if grid else name


def places_of(of: Sequence[Subject]) -> list[str]:
    return list(dict.fromkeys([HEAD, *(name for each in of for name in layer_names(each))]))
