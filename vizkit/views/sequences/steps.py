"""Step by step: one token through one layer of the transformer, every number of it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from vizkit.analysis.remarks.remark import begun
from vizkit.analysis.remarks.sequences import looker, of_both, of_look, row_names, word_of
from vizkit.percent import in_percent
from vizkit.traces import NotApplicable, tolerance
from vizkit.views.blocks import Blocks, Line, Link, Map, Numbers, Proof, Said, side_by_side
from vizkit.views.controls import choice, number, text_model
from vizkit.views.controls import text as free_text
from vizkit.views.rules import Rule, one_of, whole
from vizkit.views.sequences import BOTH
from vizkit.views.sequences.in_image import rows_of, with_image
from vizkit.views.sequences.known import BERT, GPT, TRANSFORMER
from vizkit.views.sequences.steps_of import attention, embedding, feed_forward
from vizkit.views.sequences.strips import Choice, Step, Strip, arrays, walked
from vizkit.views.sequences.translate import opens_on
from vizkit.views.sequences.typed import Typed, answered, truth_of, typed, typed_text
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.models.sequences import SequenceModel
    from vizkit.models.sequences.walk import Walk

MOST, FIRST = 99, 6  # steps; the word of a source that is followed first
SOFTMAX = "Softmax"  # what it shows first
Walked: TypeAlias = "tuple[Walk, tuple[str, ...], tuple[str, ...]]"


def count(of: Sequence[Subject], view: Any) -> int:
    """Steps of the chosen layer."""
    try:
        return len(view.steps(*view.walked(of[0])))
    except NotApplicable:
        return MOST


class StepByStep(View):
    """One word through one layer, every number from its embedding to the answer."""

    text_model: str = text_model(TRANSFORMER, BERT, GPT, key="sequence_model")
    text: str = typed_text()
    beside: Literal["a sentence", "a sentence and an image"] = choice(
        "Layer of",
        ("a sentence", BOTH),
        "The same layer of a model of images stands beside it.",
        key="steps_beside",
        runs=True,
    )
    layer: str = free_text(
        "Layer", "", "Such as decoder 1; by default the first that writes.", key="steps_layer", inside=True
    )
    token: int = number(
        "Token",
        0,
        999,
        0,
        "Of the words that stand above; 0 for that on which Translate opens.",
        key="steps_token",
        inside=True,
    )
    head: int = number("Head", 1, 999, 2, "Of that layer.", key="steps_head", inside=True)
    step: int | None = number(
        "Step",
        1,
        count,
        None,
        "Of that layer; by default its last softmax.",
        key="step",
        inside=True,
        follows=True,
        usual=lambda of: 1,
    )

    alone = True
    overlays = False
    slides = "step"
    how = How(
        "Each strip is a vector, a cell for each number. Choose a token above, or the layer and the head; go on step "
        "by step, or play. In the decoder a token first looks at what is written, then at the source. An image is a "
        "sentence of patches: beside it the map shows where the marked patch looks in the same layer and head of a "
        "model of images, and each step says what a ViT does otherwise.",
        r"\mathrm{LN}(x + \mathrm{MHA}(x)), \quad \mathrm{LN}(y + \mathrm{FFN}(y)), \quad "
        r"\mathrm{FFN}(y) = \max(0, yW_1 + b_1)\,W_2 + b_2",
        "what a number means: a channel has no name; nor that both models have learned alike.",
        "Vaswani et al. 2017, § 3; Dosovitskiy et al. 2020, eq. 1 to 4",
    )

    def title(self, of: Subject) -> str:
        read, all_of = self.walked(of)
        words, at = row_names(self.side(all_of)), self.index(all_of[0])
        return f"“{words[self.place(read, all_of)]}” through {names(all_of[0])[at]} of the {read.title}"

    def walked(self, of: Subject) -> tuple[Typed, Any]:
        read = typed(of, self.text_model, self.text)
        return read, read.made(walked_of)

    def index(self, walk: "Walk") -> int:
        """Of the layer, counted through encoder and decoder: where no layer is named, the first of the decoder, whose
        words look at those of the source, which a layer of images has not."""
        known = names(walk)
        first = len(walk.encoder) if walk.decoder and self.beside != BOTH else 0
        return known.index(self.layer) if self.layer in known else first

    def at(self, steps: Sequence[Step]) -> int:
        """The step that is shown, from 1."""
        last = max(at for at, step in enumerate(steps, 1) if step.title == SOFTMAX)
        return min(self.step or last, len(steps))

    def side(self, all_of: Walked) -> tuple[str, ...]:
        """The words that go through this layer, of those that are written the last too, which does not."""
        walk, words, target = all_of
        return words if self.index(walk) < len(walk.encoder) else ("[BEGIN]", *target)

    def place(self, read: Typed, all_of: Walked) -> int:
        """Of the word that is followed, from 0."""
        (walk, _, target), rows, token = all_of, row_names(self.side(all_of)), self.token or FIRST
        if not self.token and self.index(walk) >= len(walk.encoder) and (cross := walk.decoder[-1].cross):
            token = opens_on(target, truth_of(read), cross.weights.mean(0).numpy())
        return min(token, len(rows)) - 1

    def steps(self, read: Typed, all_of: Walked) -> list[Step]:
        """The first layer has the embedding, the last the logits."""
        walk, words, _ = all_of
        index, depth, side = self.index(walk), len(walk.encoder), self.side(all_of)
        layer = (*walk.encoder, *walk.decoder)[index]
        head, token = min(self.head, len(layer.attention.weights)) - 1, self.place(read, all_of)
        embedded = walk.source if index < depth else walk.target
        assert embedded is not None  # of a translation there are both
        steps = list[Step]()
        if index in (0, depth):
            model: Any = read.model.model
            alike = nearest(read.model, (model.source if index < depth else model.target).words.weight, side[token])
            steps += embedding(embedded, token, side[token], alike)
        own = "Self-attention" if index < depth and read.model.task != "causal" else "Masked self-attention"
        steps += attention(layer.attention, token, head, side, side, own)
        if layer.cross is not None:
            steps += attention(layer.cross, token, head, side, words, "Cross-attention")
        steps += feed_forward(layer.feed_forward, token, "Feed-forward")
        steps += [last(read.model, walk, token, side)] if index == len(names(walk)) - 1 else []
        return with_image(steps) if self.beside == BOTH else steps

    def show(self, of: Subject) -> Blocks:
        read, all_of = self.walked(of)
        walk, side = all_of[0], self.side(all_of)
        rows = row_names(side)
        index, place, steps = self.index(walk), self.place(read, all_of), self.steps(read, all_of)
        layer = (*walk.encoder, *walk.decoder)[index]
        heads = [str(each) for each in range(1, len(layer.attention.weights) + 1)]
        head = min(self.head, len(heads))
        known, label = names(walk), f"The steps of {self.title(of)}"
        choices = (
            Choice("layer", "Layer", known, known[index]),
            Choice("head", "Head", heads, str(head)),
        )
        tells = {
            "layer": (one_of(known), "layer"),
            "head": (numbered(heads), "head"),
            "word": (whole(1, len(rows)), "token"),
        }
        at = self.at(steps)
        canvas = walked(steps, at, label, rows, place, choices, tells)
        said = answered(read, all_of[2][:-1]) if read.model.translates else expected(read.model, walk, place, side)
        crossed = layer.cross if self.beside != BOTH and "Cross" in steps[at - 1].part else None
        seen, keys = (layer.attention, side) if crossed is None else (crossed, all_of[1])
        looks = seen.weights[head - 1, place].tolist()
        shares = np.zeros((0, 0))
        if self.beside == BOTH:
            number = index + 1 if index < len(walk.encoder) else index + 1 - len(walk.encoder)
            try:
                patches = rows_of(of, number, head)
            except NotApplicable as sentence:
                map = Line(str(sentence))
            else:
                shares, special = patches.row_of(patches.query_id(of.asked))
                row, column = np.unravel_index(shares.argmax(), shares.shape)
                map = Map(
                    patches,
                    of.asked,
                    f"Attention in layer {number}, head {head} of",
                    "times an equal share",
                    room=False,
                    ringed=((int(row), int(column)),),
                )
                count = shares.size + len(special)
                best = int(row) + 1, int(column) + 1, float(shares.max()) * count
                others = {name: share * count for name, share in special.items()}
                times = max(looks) * int(layer.attention.allowed[place].sum())
                word = looker(side, place), word_of(side, looks.index(max(looks))), times
                said = of_both(number, head, word, best, others)
            yield Said(said)
            yield side_by_side(canvas, map, widths=(3, 2))
            yield Link("Patches: how an image is cut", "cut")
        else:
            shown = steps[at - 1]
            if shown.title == SOFTMAX:
                looking = f"{begun(known[index])}, head {head}: {of_look(side, place, keys, looks)}"
            else:
                looking = f"{begun(known[index])}, step {at} of {len(steps)}, {shown.part}: {shown.title}."
            yield Said(f"{looking} {said}")
            yield canvas
        yield proof(walk)
        yield Numbers(lambda: arrays(steps) | {"patch_weights": shares})


def numbered(options: Sequence[str]) -> Rule[int]:
    rule = one_of(options)
    return lambda told: int(rule(told))


def names(walk: "Walk") -> list[str]:
    return [layer.name for layer in (*walk.encoder, *walk.decoder)]


def nearest(model: "SequenceModel", table: "Tensor", word: str) -> tuple[str, float]:
    """(the word whose row of the table of embeddings, (word, channel), is most like that of this one, their cosine)."""
    from vizkit.analysis.attention.positions import similarity

    own = model.vocabulary.ids([word])[0]
    alike = similarity(table.detach().float().cpu())[own]
    alike[own] = -1.0
    best = int(alike.argmax())
    return model.vocabulary.words[best], float(alike[best])


def walked_of(model: "SequenceModel", words: tuple[str, ...]) -> Walked:
    """(every number, the words that are read, those that are written from them, to the end). Of a language model the
    line with its arrow; nothing is written."""
    from vizkit.models.sequences import greedy
    from vizkit.models.sequences.walk import refuse_others, walk, walk_text

    refuse_others(model)  # before it writes
    if model.translates:
        written = greedy(model, words)
        return walk(model, words, written.words), words, written.to_the_end
    ids = model.line_ids(words)
    return walk_text(model, ids), tuple(model.vocabulary.spelled(ids)), ()


def last(model: "SequenceModel", walk: "Walk", token: int, side: tuple[str, ...]) -> Step:
    """The output of the last layer as probabilities: of the next word, of a masked model of the word at this place."""
    from vizkit.models.sequences import predictions

    logits = walk.logits[token]
    top = predictions(model, logits[None], 10)[0]
    likely, layers = logits.softmax(-1).topk(min(10, len(logits))), walk.decoder or walk.encoder
    strips = (
        Strip("x", layers[-1].feed_forward.left[token]),
        Strip("logits of all words", logits),
        Strip("softmax: the ten most probable", likely.values, [choice.word for choice in top], "weights"),
    )
    said = f"One score for each of the {len(logits)} words of the vocabulary. {expected(model, walk, token, side)}"
    return Step("Output", "Logits", "softmax(W x + b)", said, strips)


def expected(model: "SequenceModel", walk: "Walk", token: int, side: tuple[str, ...]) -> str:
    """What the model holds for most probable at a word, or after it, beside what a text that is read has there."""
    from vizkit.models.sequences import predictions

    top, place = predictions(model, walk.logits[token][None], 1)[0][0], "At" if model.task == "masked" else "After"
    after = token + (model.task != "masked")
    there = "" if model.translates or after == len(side) else side[after]
    verdict = "" if not there else ", which is right" if there == top.word else f"; the text has “{there}”"
    return f"{place} “{side[token]}” the most probable word is “{top.word}”, {in_percent(top.probability)}{verdict}."


def proof(walk: "Walk") -> Proof:
    """Whether these numbers end where the model does."""
    import torch

    words = f"Computed from these numbers, the logits are the model’s own, within {walk.error:.0e}"
    return Proof(None, words, walk.error <= tolerance(torch.float32, walk.logits.device))
