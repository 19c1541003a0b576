"""The views Activations, Norms and Vanishing gradients under models of three families."""

import pytest

from tests.ui.conftest import CNN, SWIN, VIT, fine, opened, texts


@pytest.mark.parametrize("model", [VIT, SWIN, CNN])
def test_activations_and_norms_of_every_family(model: str):
    test = opened("convolution", models=model, image="digit 3", convolution_view="Activations")
    fine(test)
    assert len(test.get("plotly_chart")) == 4
    assert ("ReLU" if model == CNN else "GELU") + " " in texts(test)
    test = opened("convolution", models=model, image="digit 3", convolution_view="Norms", norm_images="3")
    fine(test)
    assert len(test.get("plotly_chart")) == 5
    assert "The other 2 images change what BatchNorm gives" in texts(test)
    test.slider(key="norm_images").set_value(1).run()
    assert "In a batch of one" in texts(test)


def test_switches_bring_the_gradient_back():
    test = opened("convolution", models=CNN, image="digit 3", convolution_view="Vanishing gradients")
    fine(test)
    assert "With sigmoid the first layer's gradient is" in texts(test)
    assert "× 10⁻¹" in texts(test)
    test.toggle(key="vanishing_residual").set_value(True).run()
    fine(test)
    assert "× 10⁻¹" not in texts(test)
