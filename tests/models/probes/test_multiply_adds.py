"""Multiply–adds against formulas by hand: a matter of shapes alone, whatever kernel, device or version computes."""

import pytest
import timm
import torch
import torch.nn.functional as F
from timm.layers import Attention
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

import vizkit
from vizkit.models.probes.multiply_adds import copy_with, counted, one_pass, work_of

IMAGES, TOKENS, CHANNELS, HEADS = 1, 10, 24, 2
SHAPE = (IMAGES, TOKENS, CHANNELS)
PRODUCTS = 2 * TOKENS**2 * CHANNELS  # Q Kᵀ and weights · V
ATTENTION = 4 * TOKENS * CHANNELS**2 + PRODUCTS  # and Q, K, V, W_O


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def both_ways(model, shape):
    """Found without content, and the same when computed for real."""
    model, hollow = model.eval(), work_of(model.eval(), shape)
    assert hollow == one_pass(copy_with(model, lambda tensor: tensor), lambda _: None, torch.randn(shape))
    return hollow


def found(model, shape=SHAPE):
    work = both_ways(model, shape)
    return work.total[""], work.products[""]


@pytest.mark.parametrize("fused", [True, False])
def test_attention_costs_the_same_fused_or_not(fused):
    layer = Attention(CHANNELS, HEADS)
    layer.fused_attn = fused
    assert found(layer) == (ATTENTION, PRODUCTS)


@pytest.mark.parametrize("kernel", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])
@pytest.mark.parametrize("channels", [12, 13, 64])
def test_no_kernel_and_no_padding_of_one_changes_the_count(kernel, channels):
    shape = (1, HEADS, TOKENS, channels)
    with sdpa_kernel(kernel):
        work = both_ways(Calls(lambda x: F.scaled_dot_product_attention(x, x, x)), shape)
    assert work.total[""] == work.products[""] == 2 * HEADS * TOKENS**2 * channels


def test_masked_grouped_and_unequal_attention():
    """A mask saves nothing; several query heads may share one key; values may be of another width."""

    def attend(x):
        query, key, value = x[:, :, :7], x[:, :2], torch.cat([x[:, :2], x[:, :2]], -1)
        return F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)

    assert found(Calls(attend), (1, 4, TOKENS, 6)) == (4 * 7 * TOKENS * (6 + 12),) * 2


@pytest.mark.parametrize("weights", [True, False])
def test_pytorchs_attention_costs_the_same_by_its_fast_path(weights):
    layer = nn.MultiheadAttention(CHANNELS, HEADS, batch_first=True)

    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return self.layer(x, x, x, need_weights=weights)[0]

    assert found(Own()) == (ATTENTION, PRODUCTS)


def test_an_encoder_layer_costs_the_same_by_its_fast_path():
    """Called below its module, so that no hook keeps it from the fast path."""
    layer = nn.TransformerEncoderLayer(CHANNELS, HEADS, 40, batch_first=True).eval()
    expected = (ATTENTION + 2 * TOKENS * CHANNELS * 40, PRODUCTS)
    assert found(layer) == expected
    assert found(Calls(layer.forward)) == expected


