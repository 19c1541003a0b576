"""The recorder against torch's own kernel, a plain double loop and autograd, and that it leaves nothing behind."""

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import _get_current_function_mode_stack
from torch.testing import assert_close

import vizkit
from tests.drawn import noise
from vizkit.models.networks.vit_from_parts import MultiHeadSelfAttention
from vizkit.models.recording.counting import Counting
from vizkit.models.recording.recorder import Keep, Recorder
from vizkit.models.recording.weights import attention_weights, grouped, groups_among, mean_over_heads, softmax_axis
from vizkit.traces import TraceError

IMAGES, HEADS, QUERIES, KEYS, WIDTH, VALUES = 2, 3, 5, 7, 11, 13  # a different prime for every axis


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def qkv(*lead, dtype=torch.float32):
    shapes = ((QUERIES, WIDTH), (KEYS, WIDTH), (KEYS, VALUES))
    query, key, value = (torch.randn(*lead, *shape).to(dtype) for shape in shapes)
    return query, key, value


def by_hand(query, key, mask=None, causal=False, scale=None):
    """One number at a time, as the formula is written: exp(s_ij) / Σ_j exp(s_ij)."""
    out = torch.zeros(*query.shape[:-1], key.shape[-2], dtype=torch.float64)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    mask = None if mask is None else mask.expand(*query.shape[:-1], key.shape[-2])
    for index in torch.cartesian_prod(*(torch.arange(n) for n in query.shape[:-1])).tolist():
        *lead, i = index
        exps = []
        for j in range(key.shape[-2]):
            score = float(query[*lead, i].double() @ key[*lead, j].double()) * scale
            if mask is not None and mask.dtype != torch.bool:
                score += float(mask[*lead, i, j])
            hidden = (causal and j > i) or (mask is not None and mask.dtype == torch.bool and not mask[*lead, i, j])
            exps.append(0.0 if hidden else math.exp(score))
        out[*lead, i] = torch.tensor(exps) / sum(exps)
    return out.float()


def masks(lead):
    keep = torch.rand(*lead, QUERIES, KEYS) > 0.4
    keep[..., 2] = True
    return {
        "plain": {},
        "boolean": {"attn_mask": keep},
        "boolean over heads": {"attn_mask": keep[:, :1]},
        "boolean 2-D": {"attn_mask": keep[0, 0]},
        "boolean of heads, for all images": {"attn_mask": keep[0]},
        "one row for all": {"attn_mask": keep[:, :, :1]},
        "additive": {"attn_mask": torch.randn(*lead, QUERIES, KEYS)},
        "causal": {"is_causal": True},
        "scale": {"scale": 0.7},
        "causal and scale": {"is_causal": True, "scale": 0.3},
    }


CASES = list(masks((1, 1)))


@pytest.mark.parametrize("case", CASES)
def test_weights_are_the_formula_and_the_kernel(case):
    query, key, value = qkv(IMAGES, HEADS)
    options = masks((IMAGES, HEADS))[case]
    weights = attention_weights(query, key, **options)
    mask, causal, scale = (options.get(name) for name in ("attn_mask", "is_causal", "scale"))
    assert_close(weights, by_hand(query, key, mask, causal, scale))
    assert_close(weights @ value, F.scaled_dot_product_attention(query, key, value, **options))


@pytest.mark.parametrize("case", CASES)
def test_chosen_rows_are_those_rows(case):
    query, key, _ = qkv(IMAGES, HEADS)
    options = masks((IMAGES, HEADS))[case]
    full = attention_weights(query, key, **options)
    assert_close(attention_weights(query, key, rows=(3, 0), **options), full[..., [3, 0], :])


