"""Guidance on the pages: help that stays open at the side, and a computed sentence below what it is about."""

import pytest

from tests.ui.conftest import VIT, choose, opened, texts


def help_of(test):
    """Whether it is open, of every "How to read this"."""
    return [each.proto.expanded for each in test.expander if each.label == "How to read this"]


@pytest.mark.parametrize("page", ["explore", "positions"])
def test_help_stays_open_at_the_side_of_every_page(page):
    test = opened(page, models=VIT, image="digit 3")
    assert help_of(test) == [False]
    choose(test, help_at_side=True)
    assert help_of(test) == [True]
    assert "**What it does not show:**" in texts(test)
