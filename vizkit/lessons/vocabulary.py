"""The words of a lesson's expressions: small questions to the model and the picture at hand.

A word takes the subject first and then plain numbers and names; it gives a map (row × column of patches), a place
(row, column from 0), a number or a text. Layers, blocks, heads and stages are counted from 1, or `last`. `head`: a
number or `mean`. `query` and `key`: a special token such as `cls`, `patch` for the one under the cursor (the middle of
the picture until somebody clicks), or a place. `cls`, a class: `top`, `second`, a rank, or its name.

Every word of a model also takes `model`, a bundled model or one of CHANGED, and `picture`, one that comes with vizkit.
What a model does not have raises NotApplicable with one sentence.
"""

import inspect
import math
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.traces import Attention, NotApplicable, Tokens
from vizkit.views import bundled
from vizkit.views.subject import Subject

Map = Float[Tensor, "row column"]
Place = tuple[int, int]
Query = str | Place
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
        asks = other(of, model, picture) if model or picture else of
        bound = signature.bind(asks, *given, **named)
        bound.apply_defaults()
        if asks.has_model and "patch" in bound.arguments.values():
            named = {**named, "_at": asks.point}
        try:
            key = asks.key_of(function, *given, *named.items())
        except TypeError:  # a map: nothing by which it could be found again
            return function(*bound.args, **bound.kwargs)
        return asks.kept(("lesson", key), lambda: function(*bound.args, **bound.kwargs))

    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default="") for name in ("model", "picture")]
    return _known(asked, signature.replace(parameters=[*signature.parameters.values(), *more]))


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


def other(of: Subject, model: str, picture: str, edits: str = "") -> Subject:
    """Another model, another picture, or changes of the model at hand. NotApplicable for a name that is none."""
    if picture and picture != of.image:
        of = of.pictured(picture)
    if model in CHANGED:
        return of.kept(("lesson", model), lambda: _changed(of, model))
    if model and model not in bundled.names():
        raise NotApplicable(f"“{model[:60]}” is no bundled model and none of: {', '.join(CHANGED)}.")
    return of.other(model) if model else _with(of, of.loaded, edits)


def _changed(of: Subject, how: str) -> Subject:
    from vizkit.models.probes.model_functions import randomised
    from vizkit.models.probes.swin_changes import changed

    if how == "shuffled":
        return _with(of, randomised(of.loaded))
    return _with(of, changed(of.loaded, shift=how != "no shift", bias=how != "no bias"))


def _with(of: Subject, loaded: Any, edits: str = "") -> Subject:
    changes = [edit for edit in edits.split(";") if edit]
    return Subject(lambda: loaded, of.original, changes, image=of.image, model=of.model, point=of.point)


def _layer(of: Subject, layer: int | str) -> Attention:
    count = len(of.layers)
    if not count:
        raise NotApplicable(of.seen.no_attention + ".")
    index = count if layer == "last" else int(layer)
    if not 1 <= index <= count:
        raise NotApplicable(f"{of.name} has {count} attention layers; there is no layer {layer}.")
    from vizkit.analysis.attention.attention_map import layers

    return layers(of.whole())[index - 1]


def _index(of: Subject, layer: int | str) -> int:
    return (len(of.layers) if layer == "last" else int(layer)) - 1


def _head(of: Subject, layer: Attention, head: int | str) -> int | None:
    if head == "mean":
        return None
    if not 1 <= int(head) <= layer.heads:
        raise NotApplicable(f"This layer of {of.name} has {layer.heads} heads; there is no head {head}.")
    return int(head) - 1


def _token(of: Subject, tokens: Tokens, query: Query) -> int:
    from vizkit.geometry import id_at, id_of

    if isinstance(query, tuple):
        try:
            return id_of(tokens, query)
        except ValueError as sentence:
            raise NotApplicable(str(sentence)) from None
    if query == "patch":
        return id_at(tokens, of.asked) or 0
    if query not in tokens.special:
        have = f"only {', '.join(tokens.special)}" if tokens.special else "no special token"
        raise NotApplicable(f"{of.name} has no token “{query[:20]}” in this layer, {have}.")
    return tokens.special.index(query)


