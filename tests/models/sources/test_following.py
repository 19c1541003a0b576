"""What a file's shapes say of an architecture: built again with what was found, it has the shapes of the file."""

import pytest
import timm
import torch

from vizkit.models.sources.following import count, followed, heads_of, square, trained_at, window_of
from vizkit.models.sources.hub import ModelError

VIT, SWIN, SWIN2 = "test_vit", "swin_tiny_patch4_window7_224", "swinv2_tiny_window8_256"
SMALL = {"embed_dim": 24, "depths": (1, 2), "num_heads": (1, 2)}


def made(name, **options):
    with torch.device("meta"):
        return timm.create_model(name, pretrained=False, **options)


def shapes_of(model):
    return {name: tuple(value.shape) for name, value in model.state_dict().items()}


def found_in(name, shapes, **base):
    return followed("file.pt", made(name, **base), shapes)


@pytest.mark.product
@pytest.mark.parametrize(
    "name, base, options",
    [
        (VIT, {}, {}),
        (VIT, {}, {"num_classes": 7, "depth": 2}),
        (VIT, {}, {"patch_size": 8}),
        (VIT, {}, {"patch_size": 8, "img_size": (96, 96), "in_chans": 1}),
        (VIT, {}, {"img_size": (96, 96)}),
        (VIT, {}, {"img_size": (96, 96), "reg_tokens": 4, "no_embed_class": True}),
        (VIT, {}, {"img_size": (96, 96), "reg_tokens": 4}),  # a table of 1 + 4 + 36 places
        (VIT, {}, {"reg_tokens": 3, "qkv_bias": False, "qk_norm": True}),
        (VIT, {}, {"pre_norm": True, "init_values": 1e-5, "mlp_ratio": 2.0}),
        (VIT, {"init_values": 1e-5}, {"init_values": None}),
        (VIT, {}, {"class_token": False, "global_pool": "avg"}),
        (VIT, {}, {"global_pool": "avg"}),
        (VIT, {}, {"global_pool": "map", "class_token": False}),
        (VIT, {"global_pool": "avg", "class_token": False}, {"global_pool": "token", "class_token": True}),
        ("deit_tiny_distilled_patch16_224", {"depth": 1}, {"depth": 2, "img_size": (64, 64)}),
        ("beit_base_patch16_224", {"depth": 1, "embed_dim": 24, "num_heads": 3}, {"img_size": (96, 96)}),
        ("eva02_tiny_patch14_224", {"depth": 1}, {"img_size": (112, 112)}),
    ],
)
def test_a_vit_is_built_again(name, base, options):
    file = shapes_of(made(name, **base | options))
    found = found_in(name, file, **base)
    assert shapes_of(made(name, **base | found)) == file
    assert {name: found.get(name) for name in options} == options
    assert set(found) <= {*options, "num_classes", "fc_norm", "no_embed_class"}


def test_of_an_architecture_as_it_is_only_the_classes_are_told():
    for name in (VIT, SWIN, "deit_tiny_distilled_patch16_224", "resnet18"):
        assert found_in(name, shapes_of(made(name))) == {"num_classes": 1000}
    assert found_in(VIT, shapes_of(made(VIT, num_classes=0))) == {"num_classes": 0}


@pytest.mark.product
@pytest.mark.parametrize(
    "name, options",
    [
        (SWIN, SMALL),
        (SWIN, {"window_size": 4, "img_size": (128, 128)}),
        (SWIN, {**SMALL, "window_size": 4, "img_size": (64, 64)}),
        (SWIN, {"patch_size": 2, "img_size": (112, 112)}),
        (SWIN2, {**SMALL, "window_size": 4, "img_size": (64, 64)}),
    ],
)
def test_a_swin_is_built_again(name, options):
    """Published files hold the index of offsets too, from which the windows of V2 follow."""
    wanted = made(name, **options)
    file = shapes_of(wanted)
    blocks = [
        (f"layers.{s}.blocks.{b}.attn", block.attn)
        for s, layer in enumerate(wanted.layers)
        for b, block in enumerate(layer.blocks)
    ]
    index = {f"{path}.relative_position_index": (attention.window_size[0] ** 2,) * 2 for path, attention in blocks}
    found = found_in(name, file | index)
    built = made(name, **found)
    assert shapes_of(built) == file
    assert [block.attn.window_size for layer in built.layers for block in layer.blocks] == [
        block.attn.window_size for layer in wanted.layers for block in layer.blocks
    ]