def test_grouped_query_attention():
    query, _, _ = qkv(IMAGES, 2 * HEADS)
    _, key, value = qkv(IMAGES, HEADS)
    weights = attention_weights(query, key, enable_gqa=True)
    assert_close(weights, by_hand(query, key.repeat_interleave(2, 1)))
    expected = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    assert_close(weights @ value.repeat_interleave(2, 1), expected)
    mean, out, _ = mean_over_heads(query, key, value, {"enable_gqa": True}, slice(1))
    assert_close(out, expected)
    assert_close(mean, weights.mean(1, keepdim=True))


def test_a_query_that_may_look_nowhere_gets_zeros_as_from_the_kernel():
    query, key, value = qkv(IMAGES, HEADS)
    keep = torch.ones(QUERIES, KEYS, dtype=torch.bool)
    keep[3] = False
    weights = attention_weights(query, key, attn_mask=keep)
    assert not weights[:, :, 3].any()
    assert_close(weights @ value, F.scaled_dot_product_attention(query, key, value, attn_mask=keep))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(dtype):
    query, key, _ = qkv(IMAGES, HEADS, dtype=dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        weights = attention_weights(query, key)
    assert weights.dtype == torch.float32
    assert_close(weights, by_hand(query, key))


def test_double_precision_stays():
    query, key, _ = qkv(IMAGES, HEADS, dtype=torch.float64)
    assert attention_weights(query, key).dtype == torch.float64


class Fused(nn.Module):
    """Self-attention through the fused kernel; `options` go to it."""

    def __init__(self, channels=12, heads=HEADS, **options):
        super().__init__()
        self.num_heads, self.options = heads, options
        self.qkv, self.proj = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)

    def heads_of(self, x):
        query, key, value = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        return query, key, value

    def mixed(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value, **self.options)

    def forward(self, x):
        return self.proj(self.mixed(*self.heads_of(x)).transpose(1, 2).flatten(2))


class Written(Fused):
    """The same with the softmax written out, in one of the spellings of it."""

    spelling = "method"

    def mixed(self, query, key, value):
        scores = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5
        softmaxes = {"method": lambda s: s.softmax(dim=-1), "F": lambda s: F.softmax(s, -1)}
        softmaxes |= {"torch": lambda s: torch.softmax(s, 3), "module": nn.Softmax(dim=-1)}
        return softmaxes[self.spelling](scores) @ value


class Linear(Fused):
    """CoaT's linear attention: softmax of the keys over the tokens, axis −2 of (image, head, token, channel)."""

    def mixed(self, query, key, value):
        return query @ (key.softmax(dim=2).transpose(-1, -2) @ value)


class Toy(nn.Module):
    """Two layers of attention and a head."""

    def __init__(self, layer=Fused, channels=12, labels=5, **options):
        super().__init__()
        self.blocks = nn.ModuleList(layer(channels, **options) for _ in range(2))
        self.head = nn.Linear(channels, labels)

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return self.head(x.mean(1))


class MultiHead(nn.Module):
    """`nn.MultiheadAttention`, batch first or not, with the caller's choice of weights."""

    def __init__(self, channels=12, batch_first=True, **options):
        super().__init__()
        self.attention, self.options = nn.MultiheadAttention(channels, HEADS, batch_first=batch_first), options
        self.batch_first, self.returned = batch_first, None

    def forward(self, x):
        x = x if self.batch_first else x.transpose(0, 1)
        out, self.returned = self.attention(x, x, x, **self.options)
        return out if self.batch_first else out.transpose(0, 1)


def model_of(layer=Fused, **options):
    return Toy(layer, **options).eval().requires_grad_(False)


def record(model, x, keep=None):
    with torch.no_grad(), Recorder(model, keep) as recorder:
        return recorder, model(x)


def plain(model, x):
    with torch.no_grad():
        return model(x)


def inner_weights(block, x):
    with torch.no_grad():
        query, key, _ = block.heads_of(x)
        return (query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5).softmax(-1)


X = noise(1, KEYS, 12, seed=1)