def _class(of: Subject, cls: int | str) -> int:
    order = of.seen.logits.argsort(descending=True).tolist()
    rank = {"top": 1, "second": 2}.get(str(cls), cls if isinstance(cls, int) else 0)
    if rank:
        if not 1 <= rank <= len(order):
            raise NotApplicable(f"{of.name} has {len(order)} classes, so there is no rank {rank}.")
        return order[rank - 1]
    names = [of.loaded.label(number) for number in range(len(order))]
    if cls not in names:
        raise NotApplicable(f"{of.name} knows no class “{str(cls)[:40]}”.")
    return names.index(str(cls))


def _tokens(of: Subject) -> Tokens:
    """Those that the first layer works on; of a network without attention the places of its first stage."""
    return of.layers[0].query if of.layers else of.seen.features[0].tokens


def _grid(of: Subject) -> tuple[int, int]:
    if (grid := _tokens(of).grid) is None:
        raise NotApplicable(f"The tokens of {of.name} lie on no grid.")
    return grid


# ---- what a model is made of, and what it costs ----------------------------------------------------------------------
@word
def rows(of: Subject) -> int:
    """Rows of patches."""
    return _grid(of)[0]


@word
def columns(of: Subject) -> int:
    """Columns of patches."""
    return _grid(of)[1]


@word
def patches(of: Subject) -> int:
    """How many patches the first layer reads; of a CNN the places of its first stage."""
    return math.prod(_grid(of))


@word
def special_tokens(of: Subject) -> int:
    """How many tokens stand for no patch."""
    return len(_tokens(of).special)


@word
def tokens(of: Subject) -> int:
    """Length of the sequence: patches and special tokens."""
    return len(_tokens(of))


@word
def patch_side(of: Subject) -> int:
    """Side of a patch, in pixels of the model's input."""
    return round(_tokens(of).stride)


@word
def image_side(of: Subject) -> int:
    """Height of the model's input, in pixels."""
    return of.seen.image_size[0]


@word
def numbers_in_patch(of: Subject) -> int:
    """Numbers in a flattened patch: side² × colours."""
    return patch_side(of) ** 2 * of.loaded.preprocessing.channels


@word
def width(of: Subject) -> int:
    """Numbers in the vector of a token, after the first block."""
    return of.seen.features[0].values.shape[-1]


@word
def layers(of: Subject) -> int:
    """How many attention layers there are."""
    return len(of.layers)


@word
def heads(of: Subject, layer: int | str = 1) -> int:
    """How many heads a layer has."""
    return _layer(of, layer).heads


@word
def head_width(of: Subject, layer: int | str = 1) -> int:
    """Numbers in the query of one head: d_k."""
    return _parts(of, layer, None).query.shape[-1]


@word
def parameters(of: Subject) -> int:
    """Weights of the model, as single numbers."""
    return of.loaded.parameters


@word
def multiply_adds(of: Subject) -> int:
    """Multiplications, each with its addition, for one image."""
    from vizkit.models.probes.multiply_adds import counted

    return counted(of.loaded)


@word
def pairs(of: Subject, layer: int | str = 1) -> int:
    """How many pairs of a query and a key one head of a layer compares."""
    return _layer(of, layer).weights[:, 0].numel()


@word
def patches_at(of: Subject, side: float, patch: float) -> int:
    """Patches of `patch` pixels in an image of `side` × `side` pixels."""
    from vizkit.analysis.attention.patches import cost

    return cost((round(side),) * 2, round(patch), width(of), 1).tokens


@word
def cost_at(of: Subject, side: float, patch: float, part: str = "layer", window: int = 0) -> int:
    """Multiply–adds of one layer as wide as this model's, for an image of `side` × `side` pixels cut into patches of
    `patch` pixels. `part`: "layer", "attention" or "mlp"; `window`: its side in tokens, 0 for global attention."""
    from vizkit.analysis.attention.patches import cost

    if part not in ("layer", "attention", "mlp"):
        raise NotApplicable("A layer has an attention and an mlp.")
    return getattr(cost((round(side),) * 2, round(patch), width(of), heads(of), window or None), part)


# ---- what it answers -------------------------------------------------------------------------------------------------
@word
def classes(of: Subject) -> int:
    """How many classes the model knows."""
    return len(of.seen.logits)


@word
def predicted(of: Subject, cls: int | str = "top", edits: str = "") -> str:
    """The name of its first answer, of `second` or another rank; `edits` of the model, as `vizkit trace` takes them."""
    asks = other(of, "", "", edits)
    return of.loaded.label(_class(asks, cls))


