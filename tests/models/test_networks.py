"""Our own networks against their formulas, against timm's, and against the numbers of the theory."""

import math

import pytest
import timm
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn
from torch.testing import assert_close

import vizkit.models.networks
from vizkit.analysis.attention import positions as analysis
from vizkit.models.networks.dual_scale import with_alpha
from vizkit.models.networks.gradual_reduction import averaged, grids
from vizkit.models.networks.merging import Balance, alignment
from vizkit.models.networks.named_vits import from_timm
from vizkit.models.networks.positions import sinusoids, sinusoids_2d
from vizkit.models.networks.vit_from_parts import ConvStem, EncoderBlock, MultiHeadSelfAttention, PatchEmbedding

TINY = {"embed_dim": 24, "num_heads": 2, "num_classes": 5}
OBLONG = {"img_size": (32, 48), "patch_size": 4}


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def disturbed(model):
    """Every parameter a little random: biases that begin at zero would hide what is forgotten."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def dual(**options):
    given = {**TINY, **OBLONG, "coarse_patch_size": 8, "depth": 4, "merge_block": 3, **options}
    return disturbed(timm.create_model("dual_scale_tiny", **given))


def gradual(**options):
    given = {**TINY, **OBLONG, "depth": 4, "reduce_after": (1, 2), **options}
    return disturbed(timm.create_model("gradual_reduction_tiny", **given))


def count(model):
    return sum(p.numel() for p in model.parameters())


# Positions ----------------------------------------------------------------------------------------------------------


def test_sinusoids_are_those_that_the_page_on_positions_draws():
    """Which are computed by hand in test_positions.py."""
    assert_close(sinusoids(7, 10), analysis.sinusoidal(7, 10))
    assert_close(sinusoids_2d((3, 5), 8), analysis.sinusoidal_2d((3, 5), 8).flatten(0, 1))
    with pytest.raises(ValueError, match="pairs"):
        sinusoids(7, 5)
    with pytest.raises(ValueError, match="multiple of 4"):
        sinusoids_2d((3, 5), 6)


# The parts ----------------------------------------------------------------------------------------------------------


def test_a_patch_embedding_is_a_linear_layer_on_flat_patches():
    embedding, pixels = PatchEmbedding((8, 12), 4, 3, 7), torch.randn(2, 3, 8, 12)
    tokens = embedding(pixels)
    assert tokens.shape == (2, 6, 7)
    assert embedding.grid_size == (2, 3)
    for row in range(2):
        for column in range(3):
            patch = pixels[:, :, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4].flatten(1)  # 3·4² numbers
            expected = F.linear(patch, embedding.proj.weight.flatten(1), embedding.proj.bias)
            assert_close(tokens[:, 3 * row + column], expected)


@pytest.mark.parametrize("embedding", [PatchEmbedding, ConvStem])
def test_patches_divide_the_image_or_the_nearest_size_is_named(embedding):
    with pytest.raises(ValueError, match="do not divide 100×112, the nearest size is 96×112"):
        embedding((100, 112), 16, 3, 32)


def test_a_conv_stem_gives_the_same_grid_and_sees_across_patches():
    stem, pixels = ConvStem((32, 48), 8, 3, 64).eval(), torch.randn(1, 3, 32, 48)
    tokens = stem(pixels)
    assert tokens.shape == (1, 24, 64)
    assert stem.grid_size == (4, 6)
    assert [layer.out_channels for layer in stem.convolutions if isinstance(layer, nn.Conv2d)] == [16, 32, 64]
    pixels[:, :, 7, 15] += 1  # the last pixel of patch (0, 1)
    moved = (stem(pixels) != tokens).any(-1)[0].nonzero().flatten().tolist()
    assert set(moved) == {1, 2, 7, 8}  # patches (0, 1), (0, 2), (1, 1) and (1, 2)
    with pytest.raises(ValueError, match="2, 4, 8"):
        ConvStem((36, 36), 12, 3, 32)


def test_attention_is_that_of_torch():
    ours, theirs, x = (
        MultiHeadSelfAttention(12, 3),
        nn.MultiheadAttention(12, 3, batch_first=True),
        torch.randn(2, 5, 12),
    )
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
        theirs.out_proj.load_state_dict(ours.out.state_dict())
    assert_close(ours(x), theirs(x, x, x)[0])
    with pytest.raises(ValueError, match="5 heads"):
        MultiHeadSelfAttention(12, 5)


def test_a_block_is_two_sums():
    block, x = disturbed(EncoderBlock(12, 3, 48)), torch.randn(2, 5, 12)
    mlp = block.mlp
    y = x + block.attn(F.layer_norm(x, (12,), block.norm1.weight, block.norm1.bias, 1e-6))
    inner = F.layer_norm(y, (12,), block.norm2.weight, block.norm2.bias, 1e-6) @ mlp.first.weight.T + mlp.first.bias
    inner = 0.5 * inner * (1 + torch.erf(inner / math.sqrt(2)))
    assert_close(block(x), y + inner @ mlp.second.weight.T + mlp.second.bias)


# A ViT from its parts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "size, millions, blocks, heads, width",
    [("base", 86, 12, 12, 768), ("large", 307, 24, 16, 1024), ("huge", 632, 32, 16, 1280)],
)
def test_named_sizes_have_the_published_parameters(size, millions, blocks, heads, width):
    with torch.device("meta"):
        model = timm.create_model(f"vit_parts_{size}")
    assert count(model) == pytest.approx(millions * 1e6, rel=0.01)
    assert (len(model.blocks), model.blocks[0].attn.num_heads, model.embed_dim) == (blocks, heads, width)
    assert model.blocks[0].mlp.first.out_features == 4 * width
    assert model.pos_embed.shape[1] == (257 if size == "huge" else 197)


@pytest.mark.product
@pytest.mark.parametrize(
    "theirs, ours, options",
    [
        ("vit_tiny_patch16_224", "vit_parts_tiny", {**TINY, **OBLONG, "depth": 3}),
        ("vit_small_patch16_224", "vit_parts_small", {}),
    ],
)
def test_timms_weights_give_timms_logits(theirs, ours, options):
    theirs, ours = disturbed(timm.create_model(theirs, **options)), timm.create_model(ours, **options).eval()
    ours.load_state_dict(from_timm(theirs.state_dict(), ours))
    pixels = torch.randn(2, 3, *options.get("img_size", (224, 224)))
    with torch.no_grad():
        expected = theirs(pixels)
        assert expected.std() > 0.1
        assert (ours(pixels) - expected).abs().max() < 1e-4
        assert_close(ours.forward_features(pixels), theirs.forward_features(pixels), rtol=1e-3, atol=1e-4)
    assert count(ours) == count(theirs)


def test_timms_mean_pooled_vit_too():
    theirs = timm.create_model(
        "vit_tiny_patch16_224", **TINY, **OBLONG, depth=2, class_token=False, global_pool="avg", fc_norm=False
    )
    ours = timm.create_model("vit_parts_tiny", **TINY, **OBLONG, depth=2, pool="mean").eval()
    ours.load_state_dict(from_timm(disturbed(theirs).state_dict(), ours))
    pixels = torch.randn(2, 3, 32, 48)
    assert ours.cls_token is None
    assert (ours(pixels) - theirs(pixels)).abs().max() < 1e-4


def test_timms_loading_brings_its_weights_and_stretches_positions(tmp_path):
    """The way of `pretrained=True`: the file of a timm checkpoint, our names, another image size."""
    theirs = disturbed(timm.create_model("vit_tiny_patch16_224", depth=1))
    save_file(theirs.state_dict(), tmp_path / "model.safetensors")
    where = {"file": str(tmp_path / "model.safetensors")}
    ours = timm.create_model("vit_parts_tiny", pretrained=True, pretrained_cfg_overlay=where, depth=1).eval()
    pixels = torch.randn(1, 3, 224, 224)
    assert (ours(pixels) - theirs(pixels)).abs().max() < 1e-4
    larger = {"depth": 1, "img_size": (256, 192)}
    ours = timm.create_model("vit_parts_tiny", pretrained=True, pretrained_cfg_overlay=where, **larger).eval()
    theirs.set_input_size((256, 192))
    pixels = torch.randn(1, 3, 256, 192)
    assert (ours(pixels) - theirs(pixels)).abs().max() < 1e-4


@pytest.mark.parametrize("other", [{"reg_tokens": 2}, {"init_values": 1e-5}, {"pre_norm": True}])
def test_other_vits_are_refused(other):
    theirs = timm.create_model("vit_tiny_patch16_224", **TINY, **OBLONG, depth=1, **other)
    ours = timm.create_model("vit_parts_tiny", **TINY, **OBLONG, depth=1)
    with pytest.raises(ValueError, match="built differently"):
        from_timm(theirs.state_dict(), ours)


@pytest.mark.parametrize("options", [{"positions": "sinusoidal"}, {"stem": "conv"}, {"pool": "mean", "stem": "conv"}])
def test_every_choice_learns(options):
    model, pixels = timm.create_model("vit_parts_tiny", **TINY, **OBLONG, depth=2, **options), torch.randn(4, 3, 32, 48)
    F.cross_entropy(model(pixels), torch.tensor([0, 1, 2, 3])).backward()
    without = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert without == [] or all("key.bias" in name for name in without)  # softmax ignores a shift of all scores
    sinusoidal = options.get("positions") == "sinusoidal"
    assert ("pos_embed" in dict(model.named_parameters())) != sinusoidal
    if sinusoidal:
        assert torch.equal(model.pos_embed[0], sinusoids(97, 24))


# Dual-scale ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [2, 3])
def test_alignment_brings_together_what_lies_together(ratio):
    """On a grid that is not square, with the coordinates of every pixel written into it."""
    fine, coarse = 4, 4 * ratio
    height, width = 2 * coarse, 3 * coarse
    model = dual(img_size=(height, width), coarse_patch_size=coarse, depth=1, merge_block=1)
    y, x = torch.meshgrid(torch.arange(height).float(), torch.arange(width).float(), indexing="ij")
    model.pos_table.zero_()
    model.requires_grad_(False)
    for embed in (model.patch_embed, model.patch_embed_coarse):  # tokens that are the mean of their pixels
        embed.proj.weight.zero_()
        embed.proj.bias.zero_()
        embed.proj.weight[0, 0] = embed.proj.weight[1, 1] = 1 / embed.proj.weight[0, 0].numel()
    fine_at, coarse_at = (t[0, :, :2] for t in model.embedded(torch.stack([y, x, y])[None]))
    assert len(fine_at) == len(coarse_at) == 6 * ratio**2
    for k in range(6):
        rows = slice(k * ratio**2, (k + 1) * ratio**2)
        centre = torch.tensor(divmod(k, 3)) * coarse + (coarse - 1) / 2
        assert_close(coarse_at[rows], centre.expand(ratio**2, 2))
        assert_close(fine_at[rows].mean(0), centre)  # the very patches inside it …
        assert (fine_at[rows] - centre).abs().max() == (coarse - fine) / 2
        assert len(fine_at[rows].unique(dim=0)) == ratio**2  # … each once


@pytest.mark.parametrize("positions", ["1d", "2d"])
def test_both_streams_get_the_same_positions_after_the_alignment(positions):
    model = dual(positions=positions)
    for embed in (model.patch_embed, model.patch_embed_coarse):
        embed.proj.weight.data.zero_()
        embed.proj.bias.data.zero_()
    fine, coarse = model.embedded(torch.randn(1, 3, 32, 48))
    expected = sinusoids(96, 24) if positions == "1d" else sinusoids_2d((8, 12), 24)[alignment((8, 12), 2).flatten()]
    assert torch.equal(fine[0], expected)
    assert torch.equal(coarse[0], expected)


def loops(model, fine, coarse, alpha):
    """softmax((α Q₈K₈ᵀ + (1 − α) Q₁₆K₁₆ᵀ) / √d_k) V₈ head by head, then W_O; and the weights."""
    attention = model.blocks[model.merge_block - 1].attn
    (w_q, w_k, w_v), (b_q, b_k, b_v) = attention.qkv.weight.chunk(3), attention.qkv.bias.chunk(3)
    outs, all_weights = [], []
    for head in range(attention.num_heads):
        own = slice(12 * head, 12 * head + 12)
        scores = [(x @ w_q[own].T + b_q[own]) @ (x @ w_k[own].T + b_k[own]).T for x in (fine, coarse)]
        weights = ((alpha * scores[0] + (1 - alpha) * scores[1]) / math.sqrt(12)).softmax(-1)
        outs.append(weights @ (fine @ w_v[own].T + b_v[own]))
        all_weights.append(weights)
    return torch.cat(outs, 1) @ attention.proj.weight.T + attention.proj.bias, torch.stack(all_weights)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_merged_attention_is_the_formula(alpha):
    """α = 0: the coarse scores with the fine values."""
    model, fine, coarse = dual(), torch.randn(1, 96, 24), torch.randn(1, 96, 24)
    expected, _ = loops(model, fine[0], coarse[0], alpha)
    assert_close(model.blocks[2].attn(fine, coarse, alpha)[0], expected, rtol=1e-4, atol=1e-5)


def test_alpha_one_is_the_fine_stream_alone():
    """The very numbers of the plain block, whatever the coarse stream holds."""
    model, fine = dual(), torch.randn(1, 96, 24)
    block, plain = model.blocks[2], timm.create_model("vit_tiny_patch16_224", depth=1, **TINY).blocks[0].eval()
    plain.load_state_dict(block.state_dict())
    plain.attn.fused_attn = False
    with torch.no_grad():
        merged = [block(fine, torch.randn(1, 96, 24) * size, 1.0) for size in (0.0, 1.0, 100.0)]
        assert torch.equal(merged[0], merged[1])
        assert torch.equal(merged[0], merged[2])
        assert_close(merged[0], plain(fine), rtol=1e-5, atol=1e-6)


def test_alpha_is_learned_and_stays_a_share():
    model = dual()
    loss = F.cross_entropy(model(torch.randn(2, 3, 32, 48)), torch.tensor([0, 1]))
    loss.backward()
    assert model.balance.free.grad.abs() > 0
    for free in (-200.0, -1.0, 0.0, 200.0):
        model.balance.free.data.fill_(free)
        assert 0 <= model.balance().item() <= 1
        assert model.balance().item() == pytest.approx(1 / (1 + math.exp(-free)))
    assert Balance(0.2, learned=True)().item() == pytest.approx(0.2)
    for alpha, learned in ((1.2, False), (-0.1, False), (1.0, True)):
        with pytest.raises(ValueError, match="α lies from 0 to 1"):
            Balance(alpha, learned)


def test_a_fixed_alpha_is_no_parameter_and_another_one_shares_all_weights():
    model, half = dual(), dual(learn_alpha=False)
    assert count(model) == count(half) + 1
    assert half.balance() == 0.5
    other, pixels = with_alpha(model, 0.9), torch.randn(1, 3, 32, 48)
    before = model(pixels)
    assert other.balance() == 0.9
    assert not torch.allclose(other(pixels), before)
    assert torch.equal(model(pixels), before)
    assert other.head.weight is model.head.weight
    model.balance.free.data.fill_(math.log(9.0))
    assert_close(model(pixels), other(pixels))


def test_dual_scale_refuses_what_does_not_divide():
    with pytest.raises(ValueError, match="steps of 16×16 pixels do not divide 216×224, the nearest size is 224×224"):
        timm.create_model("dual_scale_tiny", img_size=(216, 224))
    with pytest.raises(ValueError, match="no whole number"):
        timm.create_model("dual_scale_tiny", coarse_patch_size=12)
    with pytest.raises(ValueError, match="Block 13 cannot merge"):
        timm.create_model("dual_scale_tiny", merge_block=13)


def test_it_can_be_given_another_size():
    model, larger = dual(), dual(img_size=(48, 64))
    larger.load_state_dict(model.state_dict())
    model.set_input_size((48, 64))
    pixels = torch.randn(1, 3, 48, 64)
    assert_close(model(pixels), larger(pixels))


def saved_bytes(model, pixels):
    total = 0

    def keep(tensor):
        nonlocal total
        total += tensor.numel() * tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(pixels).square().sum().backward()
    return total, [p.grad.clone() for p in model.parameters()]


@pytest.mark.parametrize("make", [dual, gradual])
def test_gradient_checkpointing_changes_memory_and_no_gradient(make):
    pixels = torch.randn(2, 3, 32, 48)
    plain, checked = make(), make(grad_checkpointing=True)
    checked.load_state_dict(plain.state_dict())
    much, expected = saved_bytes(plain.train(), pixels)
    little, found = saved_bytes(checked.train(), pixels)
    assert little < much / 5
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other)


# Gradual reduction --------------------------------------------------------------------------------------------------


def test_reduction_has_no_weights_and_none_of_it_is_a_plain_vit():
    given = {**TINY, **OBLONG, "depth": 4}
    plain = disturbed(timm.create_model("vit_tiny_patch16_224", **given))
    same, fewer = gradual(reduce_after=()), gradual(reduce_after=(1, 2, 3))
    assert count(plain) == count(same) == count(fewer)
    pixels = torch.randn(2, 3, 32, 48)
    for model in (same, fewer):
        model.load_state_dict(plain.state_dict())
    assert_close(same(pixels), plain(pixels))
    assert not torch.allclose(fewer(pixels), plain(pixels))


def test_neighbours_are_averaged_and_special_tokens_are_not():
    assert grids((28, 28), 3) == [(28, 28), (28, 14), (14, 14), (14, 7)]
    x = torch.randn(2, 2 + 4 * 6, 5)
    for window, grid in (((1, 2), (4, 3)), ((2, 1), (2, 6))):
        found = averaged(x, (4, 6), window, special=2)
        assert torch.equal(found[:, :2], x[:, :2])
        for row in range(grid[0]):
            for column in range(grid[1]):
                cells = [
                    2 + (row * window[0] + r) * 6 + column * window[1] + c
                    for r in range(window[0])
                    for c in range(window[1])
                ]
                expected = (x[:, cells[0]] + x[:, cells[1]]) / 2
                assert_close(found[:, 2 + row * grid[1] + column], expected)


def test_gradual_reduction_refuses_what_does_not_divide():
    with pytest.raises(ValueError, match="steps of 16×32 pixels do not divide 224×240, the nearest size is 224×256"):
        timm.create_model("gradual_reduction_tiny", img_size=(224, 240))
    for after in ((0,), (13,), (6, 3), (3, 3)):
        with pytest.raises(ValueError, match="different blocks of 1 to 12, in order"):
            timm.create_model("gradual_reduction_tiny", reduce_after=after)
    with pytest.raises(ValueError, match="patch_drop_rate"):
        timm.create_model("gradual_reduction_tiny", patch_drop_rate=0.5)


def test_gradual_reduction_works_without_a_class_token_and_at_the_last_block():
    model = gradual(class_token=False, global_pool="avg", reduce_after=(2, 4))
    pixels = torch.randn(2, 3, 32, 48)
    assert model.forward_features(pixels).shape == (2, 24, 24)
    assert model(pixels).shape == (2, 5)


# In timm's manner ---------------------------------------------------------------------------------------------------

MAKERS = {
    "dual": dual,
    "gradual": gradual,
    "parts": lambda: disturbed(timm.create_model("vit_parts_tiny", **TINY, **OBLONG, depth=4)),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_forward_is_features_then_head_and_intermediates_end_in_it(kind):
    model, pixels = MAKERS[kind](), torch.randn(2, 3, 32, 48)
    logits = model(pixels)
    assert_close(model.forward_head(model.forward_features(pixels)), logits)
    final, maps = model.forward_intermediates(pixels)
    assert_close(model.forward_head(final), logits)
    assert len(maps) == len(model.feature_info) == 4
    flat = model.forward_intermediates(pixels, output_fmt="NLC", intermediates_only=True)
    for one, other in zip(maps, flat, strict=True):
        assert torch.equal(one.flatten(2).transpose(1, 2), other)
    (last,) = model.forward_intermediates(pixels, indices=1, norm=True, intermediates_only=True)
    prefix = getattr(model, "num_prefix_tokens", 0)
    assert_close(last.flatten(2).transpose(1, 2), final[:, prefix:])
    first = model.forward_intermediates(pixels, indices=[0], stop_early=True, intermediates_only=True)
    assert torch.equal(first[0], maps[0])


@pytest.mark.parametrize("kind", MAKERS)
def test_heads_can_be_changed_and_blocks_frozen(kind):
    from timm.models import group_parameters

    model = MAKERS[kind]()
    groups = group_parameters(model, model.group_matcher())
    assert sum(map(len, groups.values())) == len([*model.parameters()])
    model.reset_classifier(3)
    assert model(torch.randn(1, 3, 32, 48)).shape == (1, 3)
    assert model.get_classifier().out_features == model.num_classes == 3
    features = timm.create_model("dual_scale_tiny", features_only=True, **TINY, **OBLONG, coarse_patch_size=8)
    assert [m.shape[1:] for m in features(torch.randn(1, 3, 32, 48))] == [(24, 8, 12)] * 3


def test_every_name_is_registered():
    assert len(vizkit.models.networks.NAMES) == 13
    assert all(timm.is_model(name) for name in vizkit.models.networks.NAMES)
