"""Translate: a text becomes another one, word after word; arcs show who looks at whom."""

from collections.abc import Collection, Sequence
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from vizkit.analysis.remarks import sequences as remarks
from vizkit.analysis.remarks.remark import begun
from vizkit.datasets.sequences import dates
from vizkit.figure.canvas.rows import text64
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Canvas, Line, Link, Numbers, Paper, Proof, Said
from vizkit.views.controls import number, text_model
from vizkit.views.controls import text as free_text
from vizkit.views.rules import Rule, below, maybe, one_of, record, tuple_of, whole
from vizkit.views.sequences.known import TRANSLATING
from vizkit.views.sequences.masks import Masks
from vizkit.views.sequences.typed import Typed, answered, facts, truth_of, typed, typed_text, with_right_weekday
from vizkit.views.subject import Subject
from vizkit.views.view import How, View
from vizkit.vocabulary import BEGIN, END, SPECIAL

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.models.sequences import SequenceModel
    from vizkit.models.sequences.generating import Written
    from vizkit.traces import Attention, Trace

KINDS = ("encoder", "decoder", "cross")
WRONG_DAY = "Thursday 3 May 1999"
HEAD = tuple_of(below(1000), maybe(below(1000)))  # a layer and its head; the script knows how many there are
Picked = dict[str, tuple[int, int | None]]
Many: TypeAlias = "tuple[Written, Trace, Tensor | None]"


class Translate(View):
    """Which words each digit of a date looks at while it is written."""

    text_model: str = text_model(*TRANSLATING, key="sequence_model")
    text: str = typed_text()
    word: int = number(
        "Word", 0, 999, 0, "Of those written; 0 for the first that is wrong, or the clearest.", key="word", inside=True
    )
    heads: str = free_text(
        "Heads",
        "",
        "Of each kind of attention the layer and the head from 0, such as cross.0.1; without a head their mean.",
        key="heads",
        inside=True,
    )
    force: str = free_text(
        "Forced words",
        "",
        "With which the target has to begin; after ⇐ the source that they are for.",
        longest=900,
        key="force",
        inside=True,
        runs=True,
    )

    overlays = False
    how = How(
        "Orange: which words of the source a written word looks at. Blue: the source's words at one another. "
        "Green: a written word at those before it, never at later ones. Hover a word; click a probability to write "
        "that word instead.",
        r"\mathrm{softmax}(Q K^\top / \sqrt{d_k} + \text{mask})\, V",
        "why a word was written: weights say where a layer looks, not what it makes of it.",
        "Vaswani et al. 2017",
    )

    def title(self, of: Subject) -> str:
        read, (written, _, _) = self.made(of)
        source = " ".join(read.model.vocabulary.spelled(read.model.source_ids(read.words)))
        return f"{read.title}: {source} becomes {read.model.text_of(written.words)}"

    def made(self, of: Subject) -> tuple[Typed, Many]:
        """(the text, what was written from it): forced words that this model does not know are left out."""
        read = typed(of, self.text_model, self.text)
        if not read.model.translates:
            raise NotApplicable(
                f"{read.title} reads one text and has no decoder: Masks shows where it looks and what it expects."
            )
        words, known = read.told(self.force), read.model.vocabulary.numbers
        forced = tuple(words.split(" ")[:40]) if words else ()
        return read, read.made(translated, forced if all(word in known for word in forced) else ())

    def show(self, of: Subject) -> Blocks:
        from vizkit.models.sequences import greedy

        read, (written, trace, shares) = self.made(of)
        source = tuple(read.model.vocabulary.spelled(read.model.source_ids(read.words)))
        parts, picked = parts_of(trace, shares), picks(self.heads)
        drawn = {kind: chosen(parts, kind, picked.get(kind)) for kind in KINDS}
        truth = truth_of(read)
        right = [*truth, SPECIAL[END]][: len(written.steps)] if truth else []
        outputs = [output(*pair) for pair in zip_longest(written.steps, right, fillvalue="")]
        at = min(self.word or opens_on([each["word"] for each in outputs], truth, drawn["cross"]), len(outputs))
        verb = remarks.LOOKS if shares is None else "depends most on"
        forced = {place: each["word"] for place, each in enumerate(outputs, 1) if each["forced"]}
        said = answered(read, written.words, forced)
        if drawn["cross"] is not None:
            words = SPECIAL[BEGIN], *(each["word"] for each in outputs)
            said = f"{begun(remarks.of_look(words, at - 1, source, drawn['cross'][at - 1].tolist(), verb))} {said}"
        if (other := with_right_weekday(read)) is not None:
            answer = answered(other, other.made(greedy).words)
            said += f" With the right weekday {answer[:1].lower()}{answer[1:]}"
        data = {
            "of": f"{read.title} {read.words} {[step.taken.word for step in written.steps]}",
            "source": source,
            "outputs": outputs,
            "parts": [packed(*part) for part in parts],
            "at": at,
            "pick": picked,
            "looks": verb,
        }
        label = (
            f"{read.title}: {' '.join(read.words)} becomes {' '.join(written.words)}. Arrow keys go from word to word."
        )
        tells = {
            "force": (forced_rule(written, read), "force"),
            "at": (whole(1, len(written.steps)), "word"),
            "pick": (heads_rule({kind for kind, _, _ in parts}), "heads"),
        }
        still = Paper(partial(on_paper, source, written, drawn, at, right))
        yield Said(said)
        yield Canvas("vizkit_translate", data, label, tells, (still,))
        if shares is not None:
            yield Line(
                f"The {read.title} has no attention: when it begins to write, all that it knows of the source is its "
                "last state. The lines are shares of the gradient instead: which word would change the written one "
                "most."
            )
        yield Line(facts(read.model))
        if looks := remarks.of_alignment(read.model.facts.get("alignment", {})):
            yield Line(looks)
        yield Proof(trace)
        if read.model.data == "dates":
            wrong_day = Translate(text_model=self.text_model, text=WRONG_DAY)
            yield Link("Challenge: does a wrong weekday change the date?", wrong_day)
        months = [str(at) for at, word in enumerate(read.words) if word in (*dates.MONTHS, *dates.MONTHS_SHORT)]
        if read.model.data == "dates" and months:  # in numbers alone a month is no word
            hidden = read.telling(",".join(months))
            behind = Masks(mask="BERT", text=self.text or dates.EXAMPLES[0], hidden=hidden)
            yield Link("Challenge: hide the month from BERT", behind)
        yield Numbers(partial(arrays, source, written, trace, shares))


