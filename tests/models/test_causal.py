"""Cause and effect, exactly: change one token or patch and see that only what the ids predict changes.

Random weights throughout; the numbers do not matter here, only who can see whom.
"""

import pytest
import timm
import torch
from torch import nn
from torch.testing import assert_close
from torchvision.models import swin_transformer

import vizkit
from tests.drawn import noisy_picture
from vizkit.geometry import id_of, window_ids
from vizkit.models import Keep, families
from vizkit.models.families.swin import blocks
from vizkit.models.sources.loaded import described
from vizkit.traces import Attention, dense


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def loaded_of(name, **options):
    model = timm.create_model(name, pretrained=False, **options).eval().requires_grad_(False)
    return described(name, model, None, source="test")


def trace_of(loaded, pixels, **options):
    return families.trace(loaded, pixels, **options)


# Swin ---------------------------------------------------------------------------------------------------------------

NARROW = {"embed_dim": 24, "depths": (2, 2, 2, 2)}
SWINS = {
    "v1": ("swin_tiny_patch4_window7_224", None),
    "v1 oblong and padded": ("swin_tiny_patch4_window7_224", (72, 104)),
    "v2": ("swinv2_tiny_window8_256", (128, 64)),
    "v2 oblong and padded": ("swinv2_tiny_window8_256", (104, 72)),
    "torchvision v1": ("torchvision:swin_t", (112, 112)),
    "torchvision v1 oblong and padded": ("torchvision:swin_t", (72, 104)),
    "torchvision v2": ("torchvision:swin_v2_t", (128, 64)),
    "torchvision v2 oblong and padded": ("torchvision:swin_v2_t", (104, 72)),
}


@pytest.fixture(scope="module", params=SWINS)
def swin(request):
    """In double precision: there even the smallest weight moves what it should move."""
    name, size_hw = SWINS[request.param]
    torch.manual_seed(0)
    sizes = None if name.startswith("torchvision:") else NARROW
    with pytest.MonkeyPatch.context() as patch:  # the functions of torchvision take no sizes
        made = swin_transformer._swin_transformer
        patch.setattr(swin_transformer, "_swin_transformer", lambda **given: made(**given | NARROW))
        loaded = vizkit.load(name, pretrained=False, image_size=size_hw, model_args=sizes)
    size_hw = size_hw or loaded.preprocessing.size_hw
    loaded.model.double()
    for module in loaded.model.modules():
        if isinstance(module, nn.LayerNorm):
            nn.init.ones_(module.weight)  # version 2 starts at zero, where no block changes anything
    return loaded.model, size_hw, trace_of(loaded, torch.randn(1, 3, *size_hw, dtype=torch.float64))


def first_two_of_each_stage(model, trace):
    """One block without and one with a shift."""
    found = {}
    for layer in trace.attention:
        if layer.learned:
            found.setdefault(layer.query.name, []).append(layer)
    assert [len(layers) for layers in found.values()] == [2, 2, 2, 2]
    return [layer for layers in found.values() for layer in layers[:2]]


def predicted(layer, token):
    """Which queries pay the token more than the −100 of the mask leaves."""
    return (dense(layer)[:, :, token] > 1e-20).any(0)


