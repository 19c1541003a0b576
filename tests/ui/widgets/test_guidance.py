"""Guidance on the pages: help that stays open at the side, and a computed sentence below what it is about."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.conftest import SWIN, VIT, opened, sent, sent_to, staged, texts

SIGN = ":material/insights:"


def remarks(test: AppTest) -> list[str]:
    return [each.value for each in test.markdown if SIGN in each.value]


def help_of(test: AppTest) -> list[bool]:
    """Whether it is open, of every "How to read this"."""
    return [each.proto.expanded for each in test.expander if each.label == "How to read this"]


@pytest.mark.parametrize("page", ["explore", "positions"])
def test_help_stays_open_at_the_side_of_every_page(page: str):
    test = opened(page, models=VIT, image="digit 3")
    assert help_of(test) == [False]
    test.toggle(key="help_at_side").set_value(True).run()
    assert not test.exception
    assert help_of(test) == [True]
    assert "**What it does not show:**" in texts(test)


@pytest.mark.product
@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("patches", {}),
        ("attention", {"attention_view": "Statistics"}),
        ("positions", {}),
        ("swin", {"swin_view": "Stages"}),
        ("swin", {"swin_view": "Shift"}),
        ("rollout", {"image": "mayfly nymph", "models": "bundled:insects_vit"}),
        ("compare", {}),
        ("architecture", {}),
        ("distillation", {"distillation_view": "Teacher and student"}),
    ],
)
def test_a_sentence_is_computed_below_the_picture(page: str, query: dict[str, str | list[str]]):
    test = opened(page, **{"models": [VIT, SWIN], "image": "digit 3", **query})
    assert not test.exception
    inside = [data.get("sentence") for data in sent_to(test, "vizkit_look")]  # of a map, in its canvas
    inside += [
        each["text"] for data in sent_to(test, "vizkit_stage") for each in staged(data) if each["kind"] == "said"
    ]
    assert remarks(test) or any(inside), texts(test)


def test_a_card_says_what_stands_out_right_below_its_picture():
    test = opened("explore", models="bundled:insects_vit", image="mayfly nymph")
    assert "of this patch's attention" in sent(test, "explore0")["sentence"]