def translated(model: "SequenceModel", words: tuple[str, ...], prefix: tuple[str, ...]) -> Many:
    """What is written from `words`, its recording, and without attention the shares of the gradient. Made once:
    choosing a head or a word runs no model."""
    from vizkit.models.sequences import continue_with, trace_pair
    from vizkit.models.sequences.influence import influence

    written = continue_with(model, words, prefix)
    trace = trace_pair(model, words, written.words)
    return written, trace, None if trace.attention else influence(model, words, written.words).shares


# ---- weights ---------------------------------------------------------------------------------------------------------
def kind_of(layer: "Attention") -> str:
    """Which of the three kinds of attention a layer of an encoder–decoder is."""
    if layer.query.name != layer.key.name:
        return "cross"
    return "decoder" if layer.query.name == "target" else "encoder"


def parts_of(trace: "Trace", shares: "Tensor | None") -> "list[tuple[str, str, Tensor]]":
    """(kind, title where it is no layer, weights by head) of every layer, and of all of them multiplied; without
    attention the shares of the gradient."""
    from vizkit.analysis.sequences.rollout import origins

    if shares is not None:
        return [("cross", "Gradient", shares[None])]
    layers = [(kind_of(layer), "", layer.weights[0].float()) for layer in trace.attention]
    if not any(kind == "encoder" for kind, _, _ in layers):
        return layers
    multiplied = origins(trace)
    return [
        *layers,
        ("encoder", "Encoder, rollout", multiplied.encoder[None]),
        ("cross", "Rollout → source", multiplied.source[None]),
    ]


