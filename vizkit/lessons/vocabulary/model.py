"""What a model is made of, what it costs and what it answers."""

import math

from vizkit.analysis.attention.patches import cost
from vizkit.analysis.distillation import loss, temperature, two_tokens
from vizkit.lessons.vocabulary.asking import (
    VOCABULARY as VOCABULARY,
)
from vizkit.lessons.vocabulary.asking import (
    At,
    Number,
    answering,
    class_of,
    grid_of,
    layer_of,
    one_of,
    other,
    parts_of,
    rival,
    says,
    tokens_of,
    word,
)
from vizkit.models.probes.lenses.logit_lens import logit_lens
from vizkit.models.probes.two_heads import two_heads
from vizkit.traces import NotApplicable
from vizkit.views.patches.cut_rows import window_of
from vizkit.views.subject import Subject

says("rows", "Rows of patches in a layer.", lambda of, layer=1: grid_of(of, layer)[0])
says("columns", "Columns of patches in a layer.", lambda of, layer=1: grid_of(of, layer)[1])
says("patches", "Patches of a layer; of a CNN places of a stage.", lambda of, layer=1: math.prod(grid_of(of, layer)))
says("special_tokens", "How many tokens stand for no patch.", lambda of: len(tokens_of(of).special))
says("tokens", "Length of the sequence: patches and special tokens.", lambda of, layer=1: len(tokens_of(of, layer)))
says("patch_side", "Side of a patch, in pixels of the input.", lambda of, layer=1: round(tokens_of(of, layer).stride))
says("image_side", "Height of the model's input, in pixels.", lambda of: of.seen.image_size[0])
says("colours", "Colour channels of the model's input.", lambda of: of.loaded.preprocessing.channels)
says("layers", "How many attention layers there are.", lambda of: len(of.layers))
says("heads", "How many heads a layer has.", lambda of, layer=1: layer_of(of, layer).heads)
says(
    "head_width",
    "Numbers in the query of one head, d_k.",
    lambda of, layer=1: parts_of(of, layer, None).query.shape[-1],
)
says("parameters", "Weights of the model, as single numbers.", lambda of: of.loaded.parameters)
says("pairs", "Pairs that one head compares.", lambda of, layer=1: layer_of(of, layer).weights[:, 0].numel())
says("classes", "How many classes the model knows.", lambda of: len(of.seen.logits))


@word
def width(of: Subject, layer: At = 1) -> int:
    """Numbers in a token's vector in a layer."""
    """Of a network without attention: of a stage."""
    if of.layers and (parts := parts_of(of, layer, None)).stream is not None:
        return parts.stream.before.shape[-1]
    return of.seen.features[one_of(len(of.seen.features), layer, "stage")].values.shape[-1]


@word
def cost_at(of: Subject, side: Number, patch: Number, window: int | None = None) -> int:
    """Multiply–adds of one layer as wide as this model's, for an image of `side` × `side` pixels cut into patches of
    `patch` pixels. `window`: its side in tokens, 0 for global attention; the model's own where it is left out."""
    inside = window_of(of) if window is None else window or None
    special = len(tokens_of(of).special)
    return cost((int(side), int(side)), int(patch), width(of), inside, special=special).layer


@word
def predicted(of: Subject, cls: At = "top", edits: str = "") -> str:
    """The name of its first answer, of `second` or of another rank."""
    asked, target = answering(of, cls, edits)
    likeness = f"likeness to the embedding of the image {rival(of)}"
    return likeness if cls == "second" and asked.loaded.own is not None else asked.loaded.label(target)


@word
def probability(of: Subject, cls: At = "top", t: Number = 1, edits: str = "") -> float:
    """softmax(z / T) of a class, 0 to 1; of a model without classes the likeness of its embedding. `edits`: then of the
    changed model, for the class of the unchanged one."""
    asked, target = answering(of, cls)
    if asked.loaded.own is not None:
        return float(asked.loaded.head.values(other(asked, edits=edits).seen.logits)[target])
    return float(_soft(of, t, edits).probabilities[target])


@word
def said(of: Subject, edits: str = "") -> str:
    """What the model does with the image, in words that follow it: its first answer and how sure it is."""
    if of.loaded.own is not None:
        if not edits:
            return "gives an embedding, not a class; what a change leaves of it is its likeness to this one"
        return f"gives an embedding whose likeness to that of the image is {100 * probability(of, edits=edits):.1f} %"
    name = predicted(of, edits=edits)
    return f"says “{name}”, with a probability of {100 * probability(of, name, edits=edits):.1f} %"


says("quantity", "What its answer is measured in: probability, likeness.", lambda of: of.loaded.head.quantity)
says("classifies", "Whether it knows classes.", lambda of: of.loaded.classifies)
says("doubt", "Entropy of the answer: 0 sure, 1 all alike.", lambda of, t=1: _soft(of, t).entropy_share)


@word
def other_share(of: Subject, rank: int = 1, t: Number = 1) -> float:
    """Dark knowledge: the share of the `rank`-th of the other classes in what the first choice leaves."""
    found = temperature.dark_knowledge(of.seen.logits, float(t)).shares
    return float(found[one_of(len(found), rank, "rank")])


@word
def divergence(of: Subject, teacher: str, t: Number = 1) -> float:
    """KL divergence of the answer from that of a bundled `teacher` of the same classes, in nats."""
    theirs, own = other(of, teacher).seen.logits, of.seen.logits
    if len(theirs) != len(own):
        raise NotApplicable("A teacher has to know the same classes.")
    return float(loss.kl(theirs[None], own[None], float(t))[0])


@word
def chance(of: Subject) -> float:
    """The probability of a class by chance; of likeness 0."""
    return 0.0 if of.loaded.own is not None else 1 / len(of.seen.logits)


def _soft(of: Subject, t: Number, edits: str = "") -> temperature.Softened:
    return temperature.softened(other(of, edits=edits).seen.logits, float(min(max(t, 0.01), 1000)))


@word
def likeness_of_tokens(of: Subject, layer: At = "last") -> float:
    """Cosine of class and distillation token."""
    return float(two_tokens.cosines(of.whole())[one_of(of.depth, layer, "layer")])


@word
def probability_after(of: Subject, block: At, cls: At = "top") -> float:
    """The logit lens: what the head gives."""
    lens = logit_lens(of.loaded, of.whole()).logits
    return float(of.loaded.head.values(lens[one_of(len(lens), block, "block")])[class_of(of, cls)])


@word
def answer_of(of: Subject, token: str = "cls", cls: At = "top") -> float:
    """Probability that the head of one token of a distilled model, `cls` or `dist`, gives a class."""
    both = two_heads(of.loaded, of.pixels)
    return float({"cls": both.cls, "dist": both.dist}[token][0].softmax(-1)[class_of(of, cls)])
