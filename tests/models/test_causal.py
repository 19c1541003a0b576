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
from vizkit.geometry import id_of
from vizkit.models import Keep, families
from vizkit.models.sources.loaded import described
from vizkit.traces import dense


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
    "v1 oblong and padded": ("swin_tiny_patch4_window7_224", (72, 104)),
    "v1": ("swin_tiny_patch4_window7_224", None),
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


def test_swin_merging_reads_the_four_cells_it_says():
    """One token before timm's own merging moves exactly the merged token whose row holds it, also on odd grids."""
    loaded = loaded_of("swin_tiny_patch4_window7_224", img_size=(72, 104), **NARROW)
    trace = trace_of(loaded, torch.randn(1, 3, 72, 104))
    merge = next(layer for layer in trace.attention if not layer.learned)
    rows, columns = merge.key.grid
    module, full = loaded.model.layers[1].downsample, dense(merge)[0]
    for token in (0, columns - 1, rows * columns - 1, columns + 3):
        x = torch.randn(1, rows, columns, 24)
        y = x.clone()
        y.view(-1, 24)[token] += 1
        with torch.no_grad():
            changed = (module(x) != module(y)).any(-1).flatten()
        assert torch.equal(changed, full[:, token] > 0)


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


@pytest.mark.product("tnt")
@pytest.mark.parametrize("pixel", [(33, 50), (1, 2), (63, 111), (20, 79)])
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
    "registers": (
        "vit_small_patch14_reg4_dinov2",
        (70, 126),
        {"embed_dim": 96, "num_heads": 3},
        ("cls", "reg1", "reg2", "reg3", "reg4"),
    ),
    "class token": ("vit_tiny_patch16_224", (96, 160), {}, ("cls",)),
    "distilled": ("deit_tiny_distilled_patch16_224", (160, 96), {}, ("cls", "dist")),
    "mean-pooled": ("vit_base_patch16_rpn_224", (64, 96), {"embed_dim": 96, "num_heads": 3}, ()),
    "attention-pooled": ("vit_base_patch16_siglip_224", (64, 96), {"embed_dim": 96, "num_heads": 3}, ()),
    "rotary": ("eva02_tiny_patch14_224", (84, 56), {}, ("cls",)),
    "relative": ("vit_relpos_small_patch16_224", (64, 96), {}, ()),
}


@pytest.mark.product
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


# What is kept -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def vit_and_image():
    torch.manual_seed(0)
    loaded = vizkit.load("test_vit", pretrained=False)
    image = noisy_picture(160, 160)
    return loaded, image, vizkit.trace(loaded, image)


@pytest.mark.parametrize(
    "keep, part",
    [
        (Keep(rows=(0, 57)), lambda weights: weights[:, :, [0, 57]]),
        (Keep(layers={3}), lambda weights: weights),
        (Keep(heads="mean"), lambda weights: weights.mean(1, keepdim=True)),
        (Keep(dtype=torch.float16), lambda weights: weights.half()),
    ],
)
def test_what_is_kept_is_that_part_of_the_whole(vit_and_image, keep, part):
    loaded, image, full = vit_and_image
    some, whole = vizkit.trace(loaded, image, keep=keep), {layer.name: layer for layer in full.attention}
    assert len(some.attention) == (1 if keep.layers else len(whole))
    for layer in some.attention:
        every = whole[layer.name]
        assert_close(layer.weights, part(every.weights))
        assert layer.query_ids.tolist() == ([[0, 57]] if keep.rows else every.query_ids.tolist())
        assert (layer.key_ids.tolist(), layer.heads) == (every.key_ids.tolist(), every.heads)
    assert_close(some.logits, full.logits)
    assert some.check.passed
    assert some.check.layers_found == some.check.layers_expected == len(whole)


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