def chosen(parts: "Sequence[tuple[str, str, Tensor]]", kind: str, pick: tuple[int, int | None] | None) -> Any:
    """The weights that are drawn of a kind, (query, key): of the last layer the mean where nothing is picked."""
    own = [(title, weights.numpy()) for each, title, weights in parts if each == kind]
    if not own:
        return None
    layer, head = pick or (max(at for at, (title, _) in enumerate(own) if not title or len(own) == 1), None)
    weights = own[min(layer, len(own) - 1)][1]
    return weights[head] if head is not None and head < len(weights) else weights.mean(0)


def clearest(cross: np.ndarray | None) -> int:
    """The written word, from 1, whose row is the most peaked."""
    return 1 if cross is None else 1 + int(cross.max(-1).argmax())


def opens_on(words: Sequence[str], truth: Sequence[str], cross: np.ndarray | None) -> int:
    """The written word, from 1, that is looked at before one is chosen: the first that is wrong, or the clearest."""
    right = [*truth, SPECIAL[END]] if truth else []
    wrong = (at for at, (word, true) in enumerate(zip(words, right, strict=False), 1) if word != true)
    return next(wrong, clearest(cross))


def packed(kind: str, title: str, weights: "Tensor") -> dict[str, Any]:
    heads, queries, keys = weights.shape
    values = text64(weights.numpy().astype("<f4"))
    return {"kind": kind, "heads": heads, "queries": queries, "keys": keys, "weights": values, "title": title}


def output(step: Any, right: str) -> dict[str, Any]:
    """`right`: the word that should stand there, "" where nobody knows."""
    top = [(choice.word, choice.probability) for choice in step.top]
    return {"word": step.taken.word, "forced": step.taken.word != top[0][0], "top": top, "right": right}


def picks(heads: str) -> Picked:
    """What the field says, as far as it can be read."""
    found: Picked = {}
    for entry in heads.split(","):
        kind, _, rest = entry.partition(".")
        layer, _, head = rest.partition(".")
        if kind in KINDS and layer.isdecimal() and len(layer) < 4 and (head.isdecimal() or not head) and len(head) < 4:
            found[kind] = int(layer), int(head) if head else None
    return found


# ---- what the script tells -------------------------------------------------------------------------------------------
def heads_rule(kinds: Collection[str]) -> Rule[str]:
    rule = record(**dict.fromkeys(kinds, HEAD))

    def read(told: object) -> str:
        return ",".join(f"{kind}.{of[0]}.{'' if of[1] is None else of[1]}" for kind, of in rule(told).items())

    return read


def forced_rule(written: "Written", read: Typed) -> Rule[str]:
    """A word in the place of another: the words before it and this one; the step 0 lets go of all."""
    words = [step.taken.word for step in written.steps]
    known = {choice.word for step in written.steps for choice in step.top}
    rule = record(step=whole(0, len(words)), word=one_of({"", *known}))

    def forced(told: object) -> str:
        step, word = rule(told).values()
        return read.telling(" ".join([*words[: step - 1], word]) if step and word else "")

    return forced


# ---- paper, numbers -------------------------------------------------------------------------------------------
def on_paper(
    source: Sequence[str], written: "Written", drawn: dict, at: int, right: Sequence[str], width: float
) -> Any:
    from vizkit.figure.sequences.arcs import Arcs

    words = [SPECIAL[BEGIN], *(step.taken.word for step in written.steps)]
    top = [(choice.word, choice.probability) for choice in written.steps[at - 1].top]
    return Arcs(source, words, drawn["cross"], drawn["encoder"], drawn["decoder"], at, top, ["", *right]).marks(width)


def arrays(source: Sequence[str], written: "Written", trace: "Trace", shares: "Tensor | None") -> dict[str, np.ndarray]:
    """By kind (layer, head, query, key), empty where there is none."""
    found = {"source": np.array(source), "written": np.array([step.taken.word for step in written.steps])}
    for kind in KINDS:
        own = [layer.weights[0].float().numpy() for layer in trace.attention if kind_of(layer) == kind]
        found[kind] = np.stack(own) if own else np.zeros((0, 0, 0, 0))
    return found | {
        "logits": trace.logits.float().numpy(),
        "gradient": np.zeros((0, 0)) if shares is None else shares.numpy(),
    }
