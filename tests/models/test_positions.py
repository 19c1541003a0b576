"""Position tables of known structure, the tables of real models, and a model that has none."""

import math

import pytest
import torch
from torch.testing import assert_close

import vizkit
from vizkit.analysis.attention.patches import permutation, shuffle
from vizkit.analysis.attention.positions import (
    by_distance,
    cosine_grid,
    pca_rgb,
    similarity,
    similarity_to,
    sinusoidal,
    sinusoidal_2d,
)
from vizkit.image import Preprocessing
from vizkit.models.probes.parts import attention_parts
from vizkit.models.probes.positions import (
    kind,
    learned_table,
    logits_shuffled,
    offset_index,
    relative_bias,
    resampled,
    rope_waves,
    without_positions,
)
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def load(name, **options):
    return vizkit.load(name, pretrained=False, **options)


def toy(model, size_hw):
    """A small model that we built ourselves, as Loaded."""
    needs = Preprocessing(size_hw=size_hw, mean=(0.5,) * 3, std=(0.5,) * 3, crop_pct=1.0, interpolation="bilinear")
    return Loaded("toy", model.eval().requires_grad_(False), torch.device("cpu"), needs)


# Tables


def test_sinusoids_by_hand():
    table = sinusoidal(5, 4)
    expected = [math.sin(3), math.cos(3), math.sin(0.03), math.cos(0.03)]  # 10000^(2/4) = 100
    assert table[3].tolist() == pytest.approx(expected, abs=1e-6)
    assert table[0].tolist() == [0, 1, 0, 1]
    assert sinusoidal(5, 4, base=16.0)[2].tolist()[2:] == pytest.approx([math.sin(0.5), math.cos(0.5)], abs=1e-6)


def test_similarity_of_sinusoids_depends_on_the_distance_only():
    found = by_distance(similarity(sinusoidal(13, 22)), (13,))
    assert found.distance.tolist() == list(range(13))
    expected = [sum(math.cos(d / 10000 ** (2 * i / 22)) for i in range(11)) for d in range(13)]
    assert found.mean.tolist() == pytest.approx([each / 11 for each in expected], abs=1e-5)


def test_two_dimensions_are_two_tables_side_by_side():
    table = sinusoidal_2d((3, 5), 28)
    for row in range(3):
        for column in range(5):
            assert_close(table[row, column, :14], sinusoidal(3, 14)[row])
            assert_close(table[row, column, 14:], sinusoidal(5, 14)[column])


@pytest.mark.parametrize("call, word", [(lambda: sinusoidal(3, 7), "7"), (lambda: sinusoidal_2d((3, 5), 6), "6")])
def test_channels_that_make_no_pairs_are_refused(call, word):
    with pytest.raises(NotApplicable, match=word):
        call()


def rows_and_columns(rows=3, columns=5):
    """Every row and every column has a direction of its own, columns twice as long: (same row + 4 same column)/5."""
    table = torch.zeros(rows, columns, rows + columns)
    for r in range(rows):
        for c in range(columns):
            table[r, c, r], table[r, c, rows + c] = 1, 2
    return table


def test_cosine_grid_of_a_table_of_known_structure():
    found = cosine_grid(7 * rows_and_columns())
    assert found.shape == (3, 5, 3, 5)
    for r in range(3):
        for c in range(5):
            expected = [[((r == r2) + 4 * (c == c2)) / 5 for c2 in range(5)] for r2 in range(3)]
            assert_close(found[r, c], torch.tensor(expected, dtype=torch.float32))


def test_cosines():
    table = torch.tensor([[3.0, 4], [4, 3], [-6, -8]])
    assert similarity(table)[0].tolist() == pytest.approx([1, 0.96, -1])
    assert similarity_to(table, 1).tolist() == pytest.approx([0.96, 1, -0.96])