@pytest.mark.parametrize(
    "layer, spelling", [(Fused, ""), *((Written, spelling) for spelling in ("method", "F", "torch", "module"))]
)
def test_every_layer_is_recorded_with_its_name(layer, spelling, monkeypatch):
    monkeypatch.setattr(Written, "spelling", spelling)
    model = model_of(layer)
    recorder, logits = record(model, X)
    assert [call.path for call in recorder.calls] == ["blocks.0", "blocks.1"]
    assert {call.kernel for call in recorder.calls} == {"fused" if layer is Fused else "softmax"}
    assert [call.heads for call in recorder.calls] == [HEADS, HEADS]
    assert_close(logits, plain(model, X))
    assert_close(recorder.calls[0].weights, inner_weights(model.blocks[0], X))
    assert all(float(call.row_sum_error) < 1e-6 for call in recorder.calls)


def test_keywords_and_five_axes():
    query, key, value = (torch.randn(1, HEADS, 2, n, c) for n, c in ((QUERIES, WIDTH), (KEYS, WIDTH), (KEYS, VALUES)))
    module = nn.Module()
    module.num_heads = HEADS
    with Recorder(module) as recorder:
        out = F.scaled_dot_product_attention(query=query, key=key, value=value, is_causal=True)
    assert_close(out, F.scaled_dot_product_attention(query, key, value, is_causal=True))
    (call,) = recorder.calls
    assert call.path == "attention 0"  # no module of the model was on the stack
    # Without a module's num_heads the second axis is taken for groups.
    assert_close(call.weights, by_hand(query, key, causal=True)[0])


@pytest.mark.parametrize("layer", [Fused, Written, MultiHead])
def test_chosen_rows_leave_the_pass_as_it_is(layer):
    model = model_of(layer)
    everything, _ = record(model, X)
    some, logits = record(model, X, Keep(rows=(4, 0, 4, 99)))
    for call, full in zip(some.calls, everything.calls, strict=True):
        assert call.rows == (4, 0)
        assert_close(call.weights, full.weights[:, :, [4, 0]])
    if layer is not MultiHead:
        assert torch.equal(logits, plain(model, X))
    assert_close(logits, plain(model, X))


@pytest.mark.parametrize("windows, rows", [(1, (99, -1)), (3, (2,))])
def test_rows_that_a_layer_does_not_have_or_that_are_of_windows_keep_all_of_it(windows, rows):
    recorder, _ = record(model_of(), torch.randn(windows, KEYS, 12), Keep(rows=rows))
    assert recorder.calls[0].rows is None
    assert recorder.calls[0].weights.shape == (windows, HEADS, KEYS, KEYS)


@pytest.mark.parametrize("rows", [None, (5, 1)])
@pytest.mark.parametrize("images", [1, HEADS])  # as many windows as heads: the mean may not be taken for a head axis
def test_the_mean_over_heads_can_be_kept(rows, images):
    model, x = model_of(), torch.randn(images, KEYS, 12)
    full, _ = record(model, x, Keep(rows=rows))
    mean, logits = record(model, x, Keep(rows=rows, heads="mean"))
    for call, every in zip(mean.calls, full.calls, strict=True):
        assert call.heads == HEADS
        assert call.weights.shape[:2] == (images, 1)
        assert_close(call.weights, every.weights.mean(1, keepdim=True))
    assert_close(logits, plain(model, x))


@pytest.mark.parametrize("layer", [Fused, Written, MultiHead])
def test_layers_that_are_not_asked_for_run_untouched(layer):
    model = model_of(layer)
    full, _ = record(model, X)
    recorder, _ = record(model, X, Keep(layers={1}))
    assert recorder.calls[0].weights is None
    assert_close(recorder.calls[1].weights, full.calls[1].weights)
    nothing, logits = record(model, X, Keep(layers=()))
    assert [call.weights for call in nothing.calls] == [None, None]
    assert torch.equal(logits, plain(model, X)) or layer is MultiHead  # torch's fast path is off in a function mode
    assert_close(logits, plain(model, X))