@word
def logit(of: Subject, cls: int | str = "top", edits: str = "") -> float:
    """The logit of a class. `edits`: then of the changed model, for the class of the unchanged one."""
    return float(other(of, "", "", edits).seen.logits[_class(of, cls)])


@word
def probability(of: Subject, cls: int | str = "top", temperature: float = 1, edits: str = "") -> float:
    """softmax(z / T) of a class, 0 to 1. `edits`: as for `logit`."""
    from vizkit.analysis.distillation.temperature import probabilities

    logits = other(of, "", "", edits).seen.logits
    return float(probabilities(logits, _temperature(temperature))[_class(of, cls)])


def _temperature(temperature: float) -> float:
    if not 0.01 <= temperature <= 1000:
        raise NotApplicable("A temperature lies from 0.01 to 1,000.")
    return temperature


@word
def doubt(of: Subject, temperature: float = 1) -> float:
    """Entropy of the answer as a share of its largest value: 0 sure of one class, 1 all alike."""
    from vizkit.analysis.distillation.temperature import softened

    return softened(of.seen.logits, _temperature(temperature)).entropy_share


@word
def other_share(of: Subject, rank: int = 1, temperature: float = 1) -> float:
    """Dark knowledge: the share of the `rank`-th of the other classes in what the first choice leaves."""
    from vizkit.analysis.distillation.temperature import dark_knowledge

    shares = dark_knowledge(of.seen.logits, _temperature(temperature)).shares
    if not 1 <= rank <= len(shares):
        raise NotApplicable(f"Beside its first choice {of.name} has {len(shares)} classes.")
    return float(shares[rank - 1])


@word
def divergence(of: Subject, teacher: str, temperature: float = 1) -> float:
    """KL divergence of the answer from that of a bundled `teacher` of the same classes, in nats."""
    from vizkit.analysis.distillation.loss import kl

    theirs, own = other(of, teacher, "").seen.logits, of.seen.logits
    if len(theirs) != len(own):
        raise NotApplicable("A teacher has to know the same classes.")
    return float(kl(theirs[None], own[None], _temperature(temperature))[0])


@word
def likeness_of_tokens(of: Subject, layer: int | str = "last") -> float:
    """Cosine of the class token and the distillation token after a layer, −1 to 1."""
    from vizkit.analysis.distillation.two_tokens import cosines

    return float(cosines(of.whole())[_index(of, layer)])


@word
def answer_of(of: Subject, token: str = "cls", cls: int | str = "top") -> float:
    """Probability that the head of one token, `cls` or `dist`, gives a class."""
    from vizkit.models.probes.two_heads import two_heads

    both = two_heads(of.loaded, of.pixels)
    if token not in ("cls", "dist"):
        raise NotApplicable("The two heads read the tokens cls and dist.")
    return float(getattr(both, token)[0].softmax(-1)[_class(of, cls)])


@word
def answer_after(of: Subject, block: int) -> str:
    """The class that the model's own head reads after a block: the logit lens."""
    return of.loaded.label(int(_lens(of, block).argmax()))


@word
def probability_after(of: Subject, block: int, cls: int | str = "top") -> float:
    """The probability that the head gives a class after a block."""
    return float(_lens(of, block).softmax(-1)[_class(of, cls)])


def _lens(of: Subject, block: int) -> Tensor:
    from vizkit.models.probes.lenses.logit_lens import logit_lens

    lens = of.kept("lesson lens", lambda: logit_lens(of.loaded, of.whole()))
    if not 1 <= block <= len(lens.logits):
        raise NotApplicable(f"{of.name} has {len(lens.logits)} blocks; there is no block {block}.")
    return lens.logits[block - 1]


# ---- attention -------------------------------------------------------------------------------------------------------
@word
def attention(
    of: Subject, layer: int | str = "last", head: int | str = "mean", query: Query = "cls", edits: str = ""
) -> Map:
    """What a query gives every patch in a layer; with what special tokens get, 1 in all."""
    asks = other(of, "", "", edits) if edits else of
    _, row = _row(asks, layer, head, query)
    return row.places


@word
def paid_to(
    of: Subject, token: str = "cls", layer: int | str = "last", head: int | str = "mean", query: Query = "cls"
) -> float:
    """The share of its attention that a query gives a special token."""
    at, row = _row(of, layer, head, query)
    _token(of, at.key, token)
    return row.special[token]


