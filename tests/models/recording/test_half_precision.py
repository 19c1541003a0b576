"""Weights of half precision: products of what is given, summed in float32; tiles, and a proof that can fail."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

import vizkit
from tests.drawn import noise
from tests.models.test_recording import CASES, masks, qkv
from vizkit.models import Keep
from vizkit.models.many import Many
from vizkit.models.recording import recorder, weights
from vizkit.models.recording.weights import ALIGNED, aligned, attention_weights, following, mean_over_heads

IMAGES, HEADS = 3, 2


@pytest.fixture(scope="module")
def wide_kernel():
    """What NVIDIA's GPUs have for it, on the CPU."""

    def made(given, left, right, out_dtype, *, beta=1, alpha=1, out):
        assert (beta, out_dtype, given.dtype) == (0, torch.float32, torch.float32)
        return out.copy_(alpha * (left.float() @ right.float()))

    library = torch.library.Library("aten", "IMPL")
    library.impl("baddbmm.dtype_out", made, "CPU")
    yield
    library._destroy()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("case", CASES)
def test_what_is_given_is_multiplied_and_summed_in_float32(case, dtype, wide_kernel, monkeypatch):
    query, key, _ = qkv(IMAGES, HEADS, dtype=dtype)
    options = masks((IMAGES, HEADS))[case]
    expected = attention_weights(query.float(), key.float(), **options)
    for device_sums in (False, True):
        monkeypatch.setattr(weights, "sums_wide", lambda _, own=device_sums: own)
        found = attention_weights(query, key, **options)
        assert found.dtype == torch.float32
        assert_close(found, expected, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("keys", [1, HEADS])  # heads with keys of their own, and with one key for all
def test_gradients_are_those_of_float32_but_for_rounding(dtype, keys):
    query, key, value = qkv(IMAGES, HEADS, dtype=dtype)
    key = key[:, :keys]
    found, expected = [], []
    for gradients, kind in ((found, dtype), (expected, torch.float32)):
        given = [each.detach().to(kind).requires_grad_() for each in (query, key, value)]
        out = aligned(attention_weights(given[0], given[1], scale=0.3), kind) @ given[2]
        gradients += torch.autograd.grad((out.float() ** 2).sum(), given)
    for own, exact in zip(found, expected, strict=True):
        assert own.dtype == dtype
        off = (own.float() - exact).abs().max() / exact.abs().max()
        assert 0 < off < 4 * torch.finfo(dtype).eps


def test_rows_of_a_factor_begin_where_tensor_cores_read_them():
    made = aligned(torch.rand(2, 5, 197), torch.bfloat16)
    assert made.shape == (2, 5, 197)
    assert made.stride(-2) % ALIGNED == 0
    exact = torch.rand(3, 7)
    assert aligned(exact, torch.float32) is exact


def test_the_kernels_values_and_the_gradient_of_ours():
    own, mine = torch.tensor([1.0, torch.inf]).bfloat16(), torch.tensor([2.0, 3.0], requires_grad=True)
    out = following(own, mine)
    assert torch.equal(out, own)
    assert torch.autograd.grad(out.float()[0] * 5, mine)[0].tolist() == [5, 0]


@pytest.mark.parametrize("most", [1, 20, 37, 90, 10_000])
@pytest.mark.parametrize("case", CASES)
def test_a_mean_in_tiles_is_the_mean(case, most, monkeypatch):
    monkeypatch.setattr(weights, "AT_ONCE", (most, most))
    query, key, value = qkv(IMAGES, HEADS)
    options = masks((IMAGES, HEADS))[case]
    mean, out, sample = mean_over_heads(query, key, value, options, slice(1, 4, 2))
    every = attention_weights(query, key, **options)
    assert_close(mean, every.mean(1, keepdim=True))
    assert_close(sample, every[..., [1, 3], :])
    assert_close(out, F.scaled_dot_product_attention(query, key, value, **options))
    assert mean_over_heads(query, key, None, options, slice(1))[1] is None


@pytest.mark.parametrize("share", [0.0, 0.004])  # too little for what bfloat16 rounds, not for what float32 does
def test_of_many_pictures_in_half_precision_one_is_compared_as_in_float32(share, monkeypatch):
    true = recorder.mean_over_heads

    def wrong(*given):
        mean, out, sample = true(*given)
        return (1 - share) * mean + share * mean.roll(1, -1), out, (1 - share) * sample + share * sample.roll(1, -1)

    loaded = vizkit.load("bundled:digits_vit")
    loaded.model.to(torch.bfloat16)
    pixels = noise(3, 3, 32, 32, seed=5).bfloat16()
    many = Many(loaded, Keep(heads="mean"), by_layer=False)
    many.begin(pixels[:1])
    many.alone = False
    monkeypatch.setattr(recorder, "mean_over_heads", wrong)
    found = many.traces(pixels)
    assert (found.proof_error > found.allowed).all() == (share > 0)
