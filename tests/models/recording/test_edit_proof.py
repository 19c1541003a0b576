"""The proof of edits, red where an edit is broken on purpose; and masks of every kind, which no edit opens."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import timm
import torch
import torchvision
from torch import nn
from torch.testing import assert_close

import vizkit
from tests.drawn import noisy_picture
from tests.models.recording.test_editing import DIM, HEADS, IMAGE, TOKENS, Fused, Model, Torch, Written, wrapped
from vizkit.models import EditError, attention_places, pixels_of, trace
from vizkit.models.recording import edit_proof, editing
from vizkit.traces import TraceError

OTHER = noisy_picture(32, 32, 5)
OPEN = torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril()
EVENLY = OPEN / OPEN.sum(-1, keepdim=True)
TEXTS = ("uniform:1.2", "temperature:1.2=4", "blind:1=2", "frozen:1.2", "heads:1.2=0", "heads:1.2=mean", "uniform:1")


# Ways to be wrong -----------------------------------------------------------------------------------------------------


def ignored(edit, layer):
    return []


def one_layer_later(edit, layer):
    return [edit] if edit.concerns(layer - 1) else []


def another_head(edit, layer):
    return [replace(edit, head=(edit.head + 1) % HEADS) if edit.head is not None else edit] if not layer else []


def half_of_it(edit, layer):
    return [replace(edit, value=edit.value / 2)] if not layer else []


@pytest.mark.product("wrong", "text")
@pytest.mark.parametrize("kind", [Fused, Written, Torch])
@pytest.mark.parametrize(
    "wrong, text",
    [
        *((ignored, text) for text in TEXTS),
        *((one_layer_later, text) for text in TEXTS if text != "frozen:1.2"),
        *((another_head, text) for text in TEXTS if "1.2" in text and "frozen" not in text),
        (half_of_it, "temperature:1.2=4"),
    ],
)
def test_an_edit_that_is_not_made_as_it_is_written_is_red(kind, wrong, text, monkeypatch):
    loaded = wrapped(kind)
    right = trace(loaded, IMAGE, edits=[text], reference=[OTHER])
    assert right.check.failure is None
    assert "changes" in right.check.proofs
    broken = lambda self, layer: [made for edit in self.plan.edits for made in wrong(edit, layer)]  # noqa: E731
    monkeypatch.setattr(editing.Editing, "_edits", broken)
    check = trace(loaded, IMAGE, edits=[text], reference=[OTHER]).check
    assert str(check.failure).startswith("The check failed: a layer does not give what the changes make of it")


LAST = TOKENS - 1
WHERE = {
    Fused: ("_fused", (..., LAST, slice(None))),
    Written: ("_softmax", (..., LAST, slice(None))),
    Torch: ("_multi_head", LAST),
}


@pytest.mark.product("kind", "text")
@pytest.mark.parametrize("at_once", [1, 1 << 17])
@pytest.mark.parametrize("kind", WHERE)
@pytest.mark.parametrize("text", TEXTS)
def test_an_edit_of_which_one_query_hears_nothing_is_red(kind, text, at_once, monkeypatch):
    if kind is Written and text.endswith("mean"):
        text = "heads:1=0"  # its mean enters behind the softmax
    name, place = WHERE[kind]
    right = getattr(editing.Editing, name)
    monkeypatch.setattr(edit_proof, "AT_ONCE", (at_once, at_once))
    loaded = wrapped(kind)
    assert trace(loaded, IMAGE, edits=[text], reference=[OTHER]).check.failure is None

    def but_one(self, func, *args, **kwargs):
        given = {Fused: (args, kwargs), Written: args, Torch: ((), args[0])}[kind]
        with torch._C.DisableTorchFunction():
            own = func(*given[0], **given[1])
        made = right(self, func, *args, **kwargs)
        first, other = (each[0] if kind is Torch else each for each in (made, own))
        first[place] = other[place]
        return made

    monkeypatch.setattr(editing.Editing, name, but_one)
    check = trace(loaded, IMAGE, edits=[text], reference=[OTHER]).check
    assert str(check.failure).startswith("The check failed: a layer does not give what the changes make of it")


def test_without_a_change_nothing_is_said_of_changes():
    assert trace(wrapped(Fused), IMAGE).check.edit_error is None


# Masks of every kind --------------------------------------------------------------------------------------------------


def causal(low):
    return torch.zeros(TOKENS, TOKENS).masked_fill(~OPEN, low)


class OfKernel(Fused):
    """How a fused layer is told, by name."""

    def __init__(self, how=""):
        super().__init__()
        self.how = how
        self.bias = nn.Parameter(torch.randn(HEADS, TOKENS, TOKENS))

    def mixed(self, query, key, value):
        low = torch.full((), -300.0)
        options = {
            "true allows": {"attn_mask": OPEN},
            "causal": {"is_causal": True},
            "-inf": {"attn_mask": causal(-torch.inf)},
            "lowest": {"attn_mask": causal(torch.finfo(torch.float32).min) + self.bias},
            "-100": {"attn_mask": causal(-100.0)},
            "bias and -100": {"attn_mask": self.bias + causal(-100.0)[None]},
            "-100 and bias": {"attn_mask": causal(-100.0) + self.bias},
            "bias where": {"attn_mask": torch.where(OPEN, self.bias, low)},
        }[self.how]
        return nn.functional.scaled_dot_product_attention(query, key, value, **options)


class ByHand(OfKernel):
    """And one that is written out."""

    def mixed(self, query, key, value):
        scores = query @ key.mT * query.shape[-1] ** -0.5 + self.bias
        if self.how == "added":
            scores = scores + causal(-100.0)
        elif self.how == "added in place, viewed":
            scores = scores.view(-1, 1, *scores.shape[1:])
            scores += causal(-1e4)
            scores = scores.view(-1, *scores.shape[2:])
        elif self.how == "made of whole numbers":
            place = torch.arange(TOKENS)[None]
            scores = scores + (place.mT - place).masked_fill(~OPEN, -100).masked_fill(OPEN, 0)
        elif self.how == "added first":
            scores = causal(-100.0) + scores
        elif self.how == "subtracted":
            scores = scores - 1e4 * ~OPEN
        elif self.how == "filled":
            scores = scores.masked_fill(~OPEN, -1e9)
        elif self.how == "set":
            scores[~OPEN.expand_as(scores)] = -500.0
        elif self.how == "where":
            scores = torch.where(OPEN, scores, -1e4)
        elif self.how == "then scaled, in double":
            scores = (scores + causal(-1e4)).double() / 2
        return scores.softmax(-1).to(value.dtype) @ value


class Multi(Torch):
    def __init__(self, how):
        super().__init__()
        self.how = how

    def forward(self, x):
        options = {
            "true forbids": {"attn_mask": ~OPEN},
            "-100": {"attn_mask": causal(-100.0)},
            "for each head": {"attn_mask": causal(-100.0).expand(len(x) * HEADS, -1, -1)},
        }[self.how]
        return self.attention(x, x, x, need_weights=False, **options)[0]


KERNEL = ("true allows", "causal", "-inf", "lowest", "-100", "bias and -100", "-100 and bias", "bias where")
HAND = ("added", "added in place, viewed", "made of whole numbers", "added first", "subtracted", "filled", "set")
HAND += ("where", "then scaled, in double")
WAYS = [(OfKernel, how) for how in KERNEL] + [(ByHand, how) for how in HAND]
WAYS += [(Multi, how) for how in ("true forbids", "-100", "for each head")]


def masked(kind, how):
    torch.manual_seed(0)
    model = Model(partial(kind, how))
    return vizkit.wrap(model, size_hw=(32, 32), mean=(0.5,) * 3, std=(0.5,) * 3, head="softmax")


@pytest.mark.parametrize("kind, how", WAYS)
def test_no_edit_opens_a_mask_however_it_is_given(kind, how):
    loaded = masked(kind, how)
    plain = trace(loaded, IMAGE)
    assert float(plain.attention[0].weights[..., ~OPEN].max()) < 1e-30
    evenly = trace(loaded, IMAGE, edits=["uniform:1"])
    given = evenly.attention[0].weights[0].float()
    assert_close(given, EVENLY.expand(HEADS, -1, -1), atol=1e-6, rtol=0)
    warm = trace(loaded, IMAGE, edits=["temperature:1.2=50"])
    own, made = (each.attention[0].weights[0, 1].double() for each in (plain, warm))
    assert float(made[~OPEN].max()) == 0
    # p^(1/T), and the last row sees everything.
    expected = own[-1] ** (1 / 50)
    assert_close(made[-1], expected / expected.sum(), atol=1e-5, rtol=0)
    for changed in (evenly, warm):
        assert changed.check.failure is None
        assert changed.check.edit_error is not None


@pytest.mark.parametrize("kind, how", [WAYS[4], WAYS[8], WAYS[-2]])
def test_who_is_blind_to_all_that_it_may_see_sees_that(kind, how):
    """Token 0 may see itself alone."""
    loaded = masked(kind, how)
    blind = trace(loaded, IMAGE, edits=["blind:1=0"])
    weights = blind.attention[0].weights[0]
    assert_close(weights[:, 0], torch.eye(TOKENS)[0].expand(HEADS, -1))
    assert float(weights[:, 1:, 0].max()) == 0
    assert blind.check.failure is None


class Both(ByHand):
    """A bias with the mask in it: nothing says what of it is the mask."""

    def mixed(self, query, key, value):
        return (query @ key.mT + self.together()).softmax(-1) @ value

    def together(self):
        return torch.from_numpy(self.bias.numpy() + np.where(OPEN, 0, -90).astype(np.float32))


class BothOfKernel(Both):
    def mixed(self, query, key, value):
        return nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=self.together())


@pytest.mark.parametrize("kind", [Both, BothOfKernel])
def test_a_mask_that_cannot_be_told_from_a_bias_is_refused_in_a_sentence(kind):
    loaded = masked(kind, "")
    for text in ("uniform:1", "temperature:1=3"):
        with pytest.raises(EditError, match=r"adds numbers down to -9\d to its scores.*not edited\.$"):
            trace(loaded, IMAGE, edits=[text])
    assert trace(loaded, IMAGE, edits=["heads:1.1=0"]).check.failure is None  # weights stay as they are


def test_a_bias_is_no_mask():
    loaded = masked(ByHand, "")
    evenly = trace(loaded, IMAGE, edits=["uniform:1"]).attention[0].weights
    assert_close(evenly, torch.full_like(evenly, 1 / TOKENS), atol=1e-6, rtol=0)


# The borders of shifted windows ---------------------------------------------------------------------------------------


def swin(name):
    torch.manual_seed(0)
    if name.startswith("torchvision"):
        made = torchvision.models.swin_v2_t if name.endswith("2") else torchvision.models.swin_t
        size_hw = (64, 96) if name.endswith("2") else (72, 104)  # the second is padded
        return vizkit.wrap(made().eval(), size_hw=size_hw, mean=(0.5,) * 3, std=(0.5,) * 3, head="softmax")
    module, _, how = name.partition(" ")
    small = {"depths": (2, 2), "num_heads": (2, 4), "embed_dim": 16, "img_size": (128, 96), "num_classes": 5}
    if "cr" in module:
        small["img_size"] = (128, 192)
    model = timm.create_model(module, **small).eval()
    for layer in model.modules():
        if how == "written out" and hasattr(layer, "fused_attn"):
            layer.fused_attn = False
    size_hw = small["img_size"]
    return vizkit.wrap(model, size_hw=size_hw, mean=(0.5,) * 3, std=(0.5,) * 3, head="softmax")


SWINS = (
    "swin_tiny_patch4_window7_224",
    "swin_tiny_patch4_window7_224 written out",
    "swinv2_tiny_window8_256",
    "swinv2_cr_tiny_224",
    "torchvision 1",
    "torchvision 2",
)


def border(loaded, changed):
    """(window, query, key): pairs of layer 2 that its own mask keeps apart, as timm keeps it; torchvision pads before
    it rolls, so there pairs of tokens that lie a window or more apart."""
    layer = [each for each in changed.attention if each.learned][1]
    path = layer.name.rpartition(".")[0]
    mask = getattr(loaded.model.get_submodule(path), "attn_mask", None)
    if mask is not None:
        return mask < 0
    row, column = layer.key_ids // layer.key.grid[1], layer.key_ids % layer.key.grid[1]
    high, wide = loaded.model.get_submodule(layer.name).window_size
    far = ((row[:, :, None] - row[:, None]).abs() >= high) | ((column[:, :, None] - column[:, None]).abs() >= wide)
    real = layer.key_ids >= 0
    return far & real[:, :, None] & real[:, None]


@pytest.mark.product
@pytest.mark.parametrize("name", SWINS)
def test_edits_keep_the_borders_of_shifted_windows(name, monkeypatch):
    loaded = swin(name)
    size = (*loaded.preprocessing.size_hw, 3)
    image = np.random.default_rng(1).integers(0, 255, size, dtype=np.uint8)
    assert attention_places(loaded, pixels_of(loaded, image))[1].regions is not None
    for text in ("uniform:2", "temperature:2.1=40"):
        changed = trace(loaded, image, edits=[text])
        layer = [each for each in changed.attention if each.learned][1]
        across = border(loaded, changed)
        assert bool(across.any())
        assert float((layer.weights * across[:, None]).max()) == 0
        assert changed.check.failure is None
    monkeypatch.setattr(editing.Masks, "closed", lambda self, scores, added=False: torch.isneginf(scores))
    opened = trace(loaded, image, edits=["uniform:2"])
    layer = [each for each in opened.attention if each.learned][1]
    assert float((layer.weights * border(loaded, opened)[:, None]).sum(-1).max()) > 0.3
    assert str(opened.check.failure).startswith("The check failed: a layer does not give what the changes make of it")


# Of several edits -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Fused, Written, Torch])
def test_of_two_edits_of_a_head_the_later_one_holds(kind):
    loaded = wrapped(kind)
    for texts in (
        ["frozen:1.2=1.3", "uniform:1.2"],
        ["temperature:1.2=9", "frozen:1=1.3", "temperature:1=2"],
        ["temperature:all=3", "temperature:1=1"],
        ["heads:1.2=0", "heads:1.2=mean"],
        ["heads:1.2=mean", "heads:1.2=0"],
    ):
        alone, both = (trace(loaded, IMAGE, edits=edits, reference=[OTHER]) for edits in (texts[-1:], texts))
        if "temperature:all=3" not in texts:  # which the second layer keeps
            assert_close(both.logits, alone.logits, atol=1e-6, rtol=0)
        assert_close(both.attention[0].weights, alone.attention[0].weights, atol=1e-6, rtol=0)
        assert both.check.failure is None


@pytest.mark.parametrize("without", [torch.no_grad, torch.inference_mode])
def test_a_target_has_its_gradient_also_where_the_caller_asks_for_none(without):
    loaded = wrapped(Fused)
    for edits in ([], ["heads:1.1=mean", "frozen:2"]):
        expected = trace(loaded, IMAGE, 1, edits=edits, reference=[OTHER]).attention[0].gradient
        with without():
            given = trace(loaded, IMAGE, 1, edits=edits, reference=[OTHER]).attention[0].gradient
            assert not torch.is_grad_enabled()
        assert_close(given, expected, atol=0, rtol=0)


def test_a_model_made_without_gradients_says_so():
    with torch.inference_mode():
        loaded = wrapped(Fused)
    assert trace(loaded, IMAGE).check.failure is None
    with pytest.raises(TraceError, match=r"inference_mode.*\.$"):
        trace(loaded, IMAGE, 1)


def test_a_target_does_not_disturb_the_proof_nor_the_proof_the_gradient():
    loaded = wrapped(Torch)
    assert DIM % HEADS == 0
    seen = [trace(loaded, IMAGE, target, edits=["temperature:1=2"]) for target in (None, 1)]
    assert all(each.check.failure is None for each in seen)
    assert_close(seen[0].logits, seen[1].logits, atol=1e-5, rtol=0)
    gradient = seen[1].attention[0].gradient
    assert float(gradient.abs().max()) > 0
