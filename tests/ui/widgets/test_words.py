"""Small words beside the pictures, and the names of files that are saved."""

import pytest
import streamlit as st

from tests.ui.conftest import opened
from vizkit.models.sources.loaded import NO_LICENCE
from vizkit.ui.reading import licence_words


@pytest.mark.parametrize(
    ("licence", "words"),
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
def test_a_licence_is_written_as_its_authors_write_it(licence: str, words: str):
    assert licence_words(licence) == words


def test_a_file_is_named_after_the_layer_that_it_shows(monkeypatch: pytest.MonkeyPatch):
    """The slider goes to the twelfth layer of the deepest model; this one has six."""
    files: list[str] = []
    monkeypatch.setattr(st, "download_button", lambda label, make, file, *_, **__: files.append(file))
    test = opened("explore", models=["bundled:digits_vit", "random:vit_tiny_patch16_224"], image="digit 3", layer="12")
    assert not test.exception
    stems = {file.rpartition(".")[0] for file in files}
    assert {stem for stem in stems if "layer" in stem and not stem.endswith("_all")} == {
        "ViT_digits_digit_3_attention_layer6_mean_patch_x50_y50",
        "random_vit_tiny_patch16_224_digit_3_attention_layer12_mean_patch_x50_y50",
    }
