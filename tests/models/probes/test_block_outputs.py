"""Blocks of models of several families, and what leaves them."""

import pytest
import torch
from torch.testing import assert_close

import vizkit
from vizkit.models.probes.block_outputs import block_outputs


@pytest.mark.parametrize(
    "name, blocks, width",
    [("digits_vit", 6, 65 * 96), ("digits_swin", 6, 64 * 96), ("digits_cnn", 6, 64 * 4 * 4), ("digits_lenet", 4, 400)],
)
def test_every_block_is_heard_and_the_model_keeps_no_hook(name, blocks, width):
    loaded = vizkit.load(f"bundled:{name}")
    pixels = torch.randn(3, loaded.preprocessing.channels, *loaded.preprocessing.size_hw)
    outputs = block_outputs(loaded)
    layers = outputs(pixels)
    assert len(layers) == blocks
    assert [*layers.values()][-1].shape == (3, width)
    for name_of_block, values in outputs(pixels[1:]).items():
        assert_close(values, layers[name_of_block][1:], atol=1e-4, rtol=1e-4)
    assert not any(module._forward_hooks for module in loaded.model.modules())
