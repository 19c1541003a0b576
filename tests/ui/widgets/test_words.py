"""Small words beside the pictures, and the names of files that are saved."""

from dataclasses import replace

import pytest
import streamlit as st

from tests.ui.conftest import opened
from vizkit.check import AGREES, Check
from vizkit.models.sources.loaded import NO_LICENCE
from vizkit.views.licences import licence_words


@pytest.mark.parametrize(
    "licence, words",
    [
        ("mit", "MIT licence"),
        ("apache-2.0", "Apache 2.0 licence"),
        ("cc-by-nc-4.0", "CC BY-NC 4.0 licence"),
        ("BSD-3-Clause", "BSD 3-Clause licence"),
        ("cc-by", "cc-by licence"),
        ("not stated", "licence not stated"),
        (NO_LICENCE, f"licence {NO_LICENCE}"),
    ],
)
def test_a_licence_is_written_as_its_authors_write_it(licence, words):
    assert licence_words(licence) == words


def test_a_file_is_named_after_the_settings_that_it_shows(monkeypatch):
    files = []
    monkeypatch.setattr(st, "download_button", lambda label, make, file, *_, **__: files.append(file))
    opened("explore", models=["bundled:digits_vit"], image="digit 3", layer="2", head="3")
    stems = {file.rpartition(".")[0] for file in files}
    assert {stem.removesuffix("_all") for stem in stems} == {"ViT_digits_digit_3_explore_layer2_head3"}


WHOLE = Check(
    2e-7, 6, 6, 4e-7, 6e-7, rows_compared=24, rows_recorded=1182, places_error=0.0, places_found=6, places_claimed=6
)


def test_the_badge_says_the_largest_difference_and_its_help_every_one():
    assert WHOLE.said == f"{AGREES} within 6e-07 · 24 of 1,182 rows compared · 6 of 6 layers"
    exact = replace(WHOLE, output_error=0.0, logit_error=0.0)
    assert exact.said == f"{AGREES} exactly · 24 of 1,182 rows compared · 6 of 6 layers"
    assert WHOLE.numbers == (
        "rows within 2e-07 · outputs within 6e-07 in 24 of 1,182 rows · logits within 4e-07 · 6 of 6 layers · "
        "places measured in 6 of 6 layers"
    )


def test_the_badge_names_what_was_not_compared():
    some = replace(WHOLE, row_sum_error=0.0, output_error=None, logit_error=None, places_found=4)
    assert some.said == (
        "rows exact · outputs not compared · logits not compared · 6 of 6 layers · places measured in 4 of 6 layers"
    )
