"""Words one after another: cached as uncached, forced words, and the beam against all texts that there are."""

from dataclasses import dataclass
from itertools import product

import pytest
import torch

from tests.models.sequences.texts import VOCABULARY, made
from vizkit.models.sequences import beam, continue_with, greedy, predictions, trace_pair, trace_text
from vizkit.models.sequences.generating import search
from vizkit.traces import NotApplicable
from vizkit.vocabulary import END

WRITING = ["seq2seq_transformer", "seq2seq_rnn", "seq2seq_lstm", "seq2seq_lstm_attention", "causal_lm"]


@pytest.mark.parametrize("name", WRITING)
def test_step_by_step_is_what_the_whole_text_gives(name):
    """Of forced words, the probabilities with the cache are those of one pass over everything."""
    model, source, words = made(name), "abcd", tuple("aghb")
    written = continue_with(model, source, words, longest=len(words))
    if model.translates:
        logits = trace_pair(model, source, words).logits
    else:
        logits = trace_text(model, [*model.source_ids(source), *VOCABULARY.ids(words)]).logits[len(source) :]
    expected = logits.log_softmax(-1)[: len(words)]
    total = sum(float(row[number]) for row, number in zip(expected, VOCABULARY.ids(words), strict=True))
    assert written.words == words
    assert written.log_probability == pytest.approx(total, abs=1e-4)
    for step, choices in zip(written.steps, predictions(model, logits), strict=False):
        assert step.forced
        assert [choice.word for choice in step.top] == [choice.word for choice in choices]
        assert [choice.probability for choice in step.top] == pytest.approx([c.probability for c in choices], abs=1e-5)


@pytest.mark.parametrize("name", WRITING)
def test_greedy_takes_the_first_of_every_step_and_a_beam_of_one_the_same(name):
    model = made(name, seed=3)
    written = greedy(model, "abcd", longest=6)
    assert all(step.taken == step.top[0] and not step.forced for step in written.steps)
    narrow = beam(model, "abcd", 1, longest=6)
    (last,) = narrow.final
    assert narrow.words(last) == written.words
    assert narrow.tree[last].log_probability == pytest.approx(written.log_probability, abs=1e-4)
    assert narrow.tree[last].ended == written.ended


def test_it_goes_on_after_forced_words_and_stops_at_a_forced_end():
    model = made("seq2seq_transformer")
    written = continue_with(model, "ab", "h", longest=4)
    assert written.words[0] == "h"
    assert [step.forced for step in written.steps] == [True, False, False, False][: len(written.steps)]
    ended = continue_with(model, "ab", ["h", "[END]"])
    assert (ended.words, ended.ended, len(ended.steps)) == (("h",), True, 2)


def test_no_word_is_written_where_the_table_of_positions_ends():
    pair, text = made("seq2seq_transformer"), made("causal_lm")
    assert len(continue_with(pair, "a", "a" * 30).words) == 12
    assert len(continue_with(text, "abc", "a" * 30).words) == 9
    assert len(beam(text, "abc", 2).words(0)) == 0


def test_a_masked_model_does_not_write():
    with pytest.raises(NotApplicable, match="words to come"):
        greedy(made("masked_lm"), "ab")


# The search, on a table of probabilities -----------------------------------------------------------------------------
WORDS, STOP = ("x", "y", "."), 2
AFTER = {(): (0.6, 0.4, 0.0), ("x",): (0.35, 0.35, 0.3), ("y",): (0.1, 0.0, 0.9)}
"""The probable first word leads to improbable texts: greedy takes x, the best text is "y ."."""


@dataclass
class Texts:
    so_far: list[tuple[str, ...]]

    def rows(self, indices):
        return Texts([self.so_far[i] for i in indices.tolist()])


def logits_after(texts):
    return torch.tensor([AFTER.get(text, (0.2, 0.2, 0.6)) for text in texts]).log()


def step(token_ids, state):
    texts = [(*text, WORDS[i]) for text, i in zip(state.so_far, token_ids.tolist(), strict=True)]
    return logits_after(texts), Texts(texts)


def searched(width, longest=3):
    return search(step, logits_after([()]), Texts([()]), WORDS, STOP, width, longest)


def every_text(longest):
    """All texts that end, or are as long as they may be, with their probabilities."""
    texts = {}
    for length in range(1, longest + 1):
        for numbers in product(range(3), repeat=length):
            words = tuple(WORDS[i] for i in numbers)
            if "." in words[:-1] or (length < longest and words[-1] != "."):
                continue
            probability = 1.0
            for at, i in enumerate(numbers):
                probability *= AFTER.get(words[:at], (0.2, 0.2, 0.6))[i]
            texts[words] = probability
    return texts


def test_a_beam_finds_what_greedy_misses():
    narrow, wide = searched(1), searched(2)
    assert narrow.words(narrow.final[0])[0] == "x"
    best = wide.tree[wide.final[0]]
    assert (wide.words(wide.final[0]), best.ended) == (("y",), True)
    assert best.log_probability == pytest.approx(torch.tensor(0.36).log().item())
    assert best.probability == pytest.approx(0.9)


def test_a_beam_as_wide_as_there_are_texts_is_the_result():
    result = searched(27)
    texts = {(*result.words(i), *(["."] if result.tree[i].ended else [])): result.tree[i] for i in result.final}
    expected = {words: p for words, p in every_text(3).items() if p > 0}
    assert {words: pytest.approx(p) for words, p in expected.items()} == {
        words: torch.tensor(text.log_probability).exp().item()
        for words, text in texts.items()
        if text.log_probability > -1e9
    }
    totals = [result.tree[i].log_probability for i in result.final]
    assert totals == sorted(totals, reverse=True)


def test_the_tree_tells_where_every_text_comes_from():
    tree = searched(2).tree
    assert (tree[0].parent, tree[0].depth) == (None, 0)
    for text in tree[1:]:
        parent = tree[text.parent]
        assert parent.depth == text.depth - 1
        assert not parent.ended
        assert text.log_probability == pytest.approx(parent.log_probability + torch.tensor(text.probability).log())
        assert text.ended == (text.word == ".")
    assert END == 2
