"""Edits against the same change made by hand in the weights, in every way in which models write attention."""

import threading

import numpy as np
import pytest
import timm
import torch
from torch import nn
from torch.testing import assert_close

import vizkit
from tests.drawn import noisy_picture
from tests.models.test_recording import HEADS, Fused, Written
from vizkit.models import Edit, EditError, Keep, trace
from vizkit.models.recording.edits import ALL, parse

IMAGE = np.random.default_rng(0).integers(0, 255, (32, 32, 3), dtype=np.uint8)
TOKENS, DIM = 5, 12


class Torch(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(DIM, HEADS, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


class Model(nn.Module):
    """Two layers on patches of 16 pixels and a class token."""

    def __init__(self, kind):
        super().__init__()
        self.embed = nn.Conv2d(3, DIM, 16, 16)
        self.cls_token = nn.Parameter(torch.randn(1, 1, DIM))
        self.layers = nn.ModuleList(kind() for _ in range(2))
        self.head = nn.Linear(DIM, 7)

    def forward(self, pixels):
        x = self.embed(pixels).flatten(2).mT
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x[:, 0])


def wrapped(kind):
    """The same numbers in all three."""
    torch.manual_seed(0)
    state, model = Model(Fused).state_dict(), Model(kind)
    if kind is Torch:
        for name in [*state]:
            theirs = name.replace("qkv.", "attention.in_proj_").replace(".proj.", ".attention.out_proj.")
            state[theirs] = state.pop(name)
    model.load_state_dict(state)
    return vizkit.wrap(model, size_hw=(32, 32), mean=(0.5,) * 3, std=(0.5,) * 3, head="softmax")


def by_hand(text):
    """The logits after the same change in the weights of `Fused`."""
    loaded = wrapped(Fused)
    layer, d_k = loaded.model.layers[0], DIM // HEADS
    own = slice(d_k, 2 * d_k)  # head 2
    with torch.no_grad():
        if text == "heads:1.2=0":
            layer.proj.weight[:, own] = 0
        elif text == "temperature:1.2=2.5":
            layer.qkv.weight[own] /= 2.5
            layer.qkv.bias[own] /= 2.5
        elif text == "uniform:1.2":
            layer.qkv.weight[own] = 0
            layer.qkv.bias[own] = 0
        elif text == "temperature:1=0.5":
            layer.qkv.weight[:DIM] *= 2
            layer.qkv.bias[:DIM] *= 2
    return trace(loaded, IMAGE).logits


@pytest.mark.parametrize("kind", [Fused, Written, Torch])
@pytest.mark.parametrize("text", ["heads:1.2=0", "temperature:1.2=2.5", "uniform:1.2", "temperature:1=0.5"])
def test_an_edit_is_the_same_change_in_the_weights(kind, text):
    loaded = wrapped(kind)
    plain = trace(loaded, IMAGE)
    changed = trace(loaded, IMAGE, edits=[text])
    assert_close(changed.logits, by_hand(text), atol=1e-5, rtol=0)
    assert (changed.logits - plain.logits).abs().max() > 1e-3
    assert changed.notes[0] == f"Changed: {text}."
    assert changed.check.refused is None
    assert_close(trace(loaded, IMAGE).logits, plain.logits, atol=0, rtol=0)


@pytest.mark.parametrize("kind", [Fused, Written, Torch])
@pytest.mark.parametrize("text", ["temperature:all=1", "temperature:2.1=1"])
def test_an_edit_that_changes_nothing_changes_no_bit(kind, text):
    loaded = wrapped(kind)
    assert torch.equal(trace(loaded, IMAGE, edits=[text]).logits, trace(loaded, IMAGE).logits)


@pytest.mark.parametrize("kind", [Fused, Written, Torch])
def test_a_blind_layer_gives_its_tokens_no_weight(kind):
    loaded = wrapped(kind)
    weights = trace(loaded, IMAGE, edits=["blind:2=1,3"]).attention[1].weights
    assert float(weights[..., [1, 3]].max()) == 0
    assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
    reference = trace(wrapped(Fused), IMAGE, edits=["blind:2=1,3"]).logits
    assert_close(trace(loaded, IMAGE, edits=["blind:2=1,3"]).logits, reference, atol=1e-5, rtol=0)
    assert (reference - trace(loaded, IMAGE).logits).abs().max() > 1e-4


@pytest.mark.parametrize("kind", [Fused, Written, Torch])
def test_a_uniform_head_looks_at_everything_alike_even_beside_blind_keys(kind):
    layer = trace(wrapped(kind), IMAGE, edits=["uniform:1.3", "blind:1=4"]).attention[0].weights[0]
    expected = torch.tensor([0.25] * 4 + [0.0])
    assert_close(layer[2], expected.expand(TOKENS, TOKENS), atol=1e-6, rtol=0)
    assert float((layer[0] - 0.25).abs().max()) > 1e-3


def test_patches_that_nobody_sees_are_as_good_as_dropped():
    """Against a ViT that never had the patches, whose class token is read: the same logits."""
    loaded = vizkit.load("vit_tiny_patch16_224", pretrained=False, image_size=(48, 48))
    image = noisy_picture(48, 48, 1)
    blind = trace(loaded, image, edits=["blind:all=3,7"])
    model, pixels = loaded.model, vizkit.models.pixels_of(loaded, image)
    with torch.no_grad():
        x = model.norm_pre(model.patch_drop(model._pos_embed(model.patch_embed(pixels))))
        kept = [i for i in range(x.shape[1]) if i not in (3, 7)]
        logits = model.forward_head(model.norm(model.blocks(x[:, kept])))[0]
    assert_close(blind.logits, logits, atol=1e-5, rtol=0)


def test_in_swin_a_token_is_unseen_in_its_window_only():
    torch.manual_seed(0)
    loaded = vizkit.load("bundled:insects_swin")
    image = noisy_picture(224, 224, 1)
    plain, blind = trace(loaded, image).attention[0], trace(loaded, image, edits=["blind:1=0"]).attention[0]
    (group,), (place,) = (each.tolist() for each in torch.where(plain.key_ids == 0))
    assert float(blind.weights[group, :, :, place].max()) == 0
    others = [g for g in range(len(plain.weights)) if g != group]
    assert_close(blind.weights[others], plain.weights[others], atol=1e-6, rtol=0)


def test_gradients_are_those_of_the_changed_model():
    loaded = wrapped(Fused)
    plain, cut = trace(loaded, IMAGE, target=2), trace(loaded, IMAGE, target=2, edits=["heads:2=0"])
    assert float(plain.attention[1].gradient.abs().max()) > 0
    assert float(cut.attention[1].gradient.abs().max()) == 0
    # The class token, which is read, sees what the others saw through layer 2 only.
    assert float(plain.attention[0].gradient[..., 1:, :].abs().max()) > 0
    assert float(cut.attention[0].gradient[..., 1:, :].abs().max()) == 0


def test_other_threads_see_the_unchanged_model():
    loaded, seen = wrapped(Fused), []
    plain = trace(loaded, IMAGE).logits
    begun, go_on = threading.Event(), threading.Event()
    here = threading.current_thread()

    def until_the_other_has_run(*_):
        if threading.current_thread() is here:
            begun.set()
            assert go_on.wait(30)

    def other():
        assert begun.wait(30)
        seen.append(trace(loaded, IMAGE).logits)
        go_on.set()

    worker = threading.Thread(target=other)
    worker.start()
    first = loaded.model.layers[1].qkv
    handle = first.register_forward_pre_hook(until_the_other_has_run)
    changed = trace(loaded, IMAGE, keep=Keep(), edits=["heads:1=0"]).logits
    handle.remove()
    worker.join()
    assert_close(seen[0], plain, atol=0, rtol=0)
    assert (changed - plain).abs().max() > 1e-3


@pytest.mark.parametrize(
    "edit",
    [
        Edit("heads", 2, 4),
        Edit("heads", 2),
        Edit("heads", 2, 1, how="mean"),
        Edit("temperature", 0, 1, 2.5),
        Edit("uniform", ALL),
        Edit("uniform", 3, 0),
        Edit("blind", ALL, tokens=(3, 17)),
        Edit("temperature", ALL, None, 1e-3),
    ],
)
def test_what_is_written_is_read_again(edit):
    assert parse(str(edit)) == edit


@pytest.mark.parametrize(
    "text",
    [
        "",
        "heads",
        "heads:0=0",
        "heads:1.0=0",
        "heads:1=1",
        "uniform:1=2",
        "temperature:1",
        "temperature:1=0",
        "blind:1",
        "temperature:1=nan",
        "temperature:1=1e99",
        "blind:1.2=3",
        "blind:1=a",
        "blind:1=-3",
        "heads:99999=0",
        "x:1=0",
        "temperature:1=1,2",
    ],
)
def test_what_is_no_edit_gets_a_sentence(text):
    with pytest.raises(EditError, match=r"\.$"):
        parse(text)


@pytest.mark.parametrize("text", ["heads:3=0", "heads:1.4=0", "uniform:all.4"])
def test_a_layer_or_head_that_there_is_not_gets_a_sentence(text):
    with pytest.raises(EditError, match=r"has [23]"):
        trace(wrapped(Fused), IMAGE, edits=[text])


def test_a_model_of_timm_is_edited_alike_fused_and_written_out():
    torch.manual_seed(0)
    edits = ["heads:1.1=0", "temperature:2=3", "blind:3=0,5", "uniform:2.2"]
    logits = []
    for fused in (True, False):
        torch.manual_seed(0)
        model = timm.create_model("vit_tiny_patch16_224", img_size=48, depth=3).eval()
        for block in model.blocks:
            block.attn.fused_attn = fused
        loaded = vizkit.wrap(model, size_hw=(48, 48), mean=(0.5,) * 3, std=(0.5,) * 3, head="softmax")
        logits.append(trace(loaded, IMAGE, edits=edits).logits)
    assert_close(*logits, atol=1e-5, rtol=0)


def test_the_face_and_the_command_take_edits(tmp_path, capsys):
    from PIL import Image

    from vizkit.__main__ import main

    photo = tmp_path / "photo.png"
    Image.fromarray(IMAGE).save(photo)
    loaded = vizkit.load("bundled:digits_vit")
    image = vizkit.open_image(photo)
    expected = trace(loaded, image, edits=["heads:1=0"])
    assert_close(vizkit.trace(loaded, image, edits=["heads:1=0"]).logits, expected.logits)
    line = ["trace", str(photo), "--model", "bundled:digits_vit", "-o", str(tmp_path / "a.npz")]
    assert main([*line, "--edit", "heads:1=0", "--edit", "uniform:2"]) == 0
    assert "Changed: heads:1=0, uniform:2." in capsys.readouterr().out
    assert main([*line, "--edit", "heads:77=0"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
