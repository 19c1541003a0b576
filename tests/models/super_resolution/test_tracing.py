"""A trace of two pictures: the recorded weights are those with which the texture was taken, and the file keeps them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.drawn import noisy_picture as picture
from tests.models.super_resolution.conftest import SIZES
from vizkit.analysis.attention.attention_map import attention_map
from vizkit.analysis.attention.statistics import layer, mean_distance_px
from vizkit.models.networks.super_resolution.ttsr import build
from vizkit.models.super_resolution import Enlarger, see, trace, tracing
from vizkit.models.super_resolution.enlarging import pixels_of
from vizkit.saving import open_npz, save_npz
from vizkit.standalone import Card, fragment
from vizkit.traces import PADDING, NotApplicable, TraceError, dense

GRID, KEY_GRID = (5, 7), (11, 13)


@pytest.fixture(scope="module", params=[0.0, 30.0], ids=["one place", "mixture"])
def pair(request, tiny):
    small, reference = picture(*GRID), picture(44, 52, 1)
    return small, reference, request.param, trace(tiny, small, reference, sharpness=request.param)


def test_tokens_say_on_which_picture_they_lie(pair):
    (attention,) = pair[3].attention
    assert (attention.query.image, attention.query.grid, attention.query.stride) == (0, GRID, 1.0)
    assert (attention.key.image, attention.key.grid, attention.key.stride) == (1, KEY_GRID, 4.0)
    assert not attention.in_one_image
    assert torch.isnan(layer(attention).distance_px).all()
    with pytest.raises(NotApplicable, match="one image"):
        mean_distance_px(attention)


def test_weights_times_values_are_the_texture_that_the_network_took(tiny, pair):
    small, reference, sharpness, made = pair
    search = tiny.model.search(pixels_of(small), pixels_of(reference))
    matrix = dense(made.attention[0])[0]
    for scale, texture in zip((1, 2, 4), tiny.model.textures(search, sharpness), strict=True):
        values = search.values[(1, 2, 4).index(scale)][0]
        expected = torch.zeros_like(texture[0])
        for i in range(len(matrix)):  # cell by cell, without the shuffles of the network
            row, column = divmod(i, GRID[1])
            for j in matrix[i].nonzero().flatten().tolist():
                y, x = divmod(j, KEY_GRID[1])
                cell = values[:, scale * y : scale * (y + 1), scale * x : scale * (x + 1)]
                expected[:, scale * row : scale * (row + 1), scale * column : scale * (column + 1)] += (
                    matrix[i, j] * cell
                )
        assert torch.allclose(expected, texture[0], atol=1e-5)


def test_the_pixels_are_those_of_the_plain_pass(tiny, pair):
    small, reference, sharpness, made = pair
    plain = tiny.model(pixels_of(small), pixels_of(reference), sharpness)[0]
    assert torch.allclose(made.logits.T.unflatten(1, (20, 28)), plain, atol=1e-5)
    assert made.check.passed
    assert made.check.proofs == ("output of every layer", "logits")
    assert made.check.layers == "1 of 1 layers"


def test_every_query_has_its_own_place_and_its_relevance(tiny):
    small, reference = picture(*GRID), picture(44, 52, 1)
    made, seen = trace(tiny, small, reference), see(tiny, small, reference)
    (attention,) = made.attention
    assert torch.equal(attention.key_ids[:, 4], seen.place)
    assert ((attention.weights[:, 0, 0] > 0) == (attention.key_ids != PADDING)).all()
    relevance, gates = made.features
    assert torch.allclose(relevance.values[:, 0], seen.relevance)
    assert torch.allclose(gates.values, torch.stack(seen.gates, 1))


def test_a_shifted_copy_is_taken_from_the_shift(tiny):
    """A reference that is the blurred picture itself: inside, all nine patches agree on one place."""
    small = picture(8, 9)
    reference = F.interpolate(pixels_of(small), scale_factor=4, mode="nearest")[0]
    whole = (reference * 255).round().byte().permute(1, 2, 0).numpy()
    (attention,) = trace(tiny, small, np.roll(whole, (8, 4), (0, 1))).attention
    shifted = attention_map(attention, (4.5 / 9, 3.5 / 8)).places  # column 4, row 3
    assert int(shifted.argmax()) == (3 + 2) * 9 + 4 + 1
    assert float(shifted.max()) == 1.0


def test_a_file_keeps_it(pair, tmp_path):
    made = pair[3]
    save_npz(made, tmp_path / "two.npz")
    again, meta = open_npz(tmp_path / "two.npz")
    assert meta["layers"][0]["key"]["image"] == 1
    assert again.attention[0].key == made.attention[0].key
    assert torch.equal(again.attention[0].weights, made.attention[0].weights)
    assert torch.equal(again.logits, made.logits)
    assert again.features[1].tokens == made.features[1].tokens
    assert again.check == made.check


def test_weights_that_are_not_the_networks_are_found_out(tiny, monkeypatch):
    """The places of another query: the rows still sum to one, but the texture is another."""
    own = tracing.transfer_of
    monkeypatch.setattr(
        tracing, "transfer_of", lambda search: replace(own(search), key_ids=own(search).key_ids.roll(1, 0))
    )
    made = trace(tiny, picture(*GRID), picture(44, 52, 1))
    assert made.check.output_error > 0.01
    assert "do not give what a layer itself gave" in str(made.check.failure)


def test_what_cannot_be_traced_is_said(tiny, pair, monkeypatch):
    with pytest.raises(TraceError, match="one image at another"):
        fragment(Card(pair[3], picture(*GRID), (0.0, 0.0, 7.0, 5.0)))
    plain = Enlarger("plain", build("sr_small", SIZES).eval(), "mit")
    with pytest.raises(ValueError, match="without a reference"):
        trace(plain, picture(*GRID), picture(44, 52, 1))
    monkeypatch.setattr(tracing, "LARGEST_WEIGHTS", 35 * 143 - 1)
    with pytest.raises(ValueError, match="too large"):
        trace(tiny, picture(*GRID), picture(44, 52, 1))
