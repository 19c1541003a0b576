"""Which colour a value has, by numbers worked out on paper, and that the browser finds the same."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from vizkit.figure.canvas.scripts import SCRIPTS
from vizkit.figure.scales import OWN, SHARES, SIGNED_SHARES, Scale, between, colours_used, robust

MAP = np.array([[0.5, 0.25], [0.125, 0.125]])  # 2, 1, ½ and ½ times an equal share


def test_a_colour_for_each_doubling_from_a_quarter_to_32_times():
    assert_allclose(SHARES.positions(MAP), np.array([[3, 2], [1, 1]]) / 7)
    far = np.array([[1.0, 0, 0, 0] * 16])  # 4 times each, and nothing
    assert_allclose(SHARES.positions(far)[0, :4], [4 / 7, 0, 0, 0])
    assert [text for _, text in SHARES.ticks] == ["≤ ¼", "½", "1", "2", "4", "8", "16", "≥ 32 ×"]
    assert_allclose([at for at, _ in SHARES.ticks], np.arange(8) / 7)


def test_an_equal_share_is_among_the_places_of_the_window():
    inside = np.array([[0.75, 0.25], [0.0, 0.0]])
    assert SHARES.of(inside, 2).equal == 0.5
    assert_allclose(SHARES.of(inside, 2).positions(inside)[0], [np.log2(6) / 7, 1 / 7])


def test_the_unit_of_a_map_does_not_matter():
    assert_allclose(SHARES.positions(MAP), SHARES.positions(1000 * MAP))
    assert SHARES.of(MAP).words(0.5) == "50 %, 2 ×"
    assert Scale(unit="").of(MAP).words(0.5) == "2 ×"


def test_a_linear_scale_leaves_out_the_place_that_asks():
    assert OWN.of(MAP).top == 0.5
    assert OWN.of(MAP, own=0).top == 0.25
    assert OWN.of(MAP, own=0).levels(MAP).tolist() == [[255, 255], [128, 128]]


def test_signs_are_as_far_from_the_middle():
    values = np.array([-31.0, -1.0, 0.0, 1.0, 31.0])
    scale = Scale("doublings", -31.0, 31.0, True, "", equal=1.0)
    assert_allclose(scale.positions(values), [0, 0.4, 0.5, 0.6, 1])
    assert SIGNED_SHARES.positions(np.zeros((1, 1))).tolist() == [[0.5]]
    assert [text for _, text in SIGNED_SHARES.ticks] == ["≤ −32 ×", "−4 ×", "0", "4 ×", "≥ 32 ×"]


def test_a_robust_scale_ends_at_percentiles_and_says_how_far_values_go():
    values = np.arange(101.0)
    values[100] = 1e6
    scale = robust([values[:50], values[50:]])
    assert (scale.low, scale.top, scale.full) == (1, 99, (0, 1e6))
    assert [text for _, text in scale.ticks] == ["≤ 1", "≥ 99"]
    assert scale.said == "all: 0 to 1e+06"
    signed = robust([-values], signed=True)
    assert (signed.low, signed.top) == (-99, 99)
    assert [text for _, text in signed.ticks] == ["≤ −99", "0", "99"]


def test_of_few_values_none_lies_beyond():
    scale = robust([np.array([3.0, np.nan, 7.0, np.inf])])
    assert (scale.low, scale.top, scale.full, scale.said) == (3, 7, None, "")
    assert robust([np.full(200, 5.0)]).positions(np.full((1, 1), 5.0)).tolist() == [[0]]
    assert robust([]).top == 1


def test_colours_used_counts_those_that_are_used_evenly():
    assert colours_used(np.zeros(9)) == 1
    assert colours_used((np.arange(16) + 0.5) / 16) == pytest.approx(16)
    assert colours_used(np.array([0.0, 0.0, 0.5, 0.5])) == pytest.approx(2)
    # a half and two quarters: e^(½ ln 2 + 2 · ¼ ln 4) = 2^1.5
    assert colours_used(np.array([0.0, 0.0, 0.5, 1.0])) == pytest.approx(2**1.5)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_positions_lie_on_the_bar_and_keep_the_order(values):
    every = np.array(values)
    for scale in (SHARES, OWN, robust([every]), between(0, 1)):
        at = scale.positions(every)
        assert ((at >= 0) & (at <= 1)).all()
        assert (np.diff(at[np.argsort(every)]) >= 0).all()


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_browser_finds_the_same_colours():
    scales = [SHARES, OWN, SIGNED_SHARES, between(-1, 1, signed=True), robust([MAP])]
    asked = [(scale, MAP.ravel() - 0.2 * scale.signed) for scale in scales]
    code = "".join(file.read_text(encoding="utf-8") for file in SCRIPTS["vizkit_look"].js[:2])
    code += "const found = (scale, values) => [values.map(value => levelOf(scale, value)), scale.ticks]\n"
    code += "const of = ([packed, values]) => found(scaleOf(packed, values, 4, 0), values)\n"
    given = json.dumps([(scale.packed(), values.tolist()) for scale, values in asked])
    code += f"console.log(JSON.stringify({given}.map(of)))"
    done = subprocess.run(["node", "-e", code], capture_output=True, check=True, text=True)
    for (scale, values), (levels, ticks) in zip(asked, json.loads(done.stdout), strict=True):
        settled = scale.of(values, 4, 0)
        assert np.abs(np.array(levels) - settled.levels(values)).max() <= 1  # .5 is rounded up there, to even here
        assert [at for at, _ in ticks] == pytest.approx([at for at, _ in settled.ticks])
