"""Settings by data, and names of runs: by hand."""

import pytest

from vizkit.datasets.digits import ENLARGEMENT
from vizkit.training.recipe import NAMED, Recipe
from vizkit.training.runs.naming import LONGEST, free_name, safe_name
from vizkit.training.suiting import DIGIT_SQUARE_PX, SUITED, suited

QUICK = NAMED["quick"][1]


def changed(recipe, data):
    after = suited(recipe, data)
    assert after.but({name: getattr(recipe, name) for name in SUITED}) == recipe
    return {name: getattr(after, name) for name in SUITED if getattr(after, name) != getattr(recipe, name)}


def test_only_what_the_pictures_want_is_changed():
    assert QUICK.flip
    assert QUICK.images
    assert changed(QUICK, "insects:hard") == {}
    assert changed(QUICK, "torchvision:pets") == {"images": 0}
    assert changed(QUICK, "digits") == {"model": "digits_vit", "images": 0, "flip": 0.0, "square_px": 4}
    assert changed(QUICK, "/home/a/letters") == {"images": 0, "flip": 0.0}
    assert changed(Recipe(model="digits_swin"), "insects") == {"model": "small_swin"}
    assert changed(Recipe(model="vit_base_patch16_224"), "digits") == {"flip": 0.0, "square_px": 4}
    assert DIGIT_SQUARE_PX == ENLARGEMENT


@pytest.mark.parametrize(
    "typed, name",
    [
        ("mine", "mine"),
        ("../up", "up"),
        ("my first run!", "my-first-run"),
        ("a/b\\c", "a-b-c"),
        ("lr=3e-4, wd .1", "lr-3e-4-wd-.1"),
        ("best.safetensors", "best-safetensors"),
        ("best.PT", "best-PT"),
        ("蝉 käfer", "蝉-käfer"),
        (".hidden", "hidden"),
        ("…", ""),
        ("  ", ""),
        ("x" * 200, "x" * LONGEST),
    ],
)
def test_any_name_becomes_the_name_of_a_folder(typed, name):
    assert safe_name(typed) == name
    assert safe_name(name) == name


def test_a_free_name_counts_on():
    assert free_name("a", {"b"}.__contains__) == "a"
    assert free_name("a", {"a", "a-2"}.__contains__) == "a-3"
    assert free_name("x" * LONGEST, {"x" * LONGEST}.__contains__) == "x" * (LONGEST - 2) + "-2"