def test_a_layer_that_is_not_asked_for_keeps_its_positional_options():
    query, key, value = (torch.randn(1, HEADS, KEYS, WIDTH) for _ in range(3))
    mask = attention_mask()
    with Recorder(nn.Module(), Keep(layers=())):
        out = F.scaled_dot_product_attention(query, key, value, mask)
    assert torch.equal(out, F.scaled_dot_product_attention(query, key, value, mask))


def test_storing_in_half_precision_measures_the_rows_before_rounding():
    model = model_of()
    recorder, _ = record(model, X, Keep(dtype=torch.float16))
    call = recorder.calls[0]
    assert call.weights.dtype == torch.float16
    assert float(call.row_sum_error) == float(record(model, X)[0].calls[0].row_sum_error) > 0


@pytest.mark.parametrize("layer", [Fused, Written, MultiHead])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("heads", ["each", "mean"])
def test_a_model_in_half_precision(layer, dtype, heads):
    """The logits stay those of the kernel to the last bit; the weights are float32 and sum to one."""
    model = model_of(layer).to(dtype)
    recorder, logits = record(model, X.to(dtype), Keep(heads=heads))
    with torch.no_grad(), Recorder(model, Keep(layers=())):  # in a mode, so that the same kernel runs
        assert torch.equal(logits, model(X.to(dtype)))
    for call in recorder.calls:
        assert call.weights.dtype == torch.float32
        assert float(call.row_sum_error) < 1e-6
        assert call.weights.shape == (1, HEADS if heads == "each" else 1, KEYS, KEYS)


def attention_mask():
    return torch.rand(KEYS, KEYS, generator=torch.Generator().manual_seed(3)) < 0.3


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("case", ["plain", "boolean", "additive", "padding", "causal"])
def test_multi_head_attention(batch_first, case):
    options = {
        "plain": {},
        "boolean": {"attn_mask": attention_mask()},
        "additive": {"attn_mask": attention_mask() * -2.5},
        "padding": {"key_padding_mask": torch.arange(KEYS)[None] >= 5},
        "causal": {"attn_mask": torch.ones(KEYS, KEYS).triu(1) == 1, "is_causal": True},
    }[case]
    model = model_of(MultiHead, batch_first=batch_first, **options)
    recorder, logits = record(model, X)
    assert_close(logits, plain(model, X))
    assert [call.path for call in recorder.calls] == ["blocks.0.attention", "blocks.1.attention"]
    assert [call.heads for call in recorder.calls] == [HEADS, HEADS]
    with torch.no_grad():
        x = X if batch_first else X.transpose(0, 1)
        _, expected = model.blocks[0].attention(x, x, x, average_attn_weights=False, **options)
    assert_close(recorder.calls[0].weights, expected)
    rows, _ = record(model, X, Keep(rows=(6, 2)))
    assert_close(rows.calls[0].weights, expected[:, :, [6, 2]])


@pytest.mark.parametrize("need", [True, False])
@pytest.mark.parametrize("average", [True, False])
def test_multi_head_attention_returns_what_its_caller_asked_for(need, average):
    model = model_of(MultiHead, need_weights=need, average_attn_weights=average)
    plain(model, X)
    before = model.blocks[1].returned
    record(model, X)
    after = model.blocks[1].returned
    if need:
        assert_close(after, before)
        assert after.shape == ((1, KEYS, KEYS) if average else (1, HEADS, KEYS, KEYS))
    else:
        assert after is None


def test_rows_of_one_image_without_an_axis_for_it():
    layer = nn.MultiheadAttention(12, HEADS).eval()
    with torch.no_grad(), Recorder(layer, Keep(rows=(4, 1))) as recorder:
        layer(X[0], X[0], X[0])
    with torch.no_grad():
        expected = layer(X[0], X[0], X[0], average_attn_weights=False)[1]
    assert recorder.calls[0].rows == (4, 1)
    assert_close(recorder.calls[0].weights, expected[None, :, [4, 1]])


