"""How much a recording takes is known before the model runs, for every family."""

import pytest
import timm
import torch

from tests.models.test_counting import PIXELS, Model, made, softmax, written_out
from tests.test_families import ZOO, first_trace, loaded_of
from vizkit.image import Preprocessing
from vizkit.models import Keep, families
from vizkit.models.probes.budget import keep_within, weights_bytes
from vizkit.models.probes.unreduced import unreduced
from vizkit.models.sources.loaded import Loaded, described


def sized(loaded, size_hw):
    needs = Preprocessing(size_hw=size_hw, mean=(0.5,) * 3, std=(0.5,) * 3)
    return Loaded(loaded.name, loaded.model, loaded.device, needs)


@pytest.mark.product
@pytest.mark.parametrize("module", ZOO)
def test_what_a_trace_keeps_is_known_before(module):
    kept = sum(layer.weights.numel() * 4 for layer in first_trace(module).attention if layer.learned)
    assert weights_bytes(sized(loaded_of(module), ZOO[module][1])) == pytest.approx(kept, rel=0.05)


def test_the_models_that_were_measured():
    """CaiT-S24 at 384 pixels: 24 layers of 8 heads and 576 tokens, and two of a class token that asks all."""
    with torch.device("meta"):
        model = timm.create_model("cait_s24_384", pretrained=False).eval()
    loaded = described("cait_s24_384", model, None, source="test")
    assert weights_bytes(loaded) == (24 * 8 * 576**2 + 2 * 8 * 577) * 4
    assert weights_bytes(loaded) / 2**20 == pytest.approx(243, abs=1)


def test_it_is_counted_once_for_a_size(monkeypatch):
    loaded = made(Model(softmax))
    first = weights_bytes(loaded)
    assert first == 2 * 24 * 24 * 4
    monkeypatch.setattr("vizkit.models.probes.budget.counted", lambda *_: pytest.fail("it is known"))
    assert weights_bytes(loaded) == first


def test_models_that_look_into_their_tensors_are_counted_too():
    class Looking(Model):
        def forward(self, pixels):
            return super().forward(pixels.clamp(max=float(pixels.max())))

    assert weights_bytes(made(Looking(softmax, softmax))) == 2 * 2 * 24 * 24 * 4


def test_a_changed_model_is_counted_by_itself():
    """The gradual reduction with nothing averaged has more tokens in its later blocks."""
    loaded = sized(loaded_of("gradual_reduction"), ZOO["gradual_reduction"][1])
    assert weights_bytes(unreduced(loaded)) > weights_bytes(loaded) > 0


def test_a_model_without_attention_takes_nothing():
    assert weights_bytes(made(Model())) == 0
    assert weights_bytes(made(Model(written_out))) == 0  # the recording cannot keep what it cannot see


def test_above_the_limit_only_what_fits_is_kept():
    vit, other = sized(loaded_of("deit"), ZOO["deit"][1]), made(Model(softmax, softmax))
    assert keep_within(vit, (0.0, 0.0), 10**9) == keep_within(other, "cls", 10**9) == Keep()
    assert keep_within(vit, (0.0, 0.0), 10) == Keep(rows=(0, 1, 2))
    assert keep_within(vit, "cls", 10) == Keep(rows=(0, 1))
    mean = keep_within(other, (0.0, 0.0), 10)
    assert mean == Keep(heads="mean")
    layer = families.trace(other, PIXELS, keep=mean).attention[0]
    assert (layer.weights.shape[1], layer.heads) == (1, 2)