def test_distances_on_a_grid():
    every = similarity(rows_and_columns(2, 3).flatten(0, 1))
    found = by_distance(every, (2, 3))
    # To whole steps: 1 are 8 pairs of a row (cosine .2), 6 of a column (.8) and 8 across (0); 2 are 4 of a row, 4 not.
    assert found.distance.tolist() == [0, 1, 2]
    assert found.mean.tolist() == pytest.approx([1, (8 * 0.2 + 6 * 0.8) / 22, 0.1])
    one = by_distance(every[4:5], (2, 3), torch.tensor([4]))  # the middle of the second row: two beside it, one above
    assert one.distance.tolist() == [0, 1]
    assert one.mean.tolist() == pytest.approx([1, (2 * 0.2 + 0.8 + 2 * 0) / 5])


def test_principal_colours_of_a_ramp():
    row, column = torch.meshgrid(torch.arange(3.0), torch.arange(5.0), indexing="ij")
    table = torch.zeros(3, 5, 11)
    table[..., 7], table[..., 2] = 10 * row, column
    found = pca_rgb(table + torch.randn(11))
    assert_close(found.rgb[..., 0], row / 2, atol=1e-4, rtol=1e-4)
    assert_close(found.rgb[..., 1], column / 4, atol=1e-4, rtol=1e-4)
    assert (found.rgb[..., 2] == 0.5).all()
    variances = (100 * 2 / 3, 2.0)  # of 0 1 2 and of 0 1 2 3 4
    expected = [v / sum(variances) for v in variances]
    assert found.explained.tolist() == pytest.approx([*expected, 0], abs=1e-5)
    assert (pca_rgb(torch.ones(3, 5, 2)).rgb == 0.5).all()


# Models


def code(loaded, prefix):
    """Write the place of every patch into a model's own table: 10·row + column, and 1000 into prefix rows."""
    rows, columns = loaded.model.patch_embed.grid_size
    place = torch.tensor([*([1000.0] * prefix), *(10.0 * r + c for r in range(rows) for c in range(columns))])
    assert loaded.model.pos_embed.shape[1] == len(place)
    loaded.model.pos_embed.data.copy_(place[None, :, None].expand_as(loaded.model.pos_embed))
    return rows, columns


def small_vit(which):
    from timm.models.vision_transformer import VisionTransformer

    options = {"class_token": False, "global_pool": "avg"} if which == "no class token" else {"reg_tokens": 3}
    return VisionTransformer((48, 80), 16, num_classes=5, embed_dim=22, depth=1, num_heads=2, **options)


TABLES = [
    ("test_vit", (48, 80), 1, (3, 5)),
    ("deit_tiny_distilled_patch16_224", (48, 80), 2, (3, 5)),
    ("vit_small_patch14_reg4_dinov2", (28, 70), 0, (2, 5)),  # no_embed_class: five special tokens, no row for them
    ("no class token", (48, 80), 0, (3, 5)),
    ("registers with rows", (48, 80), 4, (3, 5)),
    ("eva02_tiny_patch14_224", (28, 42), 1, (2, 3)),
]


@pytest.mark.parametrize("name, size, prefix, grid", TABLES)
def test_the_learned_table_has_one_row_for_each_patch(name, size, prefix, grid):
    loaded = toy(small_vit(name), size) if " " in name else load(name, image_size=size, model_args={"depth": 1})
    assert code(loaded, prefix) == grid
    table = learned_table(loaded)
    assert table.shape == (*grid, loaded.model.embed_dim)
    for channel in (0, loaded.model.embed_dim - 1):
        assert table[..., channel].tolist() == [[10 * r + c for c in range(grid[1])] for r in range(grid[0])]


def test_torchvision_has_a_table_too():
    from torchvision.models import VisionTransformer

    model = VisionTransformer(image_size=48, patch_size=16, num_layers=1, num_heads=2, hidden_dim=22, mlp_dim=8)
    model.encoder.pos_embedding.data.normal_()
    table = learned_table(toy(model, (48, 48)))
    assert_close(table.flatten(0, 1), model.encoder.pos_embedding.data[0, 1:])