class Squeeze(nn.Module):
    """Softmaxes that are no attention: over branches (SKNet), over radix (ResNeSt), over classes; and one that is."""

    def forward(self, x):
        F.softmax(x.view(1, 2, 3, 2, KEYS), dim=1)
        torch.softmax(x.view(1, 3, 4, KEYS), dim=1)
        x.view(-1, KEYS).softmax(-1)
        x[..., :1].softmax(-1)
        return x.softmax(-1)


def test_squeeze_softmaxes_are_no_attention():
    model = Toy(lambda channels: Squeeze()).eval()
    recorder, _ = record(model, X)
    assert [call.weights.shape for call in recorder.calls] == [(1, 1, KEYS, 12)] * 2


def test_attention_pooling():
    class Pool(Fused):
        def mixed(self, query, key, value):
            return super().mixed(query[:, :, :1], key, value)

    recorder, _ = record(model_of(Pool), X, Keep(rows=(5,)))
    assert recorder.calls[0].weights.shape == (1, HEADS, 1, KEYS)


def test_linear_attention_weighs_tokens_for_every_channel():
    model = model_of(Linear)
    recorder, logits = record(model, X)
    assert recorder.calls[0].weights.shape == (1, HEADS, 4, KEYS)
    assert torch.equal(logits, plain(model, X))
    assert float(recorder.calls[0].row_sum_error) < 1e-6


def with_gradient(model, x, target, keep=None):
    with Recorder(model, keep, gradient=True) as recorder:
        logits = model(x.clone().requires_grad_())
    recorder.take_gradients(logits[0, target])
    return recorder


def pass_by_hand(model, x, weights):
    """The forward pass written out, with the weights of some layers given from outside."""
    used = []
    for i, block in enumerate(model.blocks):
        query, key, value = block.heads_of(x)
        a = weights.get(i, (query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5).softmax(-1))
        used.append(a)
        x = x + block.proj((a @ value).transpose(1, 2).flatten(2))
    return model.head(x.mean(1)), used


@pytest.mark.parametrize("layer", [Fused, Written])
def test_gradients_are_those_of_autograd(layer):
    model = model_of(layer)
    recorder = with_gradient(model, X, target=3)
    logits, used = pass_by_hand(model, X.clone().requires_grad_(), {})
    for call, expected in zip(recorder.calls, torch.autograd.grad(logits[0, 3], used), strict=True):
        assert_close(call.gradient, expected)
        assert call.gradient.abs().max() > 1e-4
        assert call.heads == HEADS
        assert call.raw is None
        assert not call.weights.requires_grad


def test_gradients_of_multi_head_attention():
    """torch returns a view of the weights that its output does not depend on; the gradient may not vanish there."""
    model = model_of(MultiHead)
    same = model_of()
    same.head.load_state_dict(model.head.state_dict())
    for block, other in zip(model.blocks, same.blocks, strict=True):
        other.qkv.weight, other.qkv.bias = block.attention.in_proj_weight, block.attention.in_proj_bias
        other.proj.load_state_dict(block.attention.out_proj.state_dict())
    assert_close(plain(model, X), plain(same, X))
    for call, expected in zip(with_gradient(model, X, 1).calls, with_gradient(same, X, 1).calls, strict=True):
        assert_close(call.weights, expected.weights)
        assert_close(call.gradient, expected.gradient)
        assert call.gradient.abs().max() > 1e-4