def _row(of: Subject, layer: int | str, head: int | str, query: Query) -> tuple[Attention, Any]:
    from vizkit.analysis.attention.attention_map import attention_map
    from vizkit.geometry import middle_of

    at = _layer(of, layer)
    token = _token(of, at.query, query)
    asked = query if query in at.query.special else middle_of(at.query, token)
    return at, attention_map(at, asked, _head(of, at, head))  # pyright: ignore[reportArgumentType]


def _parts(of: Subject, layer: int | str, token: int | None) -> Any:
    from vizkit.models.probes.parts import attention_parts

    _layer(of, layer)
    index = _index(of, layer)
    return of.kept(("parts", index, token), lambda: attention_parts(of.loaded, of.pixels, index, token_id=token))


def _pair(of: Subject, layer: int | str, head: int, query: Query, key: Query) -> tuple[Any, tuple[int, int, int]]:
    """A layer taken apart, and where a pair stands in it: (head, query, key)."""
    at = _layer(of, layer)
    asks, asked = _token(of, at.query, query), _token(of, at.key, key)
    parts = _parts(of, layer, asks)
    keys = parts.key_ids.tolist()
    if asked not in keys:
        raise NotApplicable("Query and key lie in different windows, so they are never compared.")
    return parts, (_head(of, at, head) or 0, parts.query_ids.tolist().index(asks), keys.index(asked))


@word
def score(of: Subject, layer: int | str, head: int, query: Query, key: Query, scaled: bool = True) -> float:
    """q · k, divided by √d_k unless `scaled` is False: what softmax gets, without bias and mask."""
    parts, place = _pair(of, layer, head, query, key)
    return float((parts.scaled if scaled else parts.scores)[place])


@word
def weight(of: Subject, layer: int | str, head: int, query: Query, key: Query, scaled: bool = True) -> float:
    """The weight after softmax. `scaled` False: what it would be without ÷ √d_k."""
    from vizkit.analysis.attention.walkthrough import steps

    parts, place = _pair(of, layer, head, query, key)
    own = parts.weights if scaled else steps(parts.query, parts.key, parts.value, 1.0, parts.bias).weights
    return float(own[place])


@word
def scores(of: Subject, layer: int | str, head: int, query: Query = "cls") -> Map:
    """The scaled scores of a query with every patch, before softmax; of a Swin NaN outside its window."""
    from vizkit.geometry import on_grid

    parts, (at, row, _) = _pair(of, layer, head, query, query)
    return on_grid(parts.scaled[at, row], parts.key_ids, parts.key_tokens)


@word
def contributions(of: Subject, layer: int | str, head: int, query: Query = "cls") -> Map:
    """Weight × length of what is passed on, ‖α f(x)‖, of every patch: a large weight on a short vector moves little."""
    from vizkit.analysis.attention.value_weighted import value_weighted
    from vizkit.geometry import on_grid

    parts, (at, row, _) = _pair(of, layer, head, query, query)
    if not parts.plain:
        raise NotApplicable(f"The heads of {of.name} are changed before they are joined.")
    moved = value_weighted(parts.weights, parts.value, parts.out_weight)
    return on_grid(moved[at, row], parts.key_ids, parts.key_tokens)


@word
def distance(of: Subject, layer: int | str, head: int | str = "mean") -> float:
    """How far a patch looks on average, in patches."""
    from vizkit.analysis.attention.statistics import mean_distance_px

    at = _layer(of, layer)
    return _of_heads(of, at, head, mean_distance_px(at)) / (at.query.stride or 1)


@word
def evenness(of: Subject, layer: int | str, head: int | str = "mean") -> float:
    """Entropy of the weights as a share of log N, mean over queries: 0 one key each, 1 all keys alike."""
    from vizkit.analysis.attention.statistics import mean_entropy

    at = _layer(of, layer)
    return _of_heads(of, at, head, mean_entropy(at)) / math.log(max(2, at.weights.shape[-1]))


@word
def on_itself(of: Subject, layer: int | str, head: int | str = "mean") -> float:
    """The share of attention that a token gives itself, mean over tokens."""
    from vizkit.analysis.attention.statistics import weight_on_itself

    at = _layer(of, layer)
    return _of_heads(of, at, head, weight_on_itself(at))


