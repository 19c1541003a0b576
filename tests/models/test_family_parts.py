"""Families are whole: what is true of one alone stands in its file, and a part that is missing is named."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from tests.test_families import ZOO, first_trace, loaded_of, pixels_of
from vizkit.models import FAMILIES, family, family_of, load
from vizkit.models import families as package
from vizkit.models.families import PARTS, first_grid, whole
from vizkit.models.probes.shape import step_px, whole_image_size
from vizkit.traces import NotApplicable

SHARED = {"__init__", "measured", "outlook", "places", "proven_places", "translate"}


def test_every_file_of_families_is_listed():
    assert {path.stem for path in Path(package.__file__).parent.glob("*.py")} - SHARED == set(FAMILIES)


@pytest.mark.parametrize("part", PARTS)
def test_a_family_with_a_part_missing_says_what_to_add_where(part):
    module = ModuleType("toy")
    vars(module).update({name: name for name in PARTS if name != part})
    with pytest.raises(ValueError, match=rf"^vizkit/models/families/toy\.py needs `{part}`: .*\.$"):
        whole("toy", module)
    vars(module)[part] = ""
    assert whole("toy", module) is module


@pytest.mark.parametrize("module", ZOO)
def test_what_a_family_says_beforehand_is_what_its_trace_has(module):
    loaded, trace, pixels = loaded_of(module), first_trace(module), pixels_of(module)
    own, size_hw = family(loaded.model), (pixels.shape[-2], pixels.shape[-1])
    assert own.expected(loaded.model) in (None, trace.check.layers_expected)
    seen = list(dict.fromkeys(layer.query for layer in trace.attention if layer.learned))
    tokens = own.tokens_of(loaded.model, size_hw)
    if not tokens:
        with pytest.raises(NotApplicable, match="one grid of patches"):
            first_grid(loaded, size_hw)
        return
    assert first_grid(loaded, size_hw) == seen[0].grid
    assert set(tokens) & set(seen)
    assert (len(tokens) == 1) >= own.SAME_ROWS
    sized = replace(loaded, preprocessing=replace(loaded.preprocessing, size_hw=size_hw))
    assert [side % step_px(sized) for side in size_hw] == [0, 0]


def test_the_whole_image_leaves_a_swin_an_even_grid_until_its_last_merging():
    loaded = load("bundled:insects_swin")  # patches of 8 pixels, merged once
    assert step_px(loaded) == 16
    assert whole_image_size(loaded, (427, 640)) == (96, 144)


def test_the_first_that_matches_is_the_family():
    found = [family_of(loaded_of(module).model) for module in ("tnt", "swin_transformer", "deit", "cait")]
    assert found == ["tnt", "swin", "vit", "generic"]
