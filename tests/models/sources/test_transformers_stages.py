"""Swin, ConvNeXt and ResNet of the transformers library, by hand: each name in timm's words, each setting its argument.

The logits of whole models are compared in `tests/models/test_transformers.py`; here no weight is more than its shape.
"""

import pytest
import torch

from vizkit.models.sources.transformers_stages import convnext, resnet, swin

SWIN = {
    "model_type": "swin",
    "image_size": [64, 96],
    "patch_size": 4,
    "num_channels": 1,
    "embed_dim": 24,
    "depths": [1, 2],
    "num_heads": [2, 3],
    "window_size": 7,
    "mlp_ratio": 2.0,
    "qkv_bias": True,
    "layer_norm_eps": 1e-6,
}
CONVNEXT = {"model_type": "convnext", "depths": [1, 2], "hidden_sizes": [8, 16], "patch_size": 2}
RESNET = {"embedding_size": 64, "hidden_sizes": [8, 16, 24, 32], "depths": [1, 2, 3, 4]}


def named(names, rows=5):
    return {name: torch.empty(rows, 2, device="meta") for name in names}


def args_of(found):
    return {name: value for name, value in found.args.items() if name != "norm_layer"}


SWIN_NAMES = {
    "embeddings.patch_embeddings.projection.weight": "patch_embed.proj.weight",
    "embeddings.norm.weight": "patch_embed.norm.weight",
    "encoder.layers.0.blocks.1.layernorm_before.weight": "layers.0.blocks.1.norm1.weight",
    "encoder.layers.0.blocks.1.attention.output.dense.weight": "layers.0.blocks.1.attn.proj.weight",
    "encoder.layers.0.blocks.1.attention.self.relative_position_bias_table": "layers.0.blocks.1.attn.relative_position_bias_table",  # noqa: E501
    "encoder.layers.0.blocks.1.attention.self.continuous_position_bias_mlp.0.weight": "layers.0.blocks.1.attn.cpb_mlp.0.weight",  # noqa: E501
    "encoder.layers.0.blocks.1.layernorm_after.weight": "layers.0.blocks.1.norm2.weight",
    "encoder.layers.0.blocks.1.intermediate.dense.weight": "layers.0.blocks.1.mlp.fc1.weight",
    "encoder.layers.0.blocks.1.output.dense.weight": "layers.0.blocks.1.mlp.fc2.weight",
    "encoder.layers.0.downsample.reduction.weight": "layers.1.downsample.reduction.weight",
    "encoder.layers.12.downsample.norm.weight": "layers.13.downsample.norm.weight",
    "layernorm.weight": "norm.weight",
    "classifier.weight": "head.fc.weight",
}


def test_swin_merges_at_the_start_of_the_stage_after():
    found = swin(SWIN, named(SWIN_NAMES))
    assert found.architecture == "swin_tiny_patch4_window7_224"
    assert sorted(found.state) == sorted(SWIN_NAMES.values())
    assert args_of(found) == {
        "img_size": (64, 96),
        "patch_size": (4, 4),
        "in_chans": 1,
        "embed_dim": 24,
        "depths": (1, 2),
        "num_heads": (2, 3),
        "window_size": 7,
        "mlp_ratio": 2.0,
        "qkv_bias": True,
        "num_classes": 5,
    }
    assert found.args["norm_layer"](3).eps == 1e-6


def test_swin_without_a_head_and_what_timm_computes_itself():
    attention = "encoder.layers.0.blocks.0.attention.self."
    left = {
        f"{attention}relative_position_index": "",
        f"{attention}relative_coords_table": "",
        "encoder.layers.0.blocks.0.attn_mask": "",
        "decoder.0.weight": "",
        "embeddings.mask_token": "",
    }
    found = swin({**SWIN, "num_channels": 3}, named(left))
    assert found.state == {}
    assert found.args["num_classes"] == 0
    plain = {name: value for name, value in SWIN.items() if name != "num_channels"}
    assert getattr(swin(plain, {}), "args", {})["in_chans"] == 3


def test_swin_v2_and_one_with_places_of_its_own():
    second = swin({**SWIN, "model_type": "swinv2"}, {})
    assert second.architecture == "swinv2_tiny_window8_256"
    assert second.args["pretrained_window_sizes"] == (0, 0)
    learned = swin({**SWIN, "model_type": "swinv2", "pretrained_window_sizes": [8, 4]}, {})
    assert learned.args["pretrained_window_sizes"] == (8, 4)
    assert swin({**SWIN, "use_absolute_embeddings": True}, {}) is None
    assert swin({**SWIN, "use_absolute_embeddings": False}, {}) is not None