def _of_heads(of: Subject, layer: Attention, head: int | str, values: Tensor) -> float:
    at = _head(of, layer, head)
    return float(values.mean() if at is None else values[min(at, len(values) - 1)])


@word
def head_loss(of: Subject, layer: int, head: int) -> float:
    """What log p of the answer to this picture loses when a head adds nothing, in nats; below 0: it gains."""
    _head(of, _layer(of, layer), head)
    edits = f"heads:{layer}.{head}=0"
    return math.log(probability(of)) - math.log(max(probability(of, edits=edits), 1e-30))


@word
def residual_share(of: Subject, layer: int | str, query: Query = "cls") -> float:
    """‖branch‖ ÷ (‖before‖ + ‖branch‖): how much attention adds to a token's vector, beside what it had, 0 to 1."""
    token = _token(of, _layer(of, layer).query, query)
    parts = _parts(of, layer, token)
    if parts.stream is None:
        raise NotApplicable("The residual connection of this layer is not to be seen.")
    row = parts.query_ids.tolist().index(token)
    before, branch = float(parts.stream.before[row].norm()), float(parts.stream.branch[row].norm())
    return branch / (before + branch)


# ---- explanations ----------------------------------------------------------------------------------------------------
@word
def rollout(of: Subject, query: Query = "cls", depth: int | str = "last", residual: float = 0.5) -> Map:
    """Attention rollout up to a layer: the share of every patch, together 1."""
    from vizkit.analysis.attribution.rollout import rollout_by_layer, shares
    from vizkit.geometry import middle_of

    at = _layer(of, depth)
    asked = query
    if query not in ("cls", "mean"):
        asked = query if query in at.query.special else middle_of(at.query, _token(of, at.query, query))
    grown = rollout_by_layer(of.whole(), asked, residual=residual)  # pyright: ignore[reportArgumentType]
    return shares(grown[_index(of, depth)].grid)


@word
def relevance(of: Subject, method: str = "generic_relevance", cls: int | str = "top", against: int | str = "") -> Map:
    """The map of a method of the page Relevance for a class, on patches; below 0 what speaks against it."""
    from vizkit.analysis.attribution.explaining import on_patches
    from vizkit.analysis.attribution.methods import METHODS

    if method not in METHODS:
        raise NotApplicable(f"There is no method “{method[:30]}”, only {', '.join(METHODS)}.")
    rival = _class(of, against) if against else None
    return on_patches(of.explanation(method, _class(of, cls), rival))


@word
def survives(of: Subject, method: str = "generic_relevance") -> float:
    """Rank correlation of a map for the answer with that of the same model with shuffled weights, −1 to 1: near 0 is
    good."""
    from vizkit.analysis.trust.randomisation import survives as measured

    forgotten, target = other(of, "shuffled", ""), _class(of, "top")
    return measured(*(each.explanation(method, target, None) for each in (of, forgotten)))


@word
def probability_without(of: Subject, map: Map, share: float) -> float:
    """The probability of the answer when this share of the picture, where the map is highest, is blurred."""
    from vizkit.analysis.attribution.subject import cells_of
    from vizkit.analysis.trust.deletion import curves
    from vizkit.scoring import subject_of

    if not 0 < share < 1:
        raise NotApplicable("A share lies between 0 and 1.")
    subject = subject_of(of.loaded, of.rgb, _class(of, "top"), None)
    cells = cells_of(of.seen)
    (found,) = curves(subject, [map.nan_to_num()], cells, steps=20)
    return float(found.deletion[(found.share - share).abs().argmin()])


@word
def on_insect(of: Subject, map: Map) -> float:
    """The share of a map that lies on the drawn insect. NotApplicable for other pictures, whose truth nobody knows."""
    place = map.clamp(min=0).nan_to_num()
    return float((place * _covered(of, map)).sum() / place.sum().clamp(min=1e-30))


@word
def insect_share(of: Subject) -> float:
    """The share of the picture that the drawn insect covers: what a map without any aim would get."""
    return float(_covered(of, torch.empty(_grid(of))).mean())


def _covered(of: Subject, map: Map) -> Map:
    if (covered := of.covered(tuple(map.shape))) is None:
        raise NotApplicable("Where the animal is, is known of the drawn insects alone.")
    return covered


