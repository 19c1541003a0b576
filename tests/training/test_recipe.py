"""Recipes: what they refuse, their way to JSON and back, the learning rate, and the losses against other references."""

import json
import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.drawn import noise
from vizkit.training.distillation import hard_loss, mixed_loss, soft_loss, soft_targets
from vizkit.training.optimizing import epochs_since_best, plateaus, rate
from vizkit.training.recipe import NAMED, Recipe, RecipeError, named


@pytest.mark.parametrize("name", NAMED)
def test_a_recipe_survives_json(name):
    assert Recipe.from_json(named(name).to_json()) == named(name)


def test_a_recipe_with_arguments_survives_json():
    recipe = Recipe(model_args={"depth": 3, "window": [1, 2]}, teacher="bundled:x", distillation="soft", lr=1.0)
    assert Recipe().but({"lr": 1}).lr == 1.0
    assert Recipe.from_json("{}") == Recipe()
    assert Recipe.from_json(recipe.to_json()) == recipe


def is_object(text):
    """Whether a text is a JSON object: `{}` is the recipe with every value as it is by default."""
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


@pytest.mark.rest
@given(st.text(max_size=40) | st.recursive(st.none() | st.floats() | st.text(), st.lists, max_leaves=5).map(json.dumps))
def test_any_other_text_is_refused_in_a_sentence(text):
    assume(not is_object(text))
    with pytest.raises(RecipeError):
        Recipe.from_json(text)


@pytest.mark.parametrize(
    "changes, word",
    [
        ({"epoch": 3}, "epoch"),
        ({"epochs": "3"}, "epochs"),
        ({"epochs": 0}, "Epochs"),
        ({"epochs": True}, "epochs"),
        ({"lr": math.nan}, "lr"),
        ({"lr": 0.0}, "learning rate"),
        ({"optimizer": "best"}, "adamw"),
        ({"teacher": "bundled:x"}, "distillation"),
        ({"distillation": "soft"}, "teacher"),
        ({"flip": 1.5}, "flip"),
        ({"crop": 0.0}, "crop"),
        ({"model_args": [1]}, "model_args"),
        ({"warmup_epochs": 20.0}, "warm-up"),
        ({"randaugment": "/etc/passwd"}, "randaugment is as in rand-m9"),
        ({"randaugment": "rand-x3"}, "randaugment"),
        ({"randaugment": "rand-m9.5"}, "randaugment"),
        ({"randaugment": "augmix-m3"}, "randaugment"),
        ({"mixup": 2**31}, "mixup is at most 100"),
        ({"turn_deg": 2**31}, "turn_deg is at most 180"),
        ({"seed": -1}, "Seeds"),
        ({"data_seed": 2**31}, "data_seed is at most"),
    ],
)
def test_bad_fields_are_refused_by_name(changes, word):
    with pytest.raises(RecipeError, match=word):
        Recipe().but(changes)


def test_every_number_has_a_largest_value():
    for name, usual in vars(Recipe()).items():
        if isinstance(usual, int | float) and not isinstance(usual, bool):
            with pytest.raises(RecipeError):
                Recipe.from_json(json.dumps({name: 1e9 if isinstance(usual, float) else 10**9 * 3}))


@pytest.mark.parametrize("text", ["", "rand", "rand-m9-mstd0.5-inc1", "rand-m10-n1-p0.7-mmax20"])
def test_what_timm_takes_as_randaugment_is_taken(text):
    from timm.data.auto_augment import rand_augment_transform

    assert Recipe(randaugment=text).randaugment == text
    assert not text or rand_augment_transform(text, {})


def test_every_field_is_documented():
    from dataclasses import fields

    assert all(len(each.metadata["help"]) > 10 for each in fields(Recipe))


# ---- the learning rate -----------------------------------------------------------------------------------------------
def test_warm_up_then_half_a_cosine():
    recipe = Recipe(epochs=10, lr=1.0, min_lr=0.2, warmup_epochs=2.0)
    assert [rate(recipe, step, 2, []) for step in range(4)] == pytest.approx([0.2, 0.4, 0.6, 0.8])
    assert rate(recipe, 4, 2, []) == 1.0
    assert rate(recipe, 12, 2, []) == pytest.approx(0.6)  # halfway: the mean of both ends
    assert rate(recipe, 20, 2, []) == pytest.approx(0.2)


def test_plateaus_and_patience_by_hand():
    assert plateaus([0.1, 0.2, 0.2, 0.2, 0.2], 2) == 1
    assert plateaus([0.1, 0.2, 0.2, 0.2, 0.2, 0.1], 2) == 2
    assert [epochs_since_best(list(a)) for a in ([], [0.3], [0.3, 0.3], [0.3, 0.2, 0.4], [0.4, 0.2, 0.4])] == [
        0,
        0,
        1,
        0,
        2,
    ]


# ---- losses ----------------------------------------------------------------------------------------------------------
def logits(seed, scale=3.0):
    return noise(5, 7, seed=seed) * scale


def test_soft_loss_gradient_is_t_times_the_difference_of_probabilities():
    student = logits(1).requires_grad_()
    soft_loss(student, logits(2), 4.0).backward()
    expected = 4.0 * ((student / 4).softmax(1) - (logits(2) / 4).softmax(1)) / 5
    assert torch.allclose(student.grad, expected, atol=1e-6)


@pytest.mark.parametrize("kind, taught", [("soft", soft_loss), ("hard", hard_loss)])
def test_the_class_head_learns_from_labels_and_the_distillation_head_from_the_teacher(kind, taught):
    own, dist, teacher, labels = logits(1), logits(2), logits(3), torch.tensor([0, 1, 2, 3, 6])
    recipe = Recipe(teacher="x", distillation=kind, teacher_share=0.3, temperature=4.0)
    found = mixed_loss((own, dist), soft_targets(labels, 7, 0.0), teacher, recipe)
    further = (4.0,) if kind == "soft" else ()
    expected = 0.7 * F.cross_entropy(own, labels) + 0.3 * taught(dist, teacher, *further)
    assert float(found) == pytest.approx(float(expected), rel=1e-6)


def test_without_a_teacher_the_loss_is_cross_entropy():
    labels = torch.tensor([0, 1, 2, 3, 6])
    plain = mixed_loss(logits(1), soft_targets(labels, 7, 0.1), None, Recipe())
    assert torch.allclose(plain, F.cross_entropy(logits(1), labels, label_smoothing=0.1))