@pytest.mark.parametrize("bias", [True, False])
def test_multi_head_attention_with_a_gradient_goes_on_as_without(bias):
    """The output is made anew from the weights, with every bias the layer has; torch begins with biases of zero."""
    layer = nn.MultiheadAttention(12, HEADS, bias=bias, batch_first=True)
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    x = torch.randn(1, QUERIES, 12)
    with torch.enable_grad(), Recorder(layer, gradient=True) as recorder:
        out, _ = layer(x, x, x)
    assert len(recorder.calls) == 1
    assert_close(out.detach(), plain_output(layer, x))


def plain_output(layer, x):
    with torch.no_grad():
        return layer(x, x, x, need_weights=False)[0]


def test_gradients_of_linear_attention_do_not_vanish():
    for call in with_gradient(model_of(Linear), X, 1).calls:
        assert call.gradient.shape == (1, HEADS, 4, KEYS)
        assert call.gradient.abs().max() > 1e-5


def test_gradients_only_of_the_layers_asked_for():
    recorder = with_gradient(model_of(), X, 1, Keep(layers={1}))
    assert recorder.calls[0].gradient is None
    assert recorder.calls[1].gradient is not None


def test_gradients_of_other_tensors_come_with_those_of_the_weights():
    model, x, apart = model_of(), X.clone().requires_grad_(), torch.ones(3, requires_grad=True)
    with torch.enable_grad(), Recorder(model, gradient=True) as recorder:
        logits = model(x)
    got, nothing = recorder.take_gradients(logits[0, 2], x, apart)
    (expected,) = torch.autograd.grad(model(x)[0, 2], x)
    assert_close(got, expected)
    assert torch.equal(nothing, torch.zeros(3))


def test_gradients_come_with_every_row():
    model = model_of()
    some, full = with_gradient(model, X, 1, Keep(rows=(2,))), with_gradient(model, X, 1)
    for call, every in zip(some.calls, full.calls, strict=True):
        assert call.rows is None
        assert_close(call.gradient, every.gradient)


def test_a_mean_over_heads_has_no_gradient():
    with pytest.raises(ValueError, match="keep every head"):
        Recorder(model_of(), Keep(heads="mean"), gradient=True)


@pytest.mark.parametrize(
    "shape, heads, name, expected",
    [
        ((7, 3, 5, 11), 3, "Attention", lambda w: w),  # (group, head, …)
        ((7, 5, 11), 1, "SHSA", lambda w: w.view(7, 1, 5, 11)),  # (group, …), one head
        ((21, 5, 11), 3, "SAM", lambda w: w.view(7, 3, 5, 11)),  # (group · head, …)
        (
            (21, 5, 11),
            3,
            "timm.models.efficientvit_msra.CascadedGroupAttention",
            lambda w: w.view(21, 1, 5, 11),
        ),  # a call for each head
        ((3, 7, 5, 11), 3, "HaloAttn", lambda w: w.transpose(0, 1)),  # (head, group, …)
        ((1, 3, 7, 5, 11), 3, "MaskUnitAttention", lambda w: w[0].transpose(0, 1)),  # (1, head, group, …)
        ((1, 7, 3, 5, 11), 3, "Other", lambda w: w[0]),  # (1, group, head, …)
        ((1, 3, 3, 5, 11), 3, "timm.models.twins.LocallyGroupedAttn", lambda w: w[0]),  # as many groups as heads
    ],
)
def test_grouped_by_the_shapes_in_which_models_write(shape, heads, name, expected):
    file, _, single = name.rpartition(".")
    module = type(single, (nn.Module,), {"num_heads": heads, "__module__": file})()
    weights = torch.randn(shape)
    assert torch.equal(grouped(weights, module), expected(weights))