# ---- positions and vectors -------------------------------------------------------------------------------------------
@word
def positions(of: Subject) -> str:
    """How the model knows where a patch is: "learned", "relative bias", "rotary", "none" or several."""
    from vizkit.models.probes.positions import kind

    return ", ".join(kind(of.loaded))


@word
def position_likeness(of: Subject, query: Query = "patch") -> Map:
    """Cosine of the learned position of a patch with all others."""
    from vizkit.analysis.attention.positions import similarity_to

    table = _table(of)
    grid = Tokens("positions", (), (table.shape[0], table.shape[1]), stride=1.0)
    return similarity_to(table.flatten(0, 1), _token(of, grid, query)).unflatten(0, grid.grid or (1, 1))


@word
def position_cosine(of: Subject, steps: int) -> float:
    """Mean cosine of the learned positions of two patches that lie so many patches apart."""
    from vizkit.analysis.attention.positions import by_distance

    found = by_distance(_table(of))
    return float(found.mean[(found.distance - steps).abs().argmin()])


def _table(of: Subject) -> Tensor:
    from vizkit.models.probes.positions import learned_table

    if (table := learned_table(of.loaded)) is None:
        raise NotApplicable(f"{of.name} has no learned table of positions.")
    return table


@word
def likeness(of: Subject, block: int = 0, query: Query = "patch") -> Map:
    """Cosine of a patch's vector with all others after a block; 0: as embedded, before positions."""
    from vizkit.analysis.attention.positions import similarity_to
    from vizkit.models.probes.parts import patch_embedding

    tokens = _tokens(of)
    if block:
        features = of.whole().features
        if not 1 <= block <= len(features):
            raise NotApplicable(f"{of.name} has {len(features)} blocks; there is no block {block}.")
        tokens, values = features[block - 1].tokens, features[block - 1].values
    else:
        tokens = Tokens("patches", (), _grid(of), stride=tokens.stride)
        values = patch_embedding(of.loaded, of.pixels).vectors.flatten(0, 1)
    found, special = similarity_to(values, _token(of, tokens, query)), len(tokens.special)
    return found[special:].unflatten(0, tokens.grid or (1, -1))


# ---- windows that shift ----------------------------------------------------------------------------------------------
def _place(of: Subject, block: int | str) -> Any:
    from vizkit.views.swin.place import place

    return place(of, None if block == "last" else int(block))


@word
def window_side(of: Subject, block: int | str = 1) -> int:
    """Side of a window, in tokens."""
    return _place(of, block).block.window[0]


@word
def windows(of: Subject, block: int | str = 1) -> int:
    """How many windows a block cuts its tokens into."""
    return _place(of, block).windows().count


@word
def shift_of(of: Subject, block: int | str = 2) -> int:
    """By how many tokens a block's windows are shifted."""
    return _place(of, block).block.shift[0]


@word
def seen_from(of: Subject, block: int | str = 2, query: Query = "patch") -> Map:
    """1 for every token that a token may look at in a block, else 0: its window, less what the mask takes out."""
    from vizkit.analysis.swin.shifted_windows import allowed, window_of
    from vizkit.geometry import on_grid

    here = _place(of, block)
    layout = here.windows()
    window, place = window_of(layout, _token(of, here.of.tokens, query))
    ids = layout.ids[layout.windows == window]
    return on_grid(allowed(layout, window)[place].float(), ids, here.of.tokens).nan_to_num()


@word
def reach(of: Subject, block: int | str = "last") -> float:
    """The share of the image that can reach the last stage's token under the cursor by the end of a block."""
    from vizkit.views.swin.place import places
    from vizkit.views.swin.reach import fields_of

    fields = fields_of(of, places(of), of.asked)
    return fields[_place(of, block).index].share


# ---- convolution and texts -------------------------------------------------------------------------------------------
@word
def field_side(of: Subject, stage: int | str = "last") -> int:
    """Side of the receptive field of a unit that leaves a stage, in pixels of the input, padding counted."""
    from vizkit.models.probes.convolution.receptive_field import walk

    stages = walk(of.loaded).stages
    seen = stages[len(stages) - 1 if stage == "last" else int(stage) - 1]
    return max(of.seen.image_size) if seen is None else seen.rows.size