@pytest.mark.product
def test_swin_one_token_reaches_the_predicted_queries_and_no_other(swin):
    model, _, trace = swin
    for layer in first_two_of_each_stage(model, trace):
        block = model.get_submodule(layer.name.removesuffix(".attn"))
        rows, columns = layer.query.grid
        width = block.norm1.normalized_shape[0]
        for cell in {(0, 0), (rows // 2, columns - 1), (rows - 1, columns // 3)}:
            x = torch.randn(1, rows, columns, width, dtype=torch.float64)
            y = x.clone()
            y[0, cell[0], cell[1]] = torch.randn(width, dtype=torch.float64)
            with torch.no_grad():
                changed = (block(x) != block(y)).any(-1).flatten()
            assert torch.equal(changed, predicted(layer, id_of(layer.key, cell))), (layer.name, cell)


@pytest.mark.product
def test_swin_shifts_where_the_block_shifts(swin):
    model, size_hw, trace = swin
    planned = {block.path: block for block in blocks(model, size_hw)}
    for layer in trace.attention:
        if layer.learned:
            grid, block = layer.query.grid, planned[layer.name]
            shifted = [s > 0 for s in block.shift]
            odd = int(layer.name.split(".")[-2]) % 2
            assert shifted == [bool(odd) and grid[axis] > block.window[axis] for axis in (0, 1)]


@pytest.mark.product
def test_swin_merges_between_the_stages(swin):
    _, size_hw, trace = swin
    names = [layer.name for layer in trace.attention if not layer.learned]
    assert names == ["merging 1", "merging 2", "merging 3"]
    rows, columns = -(-size_hw[0] // 4), -(-size_hw[1] // 4)
    for layer in trace.attention:
        if not layer.learned:
            assert layer.key.grid == (rows, columns)
            rows, columns = -(-rows // 2), -(-columns // 2)
            assert layer.query.grid == (rows, columns)


def test_swin_merging_reads_the_four_cells_it_says():
    """One token before timm's own merging moves exactly the merged token whose row holds it, also on odd grids."""
    loaded = vizkit.load("swin_tiny_patch4_window7_224", pretrained=False, image_size=(72, 104))
    trace = trace_of(loaded, torch.randn(1, 3, 72, 104))
    merge = next(layer for layer in trace.attention if not layer.learned)
    rows, columns = merge.key.grid
    module, full = loaded.model.layers[1].downsample, dense(merge)[0]
    for token in (0, columns - 1, rows * columns - 1, columns + 3):
        x = torch.randn(1, rows, columns, 96)
        y = x.clone()
        y.view(-1, 96)[token] += 1
        with torch.no_grad():
            changed = (module(x) != module(y)).any(-1).flatten()
        assert torch.equal(changed, full[:, token] > 0)


@pytest.mark.rest
def test_a_wrong_sign_of_the_shift_would_be_caught():
    """The check above can fail: with the roll the other way most tokens stand in another window."""
    loaded = vizkit.load("swin_tiny_patch4_window7_224", pretrained=False)
    layer = trace_of(loaded, torch.randn(1, 3, 224, 224)).attention[1]
    ids = window_ids((56, 56), (7, 7), (-3, -3))
    wrong = Attention(layer.name, layer.weights, layer.query, layer.key, ids, ids)
    assert not torch.equal(predicted(wrong, 3 * 56 + 3), predicted(layer, 3 * 56 + 3))
    assert int((ids != layer.key_ids).sum()) > 3000


# The attention branch rebuilt from the map ---------------------------------------------------------------------------


def watched(model, pixels, kind):
    """Input and output of every module of a class, in one pass."""
    seen, handles = {}, []
    for name, module in model.named_modules():
        if type(module).__name__ == kind:
            watch = lambda _, given, out, name=name: seen.update({name: (given[0], out)})  # noqa: E731
            handles.append(module.register_forward_hook(watch))
    with torch.no_grad():
        model(pixels)
    for handle in handles:
        handle.remove()
    return seen


def relative(found, expected):
    return float((found - expected).norm() / expected.norm())


def values_of(tokens, weight, bias, heads):
    return (tokens @ weight.T + bias).unflatten(-1, (heads, -1)).transpose(0, 1)  # head token channel


@pytest.mark.parametrize("name", ["vit_tiny_patch16_224", "deit_tiny_distilled_patch16_224"])
def test_vit_branch_is_the_map_times_the_values(name):
    loaded, pixels = loaded_of(name, depth=3), torch.randn(1, 3, 224, 224)
    trace, seen = trace_of(loaded, pixels), watched(loaded.model, pixels, "Attention")
    assert len(seen) == len(trace.attention) == 3
    for layer in trace.attention:
        attention, (x, out) = loaded.model.get_submodule(layer.name), seen[layer.name]
        value = values_of(x[0], attention.qkv.weight.chunk(3)[2], attention.qkv.bias.chunk(3)[2], attention.num_heads)
        rebuilt = attention.proj((dense(layer) @ value).transpose(0, 1).flatten(1))
        assert relative(rebuilt, out[0]) < 1e-4


@pytest.mark.parametrize("name", ["swin_tiny_patch4_window7_224", "swinv2_tiny_window8_256"])
@pytest.mark.parametrize("size_hw", [(64, 128), (72, 104)])
def test_swin_branch_is_the_map_times_the_values(name, size_hw):
    """Padding is a key too: its value is the bias of the values, its weight is what is missing from the row."""
    loaded = loaded_of(name, img_size=size_hw, window_size=4, **NARROW)
    for parameter in loaded.model.parameters():
        if parameter.dim() == 1:
            parameter.add_(0.1 * torch.randn_like(parameter))  # biases start at zero and would hide the padding
    pixels = torch.randn(1, 3, *size_hw)
    trace, v1 = trace_of(loaded, pixels), "v2" not in name
    inside = watched(loaded.model, pixels, "WindowAttention")
    tokens = watched(loaded.model, pixels, "SwinTransformerBlock" if v1 else "SwinTransformerV2Block")
    lost = 0.0
    for layer in first_two_of_each_stage(loaded.model, trace):
        path = layer.name.removesuffix(".attn")
        block, attention = loaded.model.get_submodule(path), loaded.model.get_submodule(layer.name)
        x = tokens[path][0][0]
        x = block.norm1(x) if v1 else x  # v2 normalises after the attention
        bias = attention.qkv.bias.chunk(3)[2] if v1 else attention.v_bias
        value = values_of(x.flatten(0, 1), attention.qkv.weight.chunk(3)[2], bias, attention.num_heads)
        full = dense(layer)
        missing = 1 - full.sum(-1, keepdim=True)
        mixed = full @ value + missing * bias.unflatten(0, (attention.num_heads, 1, -1))
        rebuilt = attention.proj(mixed.transpose(0, 1).flatten(1))
        real = layer.query_ids >= 0  # the module's own output is in windows, with the padding
        assert relative(rebuilt[layer.query_ids[real]], inside[layer.name][1][real]) < 1e-4, layer.name
        lost = max(lost, float(missing.max()))
    assert (lost > 0.01) == (size_hw == (72, 104))


# TNT ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["tnt_s_patch16_224", "tnt_s_legacy_patch16_224"])
def tnt(request):
    torch.manual_seed(0)
    loaded = loaded_of(request.param, depth=2, img_size=(64, 112))
    loaded.model.double()
    pixels = torch.randn(1, 3, 64, 112, dtype=torch.float64)
    return loaded, pixels, trace_of(loaded, pixels)


def moved(before, after):
    """Ids of the keys whose own vector changed.

    log w′ − log w of a row is Δscore − Δ log Z; the second is one number for the row, and its median. What is left is
    zero for keys that did not change, in every row of a query that did not change either.
    """
    difference = after.weights.double().log() - before.weights.double().log()
    rest = (difference - difference.median(-1, keepdim=True).values).abs()
    changed = rest.amax(1).median(1).values > 1e-9  # group key: in most rows
    return before.key_ids[changed].unique()


@pytest.mark.parametrize("pixel", [(1, 2), (33, 50), (63, 111), (20, 79)])
def test_tnt_a_pixel_moves_the_words_around_it(tnt, pixel):
    loaded, pixels, before = tnt
    changed = pixels.clone()
    changed[0, :, pixel[0], pixel[1]] += 3
    after = trace_of(loaded, changed)
    words = before.attention[0]
    assert words.query.grid == (16, 28)
    # The words are a 7×7 convolution of stride 4 and padding 3: word i sees rows 4i − 3 … 4i + 3, and only those of
    # its own patch, but in the legacy model, which convolves before it cuts the patches.
    hit = {
        id_of(words.query, (row, column))
        for row in range(16)
        for column in range(28)
        if abs(4 * row - pixel[0]) <= 3 and abs(4 * column - pixel[1]) <= 3
        if "legacy" in loaded.name or (row // 4, column // 4) == (pixel[0] // 16, pixel[1] // 16)
    }
    assert set(moved(words, after.attention[0]).tolist()) == hit
    # No other patch's inner map moves at all, in the first block.
    untouched = ~torch.isin(words.key_ids, torch.tensor(sorted(hit))).any(1)
    assert torch.equal(words.weights[untouched], after.attention[0].weights[untouched])
    # Outside, the patches with one of these words are moved, and no other.
    patches = {1 + row // 4 * 7 + column // 4 for row, column in (divmod(token, 28) for token in hit)}
    assert set(moved(before.attention[1], after.attention[1]).tolist()) == patches


def test_tnt_tells_inner_from_outer(tnt):
    _, _, trace = tnt
    assert [layer.query.name for layer in trace.attention] == ["words", "patches"] * 2
    words, patches = trace.attention[0], trace.attention[1]
    assert words.weights.shape == (28, 4, 16, 16)
    assert patches.weights.shape == (1, 6, 29, 29)
    assert (words.query.stride, patches.query.stride) == (4.0, 16.0)
    assert patches.query.special == ("cls",)


# ViT ----------------------------------------------------------------------------------------------------------------

VITS = {
    "class token": ("vit_tiny_patch16_224", (96, 160), {}, ("cls",)),
    "distilled": ("deit_tiny_distilled_patch16_224", (160, 96), {}, ("cls", "dist")),
    "registers": ("vit_small_patch14_reg4_dinov2", (70, 126), {}, ("cls", "reg1", "reg2", "reg3", "reg4")),
    "mean-pooled": ("vit_base_patch16_rpn_224", (64, 96), {"embed_dim": 96, "num_heads": 3}, ()),
    "attention-pooled": ("vit_base_patch16_siglip_224", (64, 96), {"embed_dim": 96, "num_heads": 3}, ()),
    "rotary": ("eva02_tiny_patch14_224", (84, 56), {}, ("cls",)),
    "relative": ("vit_relpos_small_patch16_224", (64, 96), {}, ()),
}


@pytest.mark.parametrize("kind", VITS)
def test_vit_a_patch_of_pixels_is_one_token(kind):
    name, size_hw, options, special = VITS[kind]
    loaded = loaded_of(name, img_size=size_hw, depth=2, **options)
    loaded.model.double()
    pixels = torch.randn(1, 3, *size_hw, dtype=torch.float64)
    before = trace_of(loaded, pixels)
    tokens = before.attention[0].query
    patch = int(name.split("patch")[1][:2])
    assert tokens.special == special
    assert tokens.grid == (size_hw[0] // patch, size_hw[1] // patch)
    assert tokens.stride == patch
    for row, column in ((0, 0), (1, 3), (tokens.grid[0] - 1, 1)):
        changed = pixels.clone()
        changed[0, :, row * patch : (row + 1) * patch, column * patch : (column + 1) * patch] += torch.randn(3, 1, 1)
        after = trace_of(loaded, changed)
        token = id_of(tokens, (row, column))
        assert moved(before.attention[0], after.attention[0]).tolist() == [token]
        # What leaves the first block moves most at that token.
        shift = (after.features[0].values - before.features[0].values).norm(dim=1)
        assert int(shift.argmax()) == token


@pytest.mark.product
@pytest.mark.parametrize("name", ["vit_tiny_patch16_224", "swin_tiny_patch4_window7_224"])
def test_oblong_input_has_rows_first(name):
    loaded = vizkit.load(name, pretrained=False, image_size=(256, 128))
    image = noisy_picture(90, 120)
    trace = vizkit.trace(loaded, image)
    assert trace.image_size == (256, 128)
    stride = int(trace.attention[0].query.stride)
    assert trace.attention[0].query.grid == (256 // stride, 128 // stride)
    pixels = torch.randn(1, 3, 256, 128, dtype=torch.float64)
    loaded.model.double()
    marked = pixels.clone()
    marked[..., 192 : 192 + stride, 32 : 32 + stride] += 1
    before, after = (trace_of(loaded, x, keep=Keep(layers={0})).attention[0] for x in (pixels, marked))
    assert moved(before, after).tolist() == [id_of(before.key, (192 // stride, 32 // stride))]


def test_registers_at_518_pixels():
    sizes = {"embed_dim": 96, "num_heads": 3, "depth": 2}
    loaded = vizkit.load("vit_small_patch14_reg4_dinov2", pretrained=False, image_size=518, model_args=sizes)
    keep = Keep(layers={0}, rows=(0, 7))
    pixels = torch.randn(1, 3, 518, 518)
    before = trace_of(loaded, pixels, keep=keep)
    layer = before.attention[0]
    assert layer.query.grid == layer.key.grid == (37, 37)
    assert layer.query.special == ("cls", "reg1", "reg2", "reg3", "reg4")
    assert layer.query_ids.tolist() == [[0, 7]]
    assert before.check.layers_found == before.check.layers_expected == 2
    marked = pixels.clone()
    marked[..., 30 * 14 : 31 * 14, 4 * 14 : 5 * 14] += 1
    shift = (trace_of(loaded, marked, keep=keep).attention[0].weights.log() - layer.weights.log())[0].mean((0, 1))
    assert int((shift - shift.median()).abs().argmax()) == id_of(layer.key, (30, 4))


# torchvision's ViT --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def torchvision_vit():
    torch.manual_seed(0)
    loaded = vizkit.load("torchvision:vit_b_16", pretrained=False)
    del loaded.model.encoder.layers[2:]
    nn.init.normal_(loaded.model.heads.head.weight, std=0.05)  # torchvision starts it at zero
    return loaded


@pytest.mark.rest
def test_torchvision_vit_a_patch_is_one_token(torchvision_vit):
    pixels = torch.randn(1, 3, 224, 224)
    before = trace_of(torchvision_vit, pixels)
    assert before.check.passed
    assert before.attention[0].query.special == ("cls",)
    assert before.attention[0].query.grid == (14, 14)
    changed = pixels.clone()
    changed[0, :, 9 * 16 : 10 * 16, 2 * 16 : 3 * 16] += 3
    after = trace_of(torchvision_vit, changed)
    shift = after.attention[0].weights.log() - before.attention[0].weights.log()
    rest = (shift - shift.median(-1, keepdim=True).values).abs().amax(1).median(1).values[0]
    token = id_of(before.attention[0].key, (9, 2))
    assert int(rest.argmax()) == token
    assert rest[token] > 30 * rest[torch.arange(197) != token].max()


# What is kept -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def vit_and_image():
    torch.manual_seed(0)
    loaded = vizkit.load("test_vit", pretrained=False)
    image = noisy_picture(160, 160)
    return loaded, image, vizkit.trace(loaded, image)


def test_keep_rows(vit_and_image):
    loaded, image, full = vit_and_image
    some = vizkit.trace(loaded, image, keep=Keep(rows=(0, 57)))
    for layer, every in zip(some.attention, full.attention, strict=True):
        assert layer.query_ids.tolist() == [[0, 57]]
        assert layer.key_ids.tolist() == every.key_ids.tolist()
        assert_close(layer.weights, every.weights[:, :, [0, 57]])
    assert_close(some.logits, full.logits)


def test_keep_layers(vit_and_image):
    loaded, image, full = vit_and_image
    some = vizkit.trace(loaded, image, keep=Keep(layers={3}))
    assert [layer.name for layer in some.attention] == [full.attention[3].name]
    assert_close(some.attention[0].weights, full.attention[3].weights)
    assert some.check.layers_found == some.check.layers_expected == len(full.attention)


def test_keep_the_mean_over_heads(vit_and_image):
    loaded, image, full = vit_and_image
    some = vizkit.trace(loaded, image, keep=Keep(heads="mean"))
    for layer, every in zip(some.attention, full.attention, strict=True):
        assert layer.heads == every.heads == 2
        assert_close(layer.weights, every.weights.mean(1, keepdim=True))
    assert_close(some.logits, full.logits)


def test_keep_in_half_precision(vit_and_image):
    loaded, image, full = vit_and_image
    some = vizkit.trace(loaded, image, keep=Keep(dtype=torch.float16))
    assert {layer.weights.dtype for layer in some.attention} == {torch.float16}
    assert some.check.passed
    assert_close(some.attention[2].weights.float(), full.attention[2].weights, atol=1e-3, rtol=1e-3)


def test_a_target_gives_every_layer_its_gradient(vit_and_image):
    loaded, image, full = vit_and_image
    trace = vizkit.trace(loaded, image, target=5)
    assert trace.target == 5
    assert_close(trace.logits, full.logits)
    for layer, every in zip(trace.attention, full.attention, strict=True):
        assert_close(layer.weights, every.weights)
        assert layer.gradient.abs().max() > 0
    with pytest.raises(ValueError, match="Class 1000000 does not exist"):
        vizkit.trace(loaded, image, target=1_000_000)