@pytest.mark.parametrize(
    "shape, positions, expected",
    [
        ((1, 3, 197, 197), 197, (1, 3)),  # three heads of one image, not three groups
        ((1, 3, 49, 49), 3 * 49, (3, 1)),  # three windows of one head
        ((3, 1, 49, 49), 49, (1, 3)),
        ((4, 3, 49, 49), 4 * 49, (4, 3)),
        ((3, 4, 49, 49), 4 * 49, (4, 3)),
        ((4, 3, 49, 49), 49, (1, 12)),
        ((4, 3, 49, 49), 12 * 49, (12, 1)),
        ((12, 49, 49), 49, (1, 12)),
        ((12, 49, 49), 4 * 49, (4, 3)),
        ((12, 49, 49), 12 * 49, (12, 1)),
        ((1, 4, 3, 49, 49), 4 * 49, (4, 3)),
        ((1, 3, 4, 49, 49), 4 * 49, (4, 3)),
        ((1, 3, 196, 49), 49, (1, 3)),  # fewer keys, projected last
        ((1, 3, 1, 197), 197, (1, 3)),  # a class token alone asks
        ((1, 3, 197, 197), None, (1, 3)),  # nothing was projected: as torch itself writes it
        ((3, 197, 197), None, (1, 3)),
    ],
)
def test_without_a_number_of_heads_the_projected_tokens_tell(shape, positions, expected):
    found = grouped(torch.rand(shape), nn.Identity(), groups_among(shape, positions))
    assert found.shape == (*expected, *shape[-2:])


class Unnamed(nn.Module):
    """Attention of three heads in windows of `group` tokens, written as `order` says; the heads have another name."""

    def __init__(self, order, group, way):
        super().__init__()
        self.order, self.group, self.way, self.qkv = order, group, way, nn.Linear(12, 36)

    def forward(self, x):
        query, key, value = self.qkv(x).unflatten(1, (-1, self.group)).unflatten(-1, (3, 3, 4)).unbind(3)
        axes = {"group head": (0, 1, 3, 2, 4), "head group": (0, 3, 1, 2, 4)}[self.order]
        query, key, value = (each.permute(axes) for each in (query, key, value))  # 1, two axes, token, channel
        if self.way == "merged":
            query, key, value = (each.flatten(0, 2) for each in (query, key, value))
        elif self.way == "four axes":
            query, key, value = (each[0] for each in (query, key, value))
        return ((query @ key.mT).softmax(-1) @ value).sum().expand(1, 2)


