"""Edits of weights, tokens, positions and the stream, against the same done by hand."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import vizkit
from tests.drawn import noise, noisy_picture
from tests.models.recording.test_editing import IMAGE, Fused, Torch, Written, wrapped
from vizkit.models import EditError, pixels_of, trace
from vizkit.models.recording.edits import parse

OTHER = noisy_picture(32, 32, 5)
SEEN = noisy_picture(48, 48, 6)


@pytest.fixture(scope="module")
def vit():
    torch.manual_seed(0)
    return vizkit.load("vit_tiny_patch16_224", pretrained=False, image_size=(48, 48), model_args={"depth": 4})


def stream(loaded, image, blocks):
    """What leaves so many blocks, (1, token, channel)."""
    model = loaded.model
    x = model.norm_pre(model.patch_drop(model._pos_embed(model.patch_embed(pixels_of(loaded, image)))))
    return model.blocks[:blocks](x)


def logits(loaded, x, blocks):
    return loaded.model.forward_head(loaded.model.norm(loaded.model.blocks[blocks:](x)))[0]


@pytest.mark.parametrize("kind", [Fused, Written, Torch])
def test_a_frozen_head_looks_where_it_looks_in_the_reference(kind):
    loaded = wrapped(kind)
    there = trace(loaded, OTHER).attention
    frozen = trace(loaded, IMAGE, edits=["frozen:1.2"], reference=[OTHER]).attention[0].weights
    assert_close(frozen[:, 1], there[0].weights[:, 1], atol=1e-6, rtol=0)
    assert_close(frozen[:, 0], trace(loaded, IMAGE).attention[0].weights[:, 0], atol=1e-6, rtol=0)
    same = trace(loaded, IMAGE, edits=["frozen:all"], reference=[IMAGE])
    assert_close(same.logits, trace(loaded, IMAGE).logits, atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", [Fused, Written, Torch])
def test_a_frozen_head_follows_another_and_blind_keys_stay_unseen(kind):
    loaded = wrapped(kind)
    followed = trace(loaded, IMAGE).attention[0].weights[:, 2]
    layer = trace(loaded, IMAGE, edits=["temperature:2=7", "frozen:2.1=1.3"]).attention[1].weights
    assert_close(layer[:, 0], followed, atol=1e-6, rtol=0)
    both = trace(loaded, IMAGE, edits=["frozen:2.1=1.3", "blind:2=4"]).attention[1].weights[:, 0]
    seen = followed[..., :4] / followed[..., :4].sum(-1, keepdim=True)
    assert_close(both[..., :4], seen, atol=1e-6, rtol=0)
    assert float(both[..., 4].max()) == 0


def test_dropping_is_the_shorter_sequence(vit):
    whole = trace(vit, SEEN)
    cut = trace(vit, SEEN, target=1, edits=["drop:3,7", "heads:2.1=0"])
    kept = [0, 1, 2, 4, 5, 6, 8, 9]
    with torch.no_grad():
        x = stream(vit, SEEN, 0)[:, kept]
        expected = logits(vit, x, 0)
    assert_close(trace(vit, SEEN, edits=["drop:3,7"]).logits, expected, atol=1e-5, rtol=0)
    assert cut.attention[0].key_ids.tolist() == [kept]
    assert cut.attention[0].key.grid == whole.attention[0].key.grid == (3, 3)
    assert float(cut.features[0].values[[3, 7]].abs().max()) == 0
    assert (cut.logits - expected).abs().max() > 1e-4
    rest = trace(vit, SEEN, edits=["drop:3,7", "blind:1=9"]).attention[0]
    assert float(rest.weights[..., kept.index(9)].max()) == 0


def test_positions_are_exchanged_shifted_and_taken_away(vit):
    from vizkit.models.probes.positions import without_positions

    plain, table = trace(vit, SEEN).logits, vit.model.pos_embed.detach().clone()
    zero = trace(vit, SEEN, edits=["positions:zero"]).logits
    assert_close(zero, trace(without_positions(vit), SEEN).logits, atol=0, rtol=0)
    moved = trace(vit, SEEN, edits=["positions:shift=1,0"]).logits
    rolled = table.clone()
    rolled[0, 1:] = table[0, 1:].unflatten(0, (3, 3)).roll(1, 0).flatten(0, 1)
    with torch.no_grad():
        by_hand = logits(vit, stream(vit, SEEN, 0) - table + rolled, 0)
    assert_close(moved, by_hand, atol=1e-5, rtol=0)
    assert_close(trace(vit, SEEN, edits=["positions:shift=3,0"]).logits, plain, atol=0, rtol=0)
    one, again, other = (trace(vit, SEEN, edits=[f"positions:scramble={seed}"]).logits for seed in (1, 1, 2))
    assert_close(one, again, atol=0, rtol=0)
    assert (one - other).abs().max() > 1e-4
    assert_close(vit.model.pos_embed.detach(), table, atol=0, rtol=0)


def test_what_another_run_computed_is_put_in(vit):
    other = noisy_picture(48, 48, 7)
    with torch.no_grad():
        x, there = stream(vit, SEEN, 2), stream(vit, other, 2)
        x[:, [2, 9]] = there[:, [2, 9]]
        expected = logits(vit, x, 2)
    put = trace(vit, SEEN, edits=["patch:stream.2=2,9"], reference=[other])
    assert_close(put.logits, expected, atol=1e-5, rtol=0)
    whole = trace(vit, SEEN, edits=["patch:stream.4"], reference=[other]).logits
    assert_close(whole, trace(vit, other).logits, atol=1e-5, rtol=0)
    for part in ("attention", "mlp"):
        same = trace(vit, SEEN, edits=[f"patch:{part}.3"], reference=[SEEN]).logits
        assert_close(same, trace(vit, SEEN).logits, atol=1e-5, rtol=0)
        changed = trace(vit, SEEN, edits=[f"patch:{part}.3"], reference=[other]).logits
        assert (changed - same).abs().max() > 1e-4


def test_a_direction_is_added_and_gradients_follow(vit):
    direction = noise(10, 192)
    steered = trace(vit, SEEN, target=1, edits=["steer:3=2*1.5"], directions={(2, 2): direction})
    with torch.no_grad():
        expected = logits(vit, stream(vit, SEEN, 3) + 1.5 * direction, 3)
    assert_close(steered.logits, expected, atol=1e-5, rtol=0)
    nothing = trace(vit, SEEN, edits=["steer:3=2*0"], directions={(2, 2): direction})
    assert_close(nothing.logits, trace(vit, SEEN).logits, atol=0, rtol=0)
    plain = trace(vit, SEEN, target=1)
    assert (steered.attention[3].gradient - plain.attention[3].gradient).abs().max() > 1e-6


def test_edits_of_all_kinds_together_leave_the_model_as_it_was(vit):
    plain = trace(vit, SEEN)
    edits = ["positions:scramble=3", "drop:4", "heads:2.1=mean", "frozen:3", "patch:mlp.3=1,2", "uniform:4.2"]
    with pytest.raises(EditError, match="tokens"):  # the reference has all its patches
        trace(vit, SEEN, edits=edits, reference=[SEEN[::-1].copy()])
    together = trace(vit, SEEN, edits=[e for e in edits if not e.startswith("drop")], reference=[SEEN[::-1].copy()])
    assert together.notes[0].startswith("Changed: positions:scramble=3, heads:2.1=mean")
    assert (together.logits - plain.logits).abs().max() > 1e-4
    assert_close(trace(vit, SEEN).logits, plain.logits, atol=0, rtol=0)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in vit.model.modules())


def test_swins_blocks_take_what_another_run_computed():
    loaded = vizkit.load("bundled:digits_swin")
    images = [noisy_picture(28, 28, seed=i) for i in (1, 2)]
    last = sum(len(stage.blocks) for stage in loaded.model.layers)
    put = trace(loaded, images[0], edits=[f"patch:stream.{last}"], reference=[images[1]])
    assert_close(put.logits, trace(loaded, images[1]).logits, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    "text",
    [
        "heads:3.5=mean",
        "frozen:3",
        "frozen:3.5=2.1",
        "frozen:all=2",
        "drop:1,17",
        "positions:zero",
        "positions:shift=-1,2",
        "positions:scramble=7",
        "patch:stream.3",
        "patch:mlp.3=1,2",
        "steer:6=2*-1.5",
        "steer:6=2*1e-05",
        "temperature:3=0.1",
    ],
)
def test_the_text_of_an_edit_is_itself(text):
    assert str(parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "drop:",
        "drop:a",
        "drop:-1",
        "positions",
        "positions:zero=1",
        "positions:shift=1",
        "positions:scramble",
        "patch:3",
        "patch:stream.0",
        "patch:head.3",
        "steer:6",
        "steer:6=2",
        "steer:6=2*nan",
        "steer:6=2*1e99",
        "steer:0=2*1",
        "frozen:3=0",
        "frozen:3=1.0",
        "frozen:=1",
        "heads:3=median",
        "drop:\u0661",
        "heads:3.5=0\n; rm",
        "<b>:1=0",
    ],
)
def test_hostile_text_gets_a_sentence(text):
    with pytest.raises(EditError, match=r"\.$"):
        parse(text)


@pytest.mark.parametrize(
    "text, why",
    [
        ("drop:0", "no patches"),
        ("drop:99", "9 patches"),
        ("drop:1,2,3,4,5,6,7,8,9", "9 patches"),
        ("patch:stream.3", "reference image"),
        ("patch:stream.77", "4 blocks"),
        ("steer:3=1*2", "direction"),
        ("frozen:3", "reference images"),
        ("frozen:3=5", "4 attention layers"),
        ("frozen:3.1=2.4", "3 heads"),
    ],
)
def test_what_cannot_be_done_gets_a_sentence(vit, text, why):
    with pytest.raises(EditError, match=why):
        trace(vit, SEEN, edits=[text])


def test_models_that_need_their_patches_refuse_to_drop_them():
    swin = vizkit.load("bundled:digits_swin")
    image = np.zeros((28, 28, 3), dtype=np.uint8)
    for text, why in (("drop:3", "in its place"), ("positions:scramble=1", "no learned table")):
        with pytest.raises(EditError, match=why):
            trace(swin, image, edits=[text])