@pytest.mark.product
@pytest.mark.parametrize(
    "name, options, expected",
    [
        ("test_vit", {}, ("learned",)),
        ("eva02_tiny_patch14_224", {"image_size": (28, 42)}, ("learned", "rotary")),
        ("vit_small_patch16_dinov3", {"image_size": (32, 48)}, ("rotary",)),
        ("swin_tiny_patch4_window7_224", {"image_size": (64, 96)}, ("relative bias",)),
        ("swinv2_tiny_window8_256", {"image_size": (64, 96)}, ("relative bias",)),
        ("test_vit_relpos", {}, ("relative bias",)),
        ("tnt_s_legacy_patch16_224", {}, ("other",)),
        ("test_resnet", {}, ("none",)),
    ],
)
def test_kinds(name, options, expected):
    loaded = load(name, **options)
    assert kind(loaded) == expected
    assert (learned_table(loaded) is not None) == ("learned" in expected)
    if "relative bias" not in expected:
        with pytest.raises(NotApplicable, match="no relative position bias"):
            relative_bias(loaded, 0)
    if "rotary" not in expected:
        with pytest.raises(NotApplicable, match="does not rotate"):
            rope_waves(loaded)
    if "learned" not in expected:
        with pytest.raises(NotApplicable, match="no learned position table"):
            resampled(loaded, (3, 5))


def test_resampling_is_what_the_model_does_at_that_size():
    import timm

    loaded = load("test_vit", image_size=(48, 80))
    other = timm.create_model("test_vit", img_size=(48, 80), dynamic_img_size=True).eval()
    other.load_state_dict(loaded.model.state_dict())
    with torch.no_grad():
        x = torch.zeros(1, 7, 11, 64)
        added = other._pos_embed(x)[0, 1:].view(7, 11, 64)
    assert torch.equal(resampled(loaded, (3, 5)), learned_table(loaded))
    assert_close(resampled(loaded, (7, 11)), added)


# Relative bias

OFFSETS = [(1, 0), (0, 2), (1, -2), (-1, 1), (0, 0)]
WINDOW = (2, 3)


def swin_v1():
    from timm.models.swin_transformer import SwinTransformer

    return SwinTransformer((16, 24), 4, depths=(2,), num_heads=(2,), embed_dim=22, window_size=WINDOW, num_classes=5)


def swin_v2():
    from timm.models.swin_transformer_v2 import SwinTransformerV2

    return SwinTransformerV2((16, 24), 4, depths=(2,), num_heads=(2,), embed_dim=22, window_size=WINDOW, num_classes=5)


def beit(**options):
    from timm.models.beit import Beit

    return Beit((32, 48), 16, num_classes=5, embed_dim=22, depth=2, num_heads=2, **options)


def relpos(**options):
    from timm.models.vision_transformer_relpos import VisionTransformerRelPos

    return VisionTransformerRelPos((32, 48), 16, num_classes=5, embed_dim=22, depth=2, num_heads=2, **options)


def torchvision_swin(version):
    from torchvision.models import swin_transformer as tv

    options = {"num_classes": 5, "norm_layer": torch.nn.LayerNorm}
    if version == 2:
        options |= {"block": tv.SwinTransformerBlockV2, "downsample_layer": tv.PatchMergingV2}
    return tv.SwinTransformer([4, 4], 22, [2], [2], list(WINDOW), **options)


BIASED = {
    "swin v1": swin_v1,
    "swin v2": swin_v2,
    "torchvision v1": lambda: torchvision_swin(1),
    "torchvision v2": lambda: torchvision_swin(2),
    "beit": lambda: beit(use_rel_pos_bias=True),
    "beit shared": lambda: beit(use_shared_rel_pos_bias=True),
    "beit both": lambda: beit(use_rel_pos_bias=True, use_shared_rel_pos_bias=True),
    "relpos mlp": lambda: relpos(rel_pos_type="mlp"),
    "relpos bias with class token": lambda: relpos(rel_pos_type="bias", class_token=True, global_pool="token"),
    "relpos shared": lambda: relpos(rel_pos_type="mlp", shared_rel_pos=True),
}


def biased(which):
    """A small model on 2 × 3 patches (or windows of 2 × 3), its bias random instead of nearly zero."""
    model = BIASED[which]()
    for name, parameter in model.named_parameters():
        if "relative_position_bias_table" in name or "rel_pos" in name or "cpb_mlp" in name:
            torch.nn.init.normal_(parameter)
    return toy(model, (16, 24) if "swin" in which or "torchvision" in which else (32, 48))


