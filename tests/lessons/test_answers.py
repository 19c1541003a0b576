"""Every answer of the lessons on a ViT, equal to what plain torch computes of the same weights and pixels."""

from functools import cache
from unittest.mock import patch

import pytest
import torch
from torch.testing import assert_close

from tests.lessons import plain
from tests.lessons.test_course import subject
from vizkit.lessons.shelf import files, opened
from vizkit.lessons.vocabulary import VOCABULARY

MODELS = {"bundled:insects_vit": "", "bundled:photographs_vit": "cat"}  # of a photograph; of an insect the lesson's own


def questions():
    return [
        pytest.param(name, number, model, id=f"{name[0]}.{number} {model}")
        for model in MODELS
        for name in files()
        if name.partition("_")[0] in "0123459"
        for number, _ in opened(name).questions
    ]


@cache
def words(model, picture):
    return plain.words(subject(model, picture))


@pytest.mark.product
@pytest.mark.parametrize("name, number, model", questions())
def test_an_answer_is_that_of_plain_torch(name, number, model):
    lesson = opened(name)
    question = lesson.steps[number - 1].question
    picture = MODELS[model] or lesson.picture
    for expression in question.expressions:
        found = expression.value(subject(model, picture))
        with patch.dict(VOCABULARY, words(model, picture), clear=True):
            expected = expression.value(subject(model, picture))
        if isinstance(found, torch.Tensor):
            assert found.shape == expected.shape
            assert divmod(int(found.argmax()), found.shape[1]) == divmod(int(expected.argmax()), found.shape[1])
            assert_close(found.float(), expected, rtol=2e-3, atol=2e-4 * float(expected.abs().max()))
        elif isinstance(found, bool | str):
            assert found == expected, expression.text
        else:
            assert found == pytest.approx(expected, rel=3e-3, abs=2e-3), expression.text