def test_the_picture_of_a_swin_from_its_mask_its_last_window_or_its_own_size():
    """64 windows of 7 · 4 pixels a side are 8 · 28; a last stage of one window of 6 patches of 32 pixels is 192 pixels;
    windows of 6, which do not divide 224 / 32, give 6 · 32; windows of 7 · 2 as well as 14 do."""
    small = {**SMALL, "depths": (1, 1, 1, 1), "num_heads": (1, 1, 1, 1)}
    file = shapes_of(made(SWIN, **small))

    def size(shapes):
        return found_in(SWIN, shapes, **small).get("img_size")

    assert size(file | {"layers.0.blocks.1.attn_mask": (256, 49, 49)}) == (448, 448)
    assert size(file | {"layers.0.blocks.1.attn_mask": (64, 49, 49)}) is None
    tables = {name: shape for name, shape in file.items() if name.endswith("relative_position_bias_table")}

    def windows(side, last):
        return (
            file
            | {
                name: ((2 * (last if name.startswith("layers.3") else side) - 1) ** 2, shape[1])
                for name, shape in tables.items()
            }
            | {name: (side**2, side**2) for name in file if name.endswith("relative_position_index")}
        )

    assert size(windows(7, 6)) == (192, 192)
    assert size(windows(6, 6)) == (192, 192)
    assert size(windows(1, 1)) is None
    assert found_in(SWIN, windows(6, 6), **small)["window_size"] == 6


def test_what_is_no_picture_or_of_another_width_is_refused():
    file = shapes_of(made(VIT))
    first = "patch_embed.proj.weight"
    for shape, words in (((64, 1, 16, 16, 16), "takes volumes"), ((64, 4, 16, 16), "of 4 channels")):
        with pytest.raises(ModelError, match=words):
            found_in(VIT, file | {first: shape})
    wide = shapes_of(made(VIT, embed_dim=96, num_heads=2))
    with pytest.raises(ModelError, match="tokens of 96 numbers, those of this architecture have 64"):
        found_in(VIT, wide)


def test_the_first_weight_of_a_cnn_has_a_name_of_its_own():
    assert found_in("resnet18", shapes_of(made("resnet18", in_chans=1))) == {"num_classes": 1000, "in_chans": 1}


def test_a_norm_after_the_mean_that_is_gone_is_said_to_be():
    """Of an architecture that has one, of a file that reads its class token."""
    file = shapes_of(made(VIT))
    assert found_in(VIT, file, global_pool="avg") == {"num_classes": 1000, "global_pool": "token", "fc_norm": False}


@pytest.mark.product
@pytest.mark.parametrize(
    "name",
    ["vit_parts_tiny", "xcit_nano_12_p16_224", "hiera_tiny_224", "tiny_vit_5m_224", "crossvit_9_240", "volo_d1_224"],
)
def test_a_model_that_does_not_say_what_its_patches_are_is_of_its_own_size(name):
    model = made(name)
    assert trained_at(model, shapes_of(model)) is None


def test_the_size_of_a_table_of_positions_is_that_of_the_image():
    assert trained_at(made(VIT), shapes_of(made(VIT, img_size=(96, 96)))) == (96, 96)
    assert trained_at(made(VIT), shapes_of(made(VIT))) is None


def test_numbers_in_names():
    names = dict.fromkeys(("blocks.0.a", "blocks.11.b", "other.40.c"), (1,))
    assert count(names, r"blocks\.(\d+)\.") == 12
    assert count(names, r"layers\.(\d+)\.") == 0


def test_square_grids():
    assert square(197, (0, 1)) == (14, 14)
    assert square(196, (0, 1)) == (14, 14)
    assert square(198, (0, 1)) is None
    assert square(1, (1,)) is None  # nothing but a class token
    assert square(2, (0, 1)) == (1, 1)


def test_heads_and_windows_of_swin():
    """13² = 169 offsets of a window of 7; of V2 the heads' scales, and the window from its index, 49 × 49 or flat."""
    assert heads_of({"a.relative_position_bias_table": (169, 3)}, "a.") == 3
    assert heads_of({"a.logit_scale": (6, 1, 1)}, "a.") == 6
    assert heads_of({}, "a.") == 0
    assert window_of({"a.relative_position_bias_table": (169, 3)}, "a.") == 7
    assert window_of({"a.relative_position_index": (49, 49)}, "a.") == 7
    assert window_of({"a.relative_position_index": (49 * 49,)}, "a.") == 7
    assert window_of({}, "a.") == 0