@pytest.mark.parametrize("which", BIASED)
def test_the_bias_is_what_the_layer_adds(which):
    loaded = biased(which)
    pixels = torch.randn(1, 3, *loaded.preprocessing.size_hw)
    found = relative_bias(loaded, 0)
    parts = attention_parts(loaded, pixels, 0)  # the first block of a Swin is not shifted, so nothing is masked
    assert_close(found.bias, parts.bias, rtol=1e-4, atol=1e-4)
    assert found.window == WINDOW
    assert found.prefix == {"beit": 1, "relpos bias with": 1}.get(which.rsplit(" ", 2 if "token" in which else 1)[0], 0)
    assert found.by_offset.shape == (2, 3, 5)
    picked = found.by_offset.flatten(1)[:, found.index]
    assert_close(picked, found.bias[:, found.prefix :, found.prefix :])
    assert float(found.by_offset.std()) > 0.1
    with pytest.raises(NotApplicable, match="2 layers"):
        relative_bias(loaded, 2)


def test_the_index_is_the_one_of_swin_and_offsets_count_from_key_to_query():
    loaded = biased("swin v1")
    attention = loaded.model.layers[0].blocks[1].attn
    assert torch.equal(offset_index(WINDOW), attention.relative_position_index)
    for r in range(-1, 2):
        for c in range(-2, 3):
            attention.relative_position_bias_table.data[(r + 1) * 5 + c + 2] = 10.0 * r + c
    found = relative_bias(loaded, 1)
    assert found.name == "layers.0.blocks.1.attn"
    assert found.table.shape == (15, 2)
    for down, right in OFFSETS:
        assert found.by_offset[:, 1 + down, 2 + right].tolist() == [10 * down + right] * 2
    # Query in row 1, column 0 is token 3; key in row 0, column 2 is token 2: one down, two left.
    assert float(found.bias[0, 3, 2]) == 8


# Rotation


def mixed_rope():
    from timm.models.eva import Eva

    options = {"use_rot_pos_emb": True, "rope_type": "mixed", "rope_grid_indexing": "xy", "class_token": True}
    return Eva((32, 80), 16, num_classes=5, embed_dim=24, depth=2, num_heads=3, **options)


@pytest.mark.parametrize("name", ["eva02_tiny_patch14_224", "vit_small_patch16_dinov3", "mixed"])
def test_rotations_against_rotated_bases(name):
    """Mean over all channels of (R_a e)·(R_b e) = trace(R_aᵀ R_b) / d, with timm's own rotation."""
    from timm.layers import apply_rot_embed_cat

    size, grid = ((28, 70), (2, 5)) if "eva02" in name else ((32, 80), (2, 5))
    loaded = toy(mixed_rope(), size) if name == "mixed" else load(name, image_size=size, model_args={"depth": 2})
    rope, layer = loaded.model.rope, 1
    angles = rope.get_embed(shape=list(grid))
    angles = angles[layer] if angles.dim() == 4 else angles[None]  # head place …
    half = bool(getattr(loaded.model.blocks[0].attn, "rotate_half", False))
    waves = rope_waves(loaded, layer)
    assert waves.shape[:3] == (3 if name == "mixed" else 1, *grid)
    found = torch.stack([similarity(each) for each in waves.flatten(1, 2)])
    width = angles.shape[-1] // 2
    turned = apply_rot_embed_cat(torch.eye(width), angles[:, :, None], half=half)  # head place base channel
    expected = torch.einsum("hapc,hbpc->hab", turned, turned) / width
    assert_close(found, expected, rtol=1e-4, atol=1e-5)


# Without positions


def strong(loaded):
    """Positions of random weights hardly matter; these do."""
    for name, parameter in loaded.model.named_parameters():
        if "pos" in name.split(".")[-1] or "rel_pos" in name or "gamma" in name:
            parameter.data.normal_()
        elif name.startswith("blocks") and parameter.dim() == 2:
            parameter.data.normal_(std=2 / parameter.shape[1] ** 0.5)
    return loaded


