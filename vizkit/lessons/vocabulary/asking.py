"""How a word of a lesson is asked: which model and image it is about, and what its names and numbers stand for."""

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

from vizkit.analysis.attention import attention_map
from vizkit.geometry import id_at, id_of, middle_of
from vizkit.models.probes.model_functions import randomised
from vizkit.models.probes.swin_changes import changed
from vizkit.models.sources.loaded import likened
from vizkit.traces import Attention, NotApplicable, Tokens, not_applicable
from vizkit.views import bundled
from vizkit.views.attention import walk_row
from vizkit.views.subject import Subject

RIVALS = ("rocket", "cat")
Place = tuple[int, int]
Query = str | Place
Number = int | float
At = int | str  # a layer, a head or a class
Word = TypeVar("Word", bound=Callable[..., Any])

VOCABULARY: dict[str, Callable[..., Any]] = {}
CHANGED = {
    "shuffled": "the same model with the numbers of each of its weights in another order",
    "no shift": "a Swin whose windows do not shift",
    "no bias": "a Swin without its relative positions",
}


# ---- how a word is asked ---------------------------------------------------------------------------------------------
def word(function: Word) -> Word:
    """Into the vocabulary, remembered by the subject, with `model` and `picture` as further arguments."""
    signature = inspect.signature(function)

    @wraps(function)
    def asked(of: Subject, *given: Any, model: str = "", picture: str = "", **named: Any) -> Any:
        of = other(of, model, picture) if model or picture else of
        bound = signature.bind(of, *given, **named)
        bound.apply_defaults()
        _, *values = bound.arguments.values()
        try:
            key = of.key_of(function, *values, *(of.point if "patch" in values else ()))
        except TypeError:  # a map: nothing by which it could be found again
            return function(*bound.args, **bound.kwargs)
        return of.kept(("lesson", key), partial(function, *bound.args, **bound.kwargs))

    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default="") for name in ("model", "picture")]
    return _known(asked, signature.replace(parameters=[*signature.parameters.values(), *more]))


def says(name: str, words: str, function: Callable[..., Any], own: Callable[[Any], Any] = word) -> None:
    """The same of a function without a name; `own=plain` of one that needs no model."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = words
    own(function)


def plain(function: Word) -> Word:
    """Into the vocabulary: of maps, places and numbers alone."""

    @wraps(function)
    def asked(of: Subject, *given: Any, **named: Any) -> Any:
        return function(*given, **named)

    signature = inspect.signature(function)
    subject = inspect.Parameter("of", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    _known(asked, signature.replace(parameters=[subject, *signature.parameters.values()]))
    return function


def _known(asked: Any, signature: inspect.Signature) -> Any:
    asked.__signature__ = signature
    VOCABULARY[asked.__name__] = asked
    return asked


def other(of: Subject, model: str = "", picture: str = "", edits: str = "") -> Subject:
    """Another model, another image, or changes of the model at hand. NotApplicable for a name that is none."""
    of = of.pictured(picture) if picture else of
    if model in CHANGED:
        return of.kept(("lesson", model, of.point), partial(_changed, of, model))
    if model and model not in bundled.names():
        raise NotApplicable(f"“{model[:60]}” is no bundled model and none of: {', '.join(CHANGED)}.")
    return of.other(model) if model else _with(of, of.loaded, edits) if edits else of


def answering(of: Subject, cls: At, edits: str = "") -> tuple[Subject, int]:
    """Of whom a class is asked, and its number. A model without classes has one answer, how like its embedding is to
    that of this very image; its second one is the likeness to the embedding of another image."""
    of = other(of, edits=edits)
    if cls == "second" and of.loaded.own is not None:
        own = of.pictured(rival(of)).embedding
        return of.kept(("lesson", "rival"), lambda: _with(of, likened(of.loaded, own))), 0
    return of, class_of(of, cls)


def rival(of: Subject) -> str:
    return next(name for name in RIVALS if name != of.image)


def _changed(of: Subject, how: str) -> Subject:
    loaded = of.loaded
    made = randomised(loaded) if how == "shuffled" else changed(loaded, shift=how != "no shift", bias=how != "no bias")
    return _with(of, made)


def _with(of: Subject, loaded: Any, edits: str = "") -> Subject:
    changes = [edit for edit in edits.split(";") if edit]
    return Subject(lambda: loaded, of.original, changes, image=of.image, model=of.model, point=of.point)


def one_of(count: int, number: At, what: str) -> int:
    """From 0. NotApplicable where there are fewer."""
    index = count if number == "last" else number
    if not (isinstance(index, int) and 1 <= index <= count):
        raise NotApplicable(f"This model has {count} {what}s here; there is no {what} {str(number)[:20]}.")
    return index - 1


def layer_of(of: Subject, layer: At) -> Attention:
    if not of.layers:
        raise NotApplicable(of.seen.no_attention + ".")
    return attention_map.layers(of.whole())[one_of(len(of.layers), layer, "layer")]


def token_of(of: Subject, tokens: Tokens, query: Query) -> int:
    if isinstance(query, tuple):
        with not_applicable(ValueError):
            return id_of(tokens, query)
    if query == "patch":
        return id_at(tokens, of.asked) or 0
    if query not in tokens.special:
        raise NotApplicable(f"{of.name} has no token “{query[:20]}” in this layer.")
    return tokens.special.index(query)


def class_of(of: Subject, cls: At) -> int:
    order = of.loaded.head.values(of.seen.logits)[: len(of.loaded.labels) or None].argsort(descending=True).tolist()
    rank = {"top": 1, "second": 2}.get(str(cls), cls)
    if isinstance(rank, int):
        return order[one_of(len(order), rank, "class")]
    with not_applicable(ValueError):
        number = of.loaded.number_of(rank)
    if not 0 <= (number or 0) < len(order):
        raise NotApplicable(f"{of.name} knows no class “{str(cls)[:40]}”.")
    return number or 0


def tokens_of(of: Subject, layer: At = 1) -> Tokens:
    """Those that a layer works on; of a network without attention the places of a stage."""
    return layer_of(of, layer).query if of.layers else of.seen.features[one_of(of.depth, layer, "stage")].tokens


def grid_of(of: Subject, layer: At = 1) -> tuple[int, int]:
    if (grid := tokens_of(of, layer).grid) is None:
        raise NotApplicable(f"The tokens of {of.name} lie on no grid.")
    return grid


def asked_of(of: Subject, tokens: Tokens, query: Query) -> Any:
    """As the analyses have it: the name of a special token, or a point."""
    token = token_of(of, tokens, query)
    return query if query in tokens.special else middle_of(tokens, token)


def parts_of(of: Subject, layer: At, token: int | None) -> Any:
    return walk_row.parts_of(of, one_of(len(of.layers), layer, "layer"), token)
