"""Models of texts in the training loop: what they are asked, what is saved, and that exact match is what they write."""

import numpy as np
import pytest
import torch
from accelerate import Accelerator

from tests.training.test_training import followed
from vizkit.datasets.image_set import DatasetError
from vizkit.datasets.sequences.opening import open_pairs
from vizkit.models.sequences import open_sequence
from vizkit.models.sequences.generating import greedy
from vizkit.models.sequences.opening import BUNDLED, bundled_sequences
from vizkit.training.evaluating import IGNORED, evaluate
from vizkit.training.experiments.memory import METHODS
from vizkit.training.loop import train
from vizkit.training.recipe import TASK_OF, Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.training.sequences.lines import Lines, hidden
from vizkit.training.sequences.recipes import TEXTS
from vizkit.vocabulary import ARROW, BEGIN, END, MASK, PAD, SPECIAL
from vizkit.work_folder import steps_in

TINY = Recipe(data="copy", images=96, epochs=2, batch=32)
TINY_SIZES = {
    "seq2seq_transformer": {"dim": 8, "depth": 1, "heads": 2, "hidden": 8},
    "masked_lm": {"dim": 8, "depth": 1, "heads": 2, "hidden": 8},
    "causal_lm": {"dim": 8, "depth": 1, "heads": 2, "hidden": 8},
    "seq2seq_lstm_attention": {"dim": 8, "hidden": 8},
    "seq2seq_lstm": {"dim": 8, "hidden": 8},
    "seq2seq_rnn": {"dim": 8, "hidden": 8},
}


def tiny(model):
    return TINY.but({"model": model, "model_args": TINY_SIZES[model]})


def lines(task, learns=True, count=400, data="copy"):
    return Lines(open_pairs(data, "val", count=count, seed=1), task, learns=learns)


# ---- what is asked ---------------------------------------------------------------------------------------------------
def test_a_translator_is_given_the_target_so_far_and_asked_for_the_next_word():
    data = lines("translate")
    (sources, targets), labels = data.__getitems__([(0, 0), (1, 0), (2, 0)])
    for row in range(3):
        source, target = data.sources[row], data.targets[row]
        assert sources[row].tolist() == source + [PAD] * (sources.shape[1] - len(source))
        filling = targets.shape[1] - len(target) - 1
        assert targets[row].tolist() == [BEGIN, *target] + [PAD] * filling
        assert labels[row].tolist() == [*target, END] + [IGNORED] * filling


@pytest.mark.parametrize("learns", [True, False])
def test_a_causal_model_learns_the_line_and_is_judged_by_its_target(learns):
    data = lines("causal", learns)
    (ids,), labels = data.__getitems__([(4, 0)])
    line = [*data.sources[4], ARROW, *data.targets[4], END]
    assert ids[0].tolist() == line[:-1]
    arrow = line.index(ARROW)
    expected = line[1:] if learns else [IGNORED] * arrow + line[arrow + 1 :]
    assert labels[0].tolist() == expected


def test_bert_hides_15_percent_in_three_ways_and_asks_for_these_alone():
    data, shares, chosen = lines("masked", count=2000, data="dates"), np.zeros(3), []
    for row in range(2000):
        line = [*data.sources[row], ARROW, *data.targets[row]]
        ids, labels = hidden(line, data.vocabulary, (row, 3))
        asked = [place for place, label in enumerate(labels) if label != IGNORED]
        assert asked
        assert [line[place] for place in asked] == [labels[place] for place in asked]
        assert all(line[place] >= len(SPECIAL) for place in asked)
        assert all(ids[place] == line[place] for place in range(len(line)) if place not in asked)
        masked = sum(ids[place] == MASK for place in asked)
        kept = sum(ids[place] == line[place] for place in asked)
        shares += (masked, len(asked) - masked - kept, kept)
        chosen.append(len(asked) / (len(line) - 1))
    assert shares / shares.sum() == pytest.approx([0.8, 0.1, 0.1], abs=0.02)
    assert np.mean(chosen) == pytest.approx(0.15, abs=0.01)


def test_what_is_hidden_follows_from_the_seed_of_the_example():
    data = lines("masked")
    same, again, other = (data.__getitems__([(7, seed), (8, seed)]) for seed in (1, 1, 2))
    assert torch.equal(same[0][0], again[0][0])
    assert not torch.equal(same[1], other[1])


# ---- runs ------------------------------------------------------------------------------------------------------------
@pytest.mark.product
@pytest.mark.parametrize("model", [name for name, task in TASK_OF.items() if task in {"translate", "masked", "causal"}])
def test_every_model_of_texts_runs_and_can_be_opened(tmp_path, model):
    run = followed(tmp_path / "run", tiny(model))
    assert run.status["state"] == "done"
    assert steps_in(run.path) == [1, 2, 3, 4, 6]
    first, last = run.metrics()
    assert last["val_loss"] < first["val_loss"]
    opened = open_sequence(run.path)
    assert (opened.task, opened.data) == (TASK_OF[model], "copy")
    assert run.read("result.json")["test_images"] == 2000
    assert not (run.path / "samples.json").exists(), "there are no images to show"
    assert f"{100 * run.read('result.json')['test_accuracy']:.1f} %" in (run.path / "card.md").read_text()


@pytest.mark.parametrize(
    "changes, word",
    [
        ({"mixup": 0.8}, "mixup is for images"),
        ({"pretrained": True}, "pretrained is for images"),
        ({"model_args": {"dim": 7, "heads": 2}}, "cannot be made"),
        ({"model_args": {"width": 7}}, "cannot be made"),
        ({"data": "insects"}, "dates, copy, reverse"),
    ],
)
def test_what_texts_cannot_do_is_one_sentence(tmp_path, changes, word):
    run, recipe = RunFolder(tmp_path / "run"), TINY.but({"model": "seq2seq_transformer", **changes})
    run.create(recipe)
    with pytest.raises((RecipeError, DatasetError), match=word):
        train(run, recipe, device="cpu")


# ---- the bundled models ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", bundled_sequences())
def test_the_card_of_a_bundled_model_says_what_was_measured(name):
    folder = BUNDLED / name
    run, card = RunFolder(folder), (folder / "card.md").read_text(encoding="utf-8")
    result = run.read("result.json")
    assert f"{100 * result['test_accuracy']:.1f} %" in card
    assert result["test_images"] == 2000
    assert (folder / "model.safetensors").stat().st_size < 2e6
    copying = [recipe.but({"data": "copy", "licence": "mit"}) for recipe in METHODS.values()]
    assert run.recipe in (copying if name.startswith("copy") else [TEXTS[name][1]])


@pytest.mark.parametrize("name", ["dates_transformer", "dates_lstm_attention"])
def test_attention_rewrites_dates_it_has_never_seen(name):
    assert RunFolder(BUNDLED / name).read("result.json")["test_accuracy"] >= 0.97
    assert judged(name, open_pairs("dates", "test", count=300, seed=77)).accuracy >= 0.95


@pytest.mark.rest
@pytest.mark.parametrize("name", ["dates_gpt", "dates_lstm"])
def test_all_answers_right_is_exactly_what_greedy_writing_gets_right(name):
    """Of models that get many dates right and some wrong."""
    pairs, model = open_pairs("dates", "test", count=60, seed=5), open_sequence(f"bundled:{name}")
    right = [greedy(model, pair.source).words == pair.target for pair in pairs]
    assert judged(name, pairs).accuracy == sum(right) / 60


def judged(name, pairs):
    opened = open_sequence(f"bundled:{name}")
    return evaluate(opened.model, Lines(pairs, opened.task, learns=False), None, Accelerator(cpu=True), 0)