EQUIVARIANT = [
    ("test_vit", {"image_size": (48, 80)}),
    ("deit_tiny_distilled_patch16_224", {"image_size": (48, 80)}),
    ("vit_small_patch14_reg4_dinov2", {"image_size": (28, 70)}),
    ("eva02_tiny_patch14_224", {"image_size": (28, 70)}),
    ("vit_small_patch16_dinov3", {"image_size": (32, 80)}),
    ("test_vit_relpos", {"image_size": (48, 80)}),  # mean-pooled
]


@pytest.mark.product
@pytest.mark.parametrize("name, options", EQUIVARIANT)
def test_without_positions_the_order_of_the_patches_does_not_matter(name, options):
    """In float64: in float32 the order in which a matrix product adds up goes with the size of the batch and the
    number of threads, and moves a logit of 3 by more than 1e-5."""
    loaded = strong(load(name, **options))
    loaded.model.double()
    both = torch.randn(2, 3, *options["image_size"], dtype=torch.float64)
    pixels = both[1:]
    patch = options["image_size"][1] // 5
    count = options["image_size"][0] // patch * 5
    order, straight = permutation(count, 3), torch.arange(count)
    logits = {
        (with_positions, shuffled): logits_shuffled(loaded, both, order if shuffled else straight, with_positions)[1]
        for with_positions in (True, False)
        for shuffled in (True, False)
    }
    scale = float(logits[True, False].abs().max())
    assert float((logits[False, True] - logits[False, False]).abs().max()) < 1e-6 * max(1, scale)
    assert float((logits[True, True] - logits[True, False]).abs().max()) > 1e-2 * scale
    with torch.no_grad():  # the patches really lie where they should
        assert_close(logits[True, False], loaded.model(pixels)[0].float())
        moved = shuffle(pixels[0], patch, order)[None]
        assert_close(logits[True, True], loaded.model(moved)[0].float())


def test_the_shared_model_is_left_alone():
    loaded = strong(load("test_vit", image_size=(48, 80)))
    pixels = torch.randn(1, 3, 48, 80)
    state = {name: tensor.clone() for name, tensor in loaded.model.state_dict().items()}
    with torch.no_grad():
        before = loaded.model(pixels)
        other = without_positions(loaded)
        assert not torch.equal(other.model(pixels), before)
        assert torch.equal(loaded.model(pixels), before)
    for name, tensor in loaded.model.state_dict().items():
        assert torch.equal(tensor, state[name])
        assert (tensor.data_ptr() == other.model.state_dict()[name].data_ptr()) == (name != "pos_embed")
    assert not other.model.pos_embed.any()
    assert other.compared == {}
    assert "without" in other.name


@pytest.mark.parametrize("which", BIASED)
def test_without_positions_every_offset_has_the_same_bias(which):
    loaded = biased(which)
    other = without_positions(loaded)
    bias = attention_parts(other, torch.randn(1, 3, *loaded.preprocessing.size_hw), 0).bias
    if bias is not None:
        prefix = relative_bias(loaded, 0).prefix
        patches = bias[:, prefix:, prefix:]
        assert float((patches.amax((1, 2)) - patches.amin((1, 2))).max()) < 1e-4
    assert float(relative_bias(loaded, 0).by_offset.std()) > 0.1


def test_a_swin_knows_places_by_its_windows_even_without_a_bias(swin):
    pixels, count = torch.randn(1, 3, 64, 96), 16 * 24
    straight = logits_shuffled(swin, pixels, torch.arange(count), False)
    shuffled = logits_shuffled(swin, pixels, permutation(count, 1), False)
    assert float((straight - shuffled).abs().max()) > 1e-3


def test_what_cannot_be_shuffled_says_so(cnn):
    with pytest.raises(NotApplicable, match="grid of patches"):
        logits_shuffled(cnn, torch.zeros(1, 3, 160, 160), torch.arange(4), True)
    with pytest.raises(NotApplicable, match="cannot be taken out"):
        without_positions(load("tnt_s_legacy_patch16_224", model_args={"depth": 1}))
