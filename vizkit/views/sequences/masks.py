"""Masks: who may look at whom, and why a mask comes before the softmax."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from vizkit.analysis.remarks.sequences import row_names, rows, strongest
from vizkit.figure.sequences.word_matrix import BLUE, GREEN, ORANGE, WordMatrix
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Columns, Heading, Line, Matrix, Numbers, Said, first_said
from vizkit.views.controls import choice, number, text_model
from vizkit.views.controls import text as free_text
from vizkit.views.sequences.known import BERT, DATES, GPT
from vizkit.views.sequences.predict import hidden_words, next_word
from vizkit.views.sequences.typed import opened, typed, typed_text
from vizkit.views.subject import Subject
from vizkit.views.view import How, View
from vizkit.vocabulary import BEGIN, SPECIAL

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.sequences.masks import Kind
    from vizkit.models.sequences import SequenceModel
    from vizkit.traces import Attention, Trace

COLOURS = {"none": BLUE, "causal": GREEN, "cross": ORANGE}
KINDS: "dict[str, tuple[Kind, ...]]" = {
    "": ("causal", "none", "cross", "BERT"),
    "translate": ("causal", "none", "cross"),
    "masked": ("BERT", "none"),
    "causal": ("causal",),
}
SIX, OWN = "six words", "a date"
EXAMPLE = "The weights of these six words are an example of textbooks, of no model; the scores are their logarithms."
Traced: TypeAlias = "tuple[tuple[str, ...], tuple[str, ...], Trace]"


def kinds(of: Sequence[Subject], view: Any) -> "tuple[Kind, ...]":
    """Those that the chosen model has."""
    try:
        return KINDS["" if view.text_model == DATES else opened(of[0], view.text_model)[0].task]
    except NotApplicable:
        return KINDS[""]


def depth(of: Sequence[Subject], view: Any) -> int:
    return max(1, len(view.layers(of[0])))


def heads(of: Sequence[Subject], view: Any) -> int:
    return max((each.heads for each in view.layers(of[0])), default=1)


class Masks(View):
    """Who may look at whom: everybody, what came before, or another text."""

    text_model: str = text_model(DATES, key="sequence_model")
    mask: str | None = choice("Mask", kinds, "Who may look at whom.", key="mask", follows=True)
    example: Literal["six words", "a date"] = choice(
        "Of",
        (SIX, OWN),
        "An example of textbooks, or the model's own weights.",
        key="mask_text",
        when=lambda view: view.text_model == DATES and view.mask in (None, "causal", "none"),
    )
    text: str = typed_text(when=lambda view: not view.six)
    layer: int = number("Layer", 1, depth, 1, key="mask_layer", follows=True, when=lambda view: view.own)
    head: int = number("Head", 1, heads, 1, key="mask_head", follows=True, when=lambda view: view.own)
    hidden: str = free_text(
        "Hidden words",
        "",
        "Their places from 0; by default the longest word.",
        longest=500,
        key="hidden",
        inside=True,
        runs=True,
    )
    next: str = free_text(
        "Written words", "", "Their numbers in the vocabulary.", longest=500, key="next", inside=True, runs=True
    )

    overlays = False
    how = How(
        "A row is a word that looks, a column a word that it looks at; hatched cells may not be looked at. The scores "
        "there become −∞ before the softmax, so that the other weights share the whole; weights that are set to 0 "
        "after it leave rows that sum to less than 1. BERT sees all places, but [MASK] instead of some words; GPT and "
        "a decoder see what came before.",
        r"\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right), \quad "
        r"M_{ij} = -\infty \ \text{where } i \text{ may not look at } j",
        "that a word is used because it may be looked at. The six words are printed with three digits.",
        "Vaswani et al. 2017, § 3.2.3; Devlin et al. 2019, § 3.1; Radford et al. 2018",
    )

    @property
    def six(self) -> bool:
        """Whether it shows the example of textbooks."""
        return self.text_model == DATES and self.mask in (None, "causal", "none") and self.example == SIX

    @property
    def own(self) -> bool:
        """Whether a layer of a model is chosen."""
        return not self.six and self.mask != "BERT"

    def kind(self, of: Subject) -> "Kind":
        known: tuple[Kind, ...] = kinds([of], self)
        return known[known.index(self.mask)] if self.mask in known else known[0]

    def title(self, of: Subject) -> str:
        return f"Mask: {self.kind(of)}, {'six words' if self.six else typed(of, self.text_model, self.text).title}"

    def layers(self, of: Subject) -> "list[Attention]":
        """Of the chosen mask."""
        try:
            read = typed(of, self.text_model, self.text)
            _, _, trace = read.made(traced)
        except NotApplicable:
            return []
        return [layer for layer in trace.attention if kind_of(layer, read.model.task) == self.kind(of)]

    def show(self, of: Subject) -> Blocks:
        from vizkit.analysis.sequences.masks import MASKS

        kind, dates = self.kind(of), self.text_model == DATES
        yield Line(f"{MASKS[kind]} {EXAMPLE if self.six else ''}".strip())
        if kind == "BERT":
            read = typed(of, BERT if dates else self.text_model, self.text)
            yield from hidden_words(read, self.hidden)
            yield Numbers(partial(arrays))
            return
        if self.six:
            yield from six_words(kind)
        else:
            yield from self.of_model(of, kind)
        causal = GPT if dates else self.text_model
        if kind == "causal" and (dates or opened(of, causal)[0].task == "causal"):
            yield from next_word(typed(of, causal, self.text), self.next)

    def of_model(self, of: Subject, kind: "Kind") -> Blocks:
        """One head's weights, and of vizkit's own models what a mask after the softmax would leave of them."""
        read = typed(of, self.text_model, self.text)
        source, target, _ = read.made(traced)
        layers = self.layers(of)
        if not layers:
            raise NotApplicable(f"{read.title} has no attention that a mask of this kind could be laid over.")
        layer = min(self.layer, len(layers)) - 1
        head = min(self.head, layers[layer].heads) - 1
        names = {"source": source, "target": target}
        queries, keys = names[layers[layer].query.name], names[layers[layer].key.name]
        if queries[0] == SPECIAL[BEGIN]:
            yield Line("A row is named by the word read → the word written then.")
        if self.text_model == DATES:
            scores = read.made(scored, kind, layer, head)
            yield from both_ways(scores, scores.softmax(-1), kind, queries, keys)
        else:
            yield from looks(layers[layer].weights[0, head].float(), kind, queries, keys)


def six_words(kind: "Kind") -> Blocks:
    import torch

    from vizkit.analysis.attention.walkthrough import SENTENCE, SENTENCE_WEIGHTS

    weights = torch.tensor(SENTENCE_WEIGHTS)  # their logarithms are the scores, up to a constant for each row
    yield from both_ways(weights.log(), weights, kind, SENTENCE, SENTENCE)


def traced(model: "SequenceModel", words: tuple[str, ...]) -> Traced:
    """(words of the source with what stands around them, those that are written to the end, the recording)."""
    from vizkit.models.sequences import greedy, trace_pair, trace_text

    ids = model.source_ids(words) if model.translates else model.line_ids(words)
    source = tuple(model.vocabulary.spelled(ids))
    if not model.translates:
        return source, (), trace_text(model, ids)
    written = greedy(model, words)
    return source, (SPECIAL[BEGIN], *written.to_the_end), trace_pair(model, words, written.words)


def scored(model: "SequenceModel", words: tuple[str, ...], kind: "Kind", layer: int, head: int) -> "Tensor":
    """Scores before the mask of one head, (query, key)."""
    from vizkit.models.sequences import greedy
    from vizkit.models.sequences.walk import walk

    steps = walk(model, words, greedy(model, words).words)
    own = (steps.encoder if kind == "none" else steps.decoder)[layer]
    part = own.cross if kind == "cross" and own.cross is not None else own.attention
    return part.scaled[head]


def kind_of(layer: "Attention", task: str) -> "Kind":
    """Which mask a layer has."""
    if layer.query.name != layer.key.name:
        return "cross"
    return "causal" if layer.query.name == "target" or task == "causal" else "none"


def both_ways(scores: "Tensor", weights: "Tensor", kind: "Kind", queries: Sequence[str], keys: Sequence[str]) -> Blocks:
    """Weights without a mask (query, key); with one, masked before and after the softmax beside each other."""
    from vizkit.analysis.sequences.masks import allowed, masked

    free = allowed(kind, *weights.shape)
    result, may = masked(weights, free), free.numpy()
    names, keys = row_names(queries), keys[: weights.shape[1]]

    def matrix(values: "Tensor", title: str, hidden: str = "", *, sums: bool = True) -> Matrix:
        mask = may if hidden else None
        return Matrix(
            WordMatrix(values.numpy(), names, keys, COLOURS[kind], mask, hidden, sums, title),
            f"{title}: {len(names)} words that look, {len(keys)} that are looked at",
        )

    yield Said(first_said(rows(result), strongest(result.before, queries, keys)))
    if may.all():
        yield matrix(weights, "Weights: every row sums to 1")
    else:
        right = (
            Heading("Right: mask, then softmax"),
            matrix(scores, "1 · Scores, −∞ where a word may not look", "−∞", sums=False),
            matrix(result.before, "2 · Softmax: every row sums to 1", "0"),
        )
        wrong = (
            Heading("Wrong: softmax, then mask"),
            matrix(weights, "1 · Softmax of all scores"),
            matrix(result.after, "2 · Weights set to 0: rows sum to less than 1", "0"),
        )
        yield Columns((right, wrong))
    given = (each.numpy() for each in (scores, weights, result.before, result.after))
    yield Numbers(partial(arrays, names, keys, *given))


def looks(weights: "Tensor", kind: "Kind", queries: Sequence[str], keys: Sequence[str]) -> Blocks:
    """One head's weights, hatched where its mask lets nothing through."""
    from vizkit.analysis.sequences.masks import allowed

    may, title = allowed(kind, *weights.shape).numpy(), "Weights after the mask and the softmax: every row sums to 1"
    mask, names, keys = None if may.all() else may, row_names(queries), keys[: weights.shape[1]]
    own = WordMatrix(weights.numpy(), names, keys, COLOURS[kind], mask, "" if may.all() else "0", True, title)
    yield Said(strongest(weights, queries, keys))
    yield Matrix(own, title)
    if not may.all():
        yield Line("Another order, masking after the softmax, is shown with the six words of “Models of dates”.")
    yield Numbers(partial(arrays, names, keys, before=weights.numpy()))


def arrays(
    queries: Sequence[str] = (),
    keys: Sequence[str] = (),
    scores: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    before: np.ndarray | None = None,
    after: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Scores, and weights (query, key): without a mask, masked before the softmax and after it; empty where there are
    none."""
    given = {"scores": scores, "weights": weights, "masked_before": before, "masked_after": after}
    words = {"queries": np.array(queries, str), "keys": np.array(keys, str)}
    return words | {name: np.zeros((0, 0)) if each is None else each for name, each in given.items()}