# Heads before groups in one axis look the same as groups before heads: torch's order is taken.
@pytest.mark.parametrize(
    "order, groups, way",
    [("group head", groups, way) for groups in (1, 2) for way in ("five axes", "four axes", "merged")]
    + [("head group", 2, "five axes"), ("head group", 2, "four axes")],
)
def test_layers_that_do_not_name_their_heads_keep_them(order, groups, way):
    x = noise(1, 10, 12)
    model = nn.Sequential(Unnamed(order, 10 // groups, way))
    with torch.no_grad(), Recorder(model) as recorder:
        model(x)
        query, key, _ = model[0].qkv(x).unflatten(1, (groups, -1)).unflatten(-1, (3, 3, 4)).unbind(3)
    expected = (query[0].transpose(1, 2) @ key[0].transpose(1, 2).mT).softmax(-1)
    assert_close(recorder.calls[0].weights, expected)


@pytest.mark.parametrize("shape", [(2, 3, 5, 7, 11), (1, 2, 3, 5, 7, 11)])
def test_grouped_refuses_what_it_does_not_understand(shape):
    with pytest.raises(TraceError, match="is not understood"):
        grouped(torch.zeros(shape), None)


def hooks_of(model):
    tables = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return sum(len(getattr(module, table)) for module in model.modules() for table in tables)


@pytest.mark.parametrize("gradient", [False, True])
def test_nothing_is_left_behind(gradient):
    model = model_of()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    attributes = {name: set(vars(module)) for name, module in model.named_modules()}
    if gradient:
        with_gradient(model, X, 0)
    else:
        record(model, X)
    assert not hooks_of(model)
    assert not _get_current_function_mode_stack()
    assert attributes == {name: set(vars(module)) for name, module in model.named_modules()}
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_an_exception_inside_leaves_no_mode_behind():
    recorder = Recorder(model_of())
    with pytest.raises(ZeroDivisionError), recorder:
        raise ZeroDivisionError
    assert not _get_current_function_mode_stack()
    F.scaled_dot_product_attention(*qkv(IMAGES, HEADS))
    assert not recorder.calls


def test_threads_that_share_a_model_do_not_mix_their_recordings():
    model = model_of()
    asked = [(torch.randn(1, KEYS, 12), target) for target in range(5) for _ in range(4)]
    alone = [with_gradient(model, x, target).calls for x, target in asked]
    with ThreadPoolExecutor(8) as pool:
        together = [recorder.calls for recorder in pool.map(lambda one: with_gradient(model, *one), asked)]
    for calls, expected in zip(together, alone, strict=True):
        for call, one in zip(calls, expected, strict=True):
            assert call.path == one.path
            assert torch.equal(call.weights, one.weights)
            assert_close(call.gradient, one.gradient)


def test_the_mean_of_heads_that_share_one_key_head():
    """MobileNetV4's multi-query attention: (1, 4, 5, 7) queries, (1, 1, 11, 7) keys and values."""
    torch.manual_seed(0)
    query, key, value = torch.randn(1, 4, 5, 7), torch.randn(1, 1, 11, 7), torch.randn(1, 1, 11, 7)

    class Shared(nn.Module):
        def forward(self, query):
            return F.scaled_dot_product_attention(query, key, value)

    model = Shared()
    with torch.no_grad(), Recorder(model, Keep(heads="mean")) as recorder:
        out = model(query)
    expected = torch.softmax(query @ key.transpose(-2, -1) / 7**0.5, -1)
    assert_close(recorder.calls[0].weights, expected.mean(1, keepdim=True))
    assert_close(out, expected @ value)


@pytest.mark.rest
@pytest.mark.parametrize("name", ["swinv2_tiny_window8_256", "vit_relpos_small_patch16_224"])
def test_gradients_beside_a_position_bias_made_by_an_mlp(name, photo):
    """The MLP's input are offsets, which no gradient reaches; what enters the attention is the tokens."""
    loaded = vizkit.load(name, pretrained=False)
    trace = vizkit.trace(loaded, photo, target=3)
    assert trace.check.passed
    assert all(layer.gradient is not None for layer in trace.attention if layer.learned)
    assert any(features.name == "into the last attention" for features in trace.cam_features)


@pytest.mark.parametrize(
    "shape, axis, expected",
    [
        ((1, 2, 3, 4), -1, -1),
        ((1, 2, 3, 4), 3, -1),
        ((1, 2, 3, 4), -2, -2),
        ((1, 2, 3, 1), -2, None),  # one channel alone: nothing is weighed for it
        ((1, 2, 3, 1), -1, None),
        ((2, 3, 4), -2, None),
        ((1, 2, 3, 4), 1, None),
        ((3, 4), -1, None),
    ],
)
def test_which_softmax_is_attention_and_over_which_axis(shape, axis, expected):
    out = torch.zeros(shape)
    assert softmax_axis(out, (out, axis), {}) == softmax_axis(out, (out,), {"dim": axis}) == expected
    assert softmax_axis(out, (out,), {}) is None


def test_a_single_key_counts_where_the_tokens_are_those_of_a_text():
    """A text of one token is no special case; of pictures, a softmax over one number weighs channels."""
    layer = MultiHeadSelfAttention(WIDTH + 1, HEADS)
    token = torch.randn(1, 1, WIDTH + 1)
    for single_keys in (False, True):
        with (
            torch.no_grad(),
            Recorder(layer, single_keys=single_keys) as recorder,
            Counting(token, single_keys=single_keys) as counting,
        ):
            layer(token)
        assert counting.layers == len(recorder.calls) == single_keys
    assert recorder.calls[0].weights.shape == (1, HEADS, 1, 1)