@word
def used_side(of: Subject, stage: int | str = "last", share: float = 0.68) -> float:
    """Side of the square that holds a share of what the pixels do to the middle unit of a stage, in pixels."""
    from vizkit.analysis.convolution.field_size import side_holding
    from vizkit.models.probes.convolution.effective_field import effective_fields

    with torch.enable_grad():
        fields = of.kept("lesson fields", lambda: effective_fields(of.loaded, [of.pixels]))
    field = fields[len(fields) - 1 if stage == "last" else int(stage) - 1]
    return side_holding(field.share, field.centre_yx, share)


@word
def likeness_when_moved(of: Subject, pixels: int) -> float:
    """Cosine of the features before and after the picture moves to the right, −1 to 1: 1 where nothing changes."""
    return float(_moved(of, pixels).cosine[0, 0])


@word
def probability_when_moved(of: Subject, pixels: int, cls: int | str = "top") -> float:
    """The probability of a class when the picture moves to the right by some pixels of the input."""
    return float(_moved(of, pixels).logits[0, 0].softmax(-1)[_class(of, cls)])


def _moved(of: Subject, pixels: int) -> Any:
    from vizkit.models.probes.convolution.shifting import answers_when_moved

    return answers_when_moved(of.loaded, of.pixels, [pixels])


@word
def gradient_left(of: Subject, depth: int, activation: str = "sigmoid", residual: bool = False) -> float:
    """The gradient at the first of `depth` equal layers with random weights, as a share of that at the last."""
    from vizkit.analysis.convolution.vanishing import Network, gradient_norms

    if not 2 <= depth <= 60:
        raise NotApplicable("Networks of 2 to 60 layers are measured.")
    norms = gradient_norms(Network(depth=depth, activation=activation, residual=bool(residual)))
    return float(norms[0] / norms[-1])


@word
def remembered(of: Subject, network: str, letters: int = 4, gap: int = 16) -> float:
    """How much the first of some letters, read before a gap, matters to the answer of a bundled network that repeats
    them ("RNN", "LSTM", "LSTM + attention", "Transformer"): its gradient as a share of the largest."""
    from vizkit.datasets.sequences import gaps
    from vizkit.views.sequences.known import BUNDLED
    from vizkit.views.sequences.memory import strength_of
    from vizkit.views.sequences.typed import opened

    if network not in BUNDLED or not (1 <= letters <= 12 and 0 <= gap <= 40):
        raise NotApplicable("A bundled network reads 1 to 12 letters and a gap of 0 to 40.")
    model, _ = opened(of, f"bundled:{BUNDLED[network].replace('dates', 'copy')}")
    return float(strength_of(model, gaps.source("cafebdhg"[:letters], gap))[0])


# ---- of maps, places and numbers -------------------------------------------------------------------------------------
@plain
def largest(map: Map) -> Place:
    """The place of the largest value."""
    at = int(map.nan_to_num(-math.inf).argmax())
    return at // map.shape[1], at % map.shape[1]


@plain
def at(map: Map, place: Place) -> float:
    """The value at a place."""
    return float(map[place])


@plain
def peak(map: Map) -> float:
    """The largest value."""
    return float(map.nan_to_num(-math.inf).max())


@plain
def total(map: Map) -> float:
    """The sum of all values."""
    return float(map.nan_to_num().sum())


@plain
def holding(map: Map, share: float = 0.5) -> int:
    """How many patches, the largest first, hold this share of a map."""
    from vizkit.analysis.swin.receptive_field import holding as share_of

    return round(share_of(map.clamp(min=0).nan_to_num(), share) * map.numel())


@plain
def correlation(one: Map, other: Map) -> float:
    """Rank correlation of two maps of one grid, −1 to 1."""
    from vizkit.analysis.trust.randomisation import spearman

    return float(spearman(one, other))


@plain
def overlap(one: Map, other: Map) -> float:
    """How much of two maps, each a share of its sum, lies on the same patches, 0 to 1."""
    from vizkit.analysis.swin.total_variation import total_variation

    return 1 - total_variation(one, other)


@plain
def apart(one: Place, other: Place) -> float:
    """How far two places lie apart, in patches."""
    return math.dist(one, other)


@plain
def exp(x: float) -> float:
    """eˣ."""
    return math.exp(min(x, 700))


@plain
def sqrt(x: float) -> float:
    """√x."""
    return math.sqrt(max(x, 0))


@plain
def log(x: float) -> float:
    """The natural logarithm; of less than 1e-30 that of 1e-30."""
    return math.log(max(x, 1e-30))