@pytest.mark.parametrize(
    "model, shape, expected",
    [
        (nn.Linear(8, 5), (1, 3, 8), 3 * 8 * 5),
        (nn.Linear(8, 5), (8,), 8 * 5),
        (nn.Conv2d(4, 6, 3, stride=2), (1, 4, 9, 11), 6 * 4 * 5 * 4 * 9),
        (nn.Conv2d(4, 8, 3, padding=1, groups=4), (1, 4, 6, 5), 8 * 6 * 5 * 9),
        (nn.ConvTranspose2d(4, 6, 2, stride=2), (1, 4, 5, 7), 4 * 5 * 7 * 6 * 4),
        (nn.Conv1d(3, 2, 5), (1, 3, 9), 2 * 5 * 3 * 5),
        (nn.LSTM(6, 4, batch_first=True), (1, 5, 6), 5 * 4 * 4 * (6 + 4)),
        (nn.LayerNorm(8), (1, 3, 8), 0),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else None,
)
def test_layers_by_hand(model, shape, expected):
    assert work_of(model.eval(), shape).total[""] == expected
    assert work_of(model.eval(), shape).products[""] == 0


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda x: x @ x.mT, 3 * 5 * 5 * 8),
        (lambda x: torch.einsum("bqd, bkd -> bqk", x, x), 3 * 5 * 5 * 8),
        (lambda x: torch.einsum("bqd, bqd -> bq", x, x), 3 * 5 * 8),
        (lambda x: torch.bmm(x, x.mT), 3 * 5 * 5 * 8),
        (lambda x: torch.baddbmm(x.new_zeros(5, 5), x, x.mT), 3 * 5 * 5 * 8),
        (lambda x: x[0] @ x[1].T, 5 * 5 * 8),
        (lambda x: x @ x[0, 0], 3 * 5 * 8),
        (lambda x: x[0, 0] @ x[0, 1], 8),
        (lambda x: x * x + x.softmax(-1), 0),
    ],
)
def test_products_of_activations_by_hand(call, expected):
    assert found(Calls(call), (3, 5, 8)) == (expected, expected)


def test_products_with_what_comes_from_weights_alone_are_not_between_activations():
    """Mixing tokens by a linear layer is one batched product in PyTorch, but no attention; nor is a weight that is
    scaled first, or a table written into zeros. What is written over with activations is one."""

    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.mixing, self.scale = nn.Linear(5, 5), nn.Parameter(torch.ones(1))

        def forward(self, x):
            x = self.mixing(x.mT).mT
            x = torch.bmm(x, (self.mixing.weight[:4, :4] * self.scale).expand(3, 4, 4))
            table = torch.zeros(3, 4, 4, device=x.device)
            table[:, :2] = self.mixing.weight[:2, :4]
            x = torch.bmm(x, table)
            table[:, :2] = x[:, :2]
            return torch.bmm(x, table)

    assert found(Own(), (3, 5, 4)) == (3 * 4 * 5 * 5 + 3 * (3 * 5 * 4 * 4), 3 * 5 * 4 * 4)


@pytest.mark.product
@pytest.mark.parametrize(
    "name",
    ["insects_vit", "insects_swin", "insects_gradual", "insects_dual", "digits_cnn", "insects_deit"],
)
def test_bundled_models_cost_the_same_without_content(name):
    loaded = vizkit.load(f"bundled:{name}")
    total, products = found(loaded.model, (1, 3, *loaded.preprocessing.size_hw))
    assert total == counted(loaded) > 0
    assert (products > 0) == (name != "digits_cnn")


class Looks(nn.Module):
    """Looks into its tensors, which those without content cannot bear."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(24, 24), nn.Linear(24, 5)

    def forward(self, x):
        x = self.first(x)
        return self.last(x) if float(x.max()) < 100 else x


def test_a_model_that_looks_into_its_tensors_is_run_for_real():
    model, seen = Looks(), []
    work = work_of(model, SHAPE, seen.append)
    assert work.total == {"": TOKENS * 24 * 29, "first": TOKENS * 24 * 24, "last": TOKENS * 24 * 5}
    assert len(seen) == 2
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())


def test_what_is_wrong_with_a_model_is_raised():
    with pytest.raises(RuntimeError, match="shapes"):
        work_of(nn.Linear(3, 5), SHAPE)


def test_a_model_of_half_precision_costs_the_same():
    model = timm.create_model("vit_tiny_patch16_224", depth=1, pretrained=False)
    assert work_of(model, (1, 3, 224, 224)) == work_of(model.bfloat16(), (1, 3, 224, 224))


def test_a_module_that_runs_twice_counts_twice_and_one_inside_another_once():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(24, 24))

        def forward(self, x):
            return self.inner(self.inner(x))

    once = TOKENS * 24 * 24
    assert work_of(Own(), SHAPE).total == {"": 2 * once, "inner": 2 * once, "inner.0": 2 * once}