CONVNEXT_NAMES = {
    "embeddings.patch_embeddings.weight": "stem.0.weight",
    "embeddings.layernorm.weight": "stem.1.weight",
    "encoder.stages.1.downsampling_layer.0.weight": "stages.1.downsample.0.weight",
    "encoder.stages.1.layers.0.dwconv.weight": "stages.1.blocks.0.conv_dw.weight",
    "encoder.stages.1.layers.0.layernorm.weight": "stages.1.blocks.0.norm.weight",
    "encoder.stages.1.layers.0.pwconv1.weight": "stages.1.blocks.0.mlp.fc1.weight",
    "encoder.stages.1.layers.0.pwconv2.weight": "stages.1.blocks.0.mlp.fc2.weight",
    "encoder.stages.1.layers.0.grn.weight": "stages.1.blocks.0.mlp.grn.weight",
    "encoder.stages.1.layers.0.layer_scale_parameter": "stages.1.blocks.0.gamma",
    "layernorm.weight": "head.norm.weight",
    "classifier.weight": "head.fc.weight",
}


def test_convnext():
    found = convnext(CONVNEXT, named(CONVNEXT_NAMES))
    assert found.architecture == "convnext_tiny"
    assert sorted(found.state) == sorted(CONVNEXT_NAMES.values())
    assert {name for name, value in found.state.items() if value.dim() == 1} == {"stages.1.blocks.0.mlp.grn.weight"}
    assert found.args == {
        "in_chans": 3,
        "depths": (1, 2),
        "dims": (8, 16),
        "patch_size": 2,
        "ls_init_value": 1e-6,
        "num_classes": 5,
    }
    second = convnext({**CONVNEXT, "model_type": "convnextv2", "num_channels": 1}, {})
    assert second.architecture == "convnextv2_tiny"
    assert second.args == found.args | {"in_chans": 1, "ls_init_value": None, "num_classes": 0}
    assert convnext({**CONVNEXT, "hidden_act": "relu"}, {}) is None
    assert convnext({**CONVNEXT, "hidden_act": "gelu"}, {}) is not None


RESNET_NAMES = {
    "embedder.embedder.convolution.weight": "conv1.weight",
    "embedder.embedder.normalization.weight": "bn1.weight",
    "encoder.stages.1.layers.2.shortcut.convolution.weight": "layer2.2.downsample.0.weight",
    "encoder.stages.1.layers.2.shortcut.normalization.weight": "layer2.2.downsample.1.weight",
    "encoder.stages.1.layers.2.layer.0.convolution.weight": "layer2.2.conv1.weight",
    "encoder.stages.1.layers.2.layer.2.normalization.weight": "layer2.2.bn3.weight",
    "classifier.1.weight": "fc.weight",
}


def test_resnet():
    found = resnet(RESNET, named(RESNET_NAMES))
    assert found.architecture == "resnet50"
    assert sorted(found.state) == sorted(RESNET_NAMES.values())
    assert found.args == {"in_chans": 3, "layers": (1, 2, 3, 4), "channels": (2, 4, 6, 8), "num_classes": 5}
    basic = resnet({**RESNET, "layer_type": "basic", "num_channels": 1}, {})
    assert basic.architecture == "resnet18"
    assert basic.args == {"in_chans": 1, "layers": (1, 2, 3, 4), "channels": (8, 16, 24, 32), "num_classes": 0}
    assert resnet({**RESNET, "layer_type": "bottleneck"}, {}) is not None


@pytest.mark.parametrize(
    "other",
    [
        {"embedding_size": 32},
        {"downsample_in_first_stage": True},
        {"downsample_in_bottleneck": True},
        {"hidden_act": "gelu"},
        {"hidden_sizes": [8, 16, 24]},
    ],
)
def test_a_resnet_that_timm_has_not(other):
    assert resnet({**RESNET, **other}, {}) is None
    usual = {"downsample_in_first_stage": False, "downsample_in_bottleneck": False, "hidden_act": "relu"}
    assert resnet(RESNET | usual, {}) is not None
