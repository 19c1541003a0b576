"""The first layer that looks at pixels, with its own weights and bias."""

import pytest
from torch.testing import assert_close

import vizkit
from vizkit.models.probes.convolution.first_layer import first_layer
from vizkit.traces import NotApplicable


def test_weights_and_bias_are_the_models_own():
    loaded = vizkit.load("lenet5", pretrained=False)
    layer = first_layer(loaded)
    assert (layer.name, layer.stride, layer.padding) == ("c1", 1, 0)
    assert_close(layer.weight, loaded.model.c1.weight)
    assert_close(layer.bias, loaded.model.c1.bias)
    assert layer.bias.abs().max() > 0


def test_a_layer_without_a_bias_adds_nothing():
    layer = first_layer(vizkit.load("test_resnet", pretrained=False))
    assert layer.bias.tolist() == [0] * len(layer.weight)


def test_a_network_without_convolutions_is_refused():
    with pytest.raises(NotApplicable, match="no convolution that looks at pixels"):
        first_layer(vizkit.load("pixel_mlp", pretrained=False))
