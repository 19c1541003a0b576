"""A trace stays on the device that computed it; what is drawn is fetched, and no more."""

import io
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch.testing import assert_close

import vizkit
from tests.devices import NAME, fetching, pretended
from tests.drawn import noisy_picture
from vizkit.analysis.attention import statistics
from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.attribution.rollout import rollout, rollout_by_layer, rollout_matrix, rollout_terms
from vizkit.analysis.attribution.sinks import sinks
from vizkit.models import Keep
from vizkit.models.families import translate
from vizkit.saving import npz_bytes
from vizkit.views.explore import Explore
from vizkit.views.rows_of import layer_for_browser
from vizkit.views.subject import Subject

PICTURE = noisy_picture(64, 64)


def subject(name, device):
    loaded = vizkit.load(f"bundled:{name}", device=device)
    return Subject(lambda: loaded, PICTURE)


def bytes_in(trace):
    return sum(layer.there.weights.nbytes for layer in trace.attention)


def test_the_first_map_of_explore_fetches_what_it_draws():
    """The rows of one query in all layers and heads, for the maps, for the distance by depth and to name a clearer
    head; and the mean over heads of one layer: for hovering, and twice to say what stands out in it."""
    with pretended(), fetching() as fetched:
        of = subject("insects_vit", NAME)
        list(Explore().show(of))
        recorded = of.layers
        rows = sum(4 * layer.shape[1] * layer.shape[3] for layer in recorded)
        matrix = 4 * recorded[-1].shape[2] * recorded[-1].shape[3]
        assert matrix < max(fetched) + 1 < 2 * matrix
        assert sum(fetched) < 3 * rows + 3 * matrix + 10_000 < bytes_in(of.seen) / 4


@pytest.mark.parametrize("name", ["digits_vit", "digits_swin", "digits_dual"])
def test_what_is_fetched_is_what_a_trace_on_the_cpu_holds(name):
    loaded = vizkit.load(f"bundled:{name}", device="cpu")
    expected = np.load(io.BytesIO(npz_bytes(vizkit.trace(loaded, PICTURE, target=1))))
    with pretended():
        made = vizkit.trace(vizkit.load(f"bundled:{name}", device=NAME), PICTURE, target=1)
        with fetching() as fetched:
            assert "weights=[" in repr(made.attention[0])
            assert not fetched
            stored = np.load(io.BytesIO(npz_bytes(made)))
            assert sum(fetched) > bytes_in(made)
            once = len(fetched)
            npz_bytes(made)
            assert len(fetched) == once
    assert set(stored) == set(expected)
    for array in set(stored) - {"meta"}:
        assert stored[array].dtype == expected[array].dtype
        assert_allclose(stored[array], expected[array], atol=1e-5, rtol=1e-4)


COMPUTED = {
    "rollout": lambda trace: rollout(trace, "mean"),
    "by layer": lambda trace: [each.grid for each in rollout_by_layer(trace, "mean", discard=0.1)],
    "all rows": rollout_matrix,
    "terms": lambda trace: rollout_terms(trace, "mean").passed,
    "sinks": lambda trace: [torch.tensor(sink.share) for sink in sinks(trace)],
    "statistics": lambda trace: [
        value for layer in statistics.by_layer(trace) for value in vars(layer).values() if torch.is_tensor(value)
    ],
    "entropy": lambda trace: [statistics.entropy_by_place(layer) for layer in layers(trace)],
}


@pytest.mark.product
@pytest.mark.parametrize("name", ["digits_vit", "digits_swin"])
@pytest.mark.parametrize("computed", COMPUTED)
def test_it_is_computed_there_and_the_result_alone_is_fetched(computed, name):
    def asked(device):
        trace = vizkit.trace(vizkit.load(f"bundled:{name}", device=device), PICTURE)
        with fetching() as fetched:
            return COMPUTED[computed](trace), sum(fetched), bytes_in(trace)

    with pretended():
        found, fetched, whole = asked(NAME)
    assert fetched < whole / 2
    assert_close(found, asked("cpu")[0], equal_nan=True)


def test_of_a_matrix_too_large_to_hover_over_one_row_is_fetched(monkeypatch):
    monkeypatch.setattr("vizkit.views.rows_of.MAX_MATRIX", 100)
    rows = {}
    for device in ("cpu", NAME):
        with pretended() if device == NAME else nullcontext(), fetching() as fetched:
            layer = vizkit.trace(vizkit.load("bundled:digits_swin", device=device), PICTURE).attention[0]
            fetched.clear()
            rows[device] = layer_for_browser(layer, 1, (0.3, 0.7))
            assert sum(fetched) in (0, rows[device].values.nbytes)
    assert_allclose(rows[NAME].values, rows["cpu"].values, atol=1e-6)
    assert (rows[NAME].query_ids, rows[NAME].values.shape[:2]) == (rows["cpu"].query_ids, (1, 1))


def test_where_too_little_is_left_for_the_next_pass_all_is_fetched_at_once(monkeypatch):
    monkeypatch.setattr(translate, "_roomy", lambda device: False)
    with pretended(), fetching() as fetched:
        made = vizkit.trace(vizkit.load("bundled:digits_vit", device=NAME), PICTURE)
        assert made.there is made
        assert sum(fetched) > bytes_in(made)
        assert {layer.weights.device.type for layer in made.attention} == {"cpu"}


@pytest.mark.parametrize("allocated, roomy", [(49, True), (51, False)])
def test_half_of_a_gpu_stays_free(allocated, roomy, monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (20, 100))  # torch has reserved what it has freed
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 80)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: allocated)
    assert translate._roomy(torch.device("cuda")) == roomy


def test_rows_alone_keep_no_whole_matrix_there():
    with pretended():
        made = vizkit.trace(vizkit.load("bundled:digits_dual", device=NAME), PICTURE, keep=Keep(rows=(0,)))
        for layer in made.attention:
            weights = layer.there.weights
            assert weights.untyped_storage().nbytes() <= 2 * weights.nbytes
