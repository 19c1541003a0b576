"""Writing a text word after word: the most probable one each time, words that somebody forces, or several at once.

A step is given the last word and what was kept of those before (a transformer's keys and values, a recurrent network's
state), so nothing is computed twice. Beam search: Sutskever et al. 2014 (arXiv 1409.3215), § 3.2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.models.sequences.loaded import SequenceModel
from vizkit.traces import NotApplicable
from vizkit.vocabulary import END, SPECIAL

LONGEST = 40
Advance = Callable[[Tensor, Any], tuple[Tensor, Any]]
"""`step(token_ids (hypothesis,), state) -> (logits (hypothesis, word), state)`; the state has `rows(indices)`."""


@dataclass(frozen=True)
class Choice:
    """A word that may come, and how probable the model finds it, 0 to 1."""

    word: str
    probability: float


@dataclass(frozen=True)
class Step:
    """One word of a text: the one that was taken, the most probable ones, and whether it was forced."""

    taken: Choice
    top: tuple[Choice, ...]
    forced: bool = False


@dataclass(frozen=True)
class Written:
    """`words`: without the end. `steps`: one for each word, and one for the end. `ended`: whether the model came to an
    end, or was stopped. `log_probability`: of the whole text, in nats, forced words too."""

    words: tuple[str, ...]
    steps: tuple[Step, ...]
    ended: bool
    log_probability: float

    @property
    def to_the_end(self) -> tuple[str, ...]:
        """The words, and what comes then."""
        return *self.words, SPECIAL[END] if self.ended else "…"


def greedy(model: SequenceModel, source: Sequence[str], *, top: int = 5, longest: int = LONGEST) -> Written:
    """The target of a source, the most probable word each time. Raises as `continue_with` does."""
    return continue_with(model, source, (), top=top, longest=longest)


def continue_with(
    model: SequenceModel, source: Sequence[str], prefix: Sequence[str], *, top: int = 5, longest: int = LONGEST
) -> Written:
    """The words of `prefix` whatever the model thinks of them, then the most probable one each time.

    At most `longest` words. TextError for unknown words, NotApplicable for a model that cannot write.
    """
    forced = model.vocabulary.ids(prefix)
    logits, state = _begun(model, source)
    room = _room(model, source, longest)
    steps: list[Step] = []
    total, ended = 0.0, False
    while not ended and len(steps) < room:
        log_probabilities = logits[0].float().log_softmax(-1)
        now = forced[len(steps)] if len(steps) < len(forced) else int(log_probabilities.argmax())
        total += float(log_probabilities[now])
        taken = Choice(model.vocabulary.words[now], float(log_probabilities[now].exp()))
        steps.append(Step(taken, _top(model, log_probabilities, top), len(steps) < len(forced)))
        ended = now == model.end
        if not ended and len(steps) < room:
            logits, state = _advance(model)(torch.tensor([now], device=model.device), state)
    words = tuple(step.taken.word for step in steps)
    return Written(words[:-1] if ended else words, tuple(steps), ended, total)


def predictions(
    model: SequenceModel, logits: Float[Tensor, "token word"], top: int = 5
) -> tuple[tuple[Choice, ...], ...]:
    """The most probable words at every place of a trace's logits: behind each word of a masked model, after it of a
    causal one."""
    return tuple(_top(model, row.float().log_softmax(-1), top) for row in logits)


@dataclass(frozen=True)
class Hypothesis:
    """One text so far in a beam search. `parent`: the number of the text that it goes on from, None for the beginning;
    `probability`: of its last word after its parent; `log_probability`: of the whole, in nats."""

    word: str
    depth: int
    parent: int | None
    probability: float
    log_probability: float
    ended: bool = False


@dataclass(frozen=True)
class Beam:
    """All texts that were kept on the way, in the order of the steps; `final`: the numbers of those that were kept to
    the end, the most probable first."""

    tree: tuple[Hypothesis, ...]
    final: tuple[int, ...] = field(default=())

    def words(self, index: int) -> tuple[str, ...]:
        """The text of a hypothesis from its beginning, without the end."""
        path, at = [], self.tree[index]
        while at.parent is not None:
            path += [] if at.ended else [at.word]
            at = self.tree[at.parent]
        return tuple(path[::-1])


def beam(model: SequenceModel, source: Sequence[str], width: int = 4, *, longest: int = LONGEST) -> Beam:
    """The `width` most probable texts at every step. Raises as `continue_with` does."""
    logits, state = _begun(model, source)
    room = _room(model, source, longest)
    return search(_advance(model), logits, state, model.vocabulary.words, model.end, width, room)


@torch.no_grad()
def search(
    step: Advance,
    logits: Float[Tensor, "1 word"],
    state: Any,
    words: Sequence[str],
    end: int,
    width: int,
    longest: int,
) -> Beam:
    """Beam search with any step: texts that have ended keep their place until `width` others are more probable."""
    tree = [Hypothesis("", 0, None, 1.0, 0.0)]
    kept, live = [0], [0]  # numbers in the tree; `live` in the order of the rows of `logits`
    for depth in range(1, longest + 1):
        log_probabilities = logits.float().log_softmax(-1)
        candidates = [(tree[i].log_probability, i, None, -1) for i in kept if tree[i].ended]
        for row, i in enumerate(live):
            values, numbers = log_probabilities[row].topk(min(width, len(words)))
            candidates += [
                (tree[i].log_probability + value, i, number, row)
                for value, number in zip(values.tolist(), numbers.tolist(), strict=True)
            ]
        candidates = sorted(candidates, key=lambda candidate: -candidate[0])[:width]
        kept, live, rows, numbers = [], [], [], []
        for total, parent, number, row in candidates:
            if number is None:
                kept.append(parent)
                continue
            probability = float(log_probabilities[row, number].exp())
            tree.append(Hypothesis(words[number], depth, parent, probability, total, number == end))
            kept.append(len(tree) - 1)
            if number != end:
                live.append(len(tree) - 1)
                rows.append(row)
                numbers.append(number)
        if not live or depth == longest:
            break
        device = logits.device
        logits, state = step(torch.tensor(numbers, device=device), state.rows(torch.tensor(rows, device=device)))
    return Beam(tuple(tree), tuple(kept))


@torch.no_grad()
def _begun(model: SequenceModel, source: Sequence[str]) -> tuple[Tensor, Any]:
    """The logits of the first word, (1, word), and the state after everything that is given."""
    if not model.writes:
        raise NotApplicable(f"{model.name} sees the words to come and cannot write them one after another.")
    network: Any = model.model
    given = model.tensor(model.source_ids(source))
    state = network.start(given)
    read = model.tensor(model.target_ids(())) if model.translates else given
    logits = None
    for number in read[0]:
        logits, state = network.step(number[None], state)
    assert logits is not None
    return logits, state


def _advance(model: SequenceModel) -> Advance:
    return torch.no_grad()(model.model.step)  # pyright: ignore[reportArgumentType]


def _room(model: SequenceModel, source: Sequence[str], longest: int) -> int:
    """How many words can be written at most."""
    if model.max_length is None:
        return longest
    return min(longest, model.max_length - (1 if model.translates else len(model.source_ids(source))) + 1)


def _top(model: SequenceModel, log_probabilities: Float[Tensor, " word"], count: int) -> tuple[Choice, ...]:
    values, numbers = log_probabilities.topk(min(count, len(log_probabilities)))
    words = model.vocabulary.words
    return tuple(Choice(words[n], v) for n, v in zip(numbers.tolist(), values.exp().tolist(), strict=True))
