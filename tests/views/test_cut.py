"""What the animation of the cut is given: the numbers of the model, each patch's own."""

import base64

import numpy as np
import pytest

from tests.views.contract import subject
from vizkit.image import prepare
from vizkit.models.probes.parts import patch_embedding
from vizkit.models.probes.positions import learned_table
from vizkit.views.blocks import Canvas
from vizkit.views.patches import cut
from vizkit.views.patches.cut import Cut, packed


def unpacked(part: dict) -> np.ndarray:
    """As cut.js reads it."""
    whole = np.frombuffer(base64.b64decode(part["values"]), "<u2").reshape(part["rows"], part["columns"])
    return part["low"] + whole * part["step"]


def data_of(of, **settings) -> dict:
    (canvas,) = (block for block in Cut(**settings).show(of) if isinstance(block, Canvas))
    return canvas.data


def test_numbers_survive_in_steps_of_their_range():
    part = packed(np.array([[-1.0, 0.5], [2.0, 5.5535]]))
    np.testing.assert_allclose(unpacked(part), [[-1.0, 0.5], [2.0, 5.5535]], atol=6.5535 / 65535)
    assert part["step"] == pytest.approx(0.0001)


def test_a_patch_times_w_is_what_the_model_embeds_there():
    of = subject("insects_deit")
    data, embedded, table = data_of(of), patch_embedding(of.loaded, of.pixels), learned_table(of.loaded)
    assert embedded.weight is not None
    assert embedded.bias is not None
    assert table is not None
    rows, columns, patch = data["rows"], data["columns"], data["patch"]
    assert (rows, columns, patch, data["channels"], data["cell"]) == (14, 14, 8, 3, 7 * 14 + 7)
    pixels = prepare(of.rgb, of.loaded.preprocessing)[0]
    patches = unpacked(data["patches"])
    np.testing.assert_allclose(patches[17], pixels[:, 8:16, 24:32].ravel(), atol=1e-4)  # row 2, column 4
    product = patches @ embedded.weight.flatten(1).numpy().T + embedded.bias.numpy()
    np.testing.assert_allclose(unpacked(data["embedding"]), product, atol=2e-3)
    np.testing.assert_allclose(unpacked(data["position"])[17], table[1, 3].numpy(), atol=1e-4)


def test_of_very_many_numbers_only_those_of_the_chosen_patch_are_sent(monkeypatch):
    of = subject("digits_vit")
    everything = data_of(of)
    monkeypatch.setattr(cut, "MOST_SENT", 10)
    one, index = data_of(of), everything["cell"]
    for name in ("patches", "embedding", "position"):
        assert one[name]["rows"] == 1
        np.testing.assert_allclose(unpacked(one[name])[0], unpacked(everything[name])[index], atol=1e-3)


def test_a_step_changes_the_step_alone():
    of = subject("digits_vit")
    first, last = data_of(of, step=1), data_of(of, step=5)
    assert first | {"step": 5} == last
